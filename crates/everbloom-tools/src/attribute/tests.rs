//! Attribution on random payloads and on a log.

use std::num::NonZeroU64;

use everbloom::internals::hash::Generator;

use super::*;

/// Senders, and random payloads of theirs.
fn payloads(seed: u64, count: u64, length: usize) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut random = Generator::new(seed);
    let payload = |random: &mut Generator| (0..length).map(|_| random.next_u64() as u8).collect();
    (0..count).map(|i| (format!("host {i}").into_bytes(), payload(&mut random))).collect()
}

#[test]
fn full_filters_are_followed_by_others_and_come_back_from_their_folder() {
    let mut seen = Collector::new(32, 100, 0.0001).unwrap();
    let all = payloads(3, 10, 1000);
    for (second, (sender, payload)) in all.iter().enumerate() {
        seen.payload(second as u64, sender, payload).unwrap();
    }
    seen.payload(0, b"nobody", b"short").unwrap();
    let seen = seen.finish().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("seen");
    seen.save(&path).unwrap();
    assert!(seen.save(&path).is_err(), "there are filters already");
    let back = Attribution::open(&path).unwrap();
    assert!(back.checks_ends() && back.bytes() == seen.bytes());
    for (second, (sender, payload)) in all.iter().enumerate() {
        let found = back.find(&payload[100..200]).unwrap();
        let right = found.iter().find(|c| c.sender == *sender).unwrap();
        assert!((right.seconds.0..=right.seconds.1).contains(&(second as u64)));
        assert_eq!(right.offsets[0], 100);
        assert_eq!(found, seen.find(&payload[100..200]).unwrap());
    }
    assert!(seen.windows.len() > 5 && seen.bytes() > 0);
    assert!(Attribution::open(folder.path()).is_err());
    assert!(Collector::new(0, 100, 0.01).is_err());
}

/// Windows by time: an answer names the window of each sending and its senders alone, payloads that come late go to
/// their own, and windows that are too old are gone.
#[test]
fn a25_answers_are_hosts_and_time_windows() {
    let hour = NonZeroU64::new(3600).unwrap();
    let all = payloads(5, 4, 1000);
    let [worm, other, late, last] = [0, 1, 2, 3].map(|i| &all[i].1[..]);
    let sent = [
        (100, b"ann", worm),
        (3599, b"bob", other),
        (3600, b"bob", worm),
        (3000, b"eve", late),
        // The first window's last payload is 7200 seconds old, then more.
        (3599 + 7200, b"ann", last),
        (3600 + 7200, b"ann", last),
        (3000, b"eve", late),
    ];
    let after = |count: usize| {
        let seen = Collector::new(32, 10_000, 1e-6).unwrap();
        let mut seen = seen.every(hour).keeping(7200);
        sent[..count].iter().for_each(|(at, who, what)| seen.payload(*at, *who, what).unwrap());
        seen.finish().unwrap()
    };
    let list = |seen: &Attribution| seen.windows().collect::<Vec<_>>();
    assert_eq!(list(&after(4)), [((100, 3599), 3), ((3600, 3600), 1)]);
    let who = |seen: &Attribution, excerpt: &[u8]| -> Vec<((u64, u64), Vec<u8>)> {
        let found = seen.find(excerpt).unwrap().into_iter();
        found.map(|candidate| (candidate.seconds, candidate.sender)).collect()
    };
    let excerpt = &worm[200..300];
    let twice = [((100, 3599), b"ann".to_vec()), ((3600, 3600), b"bob".to_vec())];
    assert_eq!(who(&after(4), excerpt), twice);
    assert_eq!(who(&after(4), &late[50..150]), [((100, 3599), b"eve".to_vec())]);
    assert_eq!(who(&after(5), excerpt), twice);
    assert_eq!(list(&after(6)).len(), 3, "the second window, and two of the last payload");
    assert_eq!(who(&after(6), excerpt), twice[1..]);
    assert!(who(&after(6), &late[50..150]).is_empty(), "forgotten with all its senders");
    assert!(who(&after(7), &late[50..150]).is_empty(), "too late");
}

