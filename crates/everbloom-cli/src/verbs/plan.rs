//! `everbloom plan`: which filter, how big, how good?

use everbloom::choose;
use everbloom::choose::{Aim, Candidate, Lead, Ranking, Refusal, Why};
use everbloom::internals::filter::{Ability, Bound, FalseNegatives, NEEDS};
use everbloom::internals::plan::Goal;
use everbloom::internals::sample::{Sample, Style};
use everbloom::internals::theory::bound;
use everbloom::internals::variant::Variant;
use everbloom::{Error, Kind};
use everbloom_report::number::{bytes_text, integer_text, rate_text};
use everbloom_report::terminal::wrapped;
use everbloom_report::{Axis, Chart, Curve, Series, Table, svg, terminal};
use serde_json::{Value, json};

use super::build::find;
use crate::args::Plan;
use crate::output::{Sheet, print, print_json};
use crate::report::json as json_report;
use crate::talk::say;
use crate::{Outcome, Result, Stop, quantity, suggest};

pub fn run(args: &Plan) -> Result<Outcome> {
    let needs = needs(args)?;
    match (args.items, args.memory, args.cells, args.fpr) {
        (None, None, None, None) => return list(args, &choose::serving(&needs)?),
        (None, None, None, Some(_)) => {
            return Err(Stop::Error("how many items? give -n or --memory".to_owned()));
        }
        _ => {}
    }
    if let Some(slug) = &args.kind {
        find(slug)?;
    }
    let goal = goal(args)?;
    let counts = Counts::of(args, &needs)?;
    let ranking = match &counts {
        Some(counts) => counts.rank(&goal, &needs)?,
        None => choose::rank_of(&goal, &needs, args.kind.as_deref())?,
    };
    let reason = reason_text(&ranking)?;
    let refusals: Vec<String> = ranking.refused.iter().map(refusal).collect();
    let drawn = args.plot || args.svg.is_some();
    let curves = if drawn { curves(&ranking.candidates, args) } else { Vec::new() };
    draw(args, &curves)?;
    if args.shown.machine.json {
        let row = |c: &Candidate| {
            let mut row = entry(c);
            if let Some(counts) = &counts {
                row["counts_to"] = json!(counts.limit(c));
            }
            row
        };
        let rows: Vec<Value> = ranking.candidates.iter().map(row).collect();
        let open_ended: Vec<&str> = ranking.open_ended.iter().map(|v| v.slug).collect();
        print_json(&json!({
            "candidates": rows,
            "reason": reason,
            "command": command(&ranking, args, &needs),
            "sized_when_built": open_ended,
            "refused": refusals,
        }))?;
    } else if args.shown.csv {
        print(&table(&ranking, &ranking.candidates, counts.as_ref(), Sheet::Csv).csv())?;
    } else {
        let command = command(&ranking, args, &needs);
        print(&show(&ranking, args, (&reason, &command), counts.as_ref(), &refusals))?;
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
        let typed = [
            ("m", args.cells.is_some()),
            ("k", args.probes.is_some()),
            (WIDTH, args.max_count.is_some()),
        ];
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
        let all = || {
            let all = NEEDS.iter().map(|(name, asks)| format!("\n  {name:<14} {asks}"));
            format!("the needs are{}", all.collect::<String>())
        };
        let instead = suggest::instead(need, NEEDS.iter().map(|(name, _)| *name), all);
        return Err(Stop::Error(format!("--need {need}: {instead}")));
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
    let chart = Chart::new(
        "",
        "False-positive rate",
        [Axis::linear("bits per key"), Axis::log("rate")],
        curves.to_vec(),
    );
    std::fs::write(path, svg::chart(&chart))
        .map_err(|e| Stop::Error(format!("cannot write {}: {e}", path.display())))?;
    say!("{}: drawn", path.display());
    Ok(())
}

/// The parameter of counters that are as wide as they are told.
const WIDTH: &str = "width";
/// Copies of a key that may be asked for at most.
const MOST_COPIES: u64 = 10_000;
/// Copies that are tried at least.
const TRIED: u64 = 1_100;

/// How far variants count, tried with as many copies of one key.
struct Counts {
    most: u64,
    /// By slug: the width that was set for it, and the count at which it is stuck or refuses; none where it was
    /// not reached.
    found: Vec<(&'static Variant, Option<u64>, Option<u64>)>,
}

impl Counts {
    /// What `--max-count` asks for.
    fn of(args: &Plan, needs: &[&str]) -> Result<Option<Self>> {
        let Some(most) = args.max_count else { return Ok(None) };
        if !needs.contains(&"count") {
            return Err(Stop::Error("--max-count: add --need count".to_owned()));
        }
        if most > MOST_COPIES {
            let most = integer_text(MOST_COPIES);
            return Err(Stop::Error(format!("--max-count: {most} copies are tried at most")));
        }
        let named = |v: &&Variant| args.kind.as_deref().is_none_or(|slug| slug == v.slug);
        let try_one = |v: &'static Variant| {
            let limit = limit(v, None, most.max(TRIED));
            let short = limit.is_some_and(|limit| limit <= most);
            let wider = short && v.params.iter().any(|p| p.name == WIDTH);
            // At its maximum a counter is stuck, so that one more must fit.
            let width = wider.then_some((u64::BITS - (most + 1).leading_zeros()).into());
            (v, width, if wider { self::limit(v, width, most.max(TRIED)) } else { limit })
        };
        let variants = choose::serving(needs)?.into_iter().filter(named);
        Ok(Some(Self { most, found: variants.map(try_one).collect() }))
    }

    /// The ranking of those that count as far as asked for.
    fn rank(&self, goal: &Goal, needs: &[&str]) -> Result<Ranking> {
        let mut all: Option<Ranking> = None;
        for (variant, width, limit) in &self.found {
            let goal = width.map_or(goal.clone(), |width| goal.clone().set(WIDTH, width));
            let mut one = choose::rank_of(&goal, needs, Some(variant.slug))?;
            if let Some(limit) = limit.filter(|limit| *limit <= self.most) {
                let why = format!("counts to {}", integer_text(limit));
                let why = Why::Refused(Error::new(Kind::Unsupported, why));
                one.candidates.clear();
                one.refused = vec![Refusal { variant, why }];
            }
            match &mut all {
                None => all = Some(one),
                Some(all) => {
                    all.candidates.append(&mut one.candidates);
                    all.open_ended.append(&mut one.open_ended);
                    all.refused.append(&mut one.refused);
                }
            }
        }
        let mut all = all.ok_or_else(|| Stop::Error("no variant has all the needs".to_owned()))?;
        let cost = |c: &Candidate| match all.aim {
            Aim::FewestBits => c.bits_per_item(),
            Aim::LowestRate => c.expect.fpr,
            Aim::MostItems => -(c.items as f64),
        };
        all.candidates
            .sort_by(|a, b| a.misses().cmp(&b.misses()).then(cost(a).total_cmp(&cost(b))));
        Ok(all)
    }

    /// The count at which a candidate is stuck, if it was reached.
    fn limit(&self, c: &Candidate) -> Option<u64> {
        self.found.iter().find(|(v, ..)| v.slug == c.variant.slug).and_then(|(.., limit)| *limit)
    }
}

/// How many copies of one key a variant counts before its counter is stuck or it refuses one; none where that
/// does not happen within `most`.
fn limit(variant: &'static Variant, width: Option<u64>, most: u64) -> Option<u64> {
    let goal = Goal::new(1000, 0.01);
    let goal = width.map_or(goal.clone(), |width| goal.set(WIDTH, width));
    let form = variant.forms.iter().find(|form| form.abilities.contains(&Ability::Count))?;
    let mut filter = variant.build_from(&goal.set("form", form.name), &[]).ok()?;
    let sample = Sample::new(&variant.input, Style::Short, 0..1);
    let record = sample.records()[0];
    for copies in 0..most {
        if filter.as_insert()?.insert(record).is_err() {
            return Some(copies);
        }
        if filter.as_count()?.count(record.key).bound == Bound::Saturated {
            return Some(copies + 1);
        }
    }
    None
}

/// Rows that are shown unless all are asked for: a screen, with what stands around them.
const SHOWN: usize = 8;

/// The candidates as rows; whatever the goal leaves open is what differs.
fn table(
    ranking: &Ranking,
    candidates: &[Candidate],
    counts: Option<&Counts>,
    sheet: Sheet,
) -> Table {
    let misses = candidates.iter().any(Candidate::misses);
    let by_items = ranking.aim == Aim::MostItems;
    let rows = candidates.iter().map(|c| {
        let mut row = vec![name(c)];
        row.push(if by_items {
            sheet.integer(c.items)
        } else {
            sheet.bytes(c.expect.bits.div_ceil(8))
        });
        row.push(sheet.pick(c.bits_per_item(), |bits| format!("{bits:.2}")));
        row.push(c.probes.map_or(sheet.none(), |k| k.to_string()));
        row.push(sheet.rate(c.expect.fpr));
        row.push(if misses {
            if c.misses() { sheet.rate(c.expect.fnr) } else { "0".to_owned() }
        } else {
            let text = |times: f64| sheet.pick(times, |times| format!("{times:.2}"));
            c.times_bound().map_or(sheet.none(), text)
        });
        if let Some(counts) = counts {
            let more = match sheet {
                Sheet::Terminal => format!("> {}", integer_text(counts.most.max(TRIED))),
                Sheet::Csv => sheet.none(),
            };
            row.push(counts.limit(c).map_or(more, |limit| sheet.integer(limit)));
        }
        row
    });
    let size = if by_items { "items" } else { "size" };
    let last = if misses { "misses" } else { "× bound" };
    let header = ["variant", size, "bits", "probes", "rate", last];
    let header = header.into_iter().chain(counts.map(|_| "counts to"));
    Table::new(1, header).rows(rows)
}

/// Within 80 columns: the recommendation, then what it was chosen from.
fn show(
    ranking: &Ranking,
    args: &Plan,
    (reason, command): (&str, &str),
    counts: Option<&Counts>,
    refusals: &[String],
) -> String {
    let candidates = &ranking.candidates;
    let mut out = format!("{}\n\n  {command}\n\n", wrapped(reason, 0));
    let shown = if args.all { candidates.len() } else { candidates.len().min(SHOWN) };
    if shown > 0 {
        out += &table(ranking, &candidates[..shown], counts, Sheet::Terminal).terminal();
        out += "bits are per item; bound is the fewest that any filter of that rate could have\n";
    }
    if candidates.len() > shown {
        out += &format!("{} more: --all\n", candidates.len() - shown);
    }
    if !ranking.open_ended.is_empty() {
        let slugs: Vec<&str> = ranking.open_ended.iter().map(|v| v.slug).collect();
        out += &format!("{}\n", wrapped(&format!("sized when built: {}", slugs.join(", ")), 0));
    }
    if args.all {
        out.extend(refusals.iter().map(|why| format!("{}\n", wrapped(&format!("not {why}"), 4))));
    } else if !refusals.is_empty() {
        out += &format!("{} do not fit: --all tells why\n", refusals.len());
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
    if args.shown.machine.json {
        print_json(&variants.iter().map(|v| json_report::variant(v)).collect())?;
    } else {
        let shown = if args.all || args.shown.csv { variants.len() } else { SHOWN };
        let rows = variants
            .iter()
            .take(shown)
            .map(|v| [v.slug.to_owned(), v.name.to_owned(), v.needs.join(", ")]);
        let table = Table::new(3, ["variant", "name", "serves"]).rows(rows);
        print(&Sheet::of(args.shown.csv).text(&table))?;
        if variants.len() > shown {
            let more = variants.len() - shown;
            print(&format!("and {more} more: --all shows them; -n and -p rank them\n"))?;
        }
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
