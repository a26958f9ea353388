//! To link the records of two tables.

use std::path::PathBuf;

use super::shared::{Machine, Replacing};
use crate::quantity;

#[derive(clap::Args)]
pub struct Link {
    /// A CSV file with a header, or an encoded file written by -o.
    pub left: PathBuf,
    /// The second one.
    #[arg(required_unless_present = "output")]
    pub right: Option<PathBuf>,
    /// Which columns are compared, and how: a clkhash schema in JSON. Default: all columns of the left file except
    /// --id, by pairs of letters.
    #[arg(long, value_name = "FILE")]
    pub schema: Option<PathBuf>,
    /// File with 32 hex digits: a secret that both sides share.
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// Column that names each row. Default: the row number, from 1.
    #[arg(long, value_name = "COLUMN")]
    pub id: Option<String>,
    /// Lowest Dice coefficient of a match.
    #[arg(short = 't', long, value_name = "DICE", default_value = "0.8", value_parser = quantity::rate)]
    pub threshold: f64,
    /// Print all similar pairs, not only the best match of each record.
    #[arg(long)]
    pub all: bool,
    /// File with the true pairs, one LEFT,RIGHT per line: prints precision and recall.
    #[arg(long, value_name = "FILE")]
    pub evaluate: Option<PathBuf>,
    /// Do not link: write the filters of the left file, for the other side.
    #[arg(short = 'o', long, value_name = "FILE", conflicts_with_all = ["right", "evaluate", "all"])]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub replacing: Replacing,
    #[command(flatten)]
    pub machine: Machine,
}
