//! The tools beside what people use now, on the same input, in interleaved rounds.
//!
//! Nothing is installed here: a line whose program or data is missing says so and is left out.

use std::path::Path;

use crate::Profile;
use crate::timing::{self, median};

const ROUNDS: usize = 3;

/// One question and the ways to answer it. In every line `$E` is the command; the last line that it prints
/// stands in the table.
struct Row {
    tool: &'static str,
    question: &'static str,
    /// Makes the input, once. Without the files and programs that it names first the row is left out.
    needs: &'static [&'static str],
    setup: &'static str,
    ours: &'static str,
    others: &'static [Other],
}

struct Other {
    name: &'static str,
    program: &'static str,
    line: &'static str,
}

/// Runs every row, or those of one tool, and prints a table in Markdown.
pub fn run(only: Option<&str>) -> Result<(), String> {
    let command = crate::command(Profile::Release)?;
    println!("| tool | task | program | seconds | ratio | peak memory | last line of output |");
    println!("|---|---|---|---:|---:|---:|---|");
    for row in ROWS.iter().filter(|row| only.is_none_or(|tool| row.tool == tool)) {
        match row.needs.iter().find(|need| !Path::new(need).exists() && !timing::has(need)) {
            Some(missing) => {
                println!("| {} | skipped: {missing} is not installed | | | | | |", row.tool)
            }
            None => measure(row, &command)?,
        }
    }
    Ok(())
}

