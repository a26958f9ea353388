//! §23, hierarchical Bloom filter.

use everbloom::internals::filter::{Detail, Filter, Record, Value, Verdict};
use everbloom::internals::hash::Generator;
use everbloom::internals::theory::tail;
use everbloom::structured::Hierarchical;
use everbloom::structured::hierarchical::Search;

fn blocks_of(block: u64, items: u64, rate: f64) -> Hierarchical {
    Hierarchical::builder().items(items).rate(rate).set("block", block).build().unwrap()
}

#[test]
fn s23_blocks_of_two_payloads_do_not_make_a_third() {
    let mut filter = blocks_of(4, 1000, 1e-6);
    filter.insert("ABCDEFGH").unwrap();
    filter.insert("WXYZQRST").unwrap();
    assert_eq!(filter.find("ABCDEFGH"), Search::At(vec![0]));
    // Both blocks were there, at these places: level 0 alone would pass.
    assert_eq!(filter.contains_at(b"", "ABCD", 0), Some(true));
    assert_eq!(filter.contains_at(b"", "QRST", 4), Some(true));
    assert_eq!(filter.contains_at(b"", "ABCDQRST", 0), Some(false));
    assert_eq!(filter.find("ABCDQRST"), Search::At(vec![]));
    assert_eq!(filter.contains_at(b"", "QRST", 0), Some(false), "the place counts");
}

