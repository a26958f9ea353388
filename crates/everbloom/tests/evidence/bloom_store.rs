//! §16, BloomStore.

use std::collections::BTreeMap;

use everbloom::Kind;
use everbloom::internals::filter::{Detail, Face, Filter, Record, Value, Verdict};
use everbloom::internals::hash::Generator;
use everbloom::internals::plan::Goal;
use everbloom::keyvalue::bloom_store::{VARIANT, useless_reads};
use everbloom::keyvalue::{BloomStore, BloomStoreImage};

/// One chain of pages of 16 pairs, with filters of 1 %.
fn chain(pages: u64, seed: u64) -> BloomStoreImage {
    let builder = BloomStoreImage::builder().items(1000).rate(0.01).seed(seed);
    let mut store = builder.set("pairs", 16).set("ranges", 1).build().expect("a store");
    // One pair more than full pages: the last page is written when the next pair comes.
    for key in 0..16 * pages + 1 {
        store.put(&key, &key.to_le_bytes()).expect("a pair");
    }
    assert_eq!(store.data_pages(), pages);
    store
}

/// c = 32 pages at f = 0.01: 0.275 of all lookups of absent keys read in vain, 0.32 pages each.
#[test]
fn s16_useless_reads() {
    let (share, reads) = useless_reads(32, 0.01);
    assert!((share - 0.275).abs() < 0.0005 && (reads - 0.32).abs() < 1e-12, "{share} {reads}");
    let (mut absent, mut some, mut present, seeds, queries) = (0, 0, 0, 40, 2000);
    for seed in 0..seeds {
        let store = chain(32, seed);
        for key in 10_000..10_000 + queries {
            let reads = store.pages_read(&key);
            absent += reads;
            some += u64::from(reads > 0);
        }
        for key in 0..512u64 {
            let reads = store.pages_read(&key);
            assert!(reads >= 1, "its own page");
            present += reads - 1;
        }
    }
    let all = (seeds * queries) as f64;
    // 16 keys in 154 bits scatter from page to page.
    assert!((absent as f64 / all - 0.32).abs() < 0.03, "{absent} of {all}");
    assert!((some as f64 / all - 0.275).abs() < 0.03, "{some} of {all}");
    // A key that is there, uniformly placed: half of it.
    let mean = present as f64 / (seeds * 512) as f64;
    assert!((mean - 0.155).abs() < 0.02, "{mean}");
}

#[test]
fn s16_the_newest_value_wins() {
    let mut store = chain(40, 1);
    let mut map: BTreeMap<u64, Vec<u8>> =
        (0..641).map(|key: u64| (key, key.to_le_bytes().to_vec())).collect();
    let mut random = Generator::new(16);
    for round in 0..6000u64 {
        let key = random.below(900);
        if random.below(4) == 0 {
            let deleted = store.delete(&key);
            match map.remove(&key) {
                Some(_) => deleted.expect("a key that is there"),
                None => assert_eq!(deleted.expect_err("absent").kind(), Kind::NotDeletable),
            }
        } else {
            let value = round.to_string().into_bytes();
            store.put(&key, &value).expect("a pair");
            map.insert(key, value);
        }
        if round == 4000 {
            assert!(store.compact().expect("pages in memory") > 100);
        }
    }
    assert_eq!(store.head().items, map.len() as u64);
    for key in 0..1000u64 {
        assert_eq!(store.get(&key), map.get(&key).cloned(), "{key}");
    }
}

/// A tombstone ends the search, in the buffer and in a page: older values do not come back.
#[test]
fn s16_tombstones() {
    let mut store = chain(4, 2);
    store.delete(&3u64).expect("there");
    assert_eq!(store.get(&3u64), None);
    (1000..1100u64).for_each(|key| _ = store.put(&key, b"later").expect("a pair"));
    assert_eq!(store.get(&3u64), None, "the tombstone is in a page now");
    assert_eq!(store.delete(&3u64).expect_err("gone").kind(), Kind::NotDeletable);
    store.compact().expect("pages in memory");
    assert_eq!((store.get(&3u64), store.get(&4u64)), (None, Some(4u64.to_le_bytes().to_vec())));
    store.put(&3u64, b"again").expect("a pair");
    assert_eq!(store.get(&3u64), Some(b"again".to_vec()));
}

