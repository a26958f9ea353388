//! `everbloom app`: what filters are used for, each beside its exact twin.

use everbloom_apps::{APPLICATIONS, Application, Form, by_name};
use everbloom_lab::Experiment;
use everbloom_report::Table;
use everbloom_report::terminal::wrapped;
use serde_json::{Value, json};

use super::lab::{Collection, perform_all};
use super::print_list;
use crate::args::{AppReport, AppRun, AppShow, AppVerb, Listing};
use crate::output::{print, print_json};
use crate::report::groups;
use crate::{Outcome, Result, Stop, suggest};

/// What is typed after `everbloom` for the applications that are tools.
const TOOLS: &[(&str, &str)] = &[
    ("spell", "spell"),
    ("breach", "breach"),
    ("bloomjoin", "join --estimate"),
    ("cache-digests", "publish"),
    ("approximate", "sync --approximate"),
    ("posting-lists", "join --keys"),
    ("heavy-flows", "top --at-least"),
    ("iceberg", "top"),
    ("attribute", "attribute"),
    ("duplicate-clicks", "dedupe --window"),
    ("revoked", "revoked"),
    ("similar", "similar"),
    ("link", "link"),
    ("known", "known"),
    ("friends", "sync --approximate=260B"),
    ("annotations", "follow"),
    ("flow-counters", "top --exact"),
    ("global-iceberg", "top --exact --merge"),
    ("kmer", "kmer"),
];

/// The verb of a tool, with the options that choose this use of it.
fn verb(application: &Application) -> Option<&'static str> {
    TOOLS.iter().find(|(slug, _)| *slug == application.slug()).map(|(_, verb)| *verb)
}

pub fn run(verb: &AppVerb) -> Result<Outcome> {
    match verb {
        AppVerb::List(listing) => list(listing),
        AppVerb::Show(args) => show(args),
        AppVerb::Run(args) => run_named(args),
        AppVerb::Report(args) => report(args),
    }
}

fn list(listing: &Listing) -> Result<Outcome> {
    let entries = APPLICATIONS.iter().map(|a| entry(a)).collect();
    let row = |a: &&Application| [a.entry, a.slug(), a.form.name(), a.experiment.title];
    let table = Table::new(4, ["entry", "name", "form", "what"]);
    let names = groups::screen(APPLICATIONS.iter().map(|a| (a.form.name(), a.slug())));
    let brief = format!(
        "{names}\n{} applications; `everbloom app show NAME` tells of one, --all what they do\n",
        APPLICATIONS.len()
    );
    print_list(listing, &entries, table.rows(APPLICATIONS.iter().map(row)), &brief)
}

/// An application as JSON.
fn entry(application: &Application) -> Value {
    let Application { entry, form, uses, oracle, data, experiment } = application;
    json!({
        "slug": application.slug(), "entry": entry, "form": form.name(), "verb": verb(application), "uses": uses,
        "title": experiment.title, "source": experiment.source, "shows": experiment.shows,
        "oracle": oracle, "data": data,
    })
}

fn named(name: &str) -> Result<&'static Application> {
    by_name(name).ok_or_else(|| {
        let all = || "`everbloom app list` names them all".to_owned();
        let instead = suggest::instead(name, APPLICATIONS.iter().map(|a| a.slug()), all);
        Stop::Error(format!("{name}: there is no such application; {instead}"))
    })
}

fn show(args: &AppShow) -> Result<Outcome> {
    let application = named(&args.name)?;
    if args.machine.json {
        print_json(&entry(application))?;
        return Ok(Outcome::Some);
    }
    let used = match application.form {
        Form::Tool => format!("the verb `everbloom {}`", verb(application).unwrap_or_default()),
        Form::Component => "a type of the crate everbloom-apps".to_owned(),
        Form::Simulation => format!("`everbloom app run {}`", application.slug()),
    };
    let lines = [
        ("entry", application.entry.to_owned()),
        ("source", application.experiment.source.to_owned()),
        ("form", format!("{}: {used}", application.form.name())),
        ("variants", application.uses.join(", ")),
        ("compared with", application.oracle.to_owned()),
        ("data", application.data.to_owned()),
    ];
    let line = |(name, text): (&str, String)| format!("{name:<14} {}\n", wrapped(&text, 15));
    let facts = lines.map(line).concat();
    let (title, shows) = (application.experiment.title, application.experiment.shows);
    print(&format!("{title}\n\n{}\n\n{facts}", wrapped(shows, 0)))?;
    Ok(Outcome::Some)
}

fn run_named(args: &AppRun) -> Result<Outcome> {
    let chosen = match &args.name {
        Some(name) => vec![&named(name)?.experiment],
        None => experiments(),
    };
    perform_all(chosen, "app run", args.data.as_deref(), &args.how)
}

fn experiments() -> Vec<&'static Experiment> {
    APPLICATIONS.iter().map(|a| &a.experiment).collect()
}

fn report(args: &AppReport) -> Result<Outcome> {
    let applications = Collection {
        title: "Applications",
        about: "What filters are used for, each run beside its exact twin; every number of its source is a verdict.",
        each: "applications",
        verb: "app",
        experiments: experiments(),
    };
    applications.report(&args.how)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Args;

    #[test]
    fn every_tool_is_a_verb_with_the_options_that_it_names() {
        let tools = APPLICATIONS.iter().filter(|a| a.form == Form::Tool).map(|a| a.slug());
        let named = TOOLS.iter().map(|(slug, _)| *slug);
        assert_eq!(tools.collect::<BTreeSet<_>>(), named.collect());
        let command = Args::command();
        for (slug, verb) in TOOLS {
            let mut words = verb.split(' ');
            let found = words.next().and_then(|name| command.find_subcommand(name));
            let found = found.unwrap_or_else(|| panic!("{slug}: no verb {verb}"));
            let flags: Vec<&str> = found.get_arguments().filter_map(|a| a.get_long()).collect();
            for word in words {
                let flag = word.trim_start_matches("--").split('=').next().unwrap_or_default();
                assert!(flags.contains(&flag), "{slug}: {verb}");
            }
        }
    }
}
