//! The applications.

use std::path::PathBuf;

use clap::Subcommand;

use super::lab::LabHow;
use super::shared::{Listing, Machine};

#[derive(clap::Args)]
pub struct App {
    #[command(subcommand)]
    pub verb: AppVerb,
}

#[derive(Subcommand)]
pub enum AppVerb {
    /// Name every application, its form and the variants it uses.
    List(Listing),
    /// Tell of one: what it does, what it is compared with, how it is used.
    Show(AppShow),
    /// Run one, or all, beside its exact twin: writes CSV, SVG and JSON for each.
    Run(AppRun),
    /// Run all of them and write one page: index.html and README.md, with every figure and verdict.
    Report(AppReport),
}

/// Example:
///   everbloom app show longest-prefix
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct AppShow {
    /// The application (see `everbloom app list`).
    pub name: String,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom app run longest-prefix --quick -o /tmp/apps
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct AppRun {
    /// The application (see `everbloom app list`).
    #[arg(required_unless_present = "all")]
    pub name: Option<String>,
    /// Run all of them.
    #[arg(long, conflicts_with_all = ["name", "data"])]
    pub all: bool,
    /// Data of your own instead of what is generated; `app show` says what it takes.
    #[arg(long, value_name = "PATH")]
    pub data: Option<PathBuf>,
    #[command(flatten)]
    pub how: LabHow,
}

/// Example:
///   everbloom app report --quick -o /tmp/apps
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct AppReport {
    #[command(flatten)]
    pub how: LabHow,
}
