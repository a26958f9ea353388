//! A filter whose type is known: plan it, fill it, query it, combine it.
//!
//! `cargo run -p everbloom --example typed`

use everbloom::{BinaryFuse, Bloom, Counting, Result, SecretKey};

fn main() -> Result<()> {
    // A million keys at a false-positive rate of 1 %.
    let mut seen = Bloom::with_rate(1_000_000, 0.01)?;
    seen.insert("apple");
    seen.insert(&42);
    assert!(seen.contains("apple") && seen.contains(&42u64));
    assert!(!seen.contains("pear"));

    // The same, in words; keyed, because others choose the keys.
    let secret = SecretKey::from_hex("000102030405060708090a0b0c0d0e0f")?;
    let mut guests = Bloom::builder().items(1000).rate(0.001).key(secret).build()?;
    guests.extend(["ada", "grace"]);
    assert_eq!(guests.contains_many(&["ada", "linus"]), [true, false]);

    // Two filters of one shape unite.
    let mut more = Bloom::with_rate(1_000_000, 0.01)?;
    more.insert("plum");
    seen.union(&more)?;
    assert!(seen.contains("plum"));

    // Keys can be removed from a counting filter.
    let mut open_files = Counting::with_rate(1000, 0.01)?;
    open_files.insert("a.txt");
    open_files.remove("a.txt")?;
    assert!(!open_files.contains("a.txt"));

    // A set that never changes takes fewer bits.
    let words = BinaryFuse::from_keys(["apple", "pear", "plum"], 0.001)?;
    assert!(words.contains("pear"));

    println!("{} bits, {} probes per key", seen.m(), seen.k());
    Ok(())
}
