//! To read about the command.

use std::path::PathBuf;

use super::shared::Replacing;

#[derive(clap::Args)]
pub struct Manual {
    /// The verb; none for one page with all of them.
    pub verb: Option<String>,
    /// Write a page for the command and one for each verb into this folder: everbloom.1, everbloom-build.1, …
    #[arg(short, long, value_name = "FOLDER", conflicts_with = "verb")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub replacing: Replacing,
}
