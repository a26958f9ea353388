//! Every experiment of the list, at quick effort: all verdicts agree, and the list is in order.

use std::collections::HashSet;

use everbloom_lab::{EXPERIMENTS, Effort, Experiment, Lab, Panel, Report};

/// Every experiment, or the one that EVERBLOOM_ONLY names.
fn chosen() -> impl Iterator<Item = &'static Experiment> {
    let only = std::env::var("EVERBLOOM_ONLY").ok();
    EXPERIMENTS.iter().copied().filter(move |e| only.as_ref().is_none_or(|name| e.name == name))
}

#[test]
fn every_verdict_agrees() {
    let mut wrong = Vec::new();
    for experiment in chosen() {
        let lab = Lab::new(Effort::Quick, 1, &|_, _| ());
        let report = experiment.report(&lab).expect(experiment.name);
        let lines = report.lines();
        assert!(!lines.is_empty(), "{} judges nothing", experiment.name);
        let red = lines.iter().filter(|line| !line.verdict.pass);
        wrong.extend(red.map(|line| format!("{} {}", experiment.name, line.complaint())));
        let ids: HashSet<&str> = report.panels.iter().map(Panel::id).collect();
        assert_eq!(ids.len(), report.panels.len(), "{}: panels share an id", experiment.name);
        assert_judged(experiment, &report);
    }
    assert!(wrong.is_empty(), "{} verdicts disagree:\n{}", wrong.len(), wrong.join("\n"));
}

/// No curve is only drawn: each has a verdict of its own, besides those of its points.
fn assert_judged(experiment: &Experiment, report: &Report) {
    for panel in &report.panels {
        let Panel::Chart(chart) = panel else { continue };
        for series in chart.series.iter().filter(|series| !series.curve.is_empty()) {
            let what = format!("{}, {}: {}", experiment.name, chart.title, series.name);
            assert!(!series.claims.is_empty(), "{what}: drawn but not judged");
        }
    }
}

#[test]
fn names_are_unique_and_fit_file_names() {
    let names: HashSet<&str> = EXPERIMENTS.iter().map(|e| e.name).collect();
    assert_eq!(names.len(), EXPERIMENTS.len());
    for experiment in EXPERIMENTS {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(experiment.name.chars().all(plain) && experiment.name != "all");
        assert!(experiment.source.starts_with('S'), "{}: which document?", experiment.name);
        assert!(!experiment.title.is_empty() && !experiment.shows.is_empty());
    }
}
