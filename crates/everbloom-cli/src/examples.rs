//! Examples at the end of every verb's help. A test runs them all, verb by verb in the order of the list.

use everbloom::internals::filter::NEEDS;

/// Where the figures of the surveys are.
pub const LAB: &str = "\
The surveys' figures and 71 applications, measured, in the repository:
  cargo run --release -p everbloom-lab -- list";

const START: &str = "\
The first ten minutes:
  everbloom tour                            what filters do, in three minutes
  everbloom plan -n 10M -p 1%               which filter, and how large?
  everbloom build words.txt -o words.evb    a filter of keys, one per line
  everbloom check words.evb queries.txt     which of these may be members?
  everbloom info words.evb                  fill and false-positive rate
`everbloom help` lists all verbs; `everbloom help VERB` shows its options.";

/// The first steps, and the way to the lab.
pub fn all() -> String {
    format!("{START}\n\n{LAB}")
}

pub const BUILD: &str = "\
Examples:
  # the lines of a file, at the default false-positive rate of 1 %
  everbloom build words.txt -o words.evb
  # 0.1 %, and one cache line per key; compressed input is unpacked
  everbloom build words.txt.gz -o fast.evb --kind blocked -p 0.1%
  # integers from a pipe; -n is their number
  seq 1000000 | everbloom build - -o ids.evb -n 1M --key-type u64
  # the second column of a table; lines without one are reported and skipped
  everbloom build people.csv -o towns.evb -f 2 -d , --skip-bad
  # two filters that can be merged: --mergeable, or --like another filter
  everbloom build monday.txt -o monday.evb --mergeable
  everbloom build tuesday.txt -o tuesday.evb --like monday.evb
  # keys with times in seconds; each is remembered for a minute
  printf '100\\tann\\t60\\n' | everbloom build - -o here.evb --kind windowed -n 1000 --time";

pub const CHECK: &str = "\
Examples:
  # the lines that may be members; exit code 1 if there are none
  everbloom check words.evb queries.txt
  # those that are certainly not members
  everbloom check words.evb queries.txt --answers | grep ^absent | cut -f 2
  # a single key, in a script
  echo apple | everbloom check words.evb > /dev/null && echo maybe || echo no";

pub const INFO: &str = "\
Examples:
  # a short summary
  everbloom info words.evb
  # the current false-positive rate, for a script
  everbloom info words.evb --json | grep fpr_now
  # the same facts for a spreadsheet
  everbloom info words.evb --csv > words.csv";

pub const ADD: &str = "\
Examples:
  # one more key
  echo quince | everbloom add words.evb
  # the lines of a file
  everbloom add words.evb more.txt";

pub const REMOVE: &str = "\
Examples:
  # a filter that can remove keys; remove one
  everbloom build words.txt -o open.evb --kind counting
  echo apple | everbloom remove open.evb
  # which other variants can remove keys?
  everbloom plan -n 1M -p 1% --need delete";

pub const COUNT: &str = "\
Examples:
  # how often each word occurs
  everbloom build words.txt -o counts.evb --kind spectral
  printf 'apple\\nquince\\n' | everbloom count counts.evb";

pub const LIST: &str = "\
Examples:
  # the ten most frequent words
  everbloom build words.txt -o top.evb --kind top-k --set k=10
  everbloom list top.evb";

pub const GET: &str = "\
Examples:
  # a TAB separates key and value
  printf 'fig\\tfruit\\noak\\ttree\\n' | everbloom build - -o kinds.evb --kind bloomier
  echo oak | everbloom get kinds.evb
  # which of two candidates is the parent?
  printf 'root\\t\\nleaf\\troot\\n' | everbloom build - -o tree.evb --kind relations
  printf 'leaf\\troot,oak\\n' | everbloom get tree.evb --what parents";

pub const AGE: &str = "\
Examples:
  # a filter that remembers about 1000 keys; advance its clock by 500 insertions
  everbloom build words.txt -o recent.evb --kind stable -n 1000
  everbloom age recent.evb 500";

pub const SAMPLE: &str = "\
Examples:
  # a filter of ten thousand keys with values; look up three of them
  everbloom sample bloomier -n 10k | everbloom build - -o values.evb --kind bloomier
  everbloom sample bloomier -n 3 --queries members | everbloom get values.evb";

