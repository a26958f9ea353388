//! Everything that can be run, in one list.

use everbloom_lab::{APPLICATIONS, Application, EXPERIMENTS, Experiment};
use everbloom_report::suggest;
use serde_json::{Value, json};

use super::{Result, Stop};

/// Something that can be run by its name.
#[derive(Clone, Copy)]
pub enum Entry {
    Experiment(&'static Experiment),
    Application(&'static Application),
}

impl Entry {
    /// All of them: the experiments, then the applications.
    pub fn all() -> impl Iterator<Item = Entry> {
        let experiments = EXPERIMENTS.iter().map(|experiment| Entry::Experiment(experiment));
        experiments.chain(APPLICATIONS.iter().map(|application| Entry::Application(application)))
    }

    /// The one of this name.
    pub fn named(name: &str) -> Result<Entry> {
        Self::all().find(|entry| entry.experiment().name == name).ok_or_else(|| {
            let names = Self::all().map(|entry| entry.experiment().name);
            let all = || "`everbloom-lab list` names them all".to_owned();
            let instead = suggest::instead(name, names, all);
            Stop::Error(format!("{name}: there is no such experiment or application; {instead}"))
        })
    }

    /// What is run.
    pub fn experiment(self) -> &'static Experiment {
        match self {
            Entry::Experiment(experiment) => experiment,
            Entry::Application(application) => &application.experiment,
        }
    }

    /// The group that it is listed in: its survey, or how a person meets it.
    pub fn group(self) -> &'static str {
        match self {
            Entry::Application(application) => application.form.name(),
            Entry::Experiment(experiment) => match experiment.name.split_once('-') {
                Some((survey @ ("s0" | "s1" | "s2" | "s3" | "s4"), _)) => survey,
                _ => "structures",
            },
        }
    }

    /// What the list says of it, for programs.
    pub fn json(self) -> Value {
        let Experiment { name, source, title, shows, .. } = self.experiment();
        match self {
            Entry::Experiment(_) => {
                json!({ "name": name, "source": source, "title": title, "shows": shows })
            }
            Entry::Application(Application { entry, form, uses, oracle, data, .. }) => json!({
                "slug": name, "entry": entry, "form": form.name(), "verb": form.verb(), "uses": uses,
                "title": title, "source": source, "shows": shows, "oracle": oracle, "data": data,
            }),
        }
    }
}
