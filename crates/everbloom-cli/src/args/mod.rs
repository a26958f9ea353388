//! What may be typed: the verbs here, their options in a file for each kind of work.

mod breach;
mod change;
mod choose;
mod files;
mod filter;
mod foreign;
mod groups;
mod kmer;
mod link;
mod manual;
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
pub use change::{Add, Age, Change, Edit, Estimate, Fold, Merge, Reshape};
pub use choose::{Bench, Catalog, Demo, Plan, Sample, SampleQueries};
pub use files::{Attribute, AttributeBuild, AttributeFind, AttributeVerb, Known, Similar};
pub use filter::{Ask, Build, Check, Explain, Get, Info, List};
pub use foreign::{Export, Foreign, Formats, Import};
pub use groups::page as group_page;
pub use kmer::{Kmer, KmerAdd, KmerBuild, KmerInfo, KmerQuery, KmerVerb};
pub use link::Link;
pub use manual::Manual;
pub use published::{Follow, Publish};
pub use revoked::{
    Revoked, RevokedBuild, RevokedCheck, RevokedForm, RevokedProve, RevokedVerb, RevokedVerify,
};
pub use secure::{
    Ends, IndexBuild, IndexSearch, IndexTrapdoor, IndexVerb, Message, QueryAnswer, QueryAsk,
    QueryFinish, QuerySetup, QueryVerb, Secure, SecureVerb,
};
pub use shared::{Machine, Replacing, Rows, Secret, Text};
pub use spell::Spell;
pub use stream::{Dedupe, Diff, Join, Sketch};
pub use top::Top;
pub use wire::{Line, Sync, Way};

use crate::{examples, quantity};

/// Every Bloom filter, from the command line.
///
/// A Bloom filter stores a set in a few bits per key and answers "certainly not" or "maybe". Data goes to
/// stdout, messages go to stderr. Exit code 0: some keys may be members, or the work is done; 1: no key is a
/// member, or nothing was found or changed; 2: an error.
#[derive(Parser)]
#[command(name = "everbloom", version, max_term_width = 100, after_help = examples::all(),
    help_template = groups::template(), subcommand_required = false)]
pub struct Args {
    /// Print only errors and refused keys on stderr; show no progress.
    #[arg(short, long, global = true, display_order = 991)]
    pub quiet: bool,
    /// Maximum memory that an opened filter may expand to, such as 1GB. Default: 32 times the size of its file, at
    /// least 256 MiB. In `sync` and `join`, also the maximum that the other side may send. Default: 128 MiB of a list,
    /// 64 GiB of files or rows.
    #[arg(long, global = true, value_name = "SIZE", display_order = 992, value_parser = quantity::memory_bits)]
    pub limit: Option<u64>,
    #[command(subcommand)]
    pub verb: Option<Verb>,
}

