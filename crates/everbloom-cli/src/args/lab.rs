//! The lab.

use std::path::PathBuf;

use clap::Subcommand;

use super::shared::{Listing, Machine};
use crate::quantity;

#[derive(clap::Args)]
pub struct Lab {
    #[command(subcommand)]
    pub verb: LabVerb,
}

#[derive(Subcommand)]
pub enum LabVerb {
    /// Name every experiment and its source.
    List(Listing),
    /// Run one experiment, or all: writes CSV, SVG and JSON for each.
    Run(LabRun),
    /// Make one page of all experiments; those that DIR does not hold yet are run first.
    Report(LabReport),
    /// Measure every filter of the list, or one: writes a page with a picture, and CSV, for each.
    Passports(LabPassports),
}

/// Example:
///   everbloom lab run s0-fig3 --quick -o /tmp/lab
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct LabRun {
    /// The experiment (see `everbloom lab list`), or `all`.
    pub name: String,
    #[command(flatten)]
    pub how: LabHow,
}

/// Example:
///   everbloom lab report --quick -o /tmp/lab
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct LabReport {
    #[command(flatten)]
    pub how: LabHow,
}

/// Example:
///   everbloom lab passports bloom --quick -o /tmp/passports
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct LabPassports {
    /// The variant (see `everbloom catalog`); all filters without it.
    pub slug: Option<String>,
    #[command(flatten)]
    pub how: LabHow,
}

#[derive(clap::Args)]
pub struct LabHow {
    /// A quarter of the trials: all experiments within three minutes.
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,
    /// Four times the trials.
    #[arg(long)]
    pub thorough: bool,
    /// Seed that all others derive from, in hex.
    #[arg(long, value_name = "HEX", value_parser = quantity::seed, default_value = "1")]
    pub seed: u64,
    /// Folder for the results; it is made if it is not there.
    #[arg(short, long, value_name = "DIR", default_value = "everbloom-lab")]
    pub output: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}