pub const SCRUB: &str = "\
Examples:
  # a filter for memory with bit errors; repair what has flipped
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
  # who was there on both days?
  everbloom intersect monday.evb tuesday.evb -o regulars.evb
  everbloom check regulars.evb monday.txt";

pub const FOLD: &str = "\
Examples:
  # shrink a filter that turned out too large to a quarter
  everbloom fold monday.evb -o small.evb --times 2";

pub const RESHAPE: &str = "\
Examples:
  # a quotient filter with room for twice as many keys
  everbloom build words.txt -o q.evb --kind quotient -n 100
  everbloom reshape q.evb double
  # let an adaptive filter learn from queries that are no members
  everbloom build words.txt -o learns.evb --kind adaptive-cuckoo -n 100
  everbloom reshape learns.evb adapt words.txt || echo 'no false positives'";

pub const ESTIMATE: &str = "\
Examples:
  # how many were there on each day, on either, on both?
  everbloom estimate monday.evb tuesday.evb
  # the number of distinct lines, in 12 KiB
  everbloom build words.txt -o visitors.evb --kind hyperloglog
  everbloom estimate visitors.evb";

pub const DEDUPE: &str = "\
Examples:
  # first occurrences, in order; memory grows with the number of distinct lines
  cat monday.txt tuesday.txt | everbloom dedupe > all.txt
  # an endless stream in fixed memory: repetitions within about a million lines
  cat access.log | everbloom dedupe --window 1M
  # the first line of every visitor (first column)
  cat access.log | everbloom dedupe -f 1 -d ' '
  # lines not seen in the previous hour; the first column has times in seconds
  printf '0\\tann\\n60\\tann\\n9000\\tann\\n' | everbloom dedupe --time --ttl 3600";

pub const DIFF: &str = "\
Examples:
  # the differences, and the traffic it would take to find them over a network
  everbloom diff monday.txt tuesday.txt
  # changes since a list was sketched
  everbloom sketch monday.txt -o monday.sketch
  everbloom diff monday.sketch tuesday.txt
  # two filters that can be subtracted
  everbloom build monday.txt -o monday.evb --kind invertible -n 100
  everbloom build tuesday.txt -o tuesday.evb --kind invertible -n 100
  everbloom diff monday.evb tuesday.evb";

pub const SKETCH: &str = "\
Examples:
  # the size depends on how many keys may differ, not on the list
  everbloom sketch monday.txt -o monday.sketch -n 100
  everbloom diff monday.sketch tuesday.txt
  # between two machines: ssh host everbloom sketch list -o - | everbloom diff - list
  everbloom sketch monday.txt -o - | everbloom diff - monday.txt";

pub const SYNC: &str = "\
Examples:
  # the differences of two lists, and the traffic
  everbloom sync monday.txt tuesday.txt || true
  # over ssh: everbloom sync monday.txt ssh://ann@host/srv/monday.txt --send
  # both sides receive what they lack
  cp monday.txt mine.txt; cp tuesday.txt yours.txt
  everbloom sync mine.txt yours.txt --send
  # one message of 260 bytes finds most of what is missing here
  everbloom sync monday.txt words.txt --approximate=260B || true
  # two folders; files are compared by name and content
  mkdir -p left right; cp words.txt left; cp more.txt right
  everbloom sync left right --send";

pub const JOIN: &str = "\
Examples:
  # rows with the same first column
  everbloom join people.csv orders.csv -d ,
  # column 1 of the left file matches column 2 of the right one
  everbloom join people.csv orders.csv -f 1,2 -d ,
  # with another machine: everbloom join people.csv ssh://ann@host/srv/orders.csv -d ,
  # lines that are in both lists, with an estimate of their number
  everbloom join monday.txt tuesday.txt --keys --estimate";

pub const PUBLISH: &str = "\
Examples:
  # version 1, then a delta for the new words
  everbloom publish words.txt -o feed
  cat words.txt more.txt | everbloom publish - -o feed
  # in the format of Squid
  printf 'http://a/\\nhttp://b/\\n' | everbloom publish - -o digests --format squid";

