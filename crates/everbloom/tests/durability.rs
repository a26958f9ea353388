//! Crashes and failing disks at every step of saving, changing and committing: what is found afterwards is the
//! state before or the state after, and what was acknowledged is never lost.

use std::fs;
use std::path::Path;

use everbloom::growing::{Forest, ForestStore};
use everbloom::internals::disk::trial::{Left, Step, crashed, noted};
use everbloom::keyvalue::{BloomStore, BloomStoreImage};
use everbloom::{Bloom, Kind, Opener, Record, Wait, open, save, to_bytes};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

fn copy(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        fs::copy(&path, to.join(path.file_name().expect("a name"))).expect("copied");
    }
}

fn names(folder: &Path) -> Vec<String> {
    let entry = |e: std::io::Result<fs::DirEntry>| e.expect("an entry").file_name();
    let all = fs::read_dir(folder).expect("a folder").map(entry);
    let mut all: Vec<String> = all.map(|name| name.to_string_lossy().into_owned()).collect();
    all.sort();
    all
}

/// Tries every crash and every failure of `work`, which changes a folder. `state` reads what is there, or
/// `None` if nothing is. Returns how many folders were looked at.
fn try_all<S: PartialEq + std::fmt::Debug>(
    prepare: impl Fn(&Path),
    work: impl Fn(&Path) -> everbloom::Result<()>,
    state: impl Fn(&Path) -> S,
) -> usize {
    let (place, before) = (folder(), folder());
    prepare(place.path());
    copy(place.path(), before.path());
    let old = state(before.path());
    let (done, steps) = noted(None, || work(place.path()));
    done.expect("the work is done");
    let new = state(place.path());
    assert_ne!(old, new, "the work changes something");
    let mut tried = 0;
    for count in 0..=steps.len() {
        for left in Left::ALL {
            let after = folder();
            crashed(before.path(), place.path(), &steps, count, left, after.path())
                .expect("a crash");
            let found = state(after.path());
            let acknowledged = count == steps.len();
            let fine = found == new || !acknowledged && found == old;
            assert!(fine, "{left:?} after step {count} of {}: {found:?}", steps.len());
            tried += 1;
        }
    }
    // A step that fails is an error, and leaves what was there; the next try succeeds.
    for (number, step) in steps.iter().enumerate() {
        let again = folder();
        copy(before.path(), again.path());
        let (failed, _) = noted(Some(number), || work(again.path()));
        let found = state(again.path());
        // Removing what is no longer needed may fail, and so may the last sync, behind the rename.
        match failed {
            Ok(()) => assert_eq!(found, new, "step {number}: {:?}", kind(step)),
            Err(_) => assert!(found == old || found == new, "step {number}: {found:?}"),
        }
        work(again.path()).expect("a disk that works again");
        tried += 1;
    }
    tried
}

fn kind(step: &Step) -> String {
    format!("{step:?}").chars().take(40).collect()
}

fn with_keys(range: std::ops::Range<u64>) -> Bloom {
    let mut filter = Bloom::with_rate(100_000, 0.01).expect("a filter");
    filter.extend(range);
    filter
}

/// The bytes of the filter in a folder; a file that is there but cannot be opened is a failure.
fn file_in(folder: &Path) -> Option<Vec<u8>> {
    let path = folder.join("seen.evb");
    path.exists().then(|| to_bytes(&*open(&path).expect("a whole filter")))
}

#[test]
fn a_file_is_replaced_whole_or_not_at_all() {
    let new = |folder: &Path| save(&with_keys(0..2000), folder.join("seen.evb"));
    let mut tried = try_all(|_| {}, new, file_in);
    let old = |folder: &Path| save(&with_keys(0..1000), folder.join("seen.evb")).expect("saved");
    tried += try_all(old, new, file_in);
    println!("{tried} crashes and failures of saving");
    assert!(tried > 50);
}

#[test]
fn an_update_is_there_or_not() {
    let prepare =
        |folder: &Path| save(&with_keys(0..1000), folder.join("seen.evb")).expect("saved");
    let add = |folder: &Path| {
        let mut update = Opener::new().update(folder.join("seen.evb"), Wait::No)?;
        update.as_insert().expect("an ability").insert(Record::key(b"apple"))?;
        update.save()
    };
    assert!(try_all(prepare, add, file_in) > 25);
}

/// The keys of a store in the range that a test inserts.
fn keys_in(folder: &Path) -> Option<Vec<u64>> {
    if !folder.join("manifest").exists() {
        return None;
    }
    let store = ForestStore::open(folder, 4).expect("a whole store");
    let has = |key: &u64| store.contains(key).expect("a whole page");
    Some((0..1200u64).filter(has).collect())
}