/// Compaction leaves shadowed values and tombstones behind, and what it frees is used again.
#[test]
fn s16_compaction() {
    let mut store = chain(64, 3);
    for round in 0..3u64 {
        (0..1000u64).for_each(|key| _ = store.put(&key, &round.to_le_bytes()).expect("a pair"));
    }
    (0..500u64).for_each(|key| store.delete(&key).expect("there"));
    let before = store.data_pages();
    let freed = store.compact().expect("pages in memory");
    // 500 live pairs and 25 of the chain's first filling, 16 a page.
    assert_eq!((store.data_pages(), before - freed), (32, 32));
    let bits = store.memory().cells;
    for round in 0..4u64 {
        (0..1000u64).for_each(|key| _ = store.put(&key, &round.to_le_bytes()).expect("a pair"));
        store.compact().expect("pages in memory");
    }
    assert!(store.memory().cells <= 2 * bits, "blocks are used again");
    let bytes = everbloom::to_bytes(&store);
    let again: BloomStoreImage = everbloom::Opener::new().decode_as(&bytes).expect("whole chains");
    assert_eq!(again, store);
    assert!((0..1000u64).all(|key| store.get(&key) == Some(3u64.to_le_bytes().to_vec())));
    // Filters of blocks used again are those of their new pages alone.
    let reads: u64 = (50_000..52_000u64).map(|key| store.pages_read(&key)).sum();
    let expected = useless_reads(store.data_pages(), 0.01).1 * 2000.0;
    assert!((reads as f64) < 1.4 * expected, "{reads}, {expected} expected");
}

/// On disk, one page is written for a full buffer; no more pages are in memory than asked for.
#[test]
fn s16_larger_than_memory() {
    let folder = tempfile::tempdir().expect("a folder");
    let builder = BloomStoreImage::builder().items(20_000).rate(0.01).set("page", 512);
    let image = builder.set("pairs", 16).set("ranges", 4).build().expect("a store");
    image.save_pages(folder.path()).expect("a folder");
    let mut store = BloomStore::open(folder.path(), 24).expect("a store");
    for key in 0..20_000u64 {
        store.put(&key, &key.to_be_bytes()).expect("a pair");
        assert!(store.cached() <= 24);
    }
    assert!(store.data_pages() >= 1240, "{}", store.data_pages());
    store.commit().expect("a disk");
    drop(store);
    let mut store = BloomStore::open(folder.path(), 24).expect("a store");
    assert_eq!(store.items(), 20_000);
    for key in (0..20_000u64).step_by(37) {
        assert_eq!(store.get(&key).expect("a page"), Some(key.to_be_bytes().to_vec()));
    }
    assert!((20_000..21_000u64).all(|key| store.get(&key).expect("a page").is_none()));
    for key in 0..19_000u64 {
        store.delete(&key).expect("there");
    }
    assert!(store.compact().expect("a disk") > 1000);
    assert!(store.cached() <= 24);
    store.commit().expect("a disk");
    let again = store.to_image().expect("whole pages");
    assert_eq!((store.items(), again.head().items), (1000, 1000));
    assert!((19_000..20_000u64).all(|key| again.get(&key) == Some(key.to_be_bytes().to_vec())));
}

/// A page that is not the one that was committed is an error, never an answer.
#[test]
fn s16_rotten_pages_are_seen() {
    let folder = tempfile::tempdir().expect("a folder");
    chain(8, 5).save_pages(folder.path()).expect("a folder");
    let path = folder.path().join("pages-0");
    let mut bytes = std::fs::read(&path).expect("pages");
    for at in (0..bytes.len()).step_by(4096) {
        bytes[at + 100] ^= 1;
    }
    std::fs::write(&path, bytes).expect("written");
    let store = BloomStore::open(folder.path(), 8).expect("the manifest is whole");
    let wrong = (0..128u64).filter(|key| store.get(key).is_ok()).count();
    assert_eq!(wrong, 0, "every page is rotten");
    assert!(everbloom::open(folder.path()).is_err());
}

/// Through the list: built, looked up, changed and removed like any other.
#[test]
fn s16_through_the_list() {
    let keys: Vec<String> = (0..300).map(|i| format!("key {i}")).collect();
    let records: Vec<Record<'_>> =
        keys.iter().map(|key| Record::key(key.as_bytes()).with(Value::Bytes(b"old"))).collect();
    let mut store = VARIANT.build_from(&Goal::new(300, 0.01), &records).expect("a store");
    let folder = tempfile::tempdir().expect("a folder");
    let new = Record::key(b"key 7").with(Value::Bytes(b"new"));
    store.as_insert().expect("an ability").insert(new).expect("a pair");
    store.as_remove().expect("an ability").remove(Record::key(b"key 8")).expect("there");
    everbloom::save(&*store, folder.path()).expect("a folder of pages");
    let again = everbloom::open(folder.path()).expect("a folder of pages");
    assert_eq!(again.len(), 299);
    let lookup = again.as_lookup().expect("an ability");
    assert_eq!(lookup.get(b"key 7"), Some(b"new".to_vec()));
    assert_eq!((lookup.get(b"key 8"), lookup.get(b"key 9")), (None, Some(b"old".to_vec())));
    let answer = again.query(Record::key(b"key 9")).expect("a key");
    assert_eq!((answer.verdict, answer.detail), (Verdict::Present, Detail::Value(b"old".to_vec())));
    // What does not fit a page is refused, and changes nothing.
    let large = vec![b'x'; 5000];
    let large = Record::key(b"large").with(Value::Bytes(&large));
    let refused = store.as_insert().expect("an ability").insert(large).expect_err("too large");
    assert_eq!(refused.kind(), Kind::BadRecord);
    assert!(!store.contains(b"large"));
}
