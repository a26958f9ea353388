//! What may be typed: the verbs here, their options in a file for each kind of work.

mod breach;
mod change;
mod choose;
mod files;
mod filter;
mod foreign;
mod kmer;
mod link;
mod parsers;
mod published;
mod revoked;
mod secure;
mod shared;
mod spell;
mod stream;
mod top;
mod wire;

use clap::{Parser, Subcommand};

pub use breach::{Breach, BreachBuild, BreachCheck, BreachVerb};
pub use change::{Add, Age, Change, Edit, Estimate, Fold, Merge};
pub use choose::{Bench, Catalog, Demo, Plan, Sample, SampleQueries};
pub use files::{Attribute, AttributeBuild, AttributeFind, AttributeVerb, Known, Similar};
pub use filter::{Ask, Build, Check, Explain, Info, List};
pub use foreign::{Export, Foreign, Formats, Import};
pub use kmer::{Kmer, KmerAdd, KmerBuild, KmerInfo, KmerQuery, KmerVerb};
pub use link::Link;
pub use published::{Follow, Publish};
pub use revoked::{
    Revoked, RevokedBuild, RevokedCheck, RevokedForm, RevokedProve, RevokedVerb, RevokedVerify,
};
pub use secure::{
    IndexBuild, IndexSearch, IndexTrapdoor, IndexVerb, Message, QueryAnswer, QueryAsk, QueryFinish,
    QuerySetup, QueryVerb, Secure, SecureVerb,
};
pub use shared::{Machine, Rows, Text};
pub use spell::Spell;
pub use stream::{Dedupe, Diff, Join, Sketch};
pub use top::Top;
pub use wire::{Line, Sync, Way};

use crate::{examples, quantity};

