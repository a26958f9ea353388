//! I13, the forest-structured filter, in memory and as a page store.

use std::path::Path;

use everbloom::Kind;
use everbloom::growing::forest::{Shape, VARIANT, child_id, rate_of_layers};
use everbloom::growing::{Forest, ForestStore};
use everbloom::internals::file as codec;
use everbloom::internals::file::Opener;
use everbloom::internals::filter::{Face, Filter, Record, Seen};
use everbloom::internals::hash::Hasher;
use everbloom::internals::plan::{Goal, Load};
use everbloom::internals::theory::{bloom, tail};

/// Pages of 512 bits for 40 keys each, λ = ς = 4, δ = 16: 2560 keys in the first layer.
fn small() -> Shape {
    Shape::new(64, 7, 40, 4, 16, 4).expect("a shape")
}

fn grown(shape: Shape, n: u64, seed: u64) -> Forest {
    let mut forest = Forest::with_shape(shape, Hasher::seeded(seed)).expect("room");
    for key in 0..n {
        forest.insert(&key).expect("it grows");
    }
    forest
}

#[test]
fn i13_formulas() {
    assert!((rate_of_layers(0.01, 3) - 0.029_701).abs() < 1e-12);
    assert!((rate_of_layers(0.01, 4) - 0.039_403_99).abs() < 1e-12);
    // S3's example: λ = ς = 4, the second child of block 2 is block 10.
    assert_eq!(child_id(4, 4, 2, 2), Some(10));
    assert_eq!(child_id(4, 4, 1, 1), Some(5), "numbers go on after the first layer");
    assert_eq!(child_id(4, 4, 4, 4), Some(20));
    assert_eq!(child_id(4, 4, 5, 1), Some(21), "and after the second");
    assert_eq!(child_id(4, 4, u64::MAX, 1), None);
    // A page of 4 KiB at 1 %: 3418 keys with k = 7.
    assert_eq!(bloom::capacity(32_768.0, 7.0, 0.01) as u64, 3415);
}

#[test]
fn i13_children_are_numbered_as_in_the_survey_and_allocated_when_needed() {
    let forest = grown(small(), 12_000, 1);
    let blocks: Vec<u64> = forest.blocks().collect();
    assert_eq!(blocks[..4], [1, 2, 3, 4]);
    // Sixteen children in the second layer, 5 to 20, and only some in the third.
    assert_eq!(blocks[4..20], (5..=20).collect::<Vec<u64>>());
    assert_eq!(forest.layers(), 3);
    assert!(blocks[20..].iter().all(|id| (21..=84).contains(id)), "{blocks:?}");
    for block in &blocks[4..] {
        let parent = (block - 5) / 4 + 1;
        assert!(blocks.contains(&parent));
        assert!((1..=4).any(|c| child_id(4, 4, parent, c) == Some(*block)));
        // A page of a child is used only after the same page of its parent is full.
        let (own, above) = (forest.page_items(*block).unwrap(), forest.page_items(parent).unwrap());
        assert!(own.iter().zip(above).all(|(own, above)| *own == 0 || *above == 40));
        assert!(own.iter().any(|n| *n > 0), "no block without need");
    }
    let inside: u64 =
        blocks.iter().flat_map(|b| forest.page_items(*b).unwrap()).map(|n| u64::from(*n)).sum();
    assert_eq!(inside, forest.head().items);
    assert!((0..12_000u64).all(|key| forest.contains(&key)));
}

