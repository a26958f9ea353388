//! Filters picked at run time, from the list of all variants.
//!
//! `cargo run -p everbloom --example dynamic`

use everbloom::{EntryKind, Goal, Record, Result, Verdict, catalog, choose};

fn main() -> Result<()> {
    // Every filter of the list that is built from plain keys, at one goal.
    let goal = Goal::new(100, 0.01);
    let keys: Vec<String> = (0..100).map(|i| format!("key {i}")).collect();
    let records: Vec<Record<'_>> = keys.iter().map(|key| Record::key(key.as_bytes())).collect();
    let mut built = 0;
    for variant in catalog::VARIANTS.iter().filter(|v| v.kind == EntryKind::Filter) {
        let Ok(filter) = variant.build_from(&goal, &records) else { continue };
        let answer = filter.query(records[0])?;
        assert_ne!(answer.verdict, Verdict::Absent, "{}", variant.slug);
        built += 1;
    }

    // Or let the library choose by need.
    let ranking = choose::rank(&goal, &["delete"])?;
    let best = &ranking.candidates[0];
    let mut filter = best.variant.build_from(&best.goal, &records)?;
    if let Some(remove) = filter.as_remove() {
        remove.remove(records[0])?;
    }
    assert!(filter.contains(b"key 1"));
    println!("{built} variants built; for deletions the smallest is {}", best.variant.slug);
    Ok(())
}
