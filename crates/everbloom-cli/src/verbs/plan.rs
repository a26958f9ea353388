//! `everbloom plan`: which filter, how big, how good?

use everbloom::choose;
use everbloom::choose::{Aim, Candidate, Lead, Ranking, Refusal, Why};
use everbloom::internals::filter::{FalseNegatives, NEEDS};
use everbloom::internals::plan::Goal;
use everbloom::internals::theory::bound;
use everbloom::internals::variant::Variant;
use everbloom_report::number::{bytes_text, integer_text, rate_text};
use everbloom_report::{Axis, Chart, Curve, Series, Table, svg, terminal};
use serde_json::{Value, json};

use crate::args::Plan;
use crate::output::{print, print_json};
use crate::report::json as json_report;
use crate::talk::say;
use crate::{Outcome, Result, Stop, quantity};

pub fn run(args: &Plan) -> Result<Outcome> {
    let needs = needs(args)?;
    match (args.items, args.memory, args.cells, args.fpr) {
        (None, None, None, None) => return list(args, &choose::serving(&needs)?),
        (None, None, None, Some(_)) => {
            return Err(Stop::Error("how many items? give -n or --memory".to_owned()));
        }
        _ => {}
    }
    let ranking = choose::rank_of(&goal(args)?, &needs, args.kind.as_deref())?;
    let reason = reason_text(&ranking)?;
    let refusals: Vec<String> = ranking.refused.iter().map(refusal).collect();
    let drawn = args.plot || args.svg.is_some();
    let curves = if drawn { curves(&ranking.candidates, args) } else { Vec::new() };
    draw(args, &curves)?;
    if args.machine.json {
        let rows: Vec<Value> = ranking.candidates.iter().map(entry).collect();
        let open_ended: Vec<&str> = ranking.open_ended.iter().map(|v| v.slug).collect();
        print_json(&json!({
            "candidates": rows,
            "reason": reason,
            "command": command(&ranking, args, &needs),
            "sized_when_built": open_ended,
            "refused": refusals,
        }))?;
    } else {
        print(&show(&ranking, args, &reason, &command(&ranking, args, &needs), &refusals))?;
        if args.plot {
            print(&plot(&curves))?;
        }
    }
    Ok(Outcome::Some)
}

/// What was typed, as a goal. Cells and probes are parameters of the variant, which not every one has.
fn goal(args: &Plan) -> Result<Goal> {
    let mut goal = Goal { items: args.items, fpr: args.fpr, bits: args.memory, ..Goal::default() };
    if (args.cells.is_some() || args.probes.is_some()) && args.kind.is_none() {
        return Err(Stop::Error(
            "-m and -k are parameters of one variant: name it with --kind, such as --kind bloom"
                .to_owned(),
        ));
    }
    if let Some(cells) = args.cells {
        goal = goal.set("m", cells);
    }
    if let Some(probes) = args.probes {
        goal = goal.set("k", probes);
    }
    Ok(goal)
}

/// The command that builds the filter recommended.
fn command(ranking: &Ranking, args: &Plan, needs: &[&str]) -> String {
    let best = ranking.candidates.first();
    let Some(variant) = best.map(|c| c.variant).or(ranking.open_ended.first().copied()) else {
        return String::new();
    };
    let mut out = format!("everbloom build KEYS -o FILTER.evb --kind {}", variant.slug);
    if let Some(items) = args.items.or(best.map(|c| c.items)) {
        out += &format!(" -n {}", quantity::short(items));
    }
    if let Some(rate) = args.fpr {
        out += &format!(" -p {rate}");
    }
    if let (Some(bits), None) = (args.memory, args.fpr) {
        out += &format!(" --memory {}B", bits / 8);
    }
    if let Some(c) = best {
        if c.form.name != variant.forms[0].name {
            out += &format!(" --set form={}", c.form.name);
        }
        let typed = [("m", args.cells.is_some()), ("k", args.probes.is_some())];
        for (name, _) in typed.iter().filter(|(_, typed)| *typed) {
            let value = c.goal.settings.iter().find(|(n, _)| n == name);
            out += &value.map_or(String::new(), |(n, v)| format!(" --set {n}={v}"));
        }
    }
    // Whoever does not know the key cannot choose keys that collide.
    if needs.contains(&"hostile") && variant.slug != "generalized" {
        out += " --key-file SECRET.hex";
    }
    out
}

/// The needs that were typed, if the list has them all.
fn needs(args: &Plan) -> Result<Vec<&str>> {
    let known = |need: &&String| NEEDS.iter().any(|(name, _)| name == need);
    if let Some(need) = args.need.iter().find(|need| !known(need)) {
        let all: Vec<String> =
            NEEDS.iter().map(|(name, asks)| format!("  {name:<14} {asks}")).collect();
        return Err(Stop::Error(format!("--need {need}: the needs are\n{}", all.join("\n"))));
    }
    Ok(args.need.iter().map(String::as_str).collect())
}