#[test]
fn i13_rate_of_full_layers() {
    // All pages at capacity on three layers: f_r of a page, then 1 − (1 − f_r)³.
    let page = bloom::fpr_exact(512, 40, 7);
    let (mut seen, mut predicted, mut layers) = (0u64, 0.0, 0);
    const FILTERS: u64 = 20;
    for seed in 0..FILTERS {
        // One block, one child of two taken at random, 4 pages: 40·(1 + 2 + 4) keys of each page's tree.
        let shape = Shape::new(64, 7, 40, 1, 4, 2).expect("a shape");
        let mut forest = Forest::with_shape(shape, Hasher::seeded(seed)).expect("room");
        let mut key = 0u64;
        let full = |forest: &Forest| {
            (1..=7).all(|b| forest.page_items(b).is_some_and(|n| n.iter().all(|n| *n == 40)))
        };
        while !full(&forest) {
            let before = forest.clone();
            forest.insert(&key).expect("room");
            if forest.layers() > 3 {
                // Keys beyond the third layer are left out, so that exactly three are full.
                forest = before;
            }
            key += 1;
            assert!(key < 100_000, "pages do not fill");
        }
        layers = layers.max(forest.layers());
        predicted += forest.now().fpr.expect("a rate") / FILTERS as f64;
        let non_members = 1u64 << 40..(1 << 40) + 40_000;
        seen += non_members.filter(|key| forest.contains(key)).count() as u64;
    }
    assert_eq!(layers, 3);
    let formula = rate_of_layers(page, 3);
    let rate = seen as f64 / (FILTERS * 40_000) as f64;
    // Keys that pass by chance are not inserted, and those set the most common bits: a little lower
    // than for random keys. 22,000 events, 140 pages of 6.5 % each.
    assert!((predicted / formula - 1.0).abs() < 0.03, "{predicted} against {formula}");
    assert!((rate / predicted - 1.0).abs() < 0.03, "{rate} against {predicted}");
}

#[test]
fn i13_rates_follow_the_fill_of_every_page() {
    for (n, layers) in [(1000u64, 1..=1), (4000, 2..=2), (20_000, 3..=4), (60_000, 4..=6)] {
        let forest = grown(small(), n, 7);
        assert!(layers.contains(&forest.layers()), "{n}: {} layers", forest.layers());
        assert!((0..n).all(|key| forest.contains(&key)));
        let now = forest.now().fpr.expect("a rate");
        let seen =
            (1u64 << 40..(1 << 40) + 200_000).filter(|key| forest.contains(key)).count() as u64;
        let (low, high) = tail::binomial_bounds(200_000, now, 1e-9);
        assert!((low..=high).contains(&seen), "{n}: {seen} of {low}..{high}");
    }
}

#[test]
fn i13_a_query_reads_a_page_per_layer_at_most() {
    let forest = grown(small(), 20_000, 3);
    let layers = u64::from(forest.layers());
    let mut most = 0;
    for key in 0..2000u64 {
        let read = forest.pages_read(&key);
        assert!((1..=layers).contains(&read));
        most = most.max(forest.pages_read(&(key + (1 << 40))));
    }
    assert_eq!(most, layers, "non-members go all the way");
    // One key sets k bits of one page.
    for key in 0..100u64 {
        let one = grown(Shape::new(4096, 7, 3418, 1, 4, 4).expect("a shape"), 0, key);
        let mut one = one;
        one.insert(&key).expect("room");
        let ones: u64 = (0..4).map(|page| one.page(1, page).unwrap().ones()).sum();
        assert!((6..=7).contains(&ones), "{ones}");
        assert_eq!(one.page_items(1).unwrap().iter().sum::<u32>(), 1);
    }
}

#[test]
fn i13_pages_are_chosen_evenly_and_layers_have_their_own_hashes() {
    let forest = grown(Shape::new(4096, 7, 4000, 8, 8, 4).expect("a shape"), 64_000, 5);
    for block in 1..=8 {
        for items in forest.page_items(block).unwrap() {
            // 1000 ± 31.
            assert!((830..1170).contains(items), "{items}");
        }
    }
    // The same key has other bits in the first layer than in the second.
    let single = Shape::new(4096, 7, 1, 1, 1, 2).expect("a shape");
    let mut alone = Forest::with_shape(single, Hasher::default()).expect("room");
    let mut second = alone.clone();
    second.insert("first").expect("room");
    for forest in [&mut alone, &mut second] {
        forest.insert("key").expect("room");
    }
    let child = second.blocks().nth(1).expect("a second layer");
    let (here, there) = (alone.page(1, 0).unwrap(), second.page(child, 0).unwrap());
    assert!(here.ones() >= 6 && there.ones() >= 6);
    assert_eq!(here.ones_in_both(there), 0);
}

#[test]
fn i13_duplicates_are_not_stored_at_two_layers() {
    let mut forest = grown(small(), 3000, 2);
    let before = forest.clone();
    for key in 0..3000u64 {
        assert_eq!(forest.insert(&key).expect("there"), Seen::Maybe);
    }
    assert_eq!(forest, before);
}