/// A page of a log: what a sender asked for, and what all browsers send.
fn page(random: &mut Generator) -> String {
    let word = |random: &mut Generator| format!("{:06x}", random.below(1 << 24));
    format!("GET /{}/{}.html", word(random), word(random))
}

const BROWSER: &str = " HTTP/1.1\" 200 5316 \"-\" \"Mozilla/5.0 (X11; Linux x86_64; rv:109.0) Gecko/20100101 \
                       Firefox/115.0\"";

/// Lines that differ in their first 23 bytes only: whoever is asked for a new page behind which the browser's words
/// stand names nobody, however many senders have the same blocks.
#[test]
fn a_text_that_nobody_sent_names_nobody_although_its_blocks_were_sent() {
    let mut random = Generator::new(7);
    let mut log = Collector::new(32, 1 << 20, 1e-6).unwrap();
    let mut read = 0;
    let lines: Vec<(String, String)> =
        (0..4000).map(|i| (format!("10.0.0.{}", i % 161), page(&mut random) + BROWSER)).collect();
    for (at, (sender, line)) in lines.iter().enumerate() {
        log.payload(at as u64, sender.as_bytes(), line.as_bytes()).unwrap();
        read += line.len() as u64;
    }
    let seen = log.finish().unwrap();
    assert!(seen.bytes() < read, "{} bytes for {read}", seen.bytes());
    let mut named = 0;
    for _ in 0..300 {
        // The page is shorter than a block, so no whole block is foreign at the right alignment.
        let text = page(&mut random)[4..].to_owned() + BROWSER;
        assert!(lines.iter().all(|(_, line)| !line.contains(&text)));
        named += seen.find(&text.as_bytes()[..80]).unwrap().len();
    }
    assert_eq!(named, 0, "senders of 300 texts that nobody sent");
    for (sender, line) in lines.iter().step_by(97) {
        let found = seen.find(&line.as_bytes()[4..90]).unwrap();
        assert!(found.iter().any(|c| c.sender == sender.as_bytes()), "{line}");
        assert_eq!(found.len(), 1, "{line}");
    }
}

/// The promise is for the question that is asked: anyone at all, in any filter. A filter of one sender at the same rate
/// named one of a thousand senders about a thousand times as often.
#[test]
fn the_rate_is_that_of_a_text_for_which_anyone_is_named() {
    let mut log = Collector::new(16, 200, 0.2).unwrap();
    for (at, (sender, payload)) in payloads(11, 100, 200).iter().enumerate() {
        log.payload(at as u64, sender, payload).unwrap();
    }
    let mut seen = log.finish().unwrap();
    assert!(seen.windows.len() > 10);
    // The pieces alone would refuse all of them.
    seen.windows.iter_mut().for_each(|window| window.pieces = None);
    let mut random = Generator::new(12);
    let asked = 400;
    let named = (0..asked).filter(|_| {
        let text: Vec<u8> = (0..31).map(|_| random.next_u64() as u8).collect();
        !seen.find(&text).unwrap().is_empty()
    });
    let named = named.count();
    // 80 are promised at most; seven σ above.
    assert!(named <= 136, "{named} of {asked}");
}

#[test]
fn a_summary_larger_than_the_payloads_is_refused() {
    for (block, fits) in [(2, false), (4, false), (32, true)] {
        let mut log = Collector::new(block, 1 << 20, 1e-6).unwrap();
        for (sender, payload) in payloads(9, 20, 1000) {
            log.payload(0, &sender, &payload).unwrap();
        }
        let made = log.finish();
        assert_eq!(made.is_ok(), fits, "{block}");
        let told = made.err().map_or(String::new(), |e| e.to_string());
        assert_eq!(told.contains("larger blocks"), !fits, "{told}");
    }
}
