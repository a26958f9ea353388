//! To check the spelling of a text.

use std::path::PathBuf;

use super::shared::Machine;
use crate::quantity;

#[derive(clap::Args)]
pub struct Spell {
    /// Files of text; none or `-` for stdin.
    pub files: Vec<PathBuf>,
    /// A list of words, one per line; a hunspell .dic file with its .aff file next to it; the name of an installed
    /// dictionary, such as en_US; or a filter of words (.evb). May be repeated.
    #[arg(short = 'd', long, value_name = "FILE", required_unless_present = "hyphenate")]
    pub dictionary: Vec<PathBuf>,
    /// Your own words, one per line.
    #[arg(long, value_name = "FILE")]
    pub personal: Vec<PathBuf>,
    /// Share of misspellings that are missed.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.001", allow_negative_numbers = true)]
    pub fpr: f64,
    /// Print only the words, as `hunspell -l` does.
    #[arg(long, conflicts_with = "json")]
    pub words: bool,
    /// Hyphenate: print the text with a mark wherever a word may be broken, by the patterns in this file (TeX patterns
    /// or a hyph_*.dic file).
    #[arg(long, value_name = "PATTERNS", conflicts_with_all = ["dictionary", "personal", "words"])]
    pub hyphenate: Option<PathBuf>,
    /// Words that are hyphenated differently, written with their hyphens, one per line. A filter decides which words
    /// to look up in this file.
    #[arg(long, value_name = "FILE", requires = "hyphenate")]
    pub exceptions: Option<PathBuf>,
    /// The hyphenation mark.
    #[arg(long, value_name = "CHARACTER", default_value = "-", requires = "hyphenate")]
    pub mark: char,
    #[command(flatten)]
    pub machine: Machine,
}
