//! `list` and `show`: what there is to run.

use everbloom_lab::{APPLICATIONS, EXPERIMENTS, Form};
use everbloom_report::terminal::wrapped;
use everbloom_report::{Table, groups};
use serde_json::{Value, json};

use super::args::{List, Show};
use super::entry::Entry;
use super::{Outcome, Result, print, print_json};

pub fn list(args: &List) -> Result<Outcome> {
    let (experiments, applications): (Vec<Entry>, Vec<Entry>) =
        Entry::all().partition(|entry| matches!(entry, Entry::Experiment(_)));
    if args.machine.json {
        let rows = |entries: Vec<Entry>| entries.into_iter().map(Entry::json).collect::<Value>();
        let all = json!({ "experiments": rows(experiments), "applications": rows(applications) });
        print_json(&all)?;
    } else if args.all {
        let rows = EXPERIMENTS.iter().map(|e| [e.name, e.source, e.title]);
        print(&Table::new(3, ["name", "source", "title"]).rows(rows).terminal())?;
        let rows =
            APPLICATIONS.iter().map(|a| [a.entry, a.slug(), a.form.name(), a.experiment.title]);
        print(&Table::new(4, ["entry", "name", "form", "what"]).rows(rows).terminal())?;
    } else {
        let names = groups::screen(Entry::all().map(|e| (e.group(), e.experiment().name)));
        print(&format!(
            "{names}\n{} experiments, {} applications: --all lists their titles,\n`everbloom-lab show NAME` tells of one\n",
            EXPERIMENTS.len(),
            APPLICATIONS.len()
        ))?;
    }
    Ok(Outcome::Agrees)
}

pub fn show(args: &Show) -> Result<Outcome> {
    let entry = Entry::named(&args.name)?;
    if args.machine.json {
        print_json(&entry.json())?;
        return Ok(Outcome::Agrees);
    }
    let experiment = entry.experiment();
    let run = format!("`everbloom-lab run {}`", experiment.name);
    let source = experiment.source.to_owned();
    let facts = match entry {
        Entry::Experiment(_) => vec![("source", source), ("run", run)],
        Entry::Application(application) => {
            let used = match application.form {
                Form::Tool(verb) => format!("the verb `everbloom {verb}`"),
                Form::Component => "a type of the crate everbloom-lab".to_owned(),
                Form::Simulation => run,
            };
            vec![
                ("entry", application.entry.to_owned()),
                ("source", source),
                ("form", format!("{}: {used}", application.form.name())),
                ("variants", application.uses.join(", ")),
                ("compared with", application.oracle.to_owned()),
                ("data", application.data.to_owned()),
            ]
        }
    };
    let line = |(name, text): &(&str, String)| format!("{name:<14} {}\n", wrapped(text, 15));
    let facts: String = facts.iter().map(line).collect();
    print(&format!("{}\n\n{}\n\n{facts}", experiment.title, wrapped(experiment.shows, 0)))?;
    Ok(Outcome::Agrees)
}
