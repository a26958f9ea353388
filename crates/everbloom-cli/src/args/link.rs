//! To link the records of two tables.

use std::path::PathBuf;

use super::shared::Machine;
use crate::quantity;

#[derive(clap::Args)]
pub struct Link {
    /// A CSV file with a header, or what -o wrote of one.
    pub left: PathBuf,
    /// The other one.
    #[arg(required_unless_present = "output")]
    pub right: Option<PathBuf>,
    /// Which columns are compared, and how: a schema of clkhash's, in JSON. Default: all columns of the left file
    /// but that of --id, by pairs of letters.
    #[arg(long, value_name = "FILE")]
    pub schema: Option<PathBuf>,
    /// A file with 32 hex digits, a secret that both sides share.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// The column by which rows are called; their number from 1 without it.
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// The Dice coefficient from which on records match.
    #[arg(short = 't', long, value_name = "DICE", default_value = "0.8", value_parser = quantity::rate)]
    pub threshold: f64,
    /// Print all pairs that are alike, not the best one of each record alone.
    #[arg(long)]
    pub all: bool,
    /// The true pairs, a line each, LEFT,RIGHT: tells precision and recall.
    #[arg(long, value_name = "FILE")]
    pub evaluate: Option<PathBuf>,
    /// Link nothing: write the filters of the left file, for the other side.
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with_all = ["right", "evaluate", "all"])]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub machine: Machine,
}
