//! `everbloom plan`: which filter, how big, how good?

use everbloom::choose;
use everbloom::choose::{Aim, Candidate, Lead, Ranking, Reason, Refusal, Why};
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
use crate::{Outcome, Result, Stop};

pub fn run(args: &Plan) -> Result<Outcome> {
    let needs = needs(args)?;
    match (args.items, args.memory, args.fpr) {
        (None, None, None) => return list(args, &choose::serving(&needs)?),
        (None, None, Some(_)) => {
            return Err(Stop::Error("how many items? give -n or --memory".to_owned()));
        }
        _ => {}
    }
    let goal = Goal { items: args.items, fpr: args.fpr, bits: args.memory, ..Goal::default() };
    let ranking = choose::rank(&goal, &needs)?;
    let refusals: Vec<String> = ranking.refused.iter().map(refusal).collect();
    let Some(reason) = ranking.reason(0) else {
        let reason =
            refusals.first().cloned().unwrap_or_else(|| "no variant has all the needs".into());
        return Err(Stop::Error(format!("nothing fits; {reason}")));
    };
    let reason = reason_text(&ranking, &reason);
    let drawn = args.plot || args.svg.is_some();
    let curves = if drawn { curves(&ranking.candidates, args) } else { Vec::new() };
    draw(args, &curves)?;
    if args.machine.json {
        let rows: Vec<Value> = ranking.candidates.iter().map(entry).collect();
        print_json(&json!({ "candidates": rows, "reason": reason, "refused": refusals }))?;
    } else {
        print(&show(&ranking.candidates, &reason, &refusals))?;
        if args.plot {
            print(&plot(&curves))?;
        }
    }
    Ok(Outcome::Some)
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

fn show(candidates: &[Candidate], reason: &str, refusals: &[String]) -> String {
    let rows = candidates.iter().map(|c| {
        [
            name(c),
            abilities(c).join(" "),
            integer_text(c.items),
            format!("{:.2}", c.bits_per_item()),
            bytes_text(c.expect.bits.div_ceil(8)),
            c.probes.map_or("–".to_owned(), |k| k.to_string()),
            rate_text(c.expect.fpr),
            if c.misses() { rate_text(c.expect.fnr) } else { "0".to_owned() },
            c.times_bound().map_or("–".to_owned(), |times| format!("{times:.2}")),
        ]
    });
    let header =
        ["variant", "can", "items", "bits/item", "size", "probes", "rate", "misses", "× bound"];
    let mut out = Table::new(2, header).rows(rows).terminal();
    let best = candidates[0].variant;
    out += &format!("\n{reason}\n{}: {}.\n", best.name, best.meaning);
    for refusal in refusals {
        out += &format!("not {refusal}\n");
    }
    out
}

/// Why the first is first.
fn reason_text(ranking: &Ranking, reason: &Reason) -> String {
    let best = &ranking.candidates[0];
    let promise = match reason.false_negatives {
        FalseNegatives::Never => "has no false negatives",
        FalseNegatives::NeverWhile(_) => "has no false negatives while its condition holds",
        FalseNegatives::Possible(_) => "does the job, though it may miss members,",
    };
    let merit = match reason.aim {
        Aim::FewestBits => "in the fewest bits".to_owned(),
        Aim::LowestRate => format!("at the lowest rate, {}", rate_text(best.expect.fpr)),
        Aim::MostItems => format!("with room for the most items, {}", integer_text(best.items)),
    };
    let bound = reason
        .times_bound
        .map_or(String::new(), |times| format!(", {times:.2} times the lower bound"));
    let ahead = reason.lead.zip(ranking.candidates.get(1)).map_or(String::new(), |(lead, next)| {
        let behind = match lead {
            Lead::NoFalseNegatives => "may miss members".to_owned(),
            Lead::Bits(share) if share < 0.005 => "takes about as many".to_owned(),
            Lead::Bits(share) => format!("takes {:.0} % more bits", share * 100.0),
            Lead::Rate(fpr) => format!("errs at {}", rate_text(fpr)),
            Lead::Items(items) => format!("holds {}", integer_text(items)),
        };
        format!("; the next, {}, {behind}", name(next))
    });
    format!("{}: of those that can do it, it {promise} {merit}{bound}{ahead}.", name(best))
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
        let rows = variants.iter().map(|v| {
            [v.slug.to_owned(), v.name.to_owned(), v.needs.join(", "), v.meaning.to_owned()]
        });
        let header = ["variant", "name", "serves", "items and rate"];
        print(&Table::new(4, header).rows(rows).terminal())?;
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
            out.push(Series { name: name(c), curve, points: Vec::new() });
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
