//! `everbloom app`: what filters are used for, each beside its exact twin.

use everbloom_apps::{APPLICATIONS, Application, Form, by_name};
use everbloom_report::Table;
use everbloom_report::terminal::wrapped;
use serde_json::{Value, json};

use super::lab::{Collection, conclude, perform, prepare};
use crate::args::{AppReport, AppRun, AppShow, AppVerb, Listing};
use crate::output::{print, print_json};
use crate::report::groups;
use crate::{Outcome, Result, Stop, suggest};

pub fn run(verb: &AppVerb) -> Result<Outcome> {
    match verb {
        AppVerb::List(listing) => list(listing),
        AppVerb::Show(args) => show(args),
        AppVerb::Run(args) => run_named(args),
        AppVerb::Report(args) => report(args),
    }
}

fn list(listing: &Listing) -> Result<Outcome> {
    if listing.machine.json {
        print_json(&Value::Array(APPLICATIONS.iter().map(|a| entry(a)).collect()))?;
    } else if !listing.all {
        let names = groups::screen(APPLICATIONS.iter().map(|a| (a.form.name(), a.slug())));
        print(&format!(
            "{names}\n{} applications; `everbloom app show NAME` tells of one, --all what they do\n",
            APPLICATIONS.len()
        ))?;
    } else {
        let row = |a: &&Application| [a.entry, a.slug(), a.form.name(), a.experiment.title];
        print(
            &Table::new(4, ["entry", "name", "form", "what"])
                .rows(APPLICATIONS.iter().map(row))
                .terminal(),
        )?;
    }
    Ok(Outcome::Some)
}

/// An application as JSON.
fn entry(application: &Application) -> Value {
    let Application { entry, form, uses, oracle, data, experiment } = application;
    let verb = match form {
        Form::Tool { verb } => Some(verb),
        Form::Component | Form::Simulation => None,
    };
    json!({
        "slug": application.slug(), "entry": entry, "form": form.name(), "verb": verb, "uses": uses,
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
        Form::Tool { verb } => format!("the verb `everbloom {verb}`"),
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
    let chosen: Vec<&'static Application> = match &args.name {
        Some(name) => vec![named(name)?],
        None => APPLICATIONS.to_vec(),
    };
    prepare(&args.how)?;
    let mut findings = Vec::new();
    for application in chosen {
        findings.push(perform(
            &application.experiment,
            "app run",
            args.data.as_deref(),
            &args.how,
        )?);
    }
    conclude(&findings, &args.how)
}

fn report(args: &AppReport) -> Result<Outcome> {
    let applications = Collection {
        title: "Applications",
        about: "What filters are used for, each run beside its exact twin; every number of its source is a verdict.",
        each: "applications",
        verb: "app",
        experiments: APPLICATIONS.iter().map(|a| &a.experiment).collect(),
    };
    applications.report(&args.how)
}
