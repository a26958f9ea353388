//! Every experiment of the list, at quick effort: all verdicts agree, and the list is in order.

use std::collections::HashSet;

use everbloom_lab::{EXPERIMENTS, Effort, Lab, Panel};

#[test]
fn every_verdict_agrees() {
    let mut wrong = Vec::new();
    for experiment in EXPERIMENTS {
        let lab = Lab::new(Effort::Quick, 1, &|_, _| ());
        let report = (experiment.run)(&lab).expect(experiment.name);
        let (passed, verdicts) = report.score();
        assert!(verdicts > 0, "{} judges nothing", experiment.name);
        if passed < verdicts {
            wrong.push(format!("{}: {passed} of {verdicts}", experiment.name));
        }
        let ids: HashSet<&str> = report.panels.iter().map(Panel::id).collect();
        assert_eq!(ids.len(), report.panels.len(), "{}: panels share an id", experiment.name);
    }
    assert!(wrong.is_empty(), "everbloom lab run NAME --quick tells more: {wrong:#?}");
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