pub const FOLLOW: &str = "\
Examples:
  # from a folder; run it again to fetch deltas
  everbloom follow feed -o followed.evb
  # from a web server: --fetch 'curl -fsS https://example.org/feed/$1'
  everbloom follow --fetch 'cat feed/$1' -o fetched.evb
  # through a pipe
  cat feed/2.full | everbloom follow - -o piped.evb";

pub const TOP: &str = "\
Examples:
  # the three most frequent visitors (first column)
  everbloom top access.log -k 3 -f 1 -d ' '
  # exact counts from a pipe
  cat access.log | everbloom top --exact -n 1M
  # visitors with at least two lines in each hundred
  everbloom top access.log --at-least 2 --every 100 -f 1 -d ' '
  # add up two sites
  everbloom top monday.txt -o monday.top; everbloom top tuesday.txt -o tuesday.top
  everbloom top --merge monday.top tuesday.top";

pub const KMER: &str = "\
Examples:
  # one sample per file
  everbloom kmer build phage.fa yeast.fa -o samples.evk
  # add a sample
  everbloom kmer add samples.evk worm.fa
  # which samples contain at least half of the K-mers of each read?
  everbloom kmer query samples.evk reads.fa -t 50%
  # sizes and false-positive rates
  everbloom kmer info samples.evk";

pub const SIMILAR: &str = "\
Examples:
  # which files of a folder share passages?
  everbloom similar essays
  # pairs that share at least half of the smaller file
  everbloom similar essays --at-least 50%";

pub const KNOWN: &str = "\
Examples:
  # which files contain parts of these, and how much?
  everbloom known copies -r essays
  # which whole files are on a list?
  sha256sum essays/* > sums; everbloom known copies --list sums
  # save the known parts for later runs
  everbloom known -r essays -o essays.evb; everbloom known copies --filter essays.evb";

pub const ATTRIBUTE: &str = "\
Examples:
  # the lines of a log, with their senders (first column)
  everbloom attribute build access.log -o seen -f 1 -d ' ' --block 16
  # who sent a line with these letters?
  everbloom attribute find seen --text '/a HTTP/1.1 Mozilla/5.0 (X11; Linux'";
pub const LINK: &str = "\
Examples:
  # two registers with different spellings
  printf 'id,name,town\\n1,Ann Miller,Berlin\\n2,Bob Stone,Lima\\n' > ours.csv
  printf 'id,name,town\\n7,Ann Miler,Berlin\\n' > theirs.csv
  everbloom link ours.csv theirs.csv --id id
  # send filters instead of names, under a shared key
  openssl rand -hex 16 > both.key
  everbloom link theirs.csv --id id --key-file both.key -o theirs.evb
  everbloom link ours.csv theirs.evb --id id --key-file both.key";

pub const SPELL: &str = "\
Examples:
  # the words of a text that are in neither list
  echo 'A bananna, an apple' | everbloom spell -d words.txt --personal more.txt
  # each unknown word once
  echo 'A bananna, an apple' | everbloom spell -d words.txt --words | sort -u
  # hyphenate by TeX patterns and a list of exceptions
  printf '1na 1nan\\n' > patterns.txt; echo ap-ple > exceptions.txt
  everbloom spell --hyphenate patterns.txt --exceptions exceptions.txt words.txt";

pub const BREACH: &str = "\
Examples:
  # a list of passwords; also find those within one edit
  everbloom breach build words.txt -o leaked --near
  # on a terminal it prompts without echo; from a pipe it reads one password per line
  echo aple | everbloom breach check leaked --near
  # hashes with counts, as published by Have I Been Pwned: those seen ten times or more
  printf apple | sha1sum | sed 's/ .*/:42/' | everbloom breach build - -o breached --min-count 10
  echo apple | everbloom breach check breached";

pub const REVOKED: &str = "\
Examples:
  # a cascade, as in browsers, and a filter of the valid serials
  printf '0A1B\\n2C3D\\n' > revoked.txt; seq 1000 2000 > valid.txt
  everbloom revoked build --revoked revoked.txt --valid valid.txt -o status
  echo serial=0a:1b | everbloom revoked check status
  # two filters and the root of a Merkle tree, for devices that can request proofs
  everbloom revoked build --revoked revoked.txt --valid valid.txt -o meters --form dual
  everbloom revoked prove revoked.txt 1234 -o 1234.proof
  everbloom revoked verify meters 1234 1234.proof";