#[test]
fn a_commit_of_pages_is_there_or_not() {
    let create = |folder: &Path| {
        let mut forest = Forest::builder().items(300).rate(1e-6).set("page", 256).build()?;
        (0..300u64).try_for_each(|key| forest.insert(&key).map(drop))?;
        forest.save_pages(folder)
    };
    let mut tried = try_all(|_| {}, create, keys_in);
    let commit = |folder: &Path| {
        let mut store = ForestStore::open(folder, 4)?;
        (1000..1100u64).try_for_each(|key| store.insert(&key).map(drop))?;
        store.commit()
    };
    let prepare = |folder: &Path| create(folder).expect("created");
    tried += try_all(prepare, commit, keys_in);
    println!("{tried} crashes and failures of page stores");
    assert!(tried > 100);
}

/// The values of a key-value store in the range of keys that a test puts.
fn values_in(folder: &Path) -> Option<Vec<Option<Vec<u8>>>> {
    if !folder.join("manifest").exists() {
        return None;
    }
    let store = BloomStore::open(folder, 4).expect("a whole store");
    Some((0..150u64).map(|key| store.get(&key).expect("a whole page")).collect())
}

#[test]
fn a_commit_of_pairs_is_there_or_not() {
    let create = |folder: &Path| {
        let builder = BloomStoreImage::builder().items(100).set("page", 128).set("pairs", 8);
        let mut image = builder.set("ranges", 2).build()?;
        (0..100u64).try_for_each(|key| image.put(&key, b"first").map(drop))?;
        image.save_pages(folder)
    };
    let mut tried = try_all(|_| {}, create, values_in);
    // New values, tombstones, and a compaction that rewrites them, in one commit.
    let commit = |folder: &Path| {
        let mut store = BloomStore::open(folder, 4)?;
        (50..130u64).try_for_each(|key| store.put(&key, b"second"))?;
        (0..30u64).try_for_each(|key| match store.delete(&key) {
            // An earlier try has deleted it.
            Err(e) if e.kind() == Kind::NotDeletable => Ok(()),
            done => done,
        })?;
        store.compact()?;
        (130..150u64).try_for_each(|key| store.put(&key, b"third"))?;
        store.commit()
    };
    let prepare = |folder: &Path| create(folder).expect("created");
    tried += try_all(prepare, commit, values_in);
    println!("{tried} crashes and failures of key-value stores");
    assert!(tried > 200);
}

#[test]
fn a_store_has_one_writer_at_a_time() {
    let place = folder();
    Forest::with_rate(1000, 0.01).expect("a forest").save_pages(place.path()).expect("saved");
    let first = ForestStore::open(place.path(), 4).expect("a store");
    let second = ForestStore::open(place.path(), 4).expect_err("the first one writes");
    assert_eq!(second.kind(), Kind::Busy);
    assert!(Opener::new().open(place.path()).is_ok(), "reading is free");
    drop(first);
    assert!(ForestStore::open(place.path(), 4).is_ok());
}

#[test]
fn a_file_has_one_writer_at_a_time() {
    let place = folder();
    let path = place.path().join("seen.evb");
    save(&with_keys(0..10), &path).expect("saved");
    let first = Opener::new().update(&path, Wait::No).expect("an update");
    let second = Opener::new().update(&path, Wait::No).expect_err("the first one changes it");
    assert_eq!(second.kind(), Kind::Busy);
    // Whoever waits gets the file that was put there meanwhile, not the one that is gone.
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| {
            let mut update = Opener::new().update(&path, Wait::Yes).expect("in the end");
            update.as_insert().expect("an ability").insert(Record::key(b"second")).expect("taken");
            update.save().expect("saved");
        });
        let mut first = first;
        first.as_insert().expect("an ability").insert(Record::key(b"first")).expect("taken");
        first.save().expect("saved");
        drop(first);
        waiting.join().expect("no panic");
    });
    let found = open(&path).expect("a filter");
    assert!(found.contains(b"first") && found.contains(b"second"));
}

