//! `everbloom plan`: which filter, how big, how good?

use everbloom::catalog::VARIANTS;
use everbloom::filter::FactValue;
use everbloom::plan::{DEFAULT_FPR, Expect, Goal, Load};
use everbloom::sample;
use everbloom::theory::bound;
use everbloom::variant::{Ability, EntryKind, FalseNegatives, Form, NEEDS, Variant};
use everbloom_lab::{Axis, Chart, Curve, Series};
use serde_json::{Value, json};

use super::print;
use crate::args::Plan;
use crate::quantity::{bytes_text, integer_text, rate_text};
use crate::report::{json as json_report, picture, svg, table};
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

    fn bits_per_item(&self) -> f64 {
        self.expect.bits as f64 / self.items as f64
    }

    /// `None` for filters that may miss members or never err, of which the bound says nothing.
    fn times_bound(&self) -> Option<f64> {
        if self.expect.fnr > 0.0 {
            return None;
        }
        let passing = self.expect.fpr + self.expect.undecided;
        bound::times_bound(self.expect.bits as f64, self.items as f64, passing)
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
    // What promises every member comes first; then the better rate where memory is given, and the
    // fewer bits where it is not.
    let misses = |c: &Candidate| c.expect.fnr > 0.0;
    let cost = |c: &Candidate| match (args.memory, args.fpr) {
        (Some(_), None) => c.expect.fpr,
        (Some(_), Some(_)) => 1.0 / c.items as f64,
        _ => c.bits_per_item(),
    };
    candidates.sort_by(|a, b| misses(a).cmp(&misses(b)).then(cost(a).total_cmp(&cost(b))));
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
    if args.json {
        let rows: Vec<Value> = candidates.iter().map(entry).collect();
        print(&format!("{:#}\n", json!({ "candidates": rows, "refused": refusals })))?;
    } else {
        print(&show(&candidates, &refusals))?;
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
    let goal = Goal { items: args.items, fpr: args.fpr, bits: args.memory, ..Goal::default() };
    let goal = goal.set("form", form.name);
    let expect_at = |goal: &Goal, n: u64| variant.expect(goal, &Load::items(n));
    let items = match (args.items, args.memory) {
        (Some(n), _) => n,
        (None, Some(room)) => most_items(room, &|n| {
            let goal = Goal::new(n, args.fpr.unwrap_or(DEFAULT_FPR)).set("form", form.name);
            expect_at(&goal, n).ok().flatten().map(|e| e.bits)
        })?,
        (None, None) => return Err(Stop::Error("how many items? give -n or --memory".to_owned())),
    };
    let goal = Goal { items: Some(items), ..goal };
    let Some(expect) = expect_at(&goal, items)? else { return Ok(None) };
    let probes = probes(variant, &goal, expect.bits);
    Ok(Some(Candidate { variant, form, items, expect, probes }))
}

/// The largest number of items whose filter fits.
fn most_items(room: u64, bits: &dyn Fn(u64) -> Option<u64>) -> Result<u64> {
    let fits = |n: u64| bits(n).is_some_and(|b| b <= room);
    if !fits(1) {
        return Err(Stop::Error("not even one item fits into the memory".to_owned()));
    }
    let (mut low, mut high) = (1u64, 2u64);
    while fits(high) && high < 1 << 48 {
        (low, high) = (high, high * 2);
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if fits(middle) { low = middle } else { high = middle }
    }
    Ok(low)
}

/// Cells looked at per key: what an empty filter of that shape says. Pages that are never touched cost
/// nothing, but there is no need to map the largest ones.
fn probes(variant: &'static Variant, goal: &Goal, bits: u64) -> Option<u64> {
    if bits > 64 << 30 {
        return None;
    }
    let filter = sample::build(variant, goal, &[]).ok()?;
    let facts = filter.describe();
    let number = |name: &str| {
        facts.iter().find(|f| f.name == name).and_then(|f| match f.value {
            FactValue::Integer(v) => Some(v),
            _ => None,
        })
    };
    number("k").or_else(|| Some(number("k0")? + number("k1")?))
}

fn show(candidates: &[Candidate], refusals: &[String]) -> String {
    let rows = candidates.iter().map(|c| {
        let abilities: Vec<_> = c.form.abilities.iter().map(|a| a.name()).collect();
        vec![
            c.name(),
            abilities.join(" "),
            integer_text(c.items),
            format!("{:.2}", c.bits_per_item()),
            bytes_text(c.expect.bits.div_ceil(8)),
            c.probes.map_or("–".to_owned(), |k| k.to_string()),
            rate_text(c.expect.fpr),
            if c.expect.fnr > 0.0 { rate_text(c.expect.fnr) } else { "0".to_owned() },
            c.times_bound().map_or("–".to_owned(), |times| format!("{times:.2}")),
        ]
    });
    let header =
        ["variant", "can", "items", "bits/item", "size", "probes", "rate", "misses", "× bound"];
    let mut out = table::table(2, &header, rows.collect()) + "\n";
    out += &format!("\n{}\n", reason(candidates));
    for refusal in refusals {
        out += &format!("not {refusal}\n");
    }
    out
}

/// Why the first is first.
fn reason(candidates: &[Candidate]) -> String {
    let best = &candidates[0];
    let promise = match best.form.false_negatives {
        FalseNegatives::Never => "misses no member",
        FalseNegatives::NeverWhile(_) => "misses no member while its condition holds",
        FalseNegatives::Possible(_) => "does the job, though it may miss members",
    };
    let ahead = candidates.get(1).map_or(String::new(), |second| {
        let share = second.bits_per_item() / best.bits_per_item() - 1.0;
        let next = second.name();
        match share {
            0.005.. => format!("; the next, {next}, takes {:.0} % more bits", share * 100.0),
            _ => format!("; the next, {next}, takes about as many"),
        }
    });
    let bound = best
        .times_bound()
        .map_or(String::new(), |times| format!(", {times:.2} times the lower bound"));
    format!(
        "{}: of those that can do it, it {promise} in the fewest bits{bound}{ahead}.\n{}: {}.",
        best.name(),
        best.variant.name,
        best.variant.meaning
    )
}

fn entry(c: &Candidate) -> Value {
    json!({
        "slug": c.variant.slug,
        "form": c.form.name,
        "entry": c.variant.entry,
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
    if args.json {
        let entries: Vec<Value> = variants.iter().map(|v| json_report::variant(v)).collect();
        print(&format!("{:#}\n", Value::Array(entries)))?;
    } else {
        let row = |v: &&&Variant| {
            vec![v.slug.to_owned(), v.name.to_owned(), v.needs.join(", "), v.meaning.to_owned()]
        };
        let rows: Vec<_> = variants.iter().collect::<Vec<_>>().iter().map(row).collect();
        print(&(table::table(4, &["variant", "name", "serves", "items and rate"], rows) + "\n"))?;
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
    let points: Vec<picture::Point> = best
        .curve
        .iter()
        .map(|(x, y)| picture::Point { x: *x, predicted: bound::least_fpr(*x), measured: *y })
        .collect();
    format!(
        "\nrate over bits per key: ● {}, · the lower bound\n\n{}\n",
        best.name,
        picture::curve(&points, 16, rate_text)
    )
}