#[test]
fn i13_plans() {
    let goal = Goal::new(100_000, 0.01);
    let expect = VARIANT.expect(&goal, &Load::items(100_000)).expect("a plan").expect("one layer");
    assert!(expect.fpr <= 0.01 && expect.fpr > 0.004, "{}", expect.fpr);
    assert!((expect.bits as f64 / 100_000.0) < 1.25 * bloom::bits(1.0, 0.01));
    // Beyond what was planned the number of blocks is a matter of chance.
    assert!(VARIANT.expect(&goal, &Load::items(200_000)).expect("a plan").is_none());
    let keys: Vec<[u8; 8]> = (0..200_000u64).map(u64::to_le_bytes).collect();
    let records: Vec<Record<'_>> = keys.iter().map(|key| Record::key(key)).collect();
    let filter = VARIANT.build_from(&goal, &records).expect("it grows");
    let facts = filter.describe();
    let of = |name: &str| facts.iter().find(|f| f.name == name).unwrap().value.to_string();
    assert_eq!(
        (of("layers"), of("keys per page"), of("k")),
        ("2".into(), "3415".into(), "7".into())
    );
    assert!(filter.now().fpr.unwrap() < rate_of_layers(0.01, 2));
    for bad in [
        Goal::new(10, 0.01).set("page", 12),
        Goal::new(10, 0.01).set("page", 8).set("capacity", 0),
        Goal::new(10, 1e-100).set("page", 8),
        Goal::new(10, 0.01).set("blocks", 1u64 << 32).set("pages", 65_536),
    ] {
        assert_eq!(VARIANT.build_from(&bad, &[]).expect_err("refused").kind(), Kind::BadParameter);
    }
}

fn store(folder: &Path, room: usize) -> ForestStore {
    ForestStore::open(folder, room).expect("a store")
}

fn non_members() -> impl Iterator<Item = u64> {
    1u64 << 40..(1 << 40) + 20_000
}

#[test]
fn i13_the_page_store_answers_as_the_forest_does() {
    let folder = tempfile::tempdir().expect("a folder");
    Forest::with_shape(small(), Hasher::default())
        .unwrap()
        .save_pages(folder.path())
        .expect("saved");
    let mut disk = store(folder.path(), 10);
    let mut memory = grown(small(), 0, 0);
    for key in 0..8000u64 {
        assert_eq!(disk.insert(&key).expect("inserted"), memory.insert(&key).expect("inserted"));
        assert!(disk.cached() <= 10, "memory is bounded");
        if key % 3000 == 0 {
            disk.commit().expect("committed");
        }
    }
    assert_eq!(disk.to_forest().expect("all pages"), memory);
    assert!(
        (0..8000u64)
            .chain(non_members())
            .all(|key| { disk.contains(&key).expect("an answer") == memory.contains(&key) })
    );
    disk.commit().expect("committed");
    drop(disk);
    let again = store(folder.path(), 3);
    assert_eq!(again.to_forest().expect("all pages"), memory);
    assert_eq!((again.items(), again.layers()), (memory.head().items, memory.layers()));
    // The same bytes as a file, too.
    let bytes = codec::to_bytes(&memory);
    assert_eq!(codec::to_bytes(&again.to_forest().expect("all pages")), bytes);
}

