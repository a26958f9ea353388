//! Examples at the end of every verb's help. A test runs them all, verb by verb in the order of the list.

use everbloom::internals::filter::NEEDS;

/// Where the figures of the surveys are.
pub const LAB: &str = "\
The surveys' figures and 71 applications, measured, in the repository:
  cargo run --release -p everbloom-lab -- list";

const START: &str = "\
The first ten minutes:
  everbloom tour                           what filters do, in three minutes
  everbloom plan -n 10M -p 1%              which filter, how big, how good?
  everbloom build words.txt -o words.evb   keys, one a line, become a filter
  everbloom check words.evb queries.txt    which of these may be in it?
  everbloom info words.evb                 how full it is, how often it errs
`everbloom help VERB` tells more, with examples; `--json` is for programs.";

/// The first steps, and the way to the lab.
pub fn all() -> String {
    format!("{START}\n\n{LAB}")
}

pub const BUILD: &str = "\
Examples:
  # the lines of a file; one non-member in a hundred will pass
  everbloom build words.txt -o words.evb
  # one in a thousand, and one cache line per key; gzip and zstd are unpacked
  everbloom build words.txt.gz -o fast.evb --kind blocked -p 0.1%
  # integers from a pipe, whose length is told
  seq 1000000 | everbloom build - -o ids.evb -n 1M --key-type u64
  # the second column of a table; lines without one are named and left out
  everbloom build people.csv -o towns.evb -f 2 -d , --skip-bad
  # filters of two files that merge: both for as many keys, or one like the other
  everbloom build monday.txt -o monday.evb --mergeable
  everbloom build tuesday.txt -o tuesday.evb --like monday.evb
  # keys with the time at which they came, in seconds, each found for a minute
  printf '100\\tann\\t60\\n' | everbloom build - -o here.evb --kind windowed -n 1000 --time";

pub const CHECK: &str = "\
Examples:
  # the lines that may be in the filter; exit code 1 if there are none
  everbloom check words.evb queries.txt
  # those that are not in it, for certain
  everbloom check words.evb queries.txt --answers | grep ^absent | cut -f 2
  # one key, in a script
  echo apple | everbloom check words.evb > /dev/null && echo maybe || echo no";

pub const INFO: &str = "\
Examples:
  # a few lines to read
  everbloom info words.evb
  # how often it errs now, for a script
  everbloom info words.evb --json | grep fpr_now
  # the same facts for a spreadsheet
  everbloom info words.evb --csv > words.csv";

pub const ADD: &str = "\
Examples:
  # one key more
  echo quince | everbloom add words.evb
  # the lines of a file
  everbloom add words.evb more.txt";

pub const REMOVE: &str = "\
Examples:
  # a filter that can remove keys, then one key less
  everbloom build words.txt -o open.evb --kind counting
  echo apple | everbloom remove open.evb
  # which other filters can?
  everbloom plan -n 1M -p 1% --need delete";

pub const COUNT: &str = "\
Examples:
  # how often each word came
  everbloom build words.txt -o counts.evb --kind spectral
  printf 'apple\\nquince\\n' | everbloom count counts.evb";

pub const LIST: &str = "\
Examples:
  # the ten words that come most often
  everbloom build words.txt -o top.evb --kind top-k --set k=10
  everbloom list top.evb";

pub const GET: &str = "\
Examples:
  # values stand behind a TAB
  printf 'fig\\tfruit\\noak\\ttree\\n' | everbloom build - -o kinds.evb --kind bloomier
  echo oak | everbloom get kinds.evb";

pub const AGE: &str = "\
Examples:
  # a filter that remembers about 1000 keys, and a while in which none came
  everbloom build words.txt -o recent.evb --kind stable -n 1000
  everbloom age recent.evb 500";

pub const SAMPLE: &str = "\
Examples:
  # a filter of values from ten thousand lines, and the value of three of its keys
  everbloom sample bloomier -n 10k | everbloom build - -o values.evb --kind bloomier
  everbloom sample bloomier -n 3 --queries members | everbloom get values.evb";