/// Who does not fit, and why, in the words of the command line.
fn refusal(refused: &Refusal) -> String {
    let slug = refused.variant.slug;
    match &refused.why {
        Why::TooFewBits { least } => {
            let least = bytes_text(least.div_ceil(8));
            format!("{slug}: one item alone takes {least}: give more --memory")
        }
        Why::Useless { fpr, enough } => {
            let enough = enough.map(|bits| bytes_text(bits.div_ceil(8)));
            let enough =
                enough.map_or(String::new(), |size| format!("; 1 % takes --memory {size}"));
            format!("{slug}: {} of non-members would pass{enough}", rate_text(*fpr))
        }
        why => format!("{slug}: {why}"),
    }
}

/// The slug, with the form where it is not the default.
fn name(c: &Candidate) -> String {
    let (slug, form) = (c.variant.slug, c.form.name);
    if form == c.variant.forms[0].name { slug.to_owned() } else { format!("{slug} ({form})") }
}

fn abilities(c: &Candidate) -> Vec<&'static str> {
    c.form.abilities.iter().map(|a| a.name()).collect()
}

/// Writes the picture that `--svg` asks for.
fn draw(args: &Plan, curves: &[Series]) -> Result<()> {
    let Some(path) = &args.svg else { return Ok(()) };
    let chart = Chart {
        id: String::new(),
        title: "False-positive rate".into(),
        x: Axis::linear("bits per key"),
        y: Axis::log("rate"),
        series: curves.to_vec(),
    };
    std::fs::write(path, svg::chart(&chart))
        .map_err(|e| Stop::Error(format!("cannot write {}: {e}", path.display())))?;
    say!("{}: drawn", path.display());
    Ok(())
}

/// Rows that are shown unless all are asked for: a screen, with what stands around them.
const SHOWN: usize = 8;

/// Within 80 columns: the recommendation, then what it was chosen from.
fn show(
    ranking: &Ranking,
    args: &Plan,
    reason: &str,
    command: &str,
    refusals: &[String],
) -> String {
    let candidates = &ranking.candidates;
    let mut out = format!("{}\n\n  {command}\n\n", wrapped(reason));
    let shown = if args.all { candidates.len() } else { candidates.len().min(SHOWN) };
    let misses = candidates[..shown].iter().any(Candidate::misses);
    // Whatever the goal leaves open is what differs.
    let by_items = ranking.aim == Aim::MostItems;
    let rows = candidates[..shown].iter().map(|c| {
        let mut row = vec![name(c)];
        row.push(if by_items {
            integer_text(c.items)
        } else {
            bytes_text(c.expect.bits.div_ceil(8))
        });
        row.push(format!("{:.2}", c.bits_per_item()));
        row.push(c.probes.map_or("–".to_owned(), |k| k.to_string()));
        row.push(rate_text(c.expect.fpr));
        if misses {
            row.push(if c.misses() { rate_text(c.expect.fnr) } else { "0".to_owned() });
        } else {
            row.push(c.times_bound().map_or("–".to_owned(), |times| format!("{times:.2}")));
        }
        row
    });
    let size = if by_items { "items" } else { "size" };
    let last = if misses { "misses" } else { "× bound" };
    if shown > 0 {
        out +=
            &Table::new(1, ["variant", size, "bits", "probes", "rate", last]).rows(rows).terminal();
        out += "bits are per item; bound is the fewest that any filter of that rate could have\n";
    }
    if candidates.len() > shown {
        out += &format!("{} more: --all\n", candidates.len() - shown);
    }
    if !ranking.open_ended.is_empty() {
        let slugs: Vec<&str> = ranking.open_ended.iter().map(|v| v.slug).collect();
        out += &format!("{}\n", wrapped(&format!("sized when built: {}", slugs.join(", "))));
    }
    if args.all {
        out.extend(refusals.iter().map(|refusal| format!("not {refusal}\n")));
    } else if !refusals.is_empty() {
        out += &format!("{} do not fit: --all tells why\n", refusals.len());
    }
    out
}

/// Broken into lines of at most 80 columns.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let width = word.chars().count();
        if column > 0 && column + 1 + width > 80 {
            out.push('\n');
            column = 0;
        } else if column > 0 {
            out.push(' ');
            column += 1;
        }
        out += word;
        column += width;
    }
    out
}

