//! The tools that read data of many kinds: heavy keys, K-mers, similar and known files, excerpts.

use std::path::Path;

use everbloom_tools::capture::{Flow, Writer};

mod place;

use place::Run;

/// Exit code, stdout and stderr of a line that is run in a folder.
fn run(folder: &Path, line: &str, stdin: &[u8]) -> (i32, String, String) {
    let command = place::command(folder, line.split_whitespace());
    let Run { code, out, err } = Run::of(&place::output(command, stdin));
    (code, out, err)
}

fn ok(folder: &Path, line: &str) -> String {
    let (code, out, err) = run(folder, line, b"");
    assert_eq!(code, 0, "{line}: {err}");
    out
}

fn refused(folder: &Path, line: &str, because: &str) {
    let (code, out, err) = run(folder, line, b"");
    assert_eq!((code, &out[..]), (2, ""), "{line}: {err}");
    assert!(err.contains(because), "{line}: {err}");
}

/// Key i comes 60/i times.
fn lines() -> String {
    (1..=60u32).flat_map(|i| vec![format!("key {i}\t{i}\n"); (60 / i) as usize]).collect()
}

fn flow(host: u8, port: u16) -> Flow {
    Flow { from: ([10, 0, 0, host].into(), port), to: ([10, 0, 0, 99].into(), 80), protocol: 6 }
}

/// A capture in which host i sends i packets, host 9 an exploit among them.
fn capture(folder: &Path, name: &str) {
    let mut file = Writer::new(Vec::new()).expect("memory");
    for host in 1..10u8 {
        for packet in 0..host {
            let number = u32::from(host) * 100 + u32::from(packet);
            let payload: String = (0..40).map(|i| format!("{} ", number * 31 + i)).collect();
            let payload =
                if number == 904 { format!("{payload}<exploit>{payload}") } else { payload };
            file.packet(u32::from(host), &flow(host, 4000), payload.as_bytes()).expect("memory");
        }
    }
    std::fs::write(folder.join(name), file.finish()).expect("a file");
}

