//! Errors in S3's prose that running code can show, besides those of its equations and tables.

mod numbers;
mod rates;

use everbloom::Result;

use crate::{Axis, Bound, Experiment, Grade, Lab, Report, Rows, Said};

pub static EXPERIMENT: Experiment = Experiment {
    name: "s3-errata",
    source: "S3 §IV-D, §IV-E, §V-A, §V-C, §VI-A, §VI-B, §VII-C, §VIII-A",
    title: "What S3's prose gets wrong, by measurement",
    shows: "Each row is what a filter does; the list of errors says what S3's sentence would have it do.",
    run,
};

/// One error: the sentence, the number that follows from it, and what is true and was seen.
struct Finding {
    place: &'static str,
    grade: Grade,
    label: &'static str,
    says: &'static str,
    truth: &'static str,
    said: Said,
    predicted: f64,
    measured: f64,
    bound: Bound,
}

fn run(lab: &Lab) -> Result<Report> {
    let shares = [
        rates::fingerprints(lab)?,
        rates::less_hashing(lab),
        rates::compressed(lab)?,
        rates::layers(lab)?,
        rates::distance(lab)?,
    ];
    let numbers = [
        numbers::primes()?,
        numbers::variable_increment(),
        numbers::compaction(lab),
        numbers::spectral(lab)?,
        numbers::load_balanced(lab)?,
    ];
    let mut report = Report::default();
    for (id, title, axis, findings) in [
        ("a", "Rates and shares, as they are", Axis::linear("share"), &shares[..]),
        ("b", "Numbers, as they are", Axis::log("number"), &numbers[..]),
    ] {
        let mut rows = Rows::new(id, title, axis);
        if id == "a" {
            let exact = Bound::exactly(0.0, 0.0);
            rows.row("EGH: wrong answers with 34 primes", 0.0, numbers::zone(lab)?, exact);
        }
        for f in findings {
            rows.row(f.label, f.predicted, f.measured, f.bound);
            let numbers = [f.predicted, f.measured];
            let texts = [f.says, f.truth];
            report = report.graded(f.grade, f.place, texts, f.said, numbers, f.bound);
        }
        report = report.rows(rows);
    }
    Ok(report.note(
        "Errors of the equations stand with them (s3-eq1, s3-eq5, s3-eq6, s3-table3), those of Table IV \
         with s3-table4. Not shown: misprints that no number follows from.",
    ))
}