#[test]
fn what_killed_writers_left_is_cleared_away() {
    let place = folder();
    let path = place.path().join("seen.evb");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    let now = std::time::SystemTime::now();
    let half = &to_bytes(&with_keys(0..10))[..100];
    for (name, bytes, age) in [
        (".evb-seen.evb-half", half, long_ago),
        (".evb-seen.evb-empty", b"", long_ago),
        (".evb-seen.evb-young", half, now),
        (".evb-seen.evb-notes", b"somebody's notes", long_ago),
        (".evb-other.evb-half", half, long_ago),
    ] {
        let left = place.path().join(name);
        fs::write(&left, bytes).expect("written");
        let file = fs::File::options().write(true).open(&left).expect("a file");
        file.set_modified(age).expect("a time");
    }
    save(&with_keys(0..10), &path).expect("saved");
    let kept = [".evb-other.evb-half", ".evb-seen.evb-notes", ".evb-seen.evb-young", "seen.evb"];
    assert_eq!(names(place.path()), kept);
}

/// A store of several blocks of pages.
fn store_in(folder: &Path) -> Forest {
    let mut forest =
        Forest::builder().items(20_000).rate(1e-3).set("page", 256).build().expect("a forest");
    (0..20_000u64).try_for_each(|key| forest.insert(&key).map(drop)).expect("room");
    forest.save_pages(folder).expect("saved");
    forest
}

fn add(folder: &Path, key: &[u8]) -> everbloom::Result<()> {
    let mut update = Opener::new().update(folder, Wait::No)?;
    update.as_insert().expect("an ability").insert(Record::key(key))?;
    update.save()
}

#[test]
fn a_key_more_in_a_store_is_there_or_not() {
    let prepare = |folder: &Path| drop(store_in(folder));
    let has = |folder: &Path| open(folder).expect("a whole store").contains(b"apple");
    assert!(try_all(prepare, |folder| add(folder, b"apple"), has) > 30);
}

#[test]
fn a_key_more_writes_the_pages_it_touches() {
    let place = folder();
    let forest = store_in(place.path());
    let (layers, all) = (u64::from(forest.layers()), fs::metadata(place.path().join("pages-0")));
    let (added, steps) = noted(None, || add(place.path(), b"apple"));
    added.expect("added");
    let in_pages = |step: &Step| match step {
        Step::Write(path, _, bytes) if path.ends_with("pages-0") => bytes.len() as u64,
        _ => 0,
    };
    let written: u64 = steps.iter().map(in_pages).sum();
    assert!((256..=256 * layers).contains(&written), "{written} bytes for a key");
    assert!(all.expect("a file").len() > 100 * written);
    // The same pages in other words: pairs, and a store that grows.
    let place = folder();
    let mut image =
        BloomStoreImage::builder().items(1000).set("page", 256).build().expect("a store");
    (0..1000u64).for_each(|key| _ = image.put(&key, b"value").expect("room"));
    image.save_pages(place.path()).expect("saved");
    image.put("apple", b"fruit").expect("room");
    let (saved, steps) = noted(None, || image.save_pages(place.path()));
    saved.expect("saved");
    let written = steps.iter().map(in_pages).sum::<u64>();
    assert!(written <= 10 * 256, "{written} bytes for a pair");
    assert_eq!(
        BloomStore::open(place.path(), 4).expect("a store").to_image().expect("whole"),
        image
    );
    // One that has hardly a page in common with what is there goes to a file of its own.
    let mut other =
        BloomStoreImage::builder().items(1000).set("page", 256).seed(7).build().expect("a store");
    (0..1000u64).for_each(|key| _ = other.put(&key, b"another").expect("room"));
    other.save_pages(place.path()).expect("saved");
    assert_eq!(names(place.path()), ["lock", "manifest", "pages-1"]);
    assert_eq!(
        BloomStore::open(place.path(), 4).expect("a store").to_image().expect("whole"),
        other
    );
}

