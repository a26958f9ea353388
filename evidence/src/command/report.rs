//! `report`: one page of all experiments, or of all applications.

use std::{fs, io};

use everbloom_lab::{APPLICATIONS, EXPERIMENTS, Experiment, Finding, SOURCES, Stamp};
use everbloom_report::Page;

use super::args::{Report, Topic};
use super::run::{Bench, section};
use super::{Outcome, Result, Stop};

pub fn run(args: &Report, quiet: bool) -> Result<Outcome> {
    let bench = Bench::prepare(&args.how, quiet)?;
    let collection = Collection::of(args.what);
    let mut findings = Vec::new();
    for experiment in &collection.experiments {
        findings.push(match found(experiment, &bench)? {
            Some(finding) => finding,
            None => bench.perform(experiment, None)?,
        });
    }
    let page = collection.page(&findings, &bench);
    bench.write("index.html", &page.html())?;
    bench.write("README.md", &page.markdown())?;
    let folder = args.how.output.display();
    bench.say(format_args!("{folder}: index.html and README.md written"));
    bench.conclude(&findings)
}

/// Experiments that share a page.
struct Collection {
    title: &'static str,
    about: &'static str,
    /// How they are called together, here and on the command line.
    each: &'static str,
    experiments: Vec<&'static Experiment>,
}

impl Collection {
    fn of(topic: Topic) -> Self {
        match topic {
            Topic::Experiments => Self {
                title: "Evidence",
                about: "What the surveys say, tried with the library's own filters.",
                each: "experiments",
                experiments: EXPERIMENTS.to_vec(),
            },
            Topic::Applications => Self {
                title: "Applications",
                about: "What filters are used for, each run beside its exact twin; every number of its source is a verdict.",
                each: "applications",
                experiments: APPLICATIONS.iter().map(|a| &a.experiment).collect(),
            },
        }
    }

    /// All findings on one page.
    fn page<'a>(&self, findings: &'a [Finding], bench: &Bench) -> Page<'a> {
        let scores = findings.iter().map(|finding| finding.report.score());
        let (passed, verdicts) = scores.fold((0, 0), |(p, v), score| (p + score.0, v + score.1));
        let sections = findings.iter().zip(&self.experiments);
        Page {
            title: self.title,
            intro: format!(
                "{} {} {}, {passed} of {verdicts} verdicts agree (effort {}, seed {:x}).",
                self.about,
                findings.len(),
                self.each,
                bench.effort.name(),
                bench.how.seed
            ),
            command: format!(
                "cargo run --release -p everbloom-lab -- report {}{}",
                self.each,
                bench.options()
            ),
            sources: &SOURCES,
            sections: sections.map(|(finding, listed)| section(finding, listed)).collect(),
        }
    }
}

/// What an earlier run with the same effort and seed left in the folder.
fn found(experiment: &Experiment, bench: &Bench) -> Result<Option<Finding>> {
    let path = bench.how.output.join(format!("{}.json", experiment.name));
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Stop::Error(format!("cannot read {}: {e}", path.display()))),
    };
    let finding: Finding = serde_json::from_str(&text).map_err(|e| {
        Stop::Error(format!("{} is not a result of the lab ({e}); remove it", path.display()))
    })?;
    let Stamp { effort, seed, .. } = finding.stamp;
    if finding.stamp.is_older() {
        let path = path.display();
        bench.say(format_args!(
            "{path}: an older result, of other sources; run it again to renew it"
        ));
    }
    Ok((effort == bench.effort && seed == bench.how.seed).then_some(finding))
}