/// Every Bloom filter, from the command line.
///
/// A Bloom filter is a set in a few bits per key, which says "certainly not" or "maybe". Data goes to
/// stdout, messages go to stderr. Exit code 0: some keys may be members, or the work is done; 1: none are;
/// 2: an error.
#[derive(Parser)]
#[command(name = "everbloom", version, max_term_width = 100, after_help = examples::all(), subcommand_required = false)]
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
    Add(Add),
    /// Remove keys from a filter.
    ///
    /// Remove only what was added: some variants notice a key that was not, none can always. Accepted
    /// removals are saved; refused ones are named on stderr, each with the reason, and make exit code 1.
    #[command(after_help = examples::REMOVE)]
    Remove(Change),
    /// Print how often keys were inserted, as key<TAB>estimate.
    #[command(after_help = examples::COUNT)]
    Count(Ask),
    /// Print the keys that a filter can list, as key<TAB>count or key<TAB>value: the heavy keys of a stream, the largest
    /// first; the pairs of a table; all members of a small set.
    #[command(after_help = examples::LIST)]
    List(List),
    /// Print the values of keys, as key<TAB>value.
    ///
    /// A key without a value is not printed; exit code 1 if none has one.
    #[command(after_help = examples::GET)]
    Get(Ask),
    /// Let time pass for a filter that forgets, or a packet move on.
    #[command(after_help = examples::AGE)]
    Age(Age),
    /// Repair words of a soft-error filter in which a bit flipped.
    ///
    /// A word whose parity is wrong is set to ones, so that no member is missed. Queries read such a word as
    /// ones, too, but never write: a second flip of the same word before it is scrubbed goes unseen.
    #[command(after_help = examples::SCRUB)]
    Scrub(Edit),
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
    /// equal, 1 if not, as diff(1). The keys are exact; order and duplicates do not matter. In place of a list stands
    /// a sketch (see `everbloom sketch`), or a filter that can be subtracted (`everbloom plan --need reconcile`): of keys
    /// that only such a side has, `<? id` and `>? id` are printed.
    #[command(after_help = examples::DIFF)]
    Diff(Diff),
    /// Keep a list as a sketch, which `diff` compares with a list or another sketch.
    ///
    /// Its size follows from how many keys may differ, not from the list: 17 bytes for each of about 1.4 cells a key.
    #[command(after_help = examples::SKETCH)]
    Sketch(Sketch),
    /// Tell what two lists, or two folders, on two machines do not share, and transfer it.
    ///
    /// Prints `< key` for what only this side has, `> key` for what only the other has, and `! name` for a file whose
    /// contents differ; exit code 0 if they are equal, 1 if not. With --send both sides get what they lack; files that
    /// differ are left alone. What crosses the wire follows the difference and not the lists. Over ssh the other side is
    /// started as rsync does it, and ssh's authentication and encryption hold; tcp:// has neither. A peer that lies,
    /// stalls or hangs up is an error, and then nothing is written.
    #[command(after_help = examples::SYNC)]
    Sync(Sync),
    /// Join two delimited files, sending only the rows that can match.
    ///
    /// Prints the left row, the delimiter and the right row for every pair whose columns agree. The
    /// rows are exact; on stderr stands what a filter of the left keys saves.
    #[command(after_help = examples::JOIN)]
    Join(Join),
    /// Print the heaviest keys of lines or of a capture, as key<TAB>count, the largest first.
    ///
    /// Memory is fixed, however many keys there are. Counts from files are exact, since they are read twice; those
    /// from a pipe are too high by a little, and by how much is said. With --exact they are exact, too, as long as
    /// there are not many more different keys than planned for.
    #[command(after_help = examples::TOP)]
    Top(Top),
    /// Find the samples that hold a sequence: an index of K-mers over FASTA and FASTQ files.
    ///
    /// No sample that holds the sequence is missed. A sample that does not is printed with the chance that --json
    /// tells, which is small for sequences of many K-mers.
    #[command(after_help = examples::KMER)]
    Kmer(Kmer),
    /// Find copied passages among files: pairs that share chunks of their content.
    ///
    /// Prints both files, the number of chunks that they share, and that as a share of the smaller one's. The
    /// numbers are estimates; chunks of about 300 bytes end where the content says, so that copies are found
    /// wherever they stand.
    #[command(after_help = examples::SIMILAR)]
    Similar(Similar),
    /// Tell which files are known, as a whole or in parts.
    ///
    /// Prints the share of each file that is known, and the file; those of which nothing is are not printed. No
    /// known part is missed, and a few others are taken for known, at the rate -p. Whole files by --list are exact.
    #[command(after_help = examples::KNOWN)]
    Known(Known),
    /// Tell who sent an excerpt, from a summary of payloads that is much smaller than they are.
    #[command(after_help = examples::ATTRIBUTE)]
    Attribute(Attribute),
    /// Link the records of two CSV files that are alike, by filters instead of their values.
    ///
    /// Every record becomes a filter of the pieces of its values, under a key that both sides have; typing errors
    /// change a few bits. Prints left<TAB>right<TAB>Dice coefficient. Each side may encode its own file by -o.
    #[command(after_help = examples::LINK)]
    Link(Link),
    /// Print the words of a text that a dictionary does not have, as file:line:column: word.
    ///
    /// The dictionary becomes a filter: none of its words is ever printed, and a misspelling is missed at the rate
    /// -p for each of its forms (two if it is capitalized, three in capitals). Exit code 1 if no word is unknown.
    #[command(after_help = examples::SPELL)]
    Spell(Spell),
    /// Tell whether passwords are in lists that attackers have, on this machine alone.
    ///
    /// A list of passwords or of their hashes becomes a folder of filters. A password that is not found is not in
    /// the list; one that is found may be a false alarm, at the rate -p. Passwords are never printed or stored.
    #[command(after_help = examples::BREACH)]
    Breach(Breach),
    /// Tell revoked serials from valid ones, exactly, by filters.
    ///
    /// Two lists, of what was revoked and of what is valid, become a folder of filters that answers for both without
    /// an error, and for nearly all other serials that they are unknown.
    #[command(after_help = examples::REVOKED)]
    Revoked(Revoked),
    /// Publish a filter of a list that changes, as versions and the deltas between them.
    ///
    /// A folder that any web server can serve: `latest` tells the version, N.full is a whole filter, N.delta what changed
    /// from the version before. The filter keeps its shape as the list grows to its capacity, so that deltas are small.
    /// Exit code 1 if nothing changed.
    #[command(after_help = examples::PUBLISH)]
    Publish(Publish),
    /// Keep a published filter fresh.
    ///
    /// Takes the deltas from the version that is here to the latest, or the whole filter. Every file is checked by its
    /// digest; a feed that goes back to an older version is refused. Exit code 1 if there is nothing new.
    #[command(after_help = examples::FOLLOW)]
    Follow(Follow),
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
    /// Walk through build, check, fill, overflow, delete and merge, with pictures, in three minutes.
    ///
    /// Every command is run in a temporary folder, which is removed. On a terminal each chapter waits for Enter.
    #[command(after_help = examples::TOUR)]
    Tour,
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