#[test]
fn top_counts_lines_columns_and_weights() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    std::fs::write(folder.join("lines"), lines()).expect("a file");
    assert_eq!(ok(folder, "top lines -k 2 -f 1"), "key 1\t60\nkey 2\t30\n");
    // 60/1·1 and 60/i·i are all 60 or a little less, so the sum decides little; 59 comes once.
    let weighed = ok(folder, "top lines -k 60 -f 1 --weight 2");
    assert!(weighed.contains("key 59\t59\n") && weighed.contains("key 7\t56\n"), "{weighed}");
    let piped = run(folder, "top -k 1 --json", lines().as_bytes());
    assert!(piped.1.contains(r#""count":60,"at_least":60"#), "{}", piped.1);
    assert!(piped.1.contains(r#""exact":false"#), "{}", piped.1);
    assert_eq!(ok(folder, "top lines --at-least 30 -f 1"), "key 1\t60\nkey 2\t30\n");
    assert_eq!(run(folder, "top lines --at-least 61", b"").0, 1);
    refused(folder, "top lines --share 0", "share");
    refused(folder, "top lines -f 1 --weight 1", "not a whole number");
    refused(folder, "top lines --pcap", "pcap");
    refused(folder, "top --merge lines", "lines");
}

#[test]
fn top_is_exact_where_it_says_so_and_says_where_it_is_not() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let long = "x".repeat(50);
    let many: String = (0..5000).map(|i| format!("{i}\n")).collect();
    let all = format!("{long}\n{long}\n{long}\n7\n{many}");
    std::fs::write(folder.join("keys"), &all).expect("a file");
    // More keys than planned for, so that the cells have to grow; a key that is longer than they carry.
    let printed = ok(folder, "top keys --exact -n 100 -k 2");
    assert_eq!(printed, format!("{long}\t3\n7\t2\n"));
    let (code, out, _) = run(folder, "top --exact -n 10k -k 2", all.as_bytes());
    assert_eq!((code, &out[..]), (0, "(no name)\t3\n7\t2\n"));
    let (code, out, err) = run(folder, "top --exact -n 100 -k 1", all.as_bytes());
    assert_eq!((code, &out[..]), (0, &format!("{long}\t3\n")[..]));
    assert!(err.contains("estimates; give a larger -n"), "{err}");
}

#[test]
fn sites_are_added_up() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    for (site, own) in [("a", 1..40u32), ("b", 20..60)] {
        let text: String = own.flat_map(|i| vec![format!("key {i}\n"); i as usize]).collect();
        std::fs::write(folder.join(site), text).expect("a file");
        ok(folder, &format!("top {site} -o {site}.top"));
        ok(folder, &format!("top {site} --exact -n 1000 -o {site}.cells"));
    }
    // Key 39 is the second at one site only; at both together it is the first.
    assert_eq!(ok(folder, "top --merge a.top b.top -k 1"), "key 39\t78\n");
    assert_eq!(ok(folder, "top --exact --merge a.cells b.cells -k 2"), "key 39\t78\nkey 38\t76\n");
    ok(folder, "top b --exact -n 9000 -o c.cells");
    refused(folder, "top --exact --merge a.cells c.cells", "c.cells");
    ok(folder, "top b --share 1% -o c.top");
    refused(folder, "top --merge a.top c.top", "c.top");
}

#[test]
fn flows_of_a_capture() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    capture(folder, "packets.pcap");
    let heaviest = ok(folder, "top packets.pcap --pcap -k 1");
    assert_eq!(heaviest, "10.0.0.9:4000 > 10.0.0.99:80 tcp\t9\n");
    assert_eq!(ok(folder, "top packets.pcap --pcap --exact -k 1"), heaviest);
    let bytes = ok(folder, "top packets.pcap --pcap --bytes -k 1");
    assert!(bytes.starts_with("10.0.0.9:4000 > ") && bytes != heaviest, "{bytes}");
    // Host i sends in second i: each interval of five has its own heavy ones.
    let intervals = ok(folder, "top packets.pcap --pcap --at-least 5 --every 5");
    assert!(intervals.starts_with("0\t10.0.0.5:4000"), "{intervals}");
    assert!(intervals.contains("1\t10.0.0.9:4000"), "{intervals}");
    let cut = std::fs::read(folder.join("packets.pcap")).expect("the capture");
    std::fs::write(folder.join("cut.pcap"), &cut[..cut.len() - 3]).expect("a file");
    refused(folder, "top cut.pcap --pcap", "cut.pcap: the capture ends");
}

#[test]
fn an_excerpt_is_attributed_to_its_flow() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    capture(folder, "packets.pcap");
    ok(folder, "attribute build packets.pcap --pcap -o seen --block 16");
    let number = 904 * 31 + 38;
    let excerpt = format!("{number} {} <exploit>{} {}", number + 1, 904 * 31, 904 * 31 + 1);
    std::fs::write(folder.join("excerpt"), &excerpt).expect("a file");
    let found = ok(folder, "attribute find seen excerpt");
    assert!(found.starts_with("10.0.0.9:4000 > 10.0.0.99:80 tcp\t1\t9\t"), "{found}");
    assert_eq!(found.lines().count(), 1);
    // Two pieces that were sent, but not together.
    let splice = format!("{number} {} <exploit>{} {}", number + 1, 901 * 31, 901 * 31 + 1);
    std::fs::write(folder.join("splice"), &splice).expect("a file");
    assert_eq!(run(folder, "attribute find seen splice", b"").0, 1);
    refused(folder, "attribute find seen --text short", "cannot be judged");
    refused(folder, "attribute find . --text 0123456789012345678901234567890", "attribute build");
    refused(folder, "attribute build packets.pcap --pcap -o seen", "not empty");
}

