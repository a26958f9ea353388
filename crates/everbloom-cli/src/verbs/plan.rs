//! `everbloom plan`: which filter, how big, how good?

use everbloom::catalog::VARIANTS;
use everbloom::filter::FactValue;
use everbloom::plan::{DEFAULT_FPR, Expect, Goal, Load};
use everbloom::sample;
use everbloom::theory::bound;
use everbloom::variant::{Ability, EntryKind, FalseNegatives, Form, NEEDS, Variant};
use everbloom_report::number::{bytes_text, integer_text, rate_text};
use everbloom_report::{Axis, Chart, Curve, Series, Table, svg, terminal};
use serde_json::{Value, json};

use crate::args::Plan;
use crate::output::{print, print_json};
use crate::report::json as json_report;
use crate::talk::say;
use crate::{Outcome, Result, Stop};

/// A variant that can do what is asked, and what it would cost.
struct Candidate {
    variant: &'static Variant,
    form: &'static Form,
    items: u64,
    expect: Expect,
    probes: Option<u64>,
}

impl Candidate {
    /// The slug, with the form where it is not the default.
    fn name(&self) -> String {
        let (slug, form) = (self.variant.slug, self.form.name);
        if form == self.variant.forms[0].name {
            slug.to_owned()
        } else {
            format!("{slug} ({form})")
        }
    }

    fn abilities(&self) -> Vec<&'static str> {
        self.form.abilities.iter().map(|a| a.name()).collect()
    }

    fn bits_per_item(&self) -> f64 {
        self.expect.bits as f64 / self.items as f64
    }

    fn misses(&self) -> bool {
        self.expect.fnr > 0.0
    }

    /// `None` for filters that may miss members or never err, of which the bound says nothing.
    fn times_bound(&self) -> Option<f64> {
        if self.misses() {
            return None;
        }
        let passing = self.expect.fpr + self.expect.undecided;
        bound::times_bound(self.expect.bits as f64, self.items as f64, passing)
    }
}

/// What is left to choose by, when what was given is given.
#[derive(Clone, Copy)]
enum Aim {
    FewestBits,
    LowestRate,
    MostItems,
}

impl Aim {
    fn of(args: &Plan) -> Self {
        match (args.memory, args.items, args.fpr) {
            (Some(_), Some(_), None) => Aim::LowestRate,
            (Some(_), None, _) => Aim::MostItems,
            _ => Aim::FewestBits,
        }
    }

    fn cost(self, c: &Candidate) -> f64 {
        match self {
            Aim::FewestBits => c.bits_per_item(),
            Aim::LowestRate => c.expect.fpr,
            Aim::MostItems => 1.0 / c.items as f64,
        }
    }
}

pub fn run(args: &Plan) -> Result<Outcome> {
    let variants = fitting(&args.need)?;
    if args.items.is_none() && args.fpr.is_none() && args.memory.is_none() {
        return list(args, &variants);
    }
    let (mut candidates, mut refusals) = (Vec::new(), Vec::new());
    for variant in variants {
        match candidate(args, variant) {
            Ok(Some(candidate)) => candidates.push(candidate),
            Ok(None) => refusals.push(format!("{}: no formula for its size", variant.slug)),
            Err(Stop::Error(reason)) => refusals.push(format!("{}: {reason}", variant.slug)),
            Err(stop) => return Err(stop),
        }
    }
    // What promises every member comes first.
    let aim = Aim::of(args);
    let by = |a: &Candidate, b: &Candidate| aim.cost(a).total_cmp(&aim.cost(b));
    candidates.sort_by(|a, b| a.misses().cmp(&b.misses()).then(by(a, b)));
    if candidates.is_empty() {
        let reason =
            refusals.first().cloned().unwrap_or_else(|| "no variant has all the needs".into());
        return Err(Stop::Error(format!("nothing fits; {reason}")));
    }
    let curves =
        if args.plot || args.svg.is_some() { curves(&candidates, args) } else { Vec::new() };
    if let Some(path) = &args.svg {
        let chart = Chart {
            id: String::new(),
            title: "False-positive rate".into(),
            x: Axis::linear("bits per key"),
            y: Axis::log("rate"),
            series: curves.clone(),
        };
        std::fs::write(path, svg::chart(&chart))
            .map_err(|e| Stop::Error(format!("cannot write {}: {e}", path.display())))?;
        say!("{}: drawn", path.display());
    }
    if args.machine.json {
        let rows: Vec<Value> = candidates.iter().map(entry).collect();
        let reason = reason(aim, &candidates);
        print_json(&json!({ "candidates": rows, "reason": reason, "refused": refusals }))?;
    } else {
        print(&show(aim, &candidates, &refusals))?;
        if args.plot {
            print(&plot(&curves))?;
        }
    }
    Ok(Outcome::Some)
}

