//! `everbloom lab`: the surveys' figures and tables, tried.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use everbloom::internals::variant::Variant;
use everbloom_lab::passports::{filters, passport};
use everbloom_lab::{EXPERIMENTS, Effort, Experiment, Finding, Lab, Panel, SOURCES, Stamp};
use everbloom_report::{Page, Section, Table, csv, svg};
use serde_json::{Value, json};

use super::print_list;
use crate::args::{LabHow, LabPassports, LabReport, LabRun, LabVerb, Listing};
use crate::output::{print, print_json};
use crate::progress;
use crate::report::{groups, passport as pages};
use crate::talk::say;
use crate::{Outcome, Result, Stop, suggest};

pub fn run(verb: &LabVerb) -> Result<Outcome> {
    match verb {
        LabVerb::List(listing) => list(listing),
        LabVerb::Run(args) => run_named(args),
        LabVerb::Report(args) => report(args),
        LabVerb::Passports(args) => passports(args),
    }
}

fn list(listing: &Listing) -> Result<Outcome> {
    let entry = |e: &&Experiment| json!({ "name": e.name, "source": e.source, "title": e.title, "shows": e.shows });
    let entries = EXPERIMENTS.iter().map(entry).collect();
    let rows = EXPERIMENTS.iter().map(|e| [e.name, e.source, e.title]);
    let table = Table::new(3, ["name", "source", "title"]).rows(rows);
    // Those on a survey are named after it.
    let group = |name: &'static str| match name.split_once('-') {
        Some((survey @ ("s0" | "s1" | "s2" | "s3" | "s4"), _)) => survey,
        _ => "structures",
    };
    let names = groups::screen(EXPERIMENTS.iter().map(|e| (group(e.name), e.name)));
    let brief = format!(
        "{names}\n{} experiments; `everbloom lab run NAME` runs one, --all tells what they measure\n",
        EXPERIMENTS.len()
    );
    print_list(listing, &entries, table, &brief)
}

fn run_named(args: &LabRun) -> Result<Outcome> {
    let chosen: Vec<&'static Experiment> = if args.name == "all" {
        EXPERIMENTS.to_vec()
    } else {
        let found = EXPERIMENTS.iter().find(|e| e.name == args.name).ok_or_else(|| {
            let names: Vec<&str> = EXPERIMENTS.iter().map(|e| e.name).collect();
            let all = || format!("there are all, {}", names.join(", "));
            let instead = suggest::instead(&args.name, names.iter().copied(), all);
            Stop::Error(format!("{}: there is no such experiment; {instead}", args.name))
        })?;
        vec![found]
    };
    perform_all(chosen, "lab run", None, &args.how)
}

/// Runs experiments, writes their files and prints the scores.
pub(super) fn perform_all(
    experiments: Vec<&'static Experiment>,
    verb: &str,
    data: Option<&Path>,
    how: &LabHow,
) -> Result<Outcome> {
    prepare(how)?;
    let run = |experiment| perform(experiment, verb, data, how);
    let findings = experiments.into_iter().map(run).collect::<Result<Vec<_>>>()?;
    conclude(&findings, how)
}

fn report(args: &LabReport) -> Result<Outcome> {
    let evidence = Collection {
        title: "Evidence",
        about: "What the surveys say, tried with the library's own filters.",
        each: "experiments",
        verb: "lab",
        experiments: EXPERIMENTS.to_vec(),
    };
    evidence.report(&args.how)
}

/// Experiments that share a page.
pub(super) struct Collection {
    pub title: &'static str,
    pub about: &'static str,
    pub each: &'static str,
    /// `everbloom VERB run NAME` runs one, `everbloom VERB report` all.
    pub verb: &'static str,
    pub experiments: Vec<&'static Experiment>,
}

impl Collection {
    /// Runs what an earlier run with the same effort and seed has not, and writes the page.
    pub(super) fn report(&self, how: &LabHow) -> Result<Outcome> {
        prepare(how)?;
        let mut findings = Vec::new();
        for experiment in &self.experiments {
            findings.push(match found(experiment, how)? {
                Some(finding) => finding,
                None => perform(experiment, &self.run(), None, how)?,
            });
        }
        let page = self.page(&findings, how);
        write(&how.output.join("index.html"), &page.html())?;
        write(&how.output.join("README.md"), &page.markdown())?;
        say!("{}: index.html and README.md written", how.output.display());
        conclude(&findings, how)
    }

    fn run(&self) -> String {
        format!("{} run", self.verb)
    }

    /// All findings on one page.
    fn page<'a>(&self, findings: &'a [Finding], how: &LabHow) -> Page<'a> {
        let scores = findings.iter().map(|finding| finding.report.score());
        let (passed, verdicts) = scores.fold((0, 0), |(p, v), score| (p + score.0, v + score.1));
        let (effort, seed, option) = (effort(how), how.seed, option(how));
        let sections = findings.iter().zip(&self.experiments);
        Page {
            title: self.title,
            intro: format!(
                "{} {} {}, {passed} of {verdicts} verdicts agree (effort {}, seed {seed:x}).",
                self.about,
                findings.len(),
                self.each,
                effort.name()
            ),
            command: format!("everbloom {} report{option} --seed {seed:x} -o DIR", self.verb),
            sources: &SOURCES,
            sections: sections.map(|(f, e)| section(f, e, &self.run())).collect(),
        }
    }
}

