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
    /// Make a set of lists of passwords, or of their hashes.
    Build(BreachBuild),
    /// Tell which passwords are in a set.
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
    /// The folder to write. Temporary files beside it take 16 bytes for each key.
    #[arg(short = 'o', long, value_name = "FOLDER")]
    pub output: PathBuf,
    /// What the lines are. Default: what the first one looks like.
    #[arg(long, value_name = "WHAT", value_parser = PossibleValuesParser::new(["passwords", "sha1", "ntlm"]))]
    pub lines: Option<String>,
    /// The hash by which a list of passwords is kept.
    #[arg(long, value_name = "HASH", default_value = "sha1", value_parser = hash())]
    pub hash: Hash,
    /// Leave out hashes with a count below this.
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = quantity::count)]
    pub min_count: u64,
    /// Plan for `check --near`: passwords within one edit of one in the list.
    #[arg(long)]
    pub near: bool,
    /// Share of other passwords that may be taken for breached; with --near, for breached or near one that is.
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
    /// Passwords, one a line; none or `-` for stdin. On a terminal one is asked for, without echo.
    pub passwords: Option<PathBuf>,
    /// Also tell those within one edit (insert, delete, substitute) of one in the set.
    #[arg(long)]
    pub near: bool,
    #[command(flatten)]
    pub machine: Machine,
}

fn hash() -> impl TypedValueParser<Value = Hash> {
    PossibleValuesParser::new(Hash::ALL.map(Hash::name)).try_map(|name| {
        let found = Hash::ALL.into_iter().find(|hash| hash.name() == name);
        found.ok_or_else(|| format!("{name:?} is no hash"))
    })
}