/// The filters that have every need; a goal without a need is one for membership.
fn fitting(needs: &[String]) -> Result<Vec<&'static Variant>> {
    for need in needs {
        if !NEEDS.iter().any(|(name, _)| name == need) {
            let all: Vec<String> =
                NEEDS.iter().map(|(name, asks)| format!("  {name:<14} {asks}")).collect();
            return Err(Stop::Error(format!("--need {need}: the needs are\n{}", all.join("\n"))));
        }
    }
    let membership = ["membership".to_owned()];
    let needs = if needs.is_empty() { &membership } else { needs };
    let serves = |v: &&Variant| needs.iter().all(|need| v.needs.contains(&need.as_str()));
    let filters = VARIANTS.iter().copied().filter(|v| v.kind == EntryKind::Filter);
    Ok(filters.filter(serves).collect())
}

/// The first form that is able to do what the needs ask for, or else the default one.
fn form_for(variant: &'static Variant, needs: &[String]) -> &'static Form {
    let ability = |need: &String| match need.as_str() {
        "delete" => Some(Ability::Remove),
        "count" => Some(Ability::Count),
        "merge" => Some(Ability::Merge),
        "decay" => Some(Ability::Age),
        "values" => Some(Ability::Lookup),
        "reconcile" => Some(Ability::Reconcile),
        _ => None,
    };
    let able = |form: &&Form| {
        needs.iter().filter_map(ability).all(|ability| form.abilities.contains(&ability))
    };
    variant.forms.iter().find(able).unwrap_or(&variant.forms[0])
}

fn candidate(args: &Plan, variant: &'static Variant) -> Result<Option<Candidate>> {
    let form = form_for(variant, &args.need);
    let with_form = |goal: Goal| goal.set("form", form.name);
    let expect_at = |goal: &Goal, n: u64| variant.expect(goal, &Load::items(n));
    let (items, goal) = match (args.items, args.memory) {
        (Some(n), bits) => (n, Goal { items: Some(n), fpr: args.fpr, bits, ..Goal::default() }),
        (None, Some(room)) => {
            let goal = |n: u64| Goal::new(n, args.fpr.unwrap_or(DEFAULT_FPR));
            let bits = |n: u64| -> Result<Option<u64>> {
                Ok(expect_at(&with_form(goal(n)), n)?.map(|e| e.bits))
            };
            let Some(items) = most_items(room, &bits)? else { return Ok(None) };
            (items, goal(items))
        }
        (None, None) => return Err(Stop::Error("how many items? give -n or --memory".to_owned())),
    };
    let goal = with_form(goal);
    let Some(expect) = expect_at(&goal, items)? else { return Ok(None) };
    let probes = probes(variant, &goal, items);
    Ok(Some(Candidate { variant, form, items, expect, probes }))
}

/// The largest number of items whose filter fits; none where there is no formula for its size.
fn most_items(room: u64, bits: &dyn Fn(u64) -> Result<Option<u64>>) -> Result<Option<u64>> {
    match bits(1)? {
        None => return Ok(None),
        Some(least) if least > room => {
            let least = bytes_text(least.div_ceil(8));
            return Err(Stop::Error(format!("one item alone takes {least}: give more --memory")));
        }
        Some(_) => {}
    }
    let fits = |n: u64| matches!(bits(n), Ok(Some(bits)) if bits <= room);
    let (mut low, mut high) = (1u64, 2u64);
    while fits(high) && high < 1 << 48 {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    Ok(Some(low))
}

/// Items of the largest filter that is built to be asked for its probes. A few variants take one probe
/// more for a small set than for a large one; from here on none was seen to change.
const LARGE: u64 = 1_000_000;

/// Cells looked at per key: what an empty filter with as many bits per item says. Not one of full size,
/// since to describe it may mean to look at all of it.
fn probes(variant: &'static Variant, goal: &Goal, items: u64) -> Option<u64> {
    let fewer = items.min(LARGE);
    let scaled = |bits: u64| (bits as f64 / items as f64 * fewer as f64).round() as u64;
    let goal = Goal { items: Some(fewer), bits: goal.bits.map(scaled), ..goal.clone() };
    let filter = sample::build(variant, &goal, &[]).ok()?;
    let facts = filter.describe();
    let number = |name: &str| {
        facts.iter().find(|f| f.name == name).and_then(|f| match f.value {
            FactValue::Integer(v) => Some(v),
            _ => None,
        })
    };
    number("k").or_else(|| Some(number("k0")? + number("k1")?))
}

fn show(aim: Aim, candidates: &[Candidate], refusals: &[String]) -> String {
    let rows = candidates.iter().map(|c| {
        [
            c.name(),
            c.abilities().join(" "),
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
    out += &format!("\n{}\n{}: {}.\n", reason(aim, candidates), best.name, best.meaning);
    for refusal in refusals {
        out += &format!("not {refusal}\n");
    }
    out
}

/// Why the first is first.
fn reason(aim: Aim, candidates: &[Candidate]) -> String {
    let best = &candidates[0];
    let promise = match best.form.false_negatives {
        FalseNegatives::Never => "misses no member",
        FalseNegatives::NeverWhile(_) => "misses no member while its condition holds",
        FalseNegatives::Possible(_) => "does the job, though it may miss members,",
    };
    let merit = match aim {
        Aim::FewestBits => "in the fewest bits".to_owned(),
        Aim::LowestRate => format!("at the lowest rate, {}", rate_text(best.expect.fpr)),
        Aim::MostItems => format!("with room for the most items, {}", integer_text(best.items)),
    };
    let bound = best
        .times_bound()
        .map_or(String::new(), |times| format!(", {times:.2} times the lower bound"));
    let ahead = candidates.get(1).map_or(String::new(), |second| {
        let share = second.bits_per_item() / best.bits_per_item() - 1.0;
        let behind = match aim {
            _ if second.misses() && !best.misses() => "may miss members".to_owned(),
            Aim::FewestBits if share < 0.005 => "takes about as many".to_owned(),
            Aim::FewestBits => format!("takes {:.0} % more bits", share * 100.0),
            Aim::LowestRate => format!("errs at {}", rate_text(second.expect.fpr)),
            Aim::MostItems => format!("holds {}", integer_text(second.items)),
        };
        format!("; the next, {}, {behind}", second.name())
    });
    format!("{}: of those that can do it, it {promise} {merit}{bound}{ahead}.", best.name())
}

fn entry(c: &Candidate) -> Value {
    json!({
        "slug": c.variant.slug,
        "form": c.form.name,
        "entry": c.variant.entry,
        "abilities": c.abilities(),
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
        let rate = |bits: u64| {
            let goal = Goal { items: Some(n), bits: Some(n * bits), ..Goal::default() };
            let expect = c.variant.expect(&goal.set("form", c.form.name), &Load::items(n));
            expect.ok().flatten().map(|e| (bits as f64, e.fpr))
        };
        let curve: Curve = (1..=24).filter_map(rate).collect();
        if let Some(same) = out.iter().position(|series| alike(&series.curve, &curve)) {
            shared[same] += 1;
        } else if curve.len() > 1 && out.len() <= MOST_CURVES {
            out.push(Series { name: c.name(), curve, points: Vec::new() });
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
