//! What every line of the list promises.

use std::collections::HashSet;

use everbloom::catalog;
use everbloom_lab::{APPLICATIONS, EXPERIMENTS, Effort, Lab, Panel};

#[test]
fn names_and_entries_are_unique_and_in_order() {
    // `run` takes the names of experiments, too.
    let experiments = EXPERIMENTS.iter().map(|e| e.name);
    let names: HashSet<&str> = APPLICATIONS.iter().map(|a| a.slug()).chain(experiments).collect();
    assert_eq!(names.len(), APPLICATIONS.len() + EXPERIMENTS.len());
    let numbers: Vec<u32> = APPLICATIONS
        .iter()
        .map(|a| {
            a.entry
                .strip_prefix('A')
                .and_then(|n| n.parse().ok())
                .unwrap_or_else(|| panic!("{}", a.slug()))
        })
        .collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    for application in APPLICATIONS {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(application.slug().chars().all(plain), "{}", application.slug());
        assert!(application.experiment.source.starts_with('S'), "{}", application.slug());
        let texts = [application.oracle, application.data, application.experiment.title];
        assert!(texts.iter().all(|text| !text.is_empty()), "{}", application.slug());
    }
}

#[test]
fn the_variants_they_use_exist() {
    for application in APPLICATIONS {
        for slug in application.uses {
            assert!(catalog::by_slug(slug).is_some(), "{}: no variant {slug}", application.slug());
        }
    }
}

/// `EVERBLOOM_ONLY=slug,…` runs some of them, `EVERBLOOM_SEED=…` all of them with another seed.
#[test]
fn every_verdict_agrees_beside_the_exact_twin() {
    let only = std::env::var("EVERBLOOM_ONLY").ok();
    let chosen = |slug: &str| only.as_ref().is_none_or(|o| o.split(',').any(|s| s == slug));
    let seed = std::env::var("EVERBLOOM_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut wrong = Vec::new();
    for application in APPLICATIONS.iter().filter(|a| chosen(a.slug())) {
        let lab = Lab::new(Effort::Quick, seed, &|_, _| ());
        let report = (application.experiment.run)(&lab)
            .unwrap_or_else(|e| panic!("{}: {e}", application.slug()));
        let ids: HashSet<&str> = report.panels.iter().map(Panel::id).collect();
        assert_eq!(ids.len(), report.panels.len(), "{}: panels share an id", application.slug());
        assert!(ids.contains("oracle"), "{} has no exact twin", application.slug());
        let beyond = report.lines().iter().filter(|line| line.panel != "oracle").count();
        assert!(beyond > 0, "{} judges no number of its source", application.slug());
        let lines = report.lines();
        let complaints = lines.iter().filter(|line| !line.verdict.pass);
        wrong.extend(complaints.map(|line| format!("{} {}", application.slug(), line.complaint())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
