//! To look up keys and search documents without showing the keys.

use std::path::PathBuf;

use clap::Subcommand;

use super::shared::Machine;
use crate::quantity;

#[derive(clap::Args)]
pub struct Secure {
    #[command(subcommand)]
    pub verb: SecureVerb,
}

#[derive(Subcommand)]
pub enum SecureVerb {
    /// Search documents that somebody else keeps, who learns no word of them.
    #[command(subcommand)]
    Index(IndexVerb),
    /// Look up keys in somebody else's set: neither side shows its keys.
    #[command(subcommand)]
    Query(QueryVerb),
}

#[derive(Subcommand)]
pub enum IndexVerb {
    /// The owner: make blinded filters of the words of documents, for whoever keeps them.
    Build(IndexBuild),
    /// The owner: make what finds the documents with a word.
    Trapdoor(IndexTrapdoor),
    /// The keeper, who has no key: print which documents match, as number of the query<TAB>document.
    ///
    /// A document that matches may be a false positive. Exit code 1 if none does.
    Search(IndexSearch),
}

#[derive(Subcommand)]
pub enum QueryVerb {
    /// The server: make what askers need, a public key and a filter that tells nothing without the server.
    Setup(QuerySetup),
    /// The client: write queries that show no key.
    Ask(QueryAsk),
    /// The server: answer queries, and prove that its published key did it.
    Answer(QueryAnswer),
    /// The client: print the keys that may be in the set.
    ///
    /// Answers that were not made for these queries by the published key are an error. Exit code 1 if no key is in
    /// the set.
    Finish(QueryFinish),
}

/// A key file and where the message goes.
#[derive(clap::Args)]
pub struct Message {
    /// A file with 64 hex digits: a secret of this side alone.
    #[arg(long, value_name = "FILE")]
    pub key_file: PathBuf,
    /// Where the message for the other side goes; `-` for stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct IndexBuild {
    /// The documents, a file each. Words are runs of letters and digits; upper and lower case are the same.
    #[arg(required = true)]
    pub documents: Vec<PathBuf>,
    /// The most different words a document may have, which everyone learns. Default: those of the richest
    /// document, rounded up to a power of two.
    #[arg(short = 'n', long, value_parser = quantity::count)]
    pub words: Option<u64>,
    /// Share of documents that may match without having the word.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.000001", allow_negative_numbers = true)]
    pub fpr: f64,
    #[command(flatten)]
    pub message: Message,
}

#[derive(clap::Args)]
pub struct IndexTrapdoor {
    /// Words to search for, one a line; `-` for stdin.
    pub words: PathBuf,
    /// The rate that the index was built with.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.000001", allow_negative_numbers = true)]
    pub fpr: f64,
    #[command(flatten)]
    pub message: Message,
}

#[derive(clap::Args)]
pub struct IndexSearch {
    /// What `index build` wrote.
    pub index: PathBuf,
    /// What `index trapdoor` wrote; `-` for stdin.
    pub trapdoors: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct QuerySetup {
    /// The keys of the set, one a line; `-` for stdin.
    pub keys: PathBuf,
    /// Items to plan for. Default: as many as there are, rounded up to a power of two.
    #[arg(short = 'n', long, value_parser = quantity::count)]
    pub items: Option<u64>,
    /// False-positive rate to stay below.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.000001", allow_negative_numbers = true)]
    pub fpr: f64,
    #[command(flatten)]
    pub message: Message,
}

#[derive(clap::Args)]
pub struct QueryAsk {
    /// What `query setup` wrote.
    pub set: PathBuf,
    /// Keys to look up, one a line; `-` for stdin.
    pub keys: PathBuf,
    #[command(flatten)]
    pub message: Message,
}

#[derive(clap::Args)]
pub struct QueryAnswer {
    /// What `query ask` wrote; `-` for stdin.
    pub queries: PathBuf,
    /// Answer at most so many queries.
    #[arg(long, value_parser = quantity::count, default_value = "10k")]
    pub most: u64,
    #[command(flatten)]
    pub message: Message,
}

#[derive(clap::Args)]
pub struct QueryFinish {
    /// What `query setup` wrote.
    pub set: PathBuf,
    /// What `query ask` wrote.
    pub queries: PathBuf,
    /// What `query answer` wrote; `-` for stdin.
    pub answers: PathBuf,
    /// The same keys as `query ask` had.
    pub keys: PathBuf,
    /// The same file as `query ask` had.
    #[arg(long, value_name = "FILE")]
    pub key_file: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}
