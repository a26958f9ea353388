//! Crashes at every step and damage at every byte.

use std::fs;

use everbloom::internals::disk::trial::{Left, crashed, noted};

use super::*;

type Model = BTreeMap<Cell, Vec<u8>>;

fn tiny() -> Options {
    Options { block_bytes: 64, memory_bytes: 400, ..Options::default() }
}

fn contents(store: &Store) -> Model {
    store
        .scan(..)
        .map(|found| found.map(|(row, column, value)| ((row, column), value)).unwrap())
        .collect()
}

/// The i-th write to a store and to its twin.
fn step(store: &mut Store, model: &mut Model, i: u8) -> Result<()> {
    let (row, column) = (vec![b'r', i % 7], vec![i % 2]);
    if i % 5 == 4 {
        store.delete(&row, &column)?;
        model.remove(&(row, column));
    } else {
        store.put(&row, &column, &[i; 9])?;
        model.insert((row, column), vec![i; 9]);
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
    }
}

#[test]
fn a_crash_behind_any_step_leaves_a_prefix_of_the_writes_and_all_that_was_synced() {
    let folder = tempfile::tempdir().unwrap();
    let before = tempfile::tempdir().unwrap();
    let mut store = Store::open(folder.path(), tiny()).unwrap();
    let mut model = Model::new();
    (0..10).for_each(|i| step(&mut store, &mut model, i).unwrap());
    store.sync().unwrap();
    copy(folder.path(), before.path());
    let mut models = vec![model.clone()];
    // Enough for a flush and a merge.
    let (_, steps) = noted(None, || {
        for i in 10..30 {
            step(&mut store, &mut model, i).unwrap();
            models.push(model.clone());
        }
        store.compact(9).unwrap();
    });
    drop(store);
    assert!(steps.len() > 30, "{}", steps.len());
    for count in 0..=steps.len() {
        for left in Left::ALL {
            let after = tempfile::tempdir().unwrap();
            crashed(before.path(), folder.path(), &steps, count, left, after.path()).unwrap();
            let store = Store::open(after.path(), tiny())
                .unwrap_or_else(|e| panic!("{count} {left:?}: {e}"));
            let found = contents(&store);
            assert!(models.contains(&found), "{count} {left:?}");
            if count == steps.len() && left == Left::All {
                assert_eq!(found, model);
            }
        }
    }
}

#[test]
fn a_step_that_fails_loses_nothing_and_later_writes_are_refused_or_kept() {
    let steps = {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path(), tiny()).unwrap();
        let mut model = Model::new();
        noted(None, || (0..30).for_each(|i| step(&mut store, &mut model, i).unwrap())).1.len()
    };
    for fails in 0..steps {
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(folder.path(), tiny()).unwrap();
        let mut model = Model::new();
        let mut doubtful = None;
        noted(Some(fails), || {
            for i in 0..30 {
                let row = vec![b'r', i % 7];
                if step(&mut store, &mut model, i).is_err() {
                    doubtful.get_or_insert((row, vec![i % 2]));
                }
            }
        });
        drop(store);
        let store = Store::open(folder.path(), tiny()).unwrap();
        let (mut found, mut kept) = (contents(&store), model.clone());
        if let Some(cell) = doubtful {
            // The write that failed may have arrived or not.
            (_, _) = (found.remove(&cell), kept.remove(&cell));
        }
        assert_eq!(found, kept, "step {fails}");
    }
}

#[test]
fn sorted_files_cut_or_damaged_at_any_byte_are_an_error_or_still_right() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { merges: false, ..tiny() };
    let mut store = Store::open(folder.path(), options).unwrap();
    let mut model = Model::new();
    (0..20).for_each(|i| step(&mut store, &mut model, i).unwrap());
    store.flush().unwrap();
    let path = file_path(folder.path(), store.files[0].number);
    drop(store);
    let bytes = fs::read(&path).unwrap();
    let look = || -> Result<Model> {
        let store = Store::open(folder.path(), options)?;
        let all = store.scan(..).map(|f| f.map(|(row, column, value)| ((row, column), value)));
        let all = all.collect::<Result<Model>>()?;
        for (cell, value) in &model {
            if store.get(&cell.0, &cell.1)?.as_ref() != Some(value) {
                return Ok(Model::new());
            }
        }
        Ok(all)
    };
    assert_eq!(look().unwrap(), model);
    for cut in 0..bytes.len() {
        fs::write(&path, &bytes[..cut]).unwrap();
        assert!(look().is_err(), "cut at {cut}");
    }
    let mut lost = 0;
    for at in 0..bytes.len() {
        let mut bad = bytes.clone();
        bad[at] ^= 1 << (at % 8);
        fs::write(&path, bad).unwrap();
        if let Ok(found) = look() {
            assert_eq!(found, model, "byte {at}");
            lost += 1;
        }
    }
    assert!(lost > 100, "damaged filters are done without: {lost}");
    // A file that the manifest does not name is of no store: a crash before the manifest.
    fs::write(&path, &bytes).unwrap();
    fs::write(file_path(folder.path(), 999), &bytes[..bytes.len() / 2]).unwrap();
    assert_eq!(look().unwrap(), model);
}

#[test]
fn deletions_stay_until_the_oldest_file_is_merged() {
    let folder = tempfile::tempdir().unwrap();
    let mut store =
        Store::open(folder.path(), Options { merges: false, ..Options::default() }).unwrap();
    for value in [&b"old"[..], b"new"] {
        store.put(b"r", b"c", value).unwrap();
        store.flush().unwrap();
    }
    store.delete(b"r", b"c").unwrap();
    store.flush().unwrap();
    store.compact(2).unwrap();
    assert_eq!(store.files().collect::<Vec<_>>(), [1, 1]);
    assert_eq!(store.get(b"r", b"c").unwrap(), None);
    store.compact(2).unwrap();
    assert_eq!(store.files().collect::<Vec<_>>(), [0]);
    assert_eq!(store.get(b"r", b"c").unwrap(), None);
    assert!(Store::open(folder.path(), Options::default()).is_err(), "one at a time");
}
