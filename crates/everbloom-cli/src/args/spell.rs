//! To check the spelling of a text.

use std::path::PathBuf;

use super::shared::Machine;
use crate::quantity;

#[derive(clap::Args)]
pub struct Spell {
    /// Files of text; none or `-` for stdin.
    pub files: Vec<PathBuf>,
    /// A list of words, one a line; a .dic file of hunspell's with its .aff file beside it, or the name of one that
    /// is installed, such as en_US; or a filter of words (.evb). May be given several times.
    #[arg(short = 'd', long, value_name = "FILE", required_unless_present = "hyphenate")]
    pub dictionary: Vec<PathBuf>,
    /// Words of your own, one a line.
    #[arg(long, value_name = "FILE")]
    pub personal: Vec<PathBuf>,
    /// Share of misspellings that may be missed.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.001", allow_negative_numbers = true)]
    pub fpr: f64,
    /// Print the words alone, as `hunspell -l` does.
    #[arg(long, conflicts_with = "json")]
    pub words: bool,
    /// Print the text with a mark wherever a word may be parted: by the patterns in this file, TeX's or a
    /// hyph_*.dic file.
    #[arg(long, value_name = "PATTERNS", conflicts_with_all = ["dictionary", "personal", "words"])]
    pub hyphenate: Option<PathBuf>,
    /// Words that are parted otherwise, with their hyphens, one a line. A filter tells which words to look for
    /// in this file.
    #[arg(long, value_name = "FILE", requires = "hyphenate")]
    pub exceptions: Option<PathBuf>,
    /// The mark.
    #[arg(long, value_name = "CHARACTER", default_value = "-", requires = "hyphenate")]
    pub mark: char,
    #[command(flatten)]
    pub machine: Machine,
}