pub const SCRUB: &str = "\
Examples:
  # a filter whose memory may flip bits, and the repair of those that did
  everbloom build words.txt -o words.evb --kind soft-error
  everbloom scrub words.evb";

pub const MERGE: &str = "\
Examples:
  # the same -n and -p give the same shape
  everbloom build monday.txt -o monday.evb -n 1M
  everbloom build tuesday.txt -o tuesday.evb -n 1M
  everbloom merge monday.evb tuesday.evb -o both.evb";

pub const INTERSECT: &str = "\
Examples:
  # who came on both days?
  everbloom intersect monday.evb tuesday.evb -o regulars.evb
  everbloom check regulars.evb monday.txt";

pub const FOLD: &str = "\
Examples:
  # a quarter of the size, for a filter that turned out too large
  everbloom fold monday.evb -o small.evb --times 2";

pub const ESTIMATE: &str = "\
Examples:
  # how many came on each day, on either, on both?
  everbloom estimate monday.evb tuesday.evb
  # how many different lines, in 12 KiB
  everbloom build words.txt -o visitors.evb --kind hyperloglog
  everbloom estimate visitors.evb";

pub const DEDUPE: &str = "\
Examples:
  # first sights, in order; memory grows with what is new
  cat monday.txt tuesday.txt | everbloom dedupe > all.txt
  # an endless stream in fixed memory: repetitions within about a million lines
  cat access.log | everbloom dedupe --window 1M
  # the first line of every visitor, who is the first column
  cat access.log | everbloom dedupe -f 1 -d ' '
  # whatever did not come in the hour before; times in seconds stand in the first column
  printf '0\\tann\\n60\\tann\\n9000\\tann\\n' | everbloom dedupe --time --ttl 3600";

pub const DIFF: &str = "\
Examples:
  # what differs, and what it would cost to find out over a wire
  everbloom diff monday.txt tuesday.txt
  # what changed since a list was sketched
  everbloom sketch monday.txt -o monday.sketch
  everbloom diff monday.sketch tuesday.txt
  # two filters that can be subtracted
  everbloom build monday.txt -o monday.evb --kind invertible -n 100
  everbloom build tuesday.txt -o tuesday.evb --kind invertible -n 100
  everbloom diff monday.evb tuesday.evb";

pub const SKETCH: &str = "\
Examples:
  # 17 bytes for each of about 1.4 cells per key that may differ, however long the list is
  everbloom sketch monday.txt -o monday.sketch -n 100
  everbloom diff monday.sketch tuesday.txt
  # on another machine it is: ssh host everbloom sketch list -o - | everbloom diff - list
  everbloom sketch monday.txt -o - | everbloom diff - monday.txt";

pub const SYNC: &str = "\
Examples:
  # what two lists do not share, and what it costs to find out
  everbloom sync monday.txt tuesday.txt || true
  # over ssh it is: everbloom sync monday.txt ssh://ann@host/srv/monday.txt --send
  # both get what they lack
  cp monday.txt mine.txt; cp tuesday.txt yours.txt
  everbloom sync mine.txt yours.txt --send
  # one message of 260 bytes tells most of what is missing here
  everbloom sync monday.txt words.txt --approximate=260B || true
  # two folders, files by name and content
  mkdir -p left right; cp words.txt left; cp more.txt right
  everbloom sync left right --send";

pub const JOIN: &str = "\
Examples:
  # rows with the same first column
  everbloom join people.csv orders.csv -d ,
  # column 1 of the left file is column 2 of the right one
  everbloom join people.csv orders.csv -f 1,2 -d ,
  # with another machine it is: everbloom join people.csv ssh://ann@host/srv/orders.csv -d ,
  # lines that both lists have, and how many there are, told before
  everbloom join monday.txt tuesday.txt --keys --estimate";

pub const PUBLISH: &str = "\
Examples:
  # version 1, then what one more word changes
  everbloom publish words.txt -o feed
  cat words.txt more.txt | everbloom publish - -o feed
  # as Squid's neighbors read it
  printf 'http://a/\\nhttp://b/\\n' | everbloom publish - -o digests --format squid";

