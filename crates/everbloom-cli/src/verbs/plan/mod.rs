//! `everbloom plan`: which filter, and how large?

mod counts;
mod curves;

use everbloom::choose;
use everbloom::choose::{Aim, Candidate, Lead, Ranking, Refusal, Why};
use everbloom::internals::filter::{FalseNegatives, NEEDS};
use everbloom::internals::plan::Goal;
use everbloom::internals::variant::Variant;
use everbloom_report::number::{bytes_text, rate_text};
use everbloom_report::terminal::wrapped;
use everbloom_report::{Table, suggest};
use serde_json::{Value, json};

use counts::{Counts, TRIED, WIDTH};
use curves::{curves, plot, svg};

use super::build::find;
use crate::args::Plan;
use crate::output::{Sheet, integer_text, print, print_json};
use crate::report::json as json_report;
use crate::target::Target;
use crate::{Outcome, Result, Stop, quantity};

pub fn run(args: &Plan) -> Result<Outcome> {
    let needs = needs(args)?;
    let how = (&args.replacing, &args.shown.machine);
    let picture = Target::picture(args.svg.as_deref(), how, [])?;
    match (args.size.items, args.size.memory, args.cells, args.size.fpr) {
        (None, None, None, None) => return list(args, &choose::serving(&needs)?),
        (None, None, None, Some(_)) => {
            return Err(Stop::Error("give -n or --memory".to_owned()));
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
    let drawn = args.plot || picture.is_some();
    let curves = if drawn { curves(&ranking.candidates, args) } else { Vec::new() };
    if let Some(picture) = &picture {
        picture.draw(&svg(&curves))?;
    }
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
    let mut goal = args.size.goal()?;
    if (args.cells.is_some() || args.probes.is_some()) && args.kind.is_none() {
        return Err(Stop::Error(
            "-m and -k need a single variant: add --kind, such as --kind bloom".to_owned(),
        ));
    }
    goal.settings.clone_from(&args.settings);
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
    if let Some(items) = args.size.items.or(best.map(|c| c.items)) {
        out += &format!(" -n {}", quantity::short(items));
    }
    if let Some(rate) = args.size.fpr {
        out += &format!(" -p {rate}");
    }
    if let (Some(bits), None) = (args.size.memory, args.size.fpr) {
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
    for (name, value) in args.settings.iter().filter(|(name, _)| name != "form") {
        out += &format!(" --set {name}={value}");
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
            format!("{slug}: a single item takes {least}: give more --memory")
        }
        Why::Useless { fpr, enough } => {
            let enough = enough.map(|bits| bytes_text(bits.div_ceil(8)));
            let enough =
                enough.map_or(String::new(), |size| format!("; for 1 % give --memory {size}"));
            format!("{slug}: the false-positive rate would be {}{enough}", rate_text(*fpr))
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
            sheet.bytes(c.expect.total().div_ceil(8))
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
        out += "bits are per item; × bound compares them with the lower bound at that rate\n";
    }
    if let Some(once) = ranking.better_if_fixed() {
        let better = match ranking.aim {
            Aim::FewestBits => format!("takes {:.2} bits per item", once.bits_per_item()),
            Aim::LowestRate => format!("errs at {}", rate_text(once.expect.fpr)),
            Aim::MostItems => format!("holds {}", integer_text(once.items)),
        };
        out += &format!("if the set never changes, {} {better}: --need static\n", name(once));
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
        out += &format!("{} do not fit: --all shows why\n", refusals.len());
    }
    out
}

/// Which one, and why.
fn reason_text(ranking: &Ranking) -> Result<String> {
    let Some((best, reason)) = ranking.candidates.first().zip(ranking.reason(0)) else {
        // Where a filter of this size would let nearly all pass, one that is sized later will hardly do better.
        let useless =
            ranking.refused.iter().find(|refused| matches!(refused.why, Why::Useless { .. }));
        if let Some(variant) = ranking.open_ended.first().filter(|_| useless.is_none()) {
            return Ok(format!(
                "{}: {}. Its size depends on the records and is computed when it is built.",
                variant.slug, variant.meaning
            ));
        }
        let why = useless.or(ranking.refused.first()).map(refusal);
        let why = why.unwrap_or_else(|| "no variant meets all needs".to_owned());
        return Err(Stop::Error(format!("nothing fits; {why}")));
    };
    let promise = match reason.false_negatives {
        FalseNegatives::Never => "No false negatives".to_owned(),
        FalseNegatives::NeverWhile(condition) => format!("No false negatives while {condition}"),
        FalseNegatives::Possible(_) => "False negatives are possible".to_owned(),
    };
    let merit = match reason.aim {
        Aim::FewestBits => "the fewest bits".to_owned(),
        Aim::LowestRate => format!("the lowest rate, {}", rate_text(best.expect.fpr)),
        Aim::MostItems => format!("room for the most items, {}", integer_text(best.items)),
    };
    let ahead = reason.lead.zip(ranking.candidates.get(1)).map_or(String::new(), |(lead, next)| {
        let behind = match lead {
            Lead::NoFalseNegatives => "can have false negatives".to_owned(),
            Lead::OneByOne => "is built once from all keys".to_owned(),
            Lead::Bits(share) if share < 0.005 => "takes about the same".to_owned(),
            Lead::Bits(share) => format!("takes {:.0} % more", share * 100.0),
            Lead::Rate(fpr) => format!("has {}", rate_text(fpr)),
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
        "bits": c.expect.total(),
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
            "give two numbers or a need: -n and -p, -n and --memory, --memory and -p, or --need"
                .to_owned(),
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
            print(&format!("{more} more: --all shows them; -n and -p rank them\n"))?;
        }
    }
    Ok(if variants.is_empty() { Outcome::None } else { Outcome::Some })
}
