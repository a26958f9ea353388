//! The work, a file per verb or per group of verbs that are alike.

mod ask;
mod attribute;
mod bench;
mod breach;
mod build;
mod catalog;
mod change;
mod check;
mod combine;
mod dedupe;
mod demo;
mod diff;
mod explain;
mod foreign;
mod info;
mod join;
mod kmer;
mod known;
mod line;
mod link;
mod mergeable;
mod pairs;
mod plan;
mod published;
mod reshape;
mod revoked;
mod sample;
mod secure;
mod selective;
mod shell;
mod similar;
mod sketch;
mod spell;
mod sync;
mod top;
mod tour;

use std::path::{Path, PathBuf};

use everbloom::internals::filter::Filter;

use crate::args::{Args, Verb};
use crate::output::print;
use crate::{Outcome, Result};
use crate::{examples, input};

/// Does what was asked.
pub fn run(args: Args) -> Result<Outcome> {
    let Some(verb) = args.verb else {
        print(&format!("{}\n", examples::all()))?;
        return Ok(Outcome::Some);
    };
    match verb {
        Verb::Plan(args) => plan::run(&args),
        Verb::Build(args) => build::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Info(args) => info::run(&args),
        Verb::Add(args) => change::add(&args),
        Verb::Remove(args) => change::remove(&args),
        Verb::Count(args) => ask::count(&args),
        Verb::List(args) => ask::list(&args),
        Verb::Get(args) => ask::get(&args),
        Verb::Age(args) => change::age(&args),
        Verb::Scrub(args) => change::scrub(&args),
        Verb::Sample(args) => sample::run(&args),
        Verb::Merge(args) => combine::merge(&args),
        Verb::Intersect(args) => combine::intersect(&args),
        Verb::Fold(args) => combine::fold(&args),
        Verb::Reshape(args) => reshape::run(&args),
        Verb::Estimate(args) => combine::estimate(&args),
        Verb::Dedupe(args) => dedupe::run(&args),
        Verb::Diff(args) => diff::run(&args),
        Verb::Sketch(args) => sketch::run(&args),
        Verb::Sync(args) => sync::run(&args),
        Verb::Join(args) => join::run(&args),
        Verb::Top(args) => top::run(&args),
        Verb::Kmer(args) => kmer::run(&args.verb),
        Verb::Similar(args) => similar::run(&args),
        Verb::Known(args) => known::run(&args),
        Verb::Attribute(args) => attribute::run(&args.verb),
        Verb::Link(args) => link::run(&args),
        Verb::Spell(args) => spell::run(&args),
        Verb::Breach(args) => breach::run(&args.verb),
        Verb::Revoked(args) => revoked::run(&args.verb),
        Verb::Publish(args) => published::publish(&args),
        Verb::Follow(args) => published::follow(&args),
        Verb::Secure(args) => secure::run(&args.verb),
        Verb::Explain(args) => explain::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Catalog(args) => catalog::run(&args),
        Verb::Formats(args) => foreign::formats(&args),
        Verb::Import(args) => foreign::import(&args),
        Verb::Export(args) => foreign::export(&args),
        Verb::Demo(args) => demo::run(&args),
        Verb::Tour => tour::run(),
        Verb::Completions { shell } => shell::completions(shell),
        Verb::Man(args) => shell::man(&args),
    }
}

/// The filter at `path`, to be changed or asked.
fn opened(path: &Path, key_file: &Option<PathBuf>) -> Result<Box<dyn Filter>> {
    Ok(input::opener(key_file)?.open(input::filter_file(path)?)?)
}