#[test]
fn i13_page_reads_are_counted_and_writes_go_by_block() {
    let folder = tempfile::tempdir().expect("a folder");
    let forest = grown(small(), 6000, 0);
    forest.save_pages(folder.path()).expect("saved");
    // Nothing stays in memory but one page: every page of a walk is one read.
    let cold = store(folder.path(), 1);
    let mut reads = 0;
    for key in non_members().take(500) {
        let before = cold.io().reads;
        let found = cold.contains(&key).expect("an answer");
        let now = cold.io().reads - before;
        assert!(now <= u64::from(cold.layers()) && now <= forest.pages_read(&key));
        assert_eq!(found, forest.contains(&key));
        reads += now;
    }
    // Pages that were never written are known to be empty: layers 2 and 3 are sparse.
    assert!(reads > 700, "{reads}");
    assert_eq!(cold.io().writes, 0);
    // All in memory: nothing is read twice.
    drop(cold);
    let warm = store(folder.path(), 10_000);
    non_members().for_each(|key| {
        warm.contains(&key).expect("an answer");
    });
    let all = warm.io().reads;
    non_members().for_each(|key| {
        warm.contains(&key).expect("an answer");
    });
    assert_eq!(warm.io().reads, all);
    // Insertions wait in memory, and pages of a block are written one after the other.
    drop(warm);
    let mut buffered = store(folder.path(), 256);
    for key in 1_000_000..1_003_000u64 {
        buffered.insert(&key).expect("inserted");
    }
    buffered.commit().expect("committed");
    let io = buffered.io();
    assert!(io.batches * 2 < io.writes, "{io:?}");
    drop(buffered);
    let mut one_by_one = store(folder.path(), 1);
    for key in 2_000_000..2_003_000u64 {
        one_by_one.insert(&key).expect("inserted");
    }
    let alone = one_by_one.io();
    assert!(alone.writes > io.writes && alone.batches > 5 * io.batches, "{alone:?} against {io:?}");
}

#[test]
fn i13_a_crash_leaves_the_last_commit() {
    let folder = tempfile::tempdir().expect("a folder");
    let forest = grown(small(), 5000, 0);
    forest.save_pages(folder.path()).expect("saved");
    for round in 0..3 {
        let mut dying = store(folder.path(), 4);
        for key in 0..2000u64 {
            dying.insert(&(key + 1_000_000 * (round + 1))).expect("inserted");
        }
        assert!(dying.io().writes > 500, "pages did go to the disk");
        // No commit: the process is gone.
        drop(dying);
        assert_eq!(store(folder.path(), 8).to_forest().expect("whole"), forest, "round {round}");
    }
    // The slots of the dead are used again.
    let mut alive = store(folder.path(), 4);
    let before = folder.path().join("pages-0").metadata().unwrap().len();
    for key in 0..2000u64 {
        alive.insert(&(key + 1_000_000)).expect("inserted");
    }
    alive.commit().expect("committed");
    assert_eq!(folder.path().join("pages-0").metadata().unwrap().len(), before);
    let held = alive.to_forest().unwrap();
    drop(alive);
    assert_eq!(store(folder.path(), 8).to_forest().unwrap(), held);
}

#[test]
fn i13_damage_is_named_and_never_answers_absent() {
    let folder = tempfile::tempdir().expect("a folder");
    let forest = grown(small(), 5000, 0);
    forest.save_pages(folder.path()).expect("saved");
    let pages = folder.path().join("pages-0");
    let good = std::fs::read(&pages).unwrap();
    // A torn write: half of a page is another.
    for slot in 0..good.len() / 64 {
        let mut torn = good.clone();
        torn[slot * 64 + 32..slot * 64 + 64].fill(0);
        if torn == good {
            continue;
        }
        std::fs::write(&pages, &torn).unwrap();
        let damaged = store(folder.path(), 4);
        let mut named = 0;
        for key in 0..300u64 {
            match damaged.contains(&key) {
                Ok(found) => assert!(found, "a member is never said to be absent"),
                Err(e) => {
                    assert!(
                        matches!(e.kind(), Kind::Corrupt { .. }) && e.to_string().contains("page")
                    );
                    named += 1;
                }
            }
        }
        let error = damaged.to_forest().expect_err("every page is verified");
        assert!(matches!(error.kind(), Kind::Corrupt { .. }), "{error}");
        assert!(named < 100);
    }
    std::fs::write(&pages, &good[..good.len() - 64]).unwrap();
    let error = ForestStore::open(folder.path(), 4).expect_err("cut off");
    assert_eq!(error.kind(), Kind::Truncated);
    std::fs::write(&pages, &good).unwrap();
    // Every flipped bit and every truncation of the manifest.
    let manifest = folder.path().join("manifest");
    let whole = std::fs::read(&manifest).unwrap();
    let refused = |bytes: &[u8]| {
        std::fs::write(&manifest, bytes).unwrap();
        ForestStore::open(folder.path(), 4).err()
    };
    for at in (0..whole.len()).filter(|at| *at < 200 || at % 37 == 0) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        assert!(refused(&flipped).is_some(), "byte {at}");
        assert!(refused(&whole[..at]).is_some(), "cut to {at}");
    }
    assert!(refused(&[&whole[..], &[0]].concat()).is_some());
    // With the checksum made right again: an error, or a store that works.
    for at in (8..whole.len() - 4).filter(|at| *at < 600 || at % 29 == 0) {
        for value in [0u8, 1, 0x7f, 0xff, whole[at] ^ 1] {
            let mut lie = whole.clone();
            lie[at] = value;
            let end = lie.len() - 4;
            let crc = crc32c::crc32c(&lie[..end]);
            lie[end..].copy_from_slice(&crc.to_le_bytes());
            std::fs::write(&manifest, &lie).unwrap();
            if let Ok(mut opened) = ForestStore::open(folder.path(), 4) {
                for key in 0..4u64 {
                    let _ = (opened.contains(&key), opened.insert(&(key + 77_777)));
                }
                let _ = opened.to_forest();
            }
        }
    }
    assert!(refused(&whole).is_none());
    assert_eq!(store(folder.path(), 4).to_forest().unwrap(), forest);
}

