//! An index of K-mers over many samples.

use std::path::PathBuf;

use clap::Subcommand;

use super::shared::{Machine, Replacing};
use crate::quantity;

#[derive(clap::Args)]
pub struct Kmer {
    #[command(subcommand)]
    pub verb: KmerVerb,
}

#[derive(Subcommand)]
pub enum KmerVerb {
    /// Build an index from FASTA or FASTQ files, one sample per file.
    Build(KmerBuild),
    /// Add samples to an index.
    Add(KmerAdd),
    /// Print the samples that have most of the K-mers of a sequence.
    ///
    /// Columns are query<TAB>sample<TAB>has<TAB>K-mers<TAB>found<TAB>expected. A filter also lets some absent K-mers
    /// pass. `found` counts all that pass, `expected` is their average for a sample that has none, and `has` is the
    /// number that the sample has, estimated from both.
    Query(KmerQuery),
    /// Show the contents of an index.
    Info(KmerInfo),
}

/// Example:
///   everbloom kmer build phage.fa yeast.fa -o samples.evk
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct KmerBuild {
    /// FASTA or FASTQ files, compressed or not. A sample has the name of its file.
    #[arg(required = true)]
    pub samples: Vec<PathBuf>,
    /// The index.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    /// Length of a K-mer in letters, 3 to 32.
    #[arg(short = 'K', long, value_name = "LETTERS", default_value = "31")]
    pub length: u8,
    /// Share of absent K-mers that a sample seems to have. A high share is enough for reads with many K-mers, but not
    /// for single K-mers.
    #[arg(short = 'p', long, value_name = "RATE", value_parser = quantity::rate, default_value = "0.3", allow_negative_numbers = true)]
    pub fpr: f64,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom kmer add samples.evk worm.fa
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct KmerAdd {
    /// The index. It is replaced by a larger one.
    pub index: PathBuf,
    #[command(flatten)]
    pub replacing: Replacing,
    /// FASTA or FASTQ files, compressed or not.
    #[arg(required = true)]
    pub samples: Vec<PathBuf>,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom kmer query samples.evk reads.fa -t 0.5
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct KmerQuery {
    /// The index. It is read row by row and may be larger than memory.
    pub index: PathBuf,
    /// FASTA or FASTQ files of sequences to search for; none or `-` for stdin.
    pub queries: Vec<PathBuf>,
    /// Share of a sequence's K-mers that must be found in a sample. One changed letter changes up to K of them. No sample
    /// that has so many is missed.
    #[arg(short = 't', long, value_name = "SHARE", value_parser = quantity::rate, default_value = "0.8", allow_negative_numbers = true)]
    pub threshold: f64,
    #[command(flatten)]
    pub machine: Machine,
}

/// Example:
///   everbloom kmer info samples.evk
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct KmerInfo {
    /// The index.
    pub index: PathBuf,
    #[command(flatten)]
    pub machine: Machine,
}