pub const FOLLOW: &str = "\
Examples:
  # from a folder; again later, and it takes the deltas
  everbloom follow feed -o followed.evb
  # from a web server it is: --fetch 'curl -fsS https://example.org/feed/$1'
  everbloom follow --fetch 'cat feed/$1' -o fetched.evb
  # through a pipe
  cat feed/2.full | everbloom follow - -o piped.evb";

pub const TOP: &str = "\
Examples:
  # the three visitors who come most often, who are the first column
  everbloom top access.log -k 3 -f 1 -d ' '
  # exact counts from a pipe, too
  cat access.log | everbloom top --exact -n 1M
  # everybody with at least two lines, in every hundred of them
  everbloom top access.log --at-least 2 --every 100 -f 1 -d ' '
  # two sites, added up
  everbloom top monday.txt -o monday.top; everbloom top tuesday.txt -o tuesday.top
  everbloom top --merge monday.top tuesday.top";

pub const KMER: &str = "\
Examples:
  # a sample for each file
  everbloom kmer build phage.fa yeast.fa -o samples.evk
  # one more, later
  everbloom kmer add samples.evk worm.fa
  # which samples hold at least half of the K-mers of each read?
  everbloom kmer query samples.evk reads.fa -t 50%
  # how large are they, and how often do they err?
  everbloom kmer info samples.evk";

pub const SIMILAR: &str = "\
Examples:
  # which files of a folder have passages of each other?
  everbloom similar essays
  # pairs of which one holds at least half of the other
  everbloom similar essays --at-least 50%";

pub const KNOWN: &str = "\
Examples:
  # which files hold parts of these, and how much of each is that?
  everbloom known copies -r essays
  # which files are on a list, as a whole?
  sha256sum essays/* > sums; everbloom known copies --list sums
  # the known parts once, for many runs
  everbloom known -r essays -o essays.evb; everbloom known copies --filter essays.evb";

pub const ATTRIBUTE: &str = "\
Examples:
  # the lines of a log and who sent them, who is the first column
  everbloom attribute build access.log -o seen -f 1 -d ' ' --block 2
  # who sent a line with these letters?
  everbloom attribute find seen --text 'n /a'";
pub const LINK: &str = "\
Examples:
  # two registers that write names in two ways
  printf 'id,name,town\\n1,Ann Miller,Berlin\\n2,Bob Stone,Lima\\n' > ours.csv
  printf 'id,name,town\\n7,Ann Miler,Berlin\\n' > theirs.csv
  everbloom link ours.csv theirs.csv --id id
  # filters in place of names, under a key that both sides have
  openssl rand -hex 16 > both.key
  everbloom link theirs.csv --id id --key-file both.key -o theirs.evb
  everbloom link ours.csv theirs.evb --id id --key-file both.key";

pub const SPELL: &str = "\
Examples:
  # the words of a text that are in neither list
  echo 'A bananna, an apple' | everbloom spell -d words.txt --personal more.txt
  # each unknown word once
  echo 'A bananna, an apple' | everbloom spell -d words.txt --words | sort -u
  # where words may be parted, by TeX's patterns and a list of exceptions
  printf '1na 1nan\\n' > patterns.txt; echo ap-ple > exceptions.txt
  everbloom spell --hyphenate patterns.txt --exceptions exceptions.txt words.txt";

pub const BREACH: &str = "\
Examples:
  # a list of passwords, of which those within one edit are refused, too
  everbloom breach build words.txt -o leaked --near
  # asked for without echo on a terminal; here from a pipe, a password a line
  echo aple | everbloom breach check leaked --near
  # hashes with counts, as Have I Been Pwned publishes them: those seen ten times or more
  printf apple | sha1sum | sed 's/ .*/:42/' | everbloom breach build - -o breached --min-count 10
  echo apple | everbloom breach check breached";

pub const REVOKED: &str = "\
Examples:
  # a cascade, as browsers have it, and a filter of the valid serials
  everbloom revoked build --revoked more.txt --valid monday.txt -o status
  echo damson | everbloom revoked check status
  # two filters and the root of a Merkle tree, for devices that can ask for proofs
  everbloom revoked build --revoked more.txt --valid monday.txt -o meters --form dual
  everbloom revoked prove more.txt ann -o ann.proof
  everbloom revoked verify meters ann ann.proof";