#[derive(Subcommand)]
pub enum Verb {
    /// Rank the variants: which filter, and how large?
    ///
    /// Give two of items, rate and memory; `plan` computes the third. `--need` alone lists the variants that
    /// can do a job.
    #[command(after_help = examples::plan())]
    Plan(Plan),
    /// Build a filter from a file of keys.
    ///
    /// A filter stores a set in a few bits per key. It has no false negatives, unless its variant allows them, and
    /// takes a non-member for a member at the rate you choose.
    #[command(after_help = examples::BUILD)]
    Build(Build),
    /// Print the queries that may be members.
    ///
    /// Works like grep: matching lines are printed in order; the exit code is 0 if there are any and 1 if there are
    /// none. A line that is not printed is not a member; a line that is printed may be a false positive.
    #[command(after_help = examples::CHECK)]
    Check(Check),
    /// Show a filter's variant, size, fill and current error rate.
    #[command(after_help = examples::INFO)]
    Info(Info),
    /// Add keys to a filter, or set values in a key-value filter.
    ///
    /// In a key-value filter, a key that seems to be there gets the new value. Accepted keys are saved. Refused keys are
    /// reported on stderr with the reason, and the exit code is 1.
    #[command(after_help = examples::ADD)]
    Add(Add),
    /// Remove keys from a filter.
    ///
    /// Remove only keys that were added: some variants detect a key that was not, but none always can. Accepted
    /// removals are saved. Refused keys are reported on stderr with the reason, and the exit code is 1.
    #[command(after_help = examples::REMOVE)]
    Remove(Change),
    /// Print how often each key was inserted, as key<TAB>estimate.
    #[command(after_help = examples::COUNT)]
    Count(Ask),
    /// Print the keys that a filter can list, as key<TAB>count or key<TAB>value.
    ///
    /// These are the most frequent keys of a stream (largest first), the pairs of a table, or all members of a small
    /// set.
    #[command(after_help = examples::LIST)]
    List(List),
    /// Print what a filter knows of keys, as key<TAB>value: values, groups, distances, areas.
    ///
    /// Keys without a value are not printed; the exit code is 1 if no key has one. For a key whose value is hidden by
    /// other keys, the value is empty and a third column says `undecided`.
    #[command(after_help = examples::GET)]
    Get(Get),
    /// Advance the clock of a filter that forgets.
    ///
    /// In a multistage filter of a packet, advance the packet by hops.
    #[command(after_help = examples::AGE)]
    Age(Age),
    /// Repair words of a soft-error filter in which a bit flipped.
    ///
    /// A word with wrong parity is set to all ones, so that there are no false negatives. Queries also read such a
    /// word as ones, but do not write it. A second flip in the same word before scrubbing goes undetected.
    #[command(after_help = examples::SCRUB)]
    Scrub(Edit),
    /// Print valid records for a variant, to try it.
    ///
    /// The same -n and --seed print the same lines. `--queries members` prints queries for keys in the sample,
    /// `--queries others` prints queries for keys that are not.
    #[command(after_help = examples::SAMPLE)]
    Sample(Sample),
    /// Merge filters of the same shape, hash and seed.
    ///
    /// The result answers as if all keys had been inserted into one filter.
    #[command(after_help = examples::MERGE)]
    Merge(Merge),
    /// Intersect filters of the same shape, hash and seed.
    ///
    /// The result contains every key that is in all of the filters. Its false-positive rate is higher than that of a
    /// filter built from the shared keys.
    #[command(after_help = examples::INTERSECT)]
    Intersect(Merge),
    /// Halve a filter: same keys, half the size, a higher false-positive rate.
    #[command(after_help = examples::FOLD)]
    Fold(Fold),
    /// Change the size or inner order of a filter, as only its variant can.
    ///
    /// `everbloom catalog SLUG` lists the operations of a variant: double and halve a quotient filter, compact a store,
    /// adapt a filter to its false positives, and others. Without -o the file is replaced. The exit code is 1 if
    /// nothing changed.
    #[command(after_help = examples::RESHAPE)]
    Reshape(Reshape),
    /// Estimate the size of a set, or of two sets with their union and intersection, from filters alone.
    #[command(after_help = examples::ESTIMATE)]
    Estimate(Estimate),
    /// Drop duplicate lines: print the lines of stdin that were not seen before.
    ///
    /// By default all lines are remembered by 16-byte digests, and no new line is dropped. With -p, filters remember them
    /// in a tenth of the memory and drop that share of the new lines. With --window, memory is fixed and old lines are
    /// forgotten.
    #[command(after_help = examples::DEDUPE)]
    Dedupe(Dedupe),
    /// Compare two files of keys, and exchange as little data as possible.
    ///
    /// Prints `< key` for a key that only A has and `> key` for a key that only B has. As with diff(1), the exit code
    /// is 0 if they are equal and 1 if not. The keys are exact; order and duplicates do not matter. Instead of a list,
    /// each side may be a sketch (see `everbloom sketch`) or a filter that can be subtracted (`everbloom plan --need
    /// reconcile`). Keys that only such a side has are printed as `<? id` and `>? id`.
    #[command(after_help = examples::DIFF)]
    Diff(Diff),
    /// Save a list as a sketch, which `diff` compares with a list or another sketch.
    ///
    /// Its size depends on how many keys may differ, not on the list: about 1.4 cells of 17 bytes for each of them.
    #[command(after_help = examples::SKETCH)]
    Sketch(Sketch),
    /// Compare two lists or folders on two machines, and transfer what is missing.
    ///
    /// Prints `< key` for a key that only this side has, `> key` for a key that only the other side has, and `! name`
    /// for a file whose contents differ. The exit code is 0 if they are equal and 1 if not. With --send both sides get
    /// what they lack; files that differ are left unchanged. The traffic depends on the difference, not on the lists.
    /// With ssh:// the other side is started as rsync does it, and ssh authenticates and encrypts; tcp:// does
    /// neither. If the other side lies, stalls or hangs up, `sync` reports an error and writes nothing.
    #[command(after_help = examples::SYNC)]
    Sync(Sync),
    /// Join two delimited files, sending only the rows that can match.
    ///
    /// Prints the left row, the delimiter and the right row for every pair whose columns agree. The result is exact;
    /// stderr reports how much a filter of the left keys saves.
    #[command(after_help = examples::JOIN)]
    Join(Join),
    /// Print the most frequent keys of lines or of a capture, as key<TAB>count, largest first.
    ///
    /// Memory is fixed, however many keys there are. Files are read twice, so that their counts are exact. Counts from
    /// a pipe are slightly too high, and the error bound is printed. With --exact they are exact too, as long as there
    /// are not many more distinct keys than planned.
    #[command(after_help = examples::TOP)]
    Top(Top),
    /// Find the DNA samples that contain a sequence: an index of K-mers over FASTA and FASTQ files.
    ///
    /// Every sample that contains the sequence is found. The chance that another sample is printed, too, is in the
    /// --json output; it is small for sequences of many K-mers.
    #[command(after_help = examples::KMER)]
    Kmer(Kmer),
    /// Find copied passages among files: pairs that share chunks of their content.
    ///
    /// Prints both files, the number of chunks they share, and the share of the smaller file's chunks. The numbers are
    /// estimates. Chunks have about 300 bytes and are cut by content, so that copies are found at any offset.
    #[command(after_help = examples::SIMILAR)]
    Similar(Similar),
    /// Find files that are known, as a whole or in parts.
    ///
    /// Prints the known share of each file, and the file; files without known parts are not printed. Every known part
    /// is found; an unknown part is taken for known at the rate -p. Whole files by --list are exact.
    #[command(after_help = examples::KNOWN)]
    Known(Known),
    /// Find who sent an excerpt, from a small summary of the payloads.
    #[command(after_help = examples::ATTRIBUTE)]
    Attribute(Attribute),
    /// Link similar records of two CSV files, comparing filters instead of values.
    ///
    /// Each record becomes a filter of the pieces of its values, under a key that both sides share. A typing error
    /// changes only a few bits. Prints left<TAB>right<TAB>Dice coefficient. Each side can encode its own file with -o.
    #[command(after_help = examples::LINK)]
    Link(Link),
    /// Check spelling: print the words that are not in a dictionary, as file:line:column: word.
    ///
    /// The dictionary becomes a filter: none of its words is ever printed, and a misspelling is missed at the rate
    /// -p for each of its forms (two if it is capitalized, three in capitals). The exit code is 1 if no word is
    /// unknown.
    #[command(after_help = examples::SPELL)]
    Spell(Spell),
    /// Check locally whether passwords are in lists of leaked passwords.
    ///
    /// A list of passwords or of their hashes becomes a folder of filters. A password that is not found is not in
    /// the list; one that is found may be a false positive, at the rate -p. Passwords are never printed or stored.
    #[command(after_help = examples::BREACH)]
    Breach(Breach),
    /// Tell revoked serials from valid ones, exactly, with filters.
    ///
    /// Two lists, the revoked and the valid serials, become a folder of filters. It answers without error for all of
    /// them, and answers "unknown" for nearly all other serials.
    #[command(after_help = examples::REVOKED)]
    Revoked(Revoked),
    /// Publish a filter of a list that changes, as versions and deltas.
    ///
    /// Writes a folder that any web server can serve: `latest` has the version number, N.full is a whole filter, and
    /// N.delta has the changes since version N - 1. The filter keeps its shape until the list grows to its capacity,
    /// so that deltas are small. The exit code is 1 if nothing changed.
    #[command(after_help = examples::PUBLISH)]
    Publish(Publish),
    /// Keep a local copy of a published filter up to date.
    ///
    /// Downloads the deltas from the local version to the latest, or the whole filter. Every file is checked against
    /// its digest, and a feed that goes back to an older version is refused. The exit code is 1 if nothing is new.
    #[command(after_help = examples::FOLLOW)]
    Follow(Follow),
    /// Look up keys, or search documents, without revealing the keys.
    ///
    /// Each step writes a message for the other side, to a file or a pipe. SECURITY.md lists what each side learns.
    /// A key file has 64 hex digits, as printed by `openssl rand -hex 32`; no message contains such a key.
    #[command(after_help = examples::SECURE)]
    Secure(Secure),
    /// Show how a filter arrives at its answer for one key.
    #[command(after_help = examples::EXPLAIN)]
    Explain(Explain),
    /// Measure a filter's speed on this machine, next to a hash set of the same keys.
    #[command(after_help = examples::BENCH)]
    Bench(Bench),
    /// List the variants, or show one: its paper, abilities and parameters.
    #[command(after_help = examples::CATALOG)]
    Catalog(Catalog),
    /// List the foreign formats: filters of other software.
    #[command(after_help = examples::FORMATS)]
    Formats(Formats),
    /// Convert a foreign filter to a filter file.
    ///
    /// The bits are copied unchanged; this needs a variant that finds keys as the other software does.
    #[command(after_help = examples::IMPORT)]
    Import(Import),
    /// Write a filter in a foreign format.
    ///
    /// The bits are copied unchanged; this needs a format whose software finds keys as the variant does.
    #[command(after_help = examples::EXPORT)]
    Export(Export),
    /// Build and query a filter of each everyday variant, and compare prediction with measurement.
    #[command(after_help = examples::DEMO)]
    Demo(Demo),
    /// Learn what filters do, in three minutes: build, check, fill, overflow, delete and merge, with pictures.
    ///
    /// Every command runs in a temporary folder, which is removed at the end. On a terminal each chapter waits for
    /// Enter.
    #[command(after_help = examples::TOUR)]
    Tour,
    /// Print a completion script for a shell.
    #[command(after_help = examples::COMPLETIONS)]
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, of one verb or of all.
    #[command(after_help = examples::MAN)]
    Man(Manual),
}