/// A line of a log: what differs between senders, and what all of them send.
fn request(sender: &str, page: &str) -> String {
    let browser = "Mozilla/5.0-(X11;Linux-x86_64;rv:109.0)-Gecko/20100101-Firefox/115.0";
    let from: String =
        (0..60u32).map(|i| format!("{:08x}", i.wrapping_mul(2_654_435_761))).collect();
    format!("{sender},GET-{page}.html-HTTP/1.1-{browser}-200-5316-https://example.org/{from}\n")
}

#[test]
fn lines_of_a_log_are_attributed_in_windows_and_short_excerpts_are_not_judged() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let log = request("ann", "/index/of/all") + &request("bob", "/admin/secret");
    std::fs::write(folder.join("log"), &log).expect("a file");
    ok(folder, "attribute build log -o log.seen -f 1 -d , --block 16 -p 1%");
    let admin = "--text /admin/secret.html-HTTP/1.1-Mozilla/5.0-";
    let index = "--text /index/of/all.html-HTTP/1.1-Mozilla/5.0-";
    assert_eq!(ok(folder, &format!("attribute find log.seen {admin}")), "bob\t1\t2\t8\n");
    // Nobody asked for this page, and all blocks behind it were sent.
    let nobody =
        "attribute find log.seen --text n/secre2.html-HTTP/1.1-Mozilla/5.0-(X11;Linux-x86_64;";
    assert_eq!(run(folder, nobody, b"").0, 1);
    // A filter for each time window, and only the newest kept.
    ok(folder, "attribute build log -o windows -f 1 -d , --block 16 -p 1% --window 2");
    assert_eq!(ok(folder, &format!("attribute find windows {admin}")), "bob\t2\t2\t8\n");
    assert_eq!(ok(folder, &format!("attribute find windows {index}")), "ann\t1\t1\t8\n");
    ok(folder, "attribute build log -o newest -f 1 -d , --block 16 -p 1% --window 2 --keep 0");
    assert_eq!(ok(folder, &format!("attribute find newest {admin}")), "bob\t2\t2\t8\n");
    assert_eq!(run(folder, &format!("attribute find newest {index}"), b"").0, 1);
    refused(folder, "attribute build log -o small -f 1 -d , --block 4", "larger blocks");
    assert!(!folder.join("small").exists());

    // Of several excerpts the short one is told, and the other found.
    std::fs::write(folder.join("short"), "GET").expect("a file");
    std::fs::write(folder.join("long"), &admin["--text ".len()..]).expect("a file");
    let (code, out, err) = run(folder, "attribute find log.seen short long --json", b"");
    assert_eq!(code, 2, "{err}");
    assert!(out.contains("\"bob\"") && out.contains("\"not_judged\":1"), "{out}");
    assert!(err.contains("short: cannot be judged"), "{err}");
}