/// Which one, and why.
fn reason_text(ranking: &Ranking) -> Result<String> {
    let Some((best, reason)) = ranking.candidates.first().zip(ranking.reason(0)) else {
        if let Some(variant) = ranking.open_ended.first() {
            return Ok(format!(
                "{}: {}. How large it gets depends on the records, so it is sized when it is built.",
                variant.slug, variant.meaning
            ));
        }
        let why = ranking.refused.first().map(refusal);
        let why = why.unwrap_or_else(|| "no variant has all the needs".to_owned());
        return Err(Stop::Error(format!("nothing fits; {why}")));
    };
    let promise = match reason.false_negatives {
        FalseNegatives::Never => "No member is ever missed".to_owned(),
        FalseNegatives::NeverWhile(condition) => format!("No member is missed while {condition}"),
        FalseNegatives::Possible(_) => "It may miss members".to_owned(),
    };
    let merit = match reason.aim {
        Aim::FewestBits => "the fewest bits".to_owned(),
        Aim::LowestRate => format!("the lowest rate, {}", rate_text(best.expect.fpr)),
        Aim::MostItems => format!("room for the most items, {}", integer_text(best.items)),
    };
    let ahead = reason.lead.zip(ranking.candidates.get(1)).map_or(String::new(), |(lead, next)| {
        let behind = match lead {
            Lead::NoFalseNegatives => "may miss members".to_owned(),
            Lead::Bits(share) if share < 0.005 => "takes about as many".to_owned(),
            Lead::Bits(share) => format!("takes {:.0} % more", share * 100.0),
            Lead::Rate(fpr) => format!("errs at {}", rate_text(fpr)),
            Lead::Items(items) => format!("holds {}", integer_text(items)),
        };
        format!("; the next, {}, {behind}", name(next))
    });
    let meaning = best.variant.meaning;
    Ok(format!("{}: {merit}{ahead}. {promise}. Here {meaning}.", name(best)))
}

fn entry(c: &Candidate) -> Value {
    json!({
        "slug": c.variant.slug,
        "form": c.form.name,
        "entry": c.variant.entry,
        "abilities": abilities(c),
        "items": c.items,
        "bits": c.expect.bits,
        "bits_per_item": c.bits_per_item(),
        "probes": c.probes,
        "fpr": c.expect.fpr,
        "fnr": c.expect.fnr,
        "undecided": c.expect.undecided,
        "times_bound": c.times_bound(),
    })
}

/// Without numbers: who can do it at all.
fn list(args: &Plan, variants: &[&'static Variant]) -> Result<Outcome> {
    if args.need.is_empty() {
        return Err(Stop::Error(
            "plan for what? give -n and -p, -n and --memory, --memory and -p, or --need".to_owned(),
        ));
    }
    if args.machine.json {
        print_json(&variants.iter().map(|v| json_report::variant(v)).collect())?;
    } else {
        let rows =
            variants.iter().map(|v| [v.slug.to_owned(), v.name.to_owned(), v.needs.join(", ")]);
        print(&Table::new(3, ["variant", "name", "serves"]).rows(rows).terminal())?;
    }
    Ok(if variants.is_empty() { Outcome::None } else { Outcome::Some })
}

/// Curves of a picture, the lower bound not counted.
const MOST_CURVES: usize = 6;

/// Rate over bits per key of the first candidates that differ, and the lower bound. Those that are the
/// standard filter in other clothes share its curve.
fn curves(candidates: &[Candidate], args: &Plan) -> Vec<Series> {
    let n = args.items.unwrap_or_else(|| candidates[0].items).min(1_000_000);
    let mut out = vec![Series::new("lower bound", (1..=24).map(f64::from), bound::least_fpr)];
    let mut shared = vec![0; MOST_CURVES + 1];
    for c in candidates {
        let rate = |bits: u64| c.rate_at(n, n * bits).map(|fpr| (bits as f64, fpr));
        let curve: Curve = (1..=24).filter_map(rate).collect();
        if let Some(same) = out.iter().position(|series| alike(&series.curve, &curve)) {
            shared[same] += 1;
        } else if curve.len() > 1 && out.len() <= MOST_CURVES {
            out.push(Series { name: name(c), curve, ..Series::default() });
        }
    }
    for (series, others) in out.iter_mut().zip(shared).filter(|(_, others)| *others > 0) {
        series.name += &format!(" and {others} more");
    }
    out
}

/// Whether two curves can't be told apart in a picture.
fn alike(a: &[(f64, f64)], b: &[(f64, f64)]) -> bool {
    let near = |((x, p), (y, q)): (&(f64, f64), &(f64, f64))| x == y && (p / q - 1.0).abs() < 0.05;
    a.len() == b.len() && a.iter().zip(b).all(near)
}

fn plot(curves: &[Series]) -> String {
    let Some(best) = curves.get(1) else { return String::new() };
    let points: Vec<terminal::Point> = best
        .curve
        .iter()
        .map(|(x, y)| terminal::Point { x: *x, predicted: bound::least_fpr(*x), measured: *y })
        .collect();
    format!(
        "\nrate over bits per key: ● {}, · the lower bound\n\n{}\n",
        best.name,
        terminal::curve(&points, 16, rate_text)
    )
}