/// A spliced pair passes as often as one lookup does; four foreign blocks need seven hits.
#[test]
fn s23_splices_pass_by_one_lookup_and_four_blocks_by_seven() {
    let built = Hierarchical::builder().set("m", 18_000).set("k", 2).set("block", 4);
    let mut filter = built.build().unwrap();
    let payload = |i: u64| format!("{:04}{:04}", i, 9999 - i);
    for i in 0..3000 {
        filter.insert(&payload(i)).unwrap();
    }
    let f = filter.lookup_rate();
    assert!((0.3..0.5).contains(&f), "{f}");
    let splice = |i: &u64| {
        let spliced = format!("{}{}", &payload(*i)[..4], &payload((i + 1) % 3000)[4..]);
        filter.contains_at(b"", &spliced, 0) == Some(true)
    };
    let passed = (0..3000).filter(splice).count() as u64;
    let (low, high) = tail::binomial_bounds(3000, f, 1e-9);
    assert!((low..=high).contains(&passed), "{passed} of 3000, f = {f}");

    // Room for four blocks.
    filter.insert("....,,,,;;;;----").unwrap();
    const QUERIES: u64 = 400_000;
    let foreign = |i: &u64| {
        let text = format!("{:016x}", i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        filter.contains_at(b"", &text, 0) == Some(true)
    };
    let passed = (0..QUERIES).filter(foreign).count() as u64;
    let (low, high) = tail::binomial_bounds(QUERIES, f.powi(7), 1e-9);
    assert!((low..=high).contains(&passed), "{passed}, predicted {}", f.powi(7));
}

/// Foreign excerpts of 2s − 1 bytes are found as often as the filter says, in payloads of one block and of several.
#[test]
fn s23_the_rate_is_that_of_the_shortest_excerpts() {
    for (blocks, m) in [(1, 50_000), (2, 200_000), (5, 200_000)] {
        let built = Hierarchical::builder().set("m", m).set("k", 4).set("block", 16);
        let mut filter = built.build().unwrap();
        let mut random = Generator::new(blocks);
        let mut text =
            |bytes: u64| -> Vec<u8> { (0..bytes).map(|_| random.next_u64() as u8).collect() };
        for _ in 0..6000 / blocks {
            filter.insert(&text(16 * blocks + 15)[..]).unwrap();
        }
        let rate = filter.now().fpr.unwrap();
        assert!((0.005..0.5).contains(&rate), "{rate}");
        const QUERIES: u64 = 20_000;
        let found = (0..QUERIES).filter(|_| filter.find(&text(31)[..]) != Search::At(vec![]));
        let (found, (low, high)) =
            (found.count() as u64, tail::binomial_bounds(QUERIES, rate, 1e-9));
        assert!((low..=high).contains(&found), "{blocks}: {found}, predicted {rate}");
    }
}

#[test]
fn s23_no_excerpt_of_two_blocks_less_a_byte_is_missed() {
    let mut random = Generator::new(23);
    for block in [1usize, 3, 4, 8] {
        let mut filter = blocks_of(block as u64, 3000, 0.01);
        let payloads: Vec<Vec<u8>> = (0..20)
            .map(|_| (0..100 + random.below(60)).map(|_| random.below(256) as u8).collect())
            .collect();
        payloads.iter().for_each(|payload| {
            filter.insert(payload).unwrap();
        });
        for _ in 0..750 {
            let payload = &payloads[random.below(20) as usize];
            // What does not fill a block at the end was left out.
            let whole = payload.len() / block * block;
            let least = 2 * block - 1;
            let length = least + random.below((whole - least) as u64) as usize;
            let start = random.below((whole - length + 1) as u64) as usize;
            let excerpt = &payload[start..start + length];
            let Search::At(offsets) = filter.find(excerpt) else { panic!("long enough") };
            assert!(offsets.contains(&(start as u64)), "{block}: {start} not in {offsets:?}");
            assert_ne!(filter.contains_at(b"", excerpt, start as u64), Some(false));
        }
    }
}

#[test]
fn s23_too_short_is_not_no() {
    let mut filter = blocks_of(4, 100, 1e-6);
    filter.insert("ABCDEFGHIJKL").unwrap();
    assert_eq!(filter.find("BCDEFG"), Search::TooShort);
    let answer = filter.query(Record::key(b"BCDEFG")).unwrap();
    assert_eq!(answer.verdict, Verdict::Undecided);
    // Its offset makes it an answer, if a whole block is in it.
    assert_eq!(filter.contains_at(b"", "DEFGHI", 3), Some(true));
    assert_eq!(filter.contains_at(b"", "BCDEFG", 1), None);
    let answer = filter.query(Record::key(b"BCDEFGH")).unwrap();
    assert_eq!(
        (answer.verdict, answer.detail),
        (Verdict::Present, Detail::List(vec![b"1".to_vec()]))
    );
}

#[test]
fn s23_payloads_are_attributed_to_their_senders() {
    let mut filter = blocks_of(4, 1000, 1e-6);
    for (sender, payload) in [("ann", "a picture of a worm"), ("bob", "picture this instead")] {
        filter.insert_from(sender.as_bytes(), payload).unwrap();
    }
    let labels = |text: &str| match filter.query(Record::key(text.as_bytes())).unwrap().detail {
        Detail::Labels(labels) => labels,
        other => panic!("{other:?}"),
    };
    assert_eq!(labels("ture of a wor"), [b"ann".to_vec()]);
    assert_eq!(labels("re this in"), [b"bob".to_vec()]);
    assert!(labels("nothing here").is_empty());
    let by = |sender: &'static [u8]| {
        let record = Record::key(b"re this in").with(Value::Label(sender));
        filter.query(record).unwrap().verdict
    };
    assert_eq!(
        (by(b"bob"), by(b"ann"), by(b"eve")),
        (Verdict::Present, Verdict::Absent, Verdict::Absent)
    );
}

/// n blocks take less than 2n keys.
#[test]
fn s23_space_of_all_levels() {
    for bytes in [4usize, 20, 64, 300] {
        let mut filter = blocks_of(4, 1000, 0.01);
        filter.insert(&vec![7u8; bytes]).unwrap();
        let dynamic: &dyn Filter = &filter;
        let n = bytes as u64 / 4;
        assert!((n..2 * n).contains(&dynamic.len()), "{bytes}: {}", dynamic.len());
    }
}
