//! What may be typed: the verbs here, their options in a file for each kind of work.

mod app;
mod change;
mod choose;
mod filter;
mod foreign;
mod lab;
mod parsers;
mod secure;
mod shared;
mod stream;

use clap::{Parser, Subcommand};

pub use app::{App, AppRun, AppShow, AppVerb};
pub use change::{Age, Change, Estimate, Fold, Merge, Scrub};
pub use choose::{Bench, Catalog, Demo, Plan, Sample, SampleQueries};
pub use filter::{Ask, Build, Check, Explain, Info, List};
pub use foreign::{Export, Foreign, Formats, Import};
pub use lab::{Lab, LabHow, LabPassports, LabReport, LabRun, LabVerb};
pub use secure::{
    IndexBuild, IndexSearch, IndexTrapdoor, IndexVerb, Message, QueryAnswer, QueryAsk, QueryFinish,
    QuerySetup, QueryVerb, Secure, SecureVerb,
};
pub use shared::{Machine, Text};
pub use stream::{Dedupe, Diff, Join};

use crate::{examples, quantity};

/// Every Bloom filter, from the command line.
///
/// A Bloom filter is a set in a few bits per key, which says "certainly not" or "maybe". Data goes to
/// stdout, messages go to stderr. Exit code 0: some keys may be members, or the work is done; 1: none are;
/// 2: an error.
#[derive(Parser)]
#[command(name = "everbloom", version, max_term_width = 100, after_help = examples::ALL, subcommand_required = false)]
pub struct Args {
    /// Say nothing on stderr but errors and refused keys; show no progress.
    #[arg(short, long, global = true, display_order = 991)]
    pub quiet: bool,
    /// The most memory that an opened filter may expand to, such as 1GB. Default: 256 MiB, or 32 times its file.
    #[arg(long, global = true, value_name = "SIZE", display_order = 992, value_parser = quantity::memory_bits)]
    pub limit: Option<u64>,
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

#[derive(Subcommand)]
pub enum Verb {
    /// Which filter, how big, how good? Rank the variants for a goal.
    ///
    /// Give two of items, rate and memory: the third follows. Or give `--need` alone, to see which
    /// variants are made for a job.
    #[command(after_help = examples::plan())]
    Plan(Plan),
    /// Build a filter from a file of keys.
    ///
    /// A filter is a set in a few bits per key: it never denies a key that is in it, unless its variant
    /// says otherwise, and takes a non-member for a member at the rate you choose.
    #[command(after_help = examples::BUILD)]
    Build(Build),
    /// Print the queries that may be members.
    ///
    /// As grep does: the lines that pass, in their order; exit code 0 if there are any, 1 if there are
    /// none. A line that is not printed is no member; one that is printed may be a false positive.
    #[command(after_help = examples::CHECK)]
    Check(Check),
    /// Show what a filter is, how full it is, and how often it errs now.
    #[command(after_help = examples::INFO)]
    Info(Info),
    /// Add keys to a filter, or set values in a key-value filter.
    ///
    /// Accepted keys are saved; refused ones are named on stderr, each with the reason, and make exit
    /// code 1.
    #[command(after_help = examples::ADD)]
    Add(Change),
    /// Remove keys from a filter.
    ///
    /// Remove only what was added: some variants notice a key that was not, none can always. Accepted
    /// removals are saved; refused ones are named on stderr, each with the reason, and make exit code 1.
    #[command(after_help = examples::REMOVE)]
    Remove(Change),
    /// Print how often keys were inserted, as key<TAB>estimate.
    #[command(after_help = examples::COUNT)]
    Count(Ask),
    /// Print the keys that a filter can list with their counts, as key<TAB>count, the largest first: the heavy
    /// keys of a stream.
    #[command(after_help = examples::LIST)]
    List(List),
    /// Print the values of keys, as key<TAB>value.
    ///
    /// A key without a value is not printed; exit code 1 if none has one.
    #[command(after_help = examples::GET)]
    Get(Ask),
    /// Let time pass for a filter that forgets.
    #[command(after_help = examples::AGE)]
    Age(Age),
    /// Repair words of a soft-error filter in which a bit flipped.
    ///
    /// A word whose parity is wrong is set to ones, so that no member is missed. Queries read such a word as
    /// ones, too, but never write: a second flip of the same word before it is scrubbed goes unseen.
    #[command(after_help = examples::SCRUB)]
    Scrub(Scrub),
    /// Print records that a variant takes, to try it.
    ///
    /// The same -n and --seed print the same lines. `--queries members` prints what such a filter is asked for its
    /// members, `--queries others` what it most likely denies.
    #[command(after_help = examples::SAMPLE)]
    Sample(Sample),
    /// Unite filters of the same shape, hash and seed.
    ///
    /// The result answers as if all the keys had gone into one filter.
    #[command(after_help = examples::MERGE)]
    Merge(Merge),
    /// Keep what all filters hold.
    ///
    /// No key that all of them hold is lost; non-members pass more often than in a filter built from the
    /// shared keys.
    #[command(after_help = examples::INTERSECT)]
    Intersect(Merge),
    /// Halve a filter: same keys, half the size, a higher rate.
    #[command(after_help = examples::FOLD)]
    Fold(Fold),
    /// Estimate the size of a set, or of two with their union and intersection, from filters alone.
    #[command(after_help = examples::ESTIMATE)]
    Estimate(Estimate),
    /// Print the lines of stdin that were not seen before.
    ///
    /// Without --window the filter grows with the number of distinct lines and remembers all of them
    /// (variant scalable); with it, memory is fixed and old lines are forgotten (variant stable). A few
    /// new lines are dropped, at the rate -p; with --exact-check none.
    #[command(after_help = examples::DEDUPE)]
    Dedupe(Dedupe),
    /// Tell what two files of keys do not share, by exchanging as little as possible.
    ///
    /// Prints `< key` for what only A has and `> key` for what only B has; exit code 0 if they are
    /// equal, 1 if not, as diff(1). The keys are exact; order and duplicates do not matter.
    #[command(after_help = examples::DIFF)]
    Diff(Diff),
    /// Join two delimited files, sending only the rows that can match.
    ///
    /// Prints the left row, the delimiter and the right row for every pair whose columns agree. The
    /// rows are exact; on stderr stands what a filter of the left keys saves.
    #[command(after_help = examples::JOIN)]
    Join(Join),
    /// Look up keys, or search documents, without showing the keys.
    ///
    /// What one side writes is a message for the other, in a file or a pipe. SECURITY.md says what each side
    /// learns. Keys are in files of 64 hex digits, such as `openssl rand -hex 32` prints; no message holds one.
    #[command(after_help = examples::SECURE)]
    Secure(Secure),
    /// Show how a filter comes to its answer for one key.
    #[command(after_help = examples::EXPLAIN)]
    Explain(Explain),
    /// Measure a filter's speed on this machine, beside a hash set of the same keys.
    #[command(after_help = examples::BENCH)]
    Bench(Bench),
    /// Try what the surveys say: their figures and tables, measured.
    #[command(after_help = examples::LAB)]
    Lab(Lab),
    /// Try what filters are used for: tools, components and simulations, each beside its exact twin.
    #[command(after_help = examples::APP)]
    App(App),
    /// List the variants, or tell of one: its paper, abilities, parameters.
    #[command(after_help = examples::CATALOG)]
    Catalog(Catalog),
    /// List the foreign formats: filters that other software writes.
    #[command(after_help = examples::FORMATS)]
    Formats(Formats),
    /// Make a filter file of a foreign filter.
    ///
    /// The bits are taken over as they are, where a variant finds keys as the other software does.
    #[command(after_help = examples::IMPORT)]
    Import(Import),
    /// Write a filter in a foreign format.
    ///
    /// The bits are taken over as they are, where the other software finds keys as the variant does.
    #[command(after_help = examples::EXPORT)]
    Export(Export),
    /// Build and ask a filter of every variant, and compare prediction with measurement.
    #[command(after_help = examples::DEMO)]
    Demo(Demo),
    /// Print a completion script for a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    #[command(after_help = examples::MAN)]
    Man,
}