/// What writers begin is on the list of the lock file; only what is on it and not in the manifest is removed.
#[test]
fn page_files_that_were_begun_in_vain_are_removed() {
    let kill = |folder: &Path, list: &str| {
        for name in ["pages-5", "pages-7", "pages-8"] {
            fs::write(folder.join(name), "half a page").expect("written");
        }
        fs::write(folder.join("lock"), list).expect("written");
    };
    for change in [
        |folder: &Path| add(folder, b"apple"),
        |folder: &Path| ForestStore::open(folder, 4).map(drop),
        |folder: &Path| Forest::with_rate(10, 0.1)?.save_pages(folder),
    ] {
        let place = folder();
        store_in(place.path());
        kill(place.path(), "pages-0\npages-5\npages-8\npages-9\n");
        change(place.path()).expect("changed");
        let left = names(place.path());
        let pages: Vec<_> = left.iter().filter(|name| name.starts_with("pages-")).collect();
        assert_eq!(pages.len(), 2, "the store's and the one that nobody listed: {left:?}");
        assert!(left.contains(&"pages-7".to_owned()), "{left:?}");
        open(place.path()).expect("a whole store");
        // A file of this name that is no list of ours is left as it is.
        kill(place.path(), "somebody's notes\n");
        change(place.path()).expect("changed");
        assert_eq!(fs::read(place.path().join("lock")).expect("a file"), b"somebody's notes\n");
        assert!(names(place.path()).len() >= left.len());
    }
    // A store that was never there, and one that cannot be written: nothing is left of them.
    let place = folder();
    let save = || Forest::with_rate(10, 0.1)?.save_pages(place.path());
    let (saved, steps) = noted(None, save);
    saved.expect("saved");
    for number in 0..steps.len() {
        let again = folder();
        kill(again.path(), "pages-5\n");
        let (saved, _) =
            noted(Some(number), || Forest::with_rate(10, 0.1)?.save_pages(again.path()));
        let pages = names(again.path()).iter().filter(|name| name.starts_with("pages-")).count();
        let whole = open(again.path()).is_ok();
        assert!(saved.is_ok() <= whole, "step {number}");
        assert!(pages <= 4, "step {number}: {:?}", names(again.path()));
        Forest::with_rate(10, 0.1).expect("a forest").save_pages(again.path()).expect("saved");
        let pages = names(again.path()).iter().filter(|name| name.starts_with("pages-")).count();
        assert_eq!(pages, 3, "step {number}: {:?}", names(again.path()));
    }
}

#[test]
fn errors_of_stores_name_what_cannot_be_written() {
    let place = folder();
    store_in(place.path());
    let (done, steps) = noted(None, || add(place.path(), b"apple"));
    done.expect("added");
    for number in 0..steps.len() {
        let again = folder();
        store_in(again.path());
        let (done, steps) = noted(Some(number), || add(again.path(), b"apple"));
        if let Err(e) = done {
            let (said, place) = (e.to_string(), again.path().display().to_string());
            assert!(said.contains(&place), "{:?}: {said}", kind(&steps[number]));
        }
    }
}

/// Whoever reads a store while others change it finds one of its states, never an error.
#[test]
fn stores_are_read_while_they_are_changed() {
    let place = folder();
    store_in(place.path());
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for key in 0..100u32 {
                add(place.path(), &[b"new ", &key.to_le_bytes()[..]].concat()).expect("added");
            }
        });
        while !writer.is_finished() {
            assert!(open(place.path()).expect("a whole store").contains(&0u64.to_le_bytes()));
        }
        writer.join().expect("no panic");
    });
}

/// The system would kill a process that writes more than it may: it stops before, and leaves nothing behind.
#[cfg(all(target_os = "linux", not(everbloom_portable)))]
#[test]
fn what_would_be_too_long_is_refused() {
    const LIMITED: &str = "EVERBLOOM_TEST_LIMITED";
    if std::env::var_os(LIMITED).is_some() {
        let too_long = |done: everbloom::Result<()>| {
            let error = done.expect_err("longer than 8192 bytes").to_string();
            assert!(error.contains("exceed the limit"), "{error}");
        };
        too_long(save(&with_keys(0..10), "seen.evb"));
        let mut forest = Forest::builder().items(20_000).rate(1e-3).build().expect("a forest");
        (0..20_000u64).for_each(|key| _ = forest.insert(&key).expect("room"));
        too_long(forest.save_pages(Path::new("store")));
        assert_eq!(names(Path::new("store")), ["lock"]);
        return;
    }
    let place = folder();
    let me = std::env::current_exe().expect("a program");
    let script = "ulimit -f 16; exec \"$0\" --exact what_would_be_too_long_is_refused";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]).arg(me).env(LIMITED, "yes").current_dir(place.path());
    let output = shell.output().expect("a shell");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    assert_eq!(names(place.path()), ["store"]);
}

#[cfg(unix)]
#[test]
fn permissions_and_links_stay_as_they_were() {
    use std::os::unix::fs::PermissionsExt;
    let place = folder();
    let (path, link) = (place.path().join("seen.evb"), place.path().join("link.evb"));
    std::os::unix::fs::symlink("seen.evb", &link).expect("a link");
    // A link to a file that is not there yet stays a link.
    save(&with_keys(0..10), &link).expect("saved");
    assert!(link.is_symlink() && path.is_file());
    for mode in [0o664, 0o600, 0o640] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("permitted");
        save(&with_keys(0..20), &link).expect("saved");
        let kept = fs::metadata(&path).expect("a file").permissions().mode() & 0o777;
        assert_eq!(kept, mode, "whatever the umask takes from new files");
    }
}
