//! To look up keys and search documents without showing the keys.

use std::path::PathBuf;

use clap::Subcommand;

use super::shared::{Machine, Replacing};
use crate::quantity;

#[derive(clap::Args)]
pub struct Secure {
    #[command(subcommand)]
    pub verb: SecureVerb,
}

#[derive(Subcommand)]
pub enum SecureVerb {
    /// Search documents that someone else stores, without showing them the words.
    #[command(subcommand)]
    Index(IndexVerb),
    /// Look up keys in someone else's set; neither side shows its keys.
    #[command(subcommand)]
    Query(QueryVerb),
}

#[derive(Subcommand)]
pub enum IndexVerb {
    /// The owner: make blinded filters of the words of documents, for the keeper.
    Build(IndexBuild),
    /// The owner: make a trapdoor, which finds the documents that contain a word.
    Trapdoor(IndexTrapdoor),
    /// The keeper, without a key: print which documents match, as number of the query<TAB>document.
    ///
    /// A match may be a false positive. The exit code is 1 if no document matches.
    Search(IndexSearch),
}

#[derive(Subcommand)]
pub enum QueryVerb {
    /// The server: make the file that clients need, a public key and a filter that is useless without the server.
    Setup(QuerySetup),
    /// The client: write queries that do not reveal the keys.
    Ask(QueryAsk),
    /// The server: answer queries, and prove that the published key was used.
    Answer(QueryAnswer),
    /// The client: print the keys that may be in the set.
    ///
    /// Answers to other queries, or made with another key, are an error. The exit code is 1 if no key is in the set.
    Finish(QueryFinish),
}

/// A key file and where the message goes.
#[derive(clap::Args)]
pub struct Message {
    /// File with 64 hex digits: a secret of this side.
    #[arg(long, value_name = "FILE")]
    pub key_file: PathBuf,
    /// Output file for the message to the other side; `-` for stdout.
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    #[command(flatten)]
    pub machine: Machine,
}

/// How lines of keys end.
#[derive(clap::Args)]
pub struct Ends {
    /// Lines end in CR LF, as on Windows: strip the CR. Without this option it is part of the key.
    #[arg(long)]
    pub crlf: bool,
}

#[derive(clap::Args)]
pub struct IndexBuild {
    /// The documents, one per file. Words are runs of letters and digits; case is ignored.
    #[arg(required = true)]
    pub documents: Vec<PathBuf>,
    /// Maximum number of distinct words in a document, which is public. Default: the number in the largest document,
    /// rounded up to a power of two.
    #[arg(short = 'n', long, value_parser = quantity::count)]
    pub words: Option<u64>,
    /// Share of documents that match without containing the word.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.000001", allow_negative_numbers = true)]
    pub fpr: f64,
    #[command(flatten)]
    pub message: Message,
}

#[derive(clap::Args)]
pub struct IndexTrapdoor {
    /// Queries, one per line; `-` for stdin. They are cut into words as documents are. A query of several words, such as
    /// `e-mail`, finds the documents that have all of them, in any order.
    pub words: PathBuf,
    /// The rate that the index was built with.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.000001", allow_negative_numbers = true)]
    pub fpr: f64,
    #[command(flatten)]
    pub message: Message,
}

#[derive(clap::Args)]
pub struct IndexSearch {
    /// The file written by `index build`.
    pub index: PathBuf,
    /// The file written by `index trapdoor`; `-` for stdin.
    pub trapdoors: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}

#[derive(clap::Args)]
pub struct QuerySetup {
    /// The keys of the set, one per line; `-` for stdin.
    pub keys: PathBuf,
    /// Number of items to plan for. Default: the number of keys, rounded up to a power of two.
    #[arg(short = 'n', long, value_parser = quantity::count)]
    pub items: Option<u64>,
    /// Maximum false-positive rate.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.000001", allow_negative_numbers = true)]
    pub fpr: f64,
    #[command(flatten)]
    pub ends: Ends,
    #[command(flatten)]
    pub message: Message,
}

#[derive(clap::Args)]
pub struct QueryAsk {
    /// The file written by `query setup`.
    pub set: PathBuf,
    /// Keys to look up, one per line; `-` for stdin.
    pub keys: PathBuf,
    #[command(flatten)]
    pub ends: Ends,
    #[command(flatten)]
    pub message: Message,
}

#[derive(clap::Args)]
pub struct QueryAnswer {
    /// The file written by `query ask`; `-` for stdin.
    pub queries: PathBuf,
    /// Maximum number of queries to answer.
    #[arg(long, value_parser = quantity::count, default_value = "10k")]
    pub most: u64,
    #[command(flatten)]
    pub message: Message,
}

#[derive(clap::Args)]
pub struct QueryFinish {
    /// The file written by `query setup`.
    pub set: PathBuf,
    /// The file written by `query ask`.
    pub queries: PathBuf,
    /// The file written by `query answer`; `-` for stdin.
    pub answers: PathBuf,
    /// The keys given to `query ask`.
    pub keys: PathBuf,
    #[command(flatten)]
    pub ends: Ends,
    /// The key file given to `query ask`.
    #[arg(long, value_name = "FILE")]
    pub key_file: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}