/// Measures every filter of the list, or one, and writes a page for each.
fn passports(args: &LabPassports) -> Result<Outcome> {
    let one = args.slug.as_deref().map(|slug| super::catalog::find(slug, slug)).transpose()?;
    if let Some(other) = one.filter(|one| filters().all(|v| v.id != one.id)) {
        let message = format!("{} is a {}, not a filter", other.slug, other.kind.name());
        return Err(Stop::Error(message));
    }
    prepare(&args.how)?;
    let mut findings = Vec::new();
    for variant in filters().filter(|v| one.is_none_or(|one| one.id == v.id)) {
        findings.push(measure(variant, &args.how)?);
    }
    if one.is_none() {
        let page = pages::index(&findings, &command(&args.how, ""));
        write(&args.how.output.join("README.md"), &page)?;
    }
    conclude(&findings, &args.how)
}

fn command(how: &LabHow, slug: &str) -> String {
    let space = if slug.is_empty() { "" } else { " " };
    format!("everbloom lab passports{space}{slug}{} --seed {:x} -o DIR", option(how), how.seed)
}

/// Measures one filter and writes its page, picture and data.
fn measure(variant: &'static Variant, how: &LabHow) -> Result<Finding> {
    let started = Instant::now();
    let lab = Lab::new(effort(how), how.seed, &|_, _| ());
    let report = passport(variant, &lab)?;
    let finding = Finding {
        experiment: variant.slug.to_owned(),
        source: variant.entry.to_owned(),
        stamp: Stamp::now(effort(how), how.seed),
        report,
    };
    let file = |end: &str| how.output.join(format!("{}.{end}", variant.slug));
    write(&file("md"), &pages::page(variant, &finding, &command(how, variant.slug)))?;
    write(&file("csv"), &csv(&finding.report))?;
    for panel in finding.report.panels.iter().filter(|panel| matches!(panel, Panel::Chart(_))) {
        write(&file("svg"), &svg::panel(panel))?;
    }
    let (passed, verdicts) = finding.report.score();
    let seconds = started.elapsed().as_secs_f64();
    say!("{}: {passed} of {verdicts} verdicts agree, {seconds:.1} s", variant.slug);
    Ok(finding)
}

/// The option that asks for the effort.
fn option(how: &LabHow) -> &'static str {
    match effort(how) {
        Effort::Quick => " --quick",
        Effort::Normal => "",
        Effort::Thorough => " --thorough",
    }
}

/// A section of a page; `verb` runs it again.
fn section<'a>(finding: &'a Finding, listed: &'static Experiment, verb: &str) -> Section<'a> {
    finding.section(listed, format!("everbloom {verb} {}", finding.experiment))
}

fn effort(how: &LabHow) -> Effort {
    match (how.quick, how.thorough) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Thorough,
        _ => Effort::Normal,
    }
}

/// Says how hard it will be tried, and makes the folder.
fn prepare(how: &LabHow) -> Result<()> {
    say!("effort {}, seed {:x}", effort(how).name(), how.seed);
    fs::create_dir_all(&how.output)
        .map_err(|e| Stop::Error(format!("cannot make the folder {}: {e}", how.output.display())))
}

/// What an earlier run with the same effort and seed left in the folder.
fn found(experiment: &Experiment, how: &LabHow) -> Result<Option<Finding>> {
    let path = how.output.join(format!("{}.json", experiment.name));
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => return Err(Stop::Error(format!("cannot read {}: {e}", path.display()))),
    };
    let finding: Finding = serde_json::from_str(&text).map_err(|e| {
        Stop::Error(format!("{} is not a result of the lab ({e}); remove it", path.display()))
    })?;
    let Stamp { effort: tried, seed, .. } = finding.stamp;
    if finding.stamp.is_older() {
        say!("{}: an older result, of other sources; run it again to renew it", path.display());
    }
    Ok((tried == effort(how) && seed == how.seed).then_some(finding))
}

/// Runs an experiment, on the user's `data` where there is some, and writes its files; `verb` runs it again.
fn perform(
    experiment: &'static Experiment,
    verb: &str,
    data: Option<&Path>,
    how: &LabHow,
) -> Result<Finding> {
    let started = Instant::now();
    let bar = progress::runs(experiment.name);
    let watch = |done: u64, planned: u64| {
        if let Some(bar) = &bar {
            bar.set_length(planned);
            bar.set_position(done);
        }
    };
    let lab = Lab::new(effort(how), how.seed, &watch).with_data(data);
    let report = experiment.report(&lab)?;
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    let finding = Finding::new(experiment, effort(how), how.seed, report);
    for (name, content) in files(&section(&finding, experiment, verb), &finding)? {
        write(&how.output.join(name), &content)?;
    }
    let (passed, verdicts) = finding.report.score();
    say!(
        "{}: {passed} of {verdicts} verdicts agree, {:.1} s",
        experiment.name,
        started.elapsed().as_secs_f64()
    );
    Ok(finding)
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

fn write(path: &Path, content: &str) -> Result<()> {
    fs::write(path, content)
        .map_err(|e| Stop::Error(format!("cannot write {}: {e}", path.display())))
}

/// Prints the scores; exit code 1 if a verdict disagrees.
fn conclude(findings: &[Finding], how: &LabHow) -> Result<Outcome> {
    let scores: Vec<(usize, usize)> = findings.iter().map(|f| f.report.score()).collect();
    let all_agree = scores.iter().all(|(passed, verdicts)| passed == verdicts);
    if how.machine.json {
        let rows: Vec<Value> = findings
            .iter()
            .zip(&scores)
            .map(|(f, (passed, verdicts))| {
                json!({ "name": f.experiment, "source": f.source, "passed": passed, "verdicts": verdicts })
            })
            .collect();
        let whole = json!({
            "effort": effort(how).name(), "seed": format!("{:x}", how.seed), "pass": all_agree,
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
    Ok(if all_agree { Outcome::Some } else { Outcome::None })
}