#[test]
fn i13_a_folder_is_saved_and_opened_like_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let forest = grown(small(), 5000, 0);
    let path = folder.path().join("new/");
    codec::save(&forest, &path).expect("a slash makes a folder");
    let back = Opener::new().open(&path).expect("a page store");
    assert_eq!(codec::to_bytes(&*back), codec::to_bytes(&forest));
    Opener::new().inspect(&path).expect("a page store").with(|filter| {
        assert_eq!(filter.describe(), forest.describe());
    });
    let bloom = everbloom::membership::Bloom::with_rate(10, 0.1).expect("a filter");
    let refused = codec::save(&bloom, folder.path()).expect_err("no pages");
    assert_eq!(refused.kind(), Kind::Unsupported);
    let refused = Opener::new().open(folder.path()).expect_err("no store");
    assert_eq!(refused.kind(), Kind::NotOurs);
    // Keyed stores open under their key alone, and can be looked at without.
    let key = everbloom::internals::hash::SecretKey::from_hex("000102030405060708090a0b0c0d0e0f")
        .expect("a key");
    let mut keyed = Forest::with_shape(small(), Hasher::keyed(key.clone())).expect("room");
    keyed.insert("apple").expect("room");
    codec::save(&keyed, &path).expect("saved over the other");
    assert_eq!(Opener::new().open(&path).expect_err("no key").kind(), Kind::KeyMissing);
    assert!(Opener::new().key(Some(key)).open(&path).expect("its key").contains(b"apple"));
    Opener::new().inspect(&path).expect("no key is needed").with(|filter| {
        assert_eq!(filter.head().items, 1);
    });
}

#[test]
fn i13_a_store_is_replaced_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    grown(small(), 5000, 0).save_pages(folder.path()).expect("saved");
    let other = grown(small(), 100, 9);
    other.save_pages(folder.path()).expect("saved over it");
    assert_eq!(store(folder.path(), 4).to_forest().unwrap(), other);
    let files = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(files, 3, "manifest, lock and pages: those of the first are gone");
    // What is not ours is left alone.
    let theirs = tempfile::tempdir().expect("a folder");
    for name in ["manifest", "pages-7"] {
        std::fs::write(theirs.path().join(name), "somebody's notes").expect("written");
    }
    assert_eq!(other.save_pages(theirs.path()).expect_err("refused").kind(), Kind::NotOurs);
    assert_eq!(
        std::fs::read_dir(theirs.path()).unwrap().count(),
        2,
        "nothing of ours is left there"
    );
    std::fs::remove_file(theirs.path().join("manifest")).expect("removed");
    other.save_pages(theirs.path()).expect("saved beside it");
    other.save_pages(theirs.path()).expect("and again");
    let notes = std::fs::read_to_string(theirs.path().join("pages-7")).expect("still there");
    assert_eq!(notes, "somebody's notes");
    assert_eq!(std::fs::read_dir(theirs.path()).unwrap().count(), 4);
}