pub const SECURE: &str = "\
Examples:
  # two sides that do not show each other their keys; each makes a secret key
  openssl rand -hex 32 > server.key; openssl rand -hex 32 > client.key
  # the server publishes this file, which is useless without the server
  everbloom secure query setup words.txt --key-file server.key -o words.set
  # the client asks, the server answers, the client learns which of its lines the server has
  everbloom secure query ask words.set queries.txt --key-file client.key -o asked
  everbloom secure query answer asked --key-file server.key -o answered
  everbloom secure query finish words.set asked answered queries.txt --key-file client.key
  # documents stored by someone who must not learn their words
  everbloom secure index build monday.txt tuesday.txt --key-file client.key -o days.index
  echo zoe | everbloom secure index trapdoor - --key-file client.key -o zoe.trapdoor
  everbloom secure index search days.index zoe.trapdoor";

pub const EXPLAIN: &str = "\
Examples:
  # digest, cells and verdict
  everbloom explain words.evb apple
  # an integer key
  everbloom explain ids.evb 42 --key-type u64
  # a picture of the key and its cells
  everbloom explain words.evb apple --svg apple.svg";

pub const BENCH: &str = "\
Examples:
  # build and query a filter of 100 000 keys
  everbloom bench --kind blocked -n 100k
  # query this filter
  everbloom bench words.evb -n 100k
  # the same columns for a spreadsheet
  everbloom bench --kind bloom -n 100k --csv";

pub const CATALOG: &str = "\
Examples:
  # all variants, by family
  everbloom catalog
  # one line for each form of each variant
  everbloom catalog --all
  # one variant, with the parameters for `build --set`
  everbloom catalog counting
  # the list for a spreadsheet
  everbloom catalog --csv > variants.csv";

pub const FORMATS: &str = "\
Examples:
  # which formats can be read, queried, written?
  everbloom formats
  # a filter for Java programs that use Guava; query it
  everbloom build words.txt -o words.guava --format guava
  everbloom check words.guava queries.txt --format guava";

pub const IMPORT: &str = "\
Examples:
  # convert a split-block filter of Parquet
  everbloom build words.txt -o words.sbbf --format parquet
  everbloom import words.sbbf -o split.evb
  # for a Parquet file, --column and --row-group choose the filter
  everbloom check split.evb queries.txt";

pub const EXPORT: &str = "\
Examples:
  # a split-block filter has the bits of the Parquet specification
  everbloom build words.txt -o ours.evb --kind split-block
  everbloom export ours.evb --format parquet -o ours.sbbf";

pub const DEMO: &str = "\
Examples:
  # a table and a picture, in a few seconds
  everbloom demo";

pub const TOUR: &str = "\
Examples:
  # chapter by chapter; q quits
  everbloom tour
  # the whole tour as a text file
  everbloom tour > tour.txt";

pub const COMPLETIONS: &str = "\
Examples:
  # for bash; see your shell's manual for where scripts go
  everbloom completions bash > everbloom.bash";

pub const MAN: &str = "\
Examples:
  # the page of one verb, for man(1): `man -l build.1`
  everbloom man build > build.1
  # all verbs on one page
  everbloom man > everbloom.1
  # a page for each verb
  mkdir pages && everbloom man -o pages";

/// Examples of plans, and the needs there are.
pub fn plan() -> String {
    let needs: Vec<String> =
        NEEDS.iter().map(|(name, asks)| format!("  {name:<14} {asks}")).collect();
    format!(
        "\
Examples:
  # ten million keys at 1 %: which filter, and how large?
  everbloom plan -n 10M -p 1%
  # the lowest rate in 20 MB, with deletion
  everbloom plan -n 5M --memory 20MB --need delete
  # which filters forget old keys?
  everbloom plan --need decay
  # which filters can count to a thousand, and how wide must their counters be?
  everbloom plan -n 1M -p 1% --need count --max-count 1000
  # all candidates for a spreadsheet
  everbloom plan -n 1M -p 1% --csv > plan.csv

Needs:
{}",
        needs.join("\n")
    )
}