#[test]
fn samples_are_found_and_added() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    let mut state = 1u64;
    let mut letters = |count: usize| -> String {
        let mut letter = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            char::from(b"ACGT"[(state >> 60) as usize & 3])
        };
        (0..count).map(|_| letter()).collect()
    };
    let genomes: Vec<String> = [2000, 2000, 50_000].iter().map(|count| letters(*count)).collect();
    for (i, genome) in genomes.iter().enumerate() {
        std::fs::write(folder.join(format!("{i}.fa")), format!(">{i}\n{genome}\n"))
            .expect("a file");
    }
    let built = run(folder, "kmer build 0.fa 1.fa -o all.evk", b"");
    assert_eq!(built.0, 0, "{}", built.2);
    ok(folder, "kmer add all.evk 2.fa");
    let reads: String = (0..3)
        .map(|i| {
            format!("@read{i} of a machine\n{0}\n+\n{1}\n", &genomes[i][500..600], "I".repeat(100))
        })
        .collect();
    std::fs::write(folder.join("reads.fq"), reads).expect("a file");
    let found = ok(folder, "kmer query all.evk reads.fq");
    let columns = |line: &str| line.split('\t').map(str::to_owned).collect::<Vec<_>>();
    for (i, line) in found.lines().map(columns).enumerate() {
        assert_eq!(line[..5].join(" "), format!("read{i} {i}.fa 70 70 70"));
        let expected: f64 = line[5].parse().expect("a number");
        assert!((15.0..=21.5).contains(&expected), "a share of 70: {expected}");
    }
    assert_eq!(found.lines().count(), 3);
    // A sample that has the first half of a read is told to have half of it, although more of it is found.
    let half = format!(">half\n{}{}\n", &genomes[0][500..1530], letters(1000));
    std::fs::write(folder.join("half.fa"), half).expect("a file");
    let half = columns(&ok(folder, "kmer query all.evk half.fa -t 0.5"));
    let [has, kmers, found] = [2, 3, 4].map(|i| half[i].trim().parse::<u64>().expect("a number"));
    assert_eq!((&half[1][..], kmers), ("0.fa", 2000));
    assert!(has.abs_diff(1000) < 150 && found > has + 150, "{half:?}");
    let info = ok(folder, "kmer info all.evk --json");
    assert_eq!(info.matches("\"rows\"").count(), 2, "two sizes: {info}");
    let random = format!(">nobody\n{}\n", letters(100));
    let (code, out, err) = run(folder, "kmer query all.evk", random.as_bytes());
    assert_eq!((code, &out[..]), (1, ""), "{err}");
    refused(folder, "kmer add all.evk 1.fa", "has a sample 1.fa already");
    refused(folder, "kmer query reads.fq reads.fq", "not an index");
    refused(folder, "kmer build reads.fq -o no.evk -K 40", "3 to 32");
    refused(folder, "kmer build . -o no.evk", "a sample must be a file");
    assert!(!folder.join("no.evk").exists());
}

#[test]
fn copies_are_found_wherever_they_stand() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path();
    std::fs::create_dir_all(folder.join("texts/deep")).expect("a folder");
    let text = |from: u32, to: u32| -> String {
        (from..to).map(|i| format!("line {}\n", i * 7919)).collect()
    };
    for (name, text) in [
        ("texts/essay", text(0, 2000)),
        ("texts/deep/copy", format!("My own work.\n{}", text(300, 2000))),
        ("texts/other", text(5000, 7000)),
        ("texts/empty", String::new()),
    ] {
        std::fs::write(folder.join(name), text).expect("a file");
    }
    let pairs = ok(folder, "similar texts");
    assert!(pairs.starts_with("texts/deep/copy\ttexts/essay\t"), "{pairs}");
    assert_eq!(pairs.lines().count(), 1, "{pairs}");
    // A short file is in a long one, or is not: its row alone says nothing.
    for i in 0..40u32 {
        let short: String = (0..14).map(|j| format!("word {}\n", (i * 14 + j) * 104_729)).collect();
        std::fs::write(folder.join(format!("texts/short{i}")), short).expect("a file");
    }
    for memory in ["1GB", "20kB", "2kB"] {
        let (code, out, err) = run(folder, &format!("similar texts --memory {memory}"), b"");
        assert_eq!((code, &out), (0, &pairs), "{memory}: {err}");
    }
    // Blocks of a fixed length all differ once a line stands in front.
    assert_eq!(run(folder, "similar texts --block 256", b"").0, 1);
    refused(folder, "similar texts --at-least 2", "share");
    refused(folder, "similar nowhere", "nowhere");

    ok(folder, "known -r texts/essay -o essay.evb");
    let known = ok(folder, "known texts --filter essay.evb");
    assert!(known.contains("1.00\ttexts/essay\n") && known.contains("texts/deep/copy"), "{known}");
    assert_eq!(ok(folder, "known texts -r texts/essay"), known);
    assert!(!known.contains("other"), "{known}");
    assert_eq!(ok(folder, "known texts/essay -r texts/essay --md5 512"), "1.00\ttexts/essay\n");
    let sums = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  nothing\n";
    std::fs::write(folder.join("sums"), sums).expect("a file");
    assert_eq!(ok(folder, "known texts --list sums"), "1.00\ttexts/empty\tnothing\n");
    refused(folder, "known texts", "--reference, --list or --filter");
    refused(folder, "known texts --list texts/essay", "line 1");
}
