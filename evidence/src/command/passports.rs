//! `passports`: every filter of the library, measured alike.

use std::time::Instant;

use everbloom::catalog::{VARIANTS, by_slug};
use everbloom::internals::variant::Variant;
use everbloom_lab::passports::{filters, page, passport};
use everbloom_lab::{Finding, Lab, Panel, Stamp};
use everbloom_report::{csv, suggest, svg};

use super::args::Passports;
use super::run::Bench;
use super::{Outcome, Result, Stop};

pub fn run(args: &Passports, quiet: bool) -> Result<Outcome> {
    let one = args.slug.as_deref().map(named).transpose()?;
    let bench = Bench::prepare(&args.how, quiet)?;
    let mut findings = Vec::new();
    for variant in filters().filter(|v| one.is_none_or(|one| one.id == v.id)) {
        findings.push(measure(variant, &bench)?);
    }
    if one.is_none() {
        bench.write("README.md", &page::index(&findings, &command("", &bench)))?;
    }
    bench.conclude(&findings)
}

/// The filter called `slug`.
fn named(slug: &str) -> Result<&'static Variant> {
    let Some(variant) = by_slug(slug) else {
        let slugs: Vec<_> = VARIANTS.iter().map(|v| v.slug).collect();
        let all = || format!("there are {}", slugs.join(", "));
        let instead = suggest::instead(slug, slugs.iter().copied(), all);
        return Err(Stop::Error(format!("{slug}: no such variant; {instead}")));
    };
    if filters().all(|v| v.id != variant.id) {
        let kind = variant.kind.name();
        return Err(Stop::Error(format!("{slug} is a {kind}, not a filter")));
    }
    Ok(variant)
}

fn command(slug: &str, bench: &Bench) -> String {
    let space = if slug.is_empty() { "" } else { " " };
    format!("everbloom-lab passports{space}{slug}{}", bench.options())
}

/// Measures one filter and writes its page, picture and data.
fn measure(variant: &'static Variant, bench: &Bench) -> Result<Finding> {
    let started = Instant::now();
    let lab = Lab::new(bench.effort, bench.how.seed, &|_, _| ());
    let report = passport(variant, &lab)?;
    let finding = Finding {
        experiment: variant.slug.to_owned(),
        source: variant.entry.to_owned(),
        stamp: Stamp::now(bench.effort, bench.how.seed),
        report,
    };
    let write = |end: &str, content: &str| bench.write(&format!("{}.{end}", variant.slug), content);
    write("md", &page::page(variant, &finding, &command(variant.slug, bench)))?;
    write("csv", &csv(&finding.report))?;
    for panel in finding.report.panels.iter().filter(|panel| matches!(panel, Panel::Chart(_))) {
        write("svg", &svg::panel(panel))?;
    }
    bench.say_score(&finding, started.elapsed());
    Ok(finding)
}
