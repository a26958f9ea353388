//! To look passwords up in lists of breached ones.

use std::path::PathBuf;

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use everbloom_tools::breach::Hash;

use super::shared::Machine;
use crate::quantity;

#[derive(clap::Args)]
pub struct Breach {
    #[command(subcommand)]
    pub verb: BreachVerb,
}

#[derive(Subcommand)]
pub enum BreachVerb {
    /// Build a set from lists of passwords or of their hashes.
    Build(BreachBuild),
    /// Print which passwords are in a set.
    Check(BreachCheck),
}

/// Example:
///   everbloom breach build pwned-passwords-sha1.txt.gz -o leaked --min-count 10
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct BreachBuild {
    /// Lists, one after the other; `-` for stdin. Lines are passwords, or HASH, or HASH:COUNT.
    #[arg(required = true)]
    pub lists: Vec<PathBuf>,
    /// Folder to write. Temporary files next to it take 16 bytes per key.
    #[arg(short = 'o', long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// Format of the lines. Default: detected from the first line.
    #[arg(long, value_name = "WHAT", value_parser = PossibleValuesParser::new(["passwords", "sha1", "ntlm"]))]
    pub lines: Option<String>,
    /// Hash under which a list of passwords is stored.
    #[arg(long, value_name = "HASH", default_value = "sha1", value_parser = hash())]
    pub hash: Hash,
    /// Skip hashes with a count below this.
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = quantity::count)]
    pub min_count: u64,
    /// Plan for `check --near`: passwords within one edit of a listed one.
    #[arg(long)]
    pub near: bool,
    /// Share of other passwords that are taken for leaked ones; with --near, for leaked ones or their neighbors.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.001", allow_negative_numbers = true)]
    pub fpr: f64,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom breach check leaked
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct BreachCheck {
    /// The folder that `breach build` wrote.
    pub set: PathBuf,
    /// Passwords, one per line; none or `-` for stdin. On a terminal, prompts for one without echo.
    pub passwords: Option<PathBuf>,
    /// Also find passwords within one edit (insert, delete, substitute) of one in the set. The set must be built with
    /// --near.
    #[arg(long)]
    pub near: bool,
    #[command(flatten)]
    pub machine: Machine,
}

fn hash() -> impl TypedValueParser<Value = Hash> {
    PossibleValuesParser::new(Hash::ALL.map(Hash::name)).try_map(|name| {
        let found = Hash::ALL.into_iter().find(|hash| hash.name() == name);
        found.ok_or_else(|| format!("{name:?} is not a hash"))
    })
}