pub const SECURE: &str = "\
Examples:
  # two who do not show each other their keys: each makes a key of its own
  openssl rand -hex 32 > server.key; openssl rand -hex 32 > client.key
  # the server gives everyone this file, which tells nothing without it
  everbloom secure query setup words.txt --key-file server.key -o words.set
  # the client asks, the server answers, the client learns which of its lines are among the server's
  everbloom secure query ask words.set queries.txt --key-file client.key -o asked
  everbloom secure query answer asked --key-file server.key -o answered
  everbloom secure query finish words.set asked answered queries.txt --key-file client.key
  # documents kept by somebody who must not know their words
  everbloom secure index build monday.txt tuesday.txt --key-file client.key -o days.index
  echo zoe | everbloom secure index trapdoor - --key-file client.key -o zoe.trapdoor
  everbloom secure index search days.index zoe.trapdoor";

pub const EXPLAIN: &str = "\
Examples:
  # digest, cells and verdict
  everbloom explain words.evb apple
  # of an integer
  everbloom explain ids.evb 42 --key-type u64
  # a picture of the key and its cells
  everbloom explain words.evb apple --svg apple.svg";

pub const BENCH: &str = "\
Examples:
  # building and asking a filter of 100 000 keys
  everbloom bench --kind blocked -n 100k
  # asking this filter
  everbloom bench words.evb -n 100k
  # the same columns for a spreadsheet
  everbloom bench --kind bloom -n 100k --csv";

pub const CATALOG: &str = "\
Examples:
  # the names of all variants, by family
  everbloom catalog
  # one line for each form of each variant
  everbloom catalog --all
  # what a counting filter is, and what `build --set` takes
  everbloom catalog counting
  # the list for a spreadsheet
  everbloom catalog --csv > variants.csv";

pub const FORMATS: &str = "\
Examples:
  # which formats are read, queried, written?
  everbloom formats
  # a filter that Java programs read with Guava, and that is queried here
  everbloom build words.txt -o words.guava --format guava
  everbloom check words.guava queries.txt --format guava";

pub const IMPORT: &str = "\
Examples:
  # a split-block filter as Parquet files hold it, and as a filter of one's own
  everbloom build words.txt -o words.sbbf --format parquet
  everbloom import words.sbbf -o split.evb
  # of a Parquet file, --column and --row-group choose the filter
  everbloom check split.evb queries.txt";

pub const EXPORT: &str = "\
Examples:
  # the bits of the variant split-block are those of the Parquet specification
  everbloom build words.txt -o ours.evb --kind split-block
  everbloom export ours.evb --format parquet -o ours.sbbf";

pub const DEMO: &str = "\
Examples:
  # a table and a picture, in a few seconds
  everbloom demo";

pub const TOUR: &str = "\
Examples:
  # chapter by chapter; q leaves
  everbloom tour
  # all of it, to read at leisure
  everbloom tour > tour.txt";

pub const COMPLETIONS: &str = "\
Examples:
  # for bash; see your shell's manual for where scripts go
  everbloom completions bash > everbloom.bash";

pub const MAN: &str = "\
Examples:
  # a page for man(1): read it by `man -l everbloom.1`
  everbloom man > everbloom.1";

/// Examples of plans, and the needs there are.
pub fn plan() -> String {
    let needs: Vec<String> =
        NEEDS.iter().map(|(name, asks)| format!("  {name:<14} {asks}")).collect();
    format!(
        "\
Examples:
  # ten million keys, of non-members one in a hundred passes: which filter, how big?
  everbloom plan -n 10M -p 1%
  # how good can one be in 20 MB, if keys are removed again?
  everbloom plan -n 5M --memory 20MB --need delete
  # which filters forget old keys?
  everbloom plan --need decay
  # which count a key that comes a thousand times, and how wide must their counters be?
  everbloom plan -n 1M -p 1% --need count --max-count 1000
  # all candidates for a spreadsheet
  everbloom plan -n 1M -p 1% --csv > plan.csv

Needs:
{}",
        needs.join("\n")
    )
}
