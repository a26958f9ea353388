//! `run`: what is chosen, run and written, and its scores.

use std::fs;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

use everbloom_lab::{Effort, Experiment, Finding, Lab};
use everbloom_report::{Section, Table, csv, svg};
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::args::{How, Run};
use super::entry::Entry;
use super::{Outcome, Result, Stop, print, print_json};

pub fn run(args: &Run, quiet: bool) -> Result<Outcome> {
    let chosen: Vec<Entry> = if args.all {
        Entry::all().collect()
    } else {
        args.names.iter().map(|name| Entry::named(name)).collect::<Result<_>>()?
    };
    if args.data.is_some() && !matches!(chosen[..], [Entry::Application(_)]) {
        return Err(Stop::Error("--data is for one application".to_owned()));
    }
    let bench = Bench::prepare(&args.how, quiet)?;
    let run = |entry: Entry| bench.perform(entry.experiment(), args.data.as_deref());
    let findings = chosen.into_iter().map(run).collect::<Result<Vec<_>>>()?;
    bench.conclude(&findings)
}

/// Where experiments are run: how hard they are tried, where their files go, and whether anybody is told.
pub struct Bench<'a> {
    pub how: &'a How,
    pub effort: Effort,
    quiet: bool,
}

impl<'a> Bench<'a> {
    /// Says how hard it will be tried, and makes the folder.
    pub fn prepare(how: &'a How, quiet: bool) -> Result<Self> {
        let effort = match (how.quick, how.thorough) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Thorough,
            _ => Effort::Normal,
        };
        let bench = Self { how, effort, quiet };
        bench.say(format_args!("effort {}, seed {:x}", effort.name(), how.seed));
        fs::create_dir_all(&how.output).map_err(|e| {
            Stop::Error(format!("cannot make the folder {}: {e}", how.output.display()))
        })?;
        Ok(bench)
    }

    /// The options that ask for the same again.
    pub fn options(&self) -> String {
        let effort = match self.effort {
            Effort::Quick => " --quick",
            Effort::Normal => "",
            Effort::Thorough => " --thorough",
        };
        format!("{effort} --seed {:x} -o DIR", self.how.seed)
    }

    /// Says it on stderr, unless that is silenced. Whether anybody reads it changes nothing.
    pub fn say(&self, text: std::fmt::Arguments<'_>) {
        if !self.quiet {
            let _ = writeln!(io::stderr(), "{text}");
        }
    }

    /// Says what was found, and how long it took.
    pub fn say_score(&self, finding: &Finding, time: Duration) {
        let (passed, verdicts) = finding.report.score();
        let (name, seconds) = (&finding.experiment, time.as_secs_f64());
        self.say(format_args!("{name}: {passed} of {verdicts} verdicts agree, {seconds:.1} s"));
    }

    /// Runs an experiment, on the user's `data` where there is some, and writes its files.
    pub fn perform(&self, experiment: &'static Experiment, data: Option<&Path>) -> Result<Finding> {
        let started = Instant::now();
        let bar = self.bar(experiment.name);
        let watch = |done: u64, planned: u64| {
            if let Some(bar) = &bar {
                bar.set_length(planned);
                bar.set_position(done);
            }
        };
        let lab = Lab::new(self.effort, self.how.seed, &watch).with_data(data);
        let report = experiment.report(&lab)?;
        if let Some(bar) = &bar {
            bar.finish_and_clear();
        }
        let finding = Finding::new(experiment, self.effort, self.how.seed, report);
        for (name, content) in files(&section(&finding, experiment), &finding)? {
            self.write(&name, &content)?;
        }
        self.say_score(&finding, started.elapsed());
        Ok(finding)
    }

    /// A bar that counts runs, of a number that grows as they are planned; none where nobody watches.
    fn bar(&self, name: &'static str) -> Option<ProgressBar> {
        let watched = !self.quiet && io::stderr().is_terminal();
        let template = "{msg} {wide_bar} {pos} of {len} runs, {eta} left";
        let style = || {
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
        };
        watched.then(|| ProgressBar::new(0).with_style(style()).with_message(name))
    }

    /// Writes a file of the folder.
    pub fn write(&self, name: &str, content: &str) -> Result<()> {
        let path = self.how.output.join(name);
        fs::write(&path, content)
            .map_err(|e| Stop::Error(format!("cannot write {}: {e}", path.display())))
    }

    /// Prints the scores, and the verdicts that disagree.
    pub fn conclude(&self, findings: &[Finding]) -> Result<Outcome> {
        let scores: Vec<(usize, usize)> = findings.iter().map(|f| f.report.score()).collect();
        let all_agree = scores.iter().all(|(passed, verdicts)| passed == verdicts);
        if self.how.machine.json {
            let rows: Vec<Value> = findings
                .iter()
                .zip(&scores)
                .map(|(f, (passed, verdicts))| {
                    json!({ "name": f.experiment, "source": f.source, "passed": passed, "verdicts": verdicts })
                })
                .collect();
            let whole = json!({
                "effort": self.effort.name(), "seed": format!("{:x}", self.how.seed), "pass": all_agree,
                "experiments": rows,
            });
            print_json(&whole)?;
        } else {
            let row = |(f, (passed, verdicts)): (&Finding, &(usize, usize))| {
                [f.experiment.clone(), f.source.clone(), passed.to_string(), verdicts.to_string()]
            };
            let rows = findings.iter().zip(&scores).map(row);
            let header = ["experiment", "source", "agree", "verdicts"];
            print(&Table::new(2, header).rows(rows).terminal())?;
            for finding in findings {
                for line in finding.report.lines().iter().filter(|line| !line.verdict.pass) {
                    print(&format!("{} {}\n", finding.experiment, line.complaint()))?;
                }
            }
        }
        Ok(if all_agree { Outcome::Agrees } else { Outcome::Disagrees })
    }
}

/// A section of a page.
pub fn section<'a>(finding: &'a Finding, listed: &'static Experiment) -> Section<'a> {
    finding.section(listed, format!("everbloom-lab run {}", finding.experiment))
}

/// The files of one experiment: names and contents.
fn files(section: &Section, finding: &Finding) -> Result<Vec<(String, String)>> {
    let json = serde_json::to_string_pretty(finding)
        .map_err(|e| Stop::Error(format!("cannot write the result as JSON: {e}")))?;
    let mut files = vec![
        (format!("{}.csv", finding.experiment), csv(&finding.report)),
        (format!("{}.json", finding.experiment), json + "\n"),
    ];
    files.extend(section.pictures().map(|(name, panel)| (name, svg::panel(panel))));
    Ok(files)
}
