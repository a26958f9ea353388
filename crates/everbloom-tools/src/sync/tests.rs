//! Lists and folders over real pipes; a peer that lies leaves nothing behind.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use everbloom::exchange::rateless::Set;
use tempfile::TempDir;

use super::*;
use crate::wire::Channel;

const PATIENCE: Duration = Duration::from_secs(5);

fn set(range: std::ops::Range<u32>) -> Set {
    range.fold(Set::new(), |set, i| set.with(i.to_string().as_bytes()))
}

#[test]
fn lists_are_made_equal_over_a_pipe() {
    let (mut here, mut there) = Channel::pair(PATIENCE).unwrap();
    let far = thread::spawn(move || hold(&mut there, set(5..1010), true));
    let learned = seek(&mut here, set(0..1000), true).unwrap();
    assert_eq!((learned.found.ours.len(), learned.found.theirs.len()), (5, 10));
    assert_eq!((learned.here.0, learned.there.0), (1000, 1005));
    assert_eq!(far.join().unwrap().unwrap().len(), 5);
}

#[test]
fn a_side_that_gives_nothing_away_takes_nothing_in() {
    let (mut here, mut there) = Channel::pair(PATIENCE).unwrap();
    let far =
        thread::spawn(move || hold(&mut there, set(5..100), false).map_err(|e| e.to_string()));
    let refused = seek(&mut here, set(0..100), true).unwrap_err().to_string();
    assert!(refused.contains("the other side says: the other side wants to add"), "{refused}");
    assert!(far.join().unwrap().unwrap_err().contains("has no permission"));
}

#[test]
fn lines_are_appended_whole_or_not_at_all() {
    let place = TempDir::new().unwrap();
    let path = place.path().join("list");
    fs::write(&path, "a\nb").unwrap();
    append(&path, &[b"c".to_vec(), b"d".to_vec()], b'\n').unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\nc\nd\n");
    assert!(append(&path, &[b"e\nf".to_vec()], b'\n').is_err());
    fs::write(place.path().join("packed"), [0x1F, 0x8B, 8]).unwrap();
    assert!(append(&place.path().join("packed"), &[b"e".to_vec()], b'\n').is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "a\nb\nc\nd\n");
}

fn folder(files: &[(&str, &str)]) -> TempDir {
    let place = TempDir::new().unwrap();
    for (name, text) in files {
        let path = place.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    place
}

fn names(path: &Path) -> Vec<String> {
    let entries = Folder::read(path).unwrap().set();
    let mut names: Vec<String> =
        entries.keys().map(|key| String::from_utf8_lossy(&key[32..]).into_owned()).collect();
    names.sort();
    names
}

#[test]
fn folders_are_made_equal_but_for_files_that_differ() {
    let long = "x".repeat(200_000);
    let here = folder(&[("a", "1"), ("sub/b", &long), ("same", "s"), ("differs", "here")]);
    let there = folder(&[("c", &long), ("same", "s"), ("deep/er/d", ""), ("differs", "there")]);
    let (mut one, mut other) = Channel::pair(PATIENCE).unwrap();
    let path = there.path().to_path_buf();
    let far = thread::spawn(move || {
        let folder = Folder::read(&path)?;
        hold(&mut other, folder.set(), false)?;
        Exchange::second(&folder, true)?.run(&mut other)
    });
    let ours = Folder::read(here.path()).unwrap();
    let learned = seek(&mut one, ours.set(), false).unwrap();
    let plan = ours.plan(&learned.found).unwrap();
    assert_eq!(plan.differ, ["differs"]);
    let came = Exchange::first(&ours, &plan.there, &plan.here).unwrap().run(&mut one).unwrap();
    assert_eq!(came, ["c", "deep/er/d"]);
    assert_eq!(far.join().unwrap().unwrap(), ["a", "sub/b"]);
    let all = ["a", "c", "deep/er/d", "differs", "same", "sub/b"];
    assert_eq!(names(here.path()), all);
    assert_eq!(names(there.path()), all);
    assert_eq!(fs::read_to_string(here.path().join("c")).unwrap(), long);
    assert_eq!(fs::read_to_string(there.path().join("differs")).unwrap(), "there");
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 6, "nothing is left aside");
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    let hash = [0u8; 32];
    for name in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "a/", "a\0b", "a\\b"] {
        assert!(Entry::of_key(&[&hash[..], name.as_bytes()].concat()).is_err(), "{name:?}");
    }
    assert!(Entry::of_key(&[&hash[..], b"a/b.txt"].concat()).is_ok());
    let place = folder(&[("kept", "1")]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("/tmp", place.path().join("link")).unwrap();
    let folder = Folder::read(place.path()).unwrap();
    assert!(folder.free("kept").is_err() && folder.free("new/er").is_ok());
    #[cfg(unix)]
    assert!(folder.free("link/x").is_err() && folder.skipped() == 1);
}