fn measure(row: &Row, command: &Path) -> Result<(), String> {
    let folder = std::env::temp_dir().join("everbloom-tools");
    std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let line = |text: &str| format!("E={}; {text}", command.display());
    let outcome = (|| {
        timing::run(&folder, &line(row.setup))?;
        let ours = Other { name: "everbloom", program: "sh", line: row.ours };
        let ways: Vec<&Other> = std::iter::once(&ours).chain(row.others).collect();
        let mut runs: Vec<Vec<timing::Run>> = ways.iter().map(|_| Vec::new()).collect();
        for _ in 0..ROUNDS {
            for (way, runs) in
                ways.iter().zip(&mut runs).filter(|(way, _)| timing::has(way.program))
            {
                runs.push(timing::run(&folder, &line(way.line))?);
            }
        }
        print_row(row, &ways, &runs);
        Ok(())
    })();
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

fn print_row(row: &Row, ways: &[&Other], runs: &[Vec<timing::Run>]) {
    let medians: Vec<Option<f64>> = runs
        .iter()
        .map(|runs| {
            (!runs.is_empty()).then(|| median(runs.iter().map(|run| run.seconds).collect()))
        })
        .collect();
    for ((way, runs), time) in ways.iter().zip(runs).zip(&medians) {
        let (Some(time), Some(last)) = (time, runs.last()) else {
            println!("| {} | {} | {}: not installed | | | | |", row.tool, row.question, way.name);
            continue;
        };
        let ratio = time / medians[0].unwrap_or(*time);
        let peak =
            last.peak_kib.map_or(String::new(), |kib| format!("{} MB", kib * 1024 / 1_000_000));
        let says = last.says.trim().replace('|', "\\|");
        println!(
            "| {} | {} | {} | {time:.2} | {ratio:.2} | {peak} | {says} |",
            row.tool, row.question, way.name
        );
    }
}

/// Digests of whole files, for all files of `tree`.
const DIGESTS: &[Other] = &[
    Other {
        name: "ssdeep -r -d",
        program: "ssdeep",
        line: "ssdeep -r -d -l -s tree | grep -c matches || true",
    },
    Other {
        name: "tlsh -xref",
        program: "tlsh",
        line: "tlsh -r tree -xref -T 50 2> /dev/null | wc -l",
    },
];

const ROWS: &[Row] = &[
    Row {
        tool: "sync",
        question: "two lists of 10M lines that differ in 1,000, both sides in one process; bytes both ways",
        needs: &[],
        setup: "seq -f %.0f 10000000 19999999 > a; seq -f %.0f 10000500 20000499 > b",
        ours: "$E sync a b -q --json > s; grep -E '^  .bytes_(sent|received)' s | tr -dc '0-9\\n' | awk '{n+=$1} END {print n}'",
        others: &[
            Other {
                name: "rsync (of the file)",
                program: "rsync",
                line: "cp a c; rsync --no-whole-file -I --stats b c | awk '/^Total bytes/ {gsub(\",\",\"\",$4); n+=$4} END {print n}'",
            },
            Other {
                name: "comm over a pipe",
                program: "comm",
                line: "cat b | tee >(wc -c > n) | comm -3 a - > d; sleep 0.1; cat n",
            },
        ],
    },
    Row {
        tool: "sync",
        question: "two lists of 10M lines that differ in 100,000, both sides in one process; bytes both ways",
        needs: &[],
        setup: "seq -f %.0f 10000000 19999999 > a; seq -f %.0f 10050000 20049999 > b",
        ours: "$E sync a b -q --json > s; grep -E '^  .bytes_(sent|received)' s | tr -dc '0-9\\n' | awk '{n+=$1} END {print n}'",
        others: &[Other {
            name: "comm over a pipe",
            program: "comm",
            line: "cat b | tee >(wc -c > n) | comm -3 a - > d; sleep 0.1; cat n",
        }],
    },
    Row {
        tool: "sync",
        question: "the same 100,000 by TCP on the loopback, this side's process; bytes both ways",
        needs: &[],
        setup: "seq -f %.0f 10000000 19999999 > a; seq -f %.0f 10050000 20049999 > b",
        ours: "$E sync b --listen 127.0.0.1:7179 -q > /dev/null 2>&1 & sleep 0.2; $E sync a tcp://127.0.0.1:7179 -q --json > s; wait; grep -E '^  .bytes_(sent|received)' s | tr -dc '0-9\\n' | awk '{n+=$1} END {print n}'",
        others: &[],
    },
    Row {
        tool: "breach",
        question: "a set of 20M passwords through a pipe; bytes of the result",
        needs: &[],
        setup: "true",
        ours: "rm -rf set; seq 20000000 | $E breach build - -o set -q; du -sb set | cut -f1",
        others: &[Other {
            name: "sha1, sorted",
            program: "python3",
            line: "seq 20000000 | python3 -c \"import sys,hashlib\nfor l in sys.stdin.buffer: print(hashlib.sha1(l[:-1]).hexdigest())\" | sort -S 1G > h; wc -c < h",
        }],
    },
    Row {
        tool: "breach",
        question: "a set of 100M passwords through a pipe; bytes of the result",
        needs: &[],
        setup: "true",
        ours: "rm -rf set; seq 100000000 | $E breach build - -o set -q; du -sb set | cut -f1",
        others: &[],
    },
    Row {
        tool: "spell",
        question: "unknown words of 100 MB in which most are known, on one core",
        needs: &["/usr/share/hunspell/en_US.dic", "/usr/share/dict/american-english"],
        setup: "grep -E '^[a-z]+$' /usr/share/dict/american-english | shuf --random-source=/usr/share/dict/american-english > w; for i in $(seq 170); do cat w; done | paste -sd '         \\n' > text; wc -c < text",
        ours: "taskset -c 0 $E spell -d /usr/share/hunspell/en_US.dic --words text | wc -l",
        others: &[],
    },
    Row {
        tool: "spell",
        question: "words of 60 MB of text that the dictionary lacks",
        needs: &["/usr/share/hunspell/en_US.dic", "/usr/share/dict/american-english-insane"],
        setup: "for i in 1 2 3 4 5 6 7 8 9 10; do shuf --random-source=/usr/share/dict/american-english-insane /usr/share/dict/american-english-insane; done | grep -v \"'\" | paste -sd '         \\n' > text; wc -c < text",
        ours: "$E spell -d /usr/share/hunspell/en_US.dic --words text | wc -l",
        others: &[Other {
            name: "hunspell -l",
            program: "hunspell",
            line: "hunspell -d en_US -l text | wc -l",
        }],
    },
    Row {
        tool: "top",
        question: "the ten most frequent of 10M lines with a heavy tail",
        needs: &[],
        setup: "awk 'BEGIN {srand(7); for (i = 0; i < 10000000; i++) print \"key\" int(exp(rand() * 14))}' > lines",
        ours: "$E top -k 10 lines -q | sed -n 1p",
        others: &[Other {
            name: "sort, uniq, sort",
            program: "sort",
            line: "sort -S 1G lines | uniq -c | sort -rn | sed -n 1p",
        }],
    },
    Row {
        tool: "similar",
        question: "which files of a source tree share parts",
        needs: &["/usr/lib/python3/dist-packages"],
        setup: "cp -rL /usr/lib/python3/dist-packages tree; find tree -type f -size +3k | wc -l",
        ours: "$E similar tree -q | wc -l",
        others: DIGESTS,
    },
    Row {
        tool: "similar",
        question: "which files of a kernel's file systems share parts",
        needs: &["/usr/src/linux-source-6.1.tar.xz"],
        setup: "tar xf /usr/src/linux-source-6.1.tar.xz linux-source-6.1/fs; mv linux-source-6.1/fs tree",
        ours: "$E similar tree -q | wc -l",
        others: DIGESTS,
    },
    Row {
        tool: "kmer",
        question: "which of two genomes and three runs hold 6,000 long reads of a virus",
        needs: &["/usr/share/doc/bowtie2/examples/reads/longreads.fq.gz"],
        setup: "cp /usr/share/doc/bowtie2/examples/re*/*.f*.gz .; awk 'BEGIN {srand(7); print \">noise\"; for (i = 0; i < 700; i++) {l = \"\"; for (j = 0; j < 70; j++) l = l substr(\"ACGT\", 1 + int(4 * rand()), 1); print l}}' > noise.fa",
        ours: "$E kmer build lambda_virus.fa.gz noise.fa reads_1.fq.gz reads_2.fq.gz longreads.fq.gz -o i.evk -q && $E kmer query i.evk longreads.fq.gz -q | wc -l",
        others: &[Other {
            name: "mash sketch, screen",
            program: "mash",
            line: "mash sketch -o all lambda_virus.fa.gz noise.fa reads_1.fq.gz reads_2.fq.gz longreads.fq.gz 2> /dev/null && mash screen all.msh longreads.fq.gz 2> /dev/null | wc -l",
        }],
    },
    Row {
        tool: "kmer",
        question: "which of 20 samples of 1M letters holds each of 200 reads",
        needs: &[],
        setup: "for s in $(seq 20); do awk -v s=$s 'BEGIN {srand(s); print \">s\" s; for (i = 0; i < 14286; i++) {l = \"\"; for (j = 0; j < 70; j++) l = l substr(\"ACGT\", 1 + int(4 * rand()), 1); print l}}' > s$s.fa; done; for s in $(seq 20); do awk -v s=$s 'NR > 1 && NR % 1400 == 2 {print \">r\" s \".\" NR; print}' s$s.fa; done > reads.fa",
        ours: "$E kmer build s*.fa -o i.evk -q && $E kmer query i.evk reads.fa -q | wc -l",
        others: &[
            Other {
                name: "mash sketch, screen",
                program: "mash",
                line: "mash sketch -s 10000 -o all s*.fa 2> /dev/null && mash screen all.msh reads.fa 2> /dev/null | wc -l",
            },
            Other {
                name: "grep -F",
                program: "grep",
                line: "grep -v '>' reads.fa > p; grep -cFf p s*.fa | awk -F: '{n+=$2} END {print n}'",
            },
        ],
    },
];
