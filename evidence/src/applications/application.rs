//! What a line of the list says.

use crate::Experiment;

/// One use of Bloom filters.
pub struct Application {
    /// The catalogue's entry, such as `A13`.
    pub entry: &'static str,
    /// How a person meets it.
    pub form: Form,
    /// The variants it is made of, by slug.
    pub uses: &'static [&'static str],
    /// The exact twin that every answer is compared with.
    pub oracle: &'static str,
    /// What it runs on: what is generated, and what `--data` takes where it takes something.
    pub data: &'static str,
    /// Its name, its source, and the run whose verdicts judge it.
    pub experiment: Experiment,
}

/// How a person meets an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A verb of the command line, with the options that choose this use of it.
    Tool(&'static str),
    /// A public type of this crate.
    Component,
    /// A run on the simulator.
    Simulation,
}

impl Form {
    /// The name in lists.
    pub fn name(self) -> &'static str {
        match self {
            Form::Tool(_) => "tool",
            Form::Component => "component",
            Form::Simulation => "simulation",
        }
    }

    /// What is typed after `everbloom` for a tool.
    pub fn verb(self) -> Option<&'static str> {
        match self {
            Form::Tool(verb) => Some(verb),
            Form::Component | Form::Simulation => None,
        }
    }
}

impl Application {
    /// Its name on the command line and in file names.
    pub fn slug(&self) -> &'static str {
        self.experiment.name
    }
}
