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

/// What a side is given.
fn given(channel: &mut Channel, set: Set) -> Result<Vec<Vec<u8>>> {
    let mut given = Vec::new();
    let mut store = |keys: &[Vec<u8>]| {
        given.extend_from_slice(keys);
        Ok(())
    };
    hold(channel, set, Some(&mut store), LIMITS)?;
    Ok(given)
}

#[test]
fn lists_are_made_equal_over_a_pipe() {
    let (mut here, mut there) = Channel::pair(PATIENCE).unwrap();
    let far = thread::spawn(move || given(&mut there, set(5..1010)));
    let learned = seek(&mut here, set(0..1000), true, LIMITS).unwrap();
    assert_eq!((learned.found.ours.len(), learned.found.theirs.len()), (5, 10));
    assert_eq!((learned.here.0, learned.there.0), (1000, 1005));
    assert_eq!(far.join().unwrap().unwrap().len(), 5);
}

#[test]
fn a_side_that_gives_nothing_away_takes_nothing_in() {
    let (mut here, mut there) = Channel::pair(PATIENCE).unwrap();
    let far = thread::spawn(move || {
        hold(&mut there, set(5..100), None, LIMITS).map_err(|e| e.to_string())
    });
    let refused = seek(&mut here, set(0..100), true, LIMITS).unwrap_err().to_string();
    assert!(refused.contains("the other side says: the other side wants to add"), "{refused}");
    assert!(far.join().unwrap().unwrap_err().contains("has no permission"));
}

#[test]
fn whoever_gives_keys_hears_that_they_could_not_be_stored() {
    let (mut here, mut there) = Channel::pair(PATIENCE).unwrap();
    let far = thread::spawn(move || {
        let mut full = |_: &[Vec<u8>]| Err(Error::new(Kind::Io, "the disk is full"));
        let held = hold(&mut there, set(5..100), Some(&mut full), LIMITS);
        (held.is_err(), there.failed())
    });
    let refused = seek(&mut here, set(0..100), true, LIMITS).unwrap_err().to_string();
    assert_eq!(refused, "the other side says: the disk is full");
    // It is no fault of the line: another peer would fare no better.
    assert_eq!((far.join().unwrap(), here.failed()), ((true, false), true));
}

/// A process of its own appends lines while others are appended here.
#[test]
#[cfg(unix)]
fn lines_that_another_process_appends_are_kept() {
    const LINES: u32 = 3000;
    let place = TempDir::new().unwrap();
    let path = place.path().join("list");
    fs::write(&path, "first\n").unwrap();
    let script = "i=0; while [ $i -lt 3000 ]; do echo other $i >> list; i=$((i + 1)); done";
    let mut other =
        std::process::Command::new("sh").args(["-c", script]).current_dir(&place).spawn().unwrap();
    let mut appended = 0;
    while other.try_wait().unwrap().is_none() && appended < LINES {
        append(&path, &[format!("here {appended}").into_bytes()], b'\n').unwrap();
        appended += 1;
    }
    assert!(other.wait().unwrap().success() && appended > 0);
    let text = fs::read_to_string(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..LINES).map(|i| format!("other {i}")).collect();
    expected.extend((0..appended).map(|i| format!("here {i}")));
    expected.push("first".to_owned());
    expected.sort_unstable();
    assert_eq!(lines, expected);
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

/// Makes two folders equal: what came to either side, and what differs.
fn made_equal(here: &Path, there: &Path, limits: Limits) -> [Result<Vec<String>>; 3] {
    let (mut one, mut other) = Channel::pair(PATIENCE).unwrap();
    let there = there.to_path_buf();
    let far = thread::spawn(move || {
        let folder = Folder::read(&there)?;
        let announced = hold(&mut other, folder.set(), None, limits)?;
        Exchange::second(&folder, Some(announced)).run(&mut other, limits)
    });
    let mut differ = Vec::new();
    let mut near = || {
        let ours = Folder::read(here)?;
        let learned = seek(&mut one, ours.set(), false, limits)?;
        let plan = ours.plan(&learned.found)?;
        differ = plan.differ;
        Exchange::first(&ours, &plan.there, &plan.here).run(&mut one, limits)
    };
    let came = near();
    drop(one);
    [came, far.join().unwrap(), Ok(differ)]
}

#[test]
fn folders_are_made_equal_but_for_files_that_differ() {
    let long = "x".repeat(200_000);
    let here = folder(&[
        ("a", "1"),
        ("sub/b", &long),
        ("same", "s"),
        ("differs", "here"),
        ("kind", "a file"),
    ]);
    let there = folder(&[
        ("c", &long),
        ("same", "s"),
        ("deep/er/d", ""),
        ("differs", "there"),
        ("kind/of/folder", ""),
    ]);
    fs::create_dir(here.path().join("empty")).unwrap();
    let [came, given, differ] = made_equal(here.path(), there.path(), LIMITS).map(Result::unwrap);
    assert_eq!(differ, ["differs", "kind"]);
    assert_eq!(came, ["c", "deep/", "deep/er/", "deep/er/d"]);
    assert_eq!(given, ["a", "empty/", "sub/", "sub/b"]);
    let all = [
        "a",
        "c",
        "deep/",
        "deep/er/",
        "deep/er/d",
        "differs",
        "empty/",
        "kind",
        "same",
        "sub/",
        "sub/b",
    ];
    assert_eq!(names(here.path()), all);
    assert_eq!(fs::read_to_string(here.path().join("c")).unwrap(), long);
    assert_eq!(fs::read_to_string(there.path().join("differs")).unwrap(), "there");
    assert_eq!(fs::read_dir(here.path()).unwrap().count(), 8, "nothing is left aside");
    assert!(there.path().join("empty").is_dir() && there.path().join("kind/of/folder").is_file());
}

#[test]
#[cfg(unix)]
fn modes_and_times_are_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::{Duration, SystemTime};
    let here = folder(&[("deep/er/script", "#!/bin/sh"), ("secret", "x"), ("old", "")]);
    let there = folder(&[]);
    let modes = [
        ("deep/er/script", 0o755),
        ("secret", 0o400),
        ("old", 0o664),
        ("deep/er", 0o550),
        ("deep", 0o700),
    ];
    let time = |i: u64| SystemTime::UNIX_EPOCH + Duration::new(1_000_000_000 + i, 500);
    for (i, (name, mode)) in modes.iter().enumerate() {
        let path = here.path().join(name);
        fs::File::open(&path).unwrap().set_modified(time(i as u64)).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).unwrap();
    }
    let [_, _, differ] = made_equal(here.path(), there.path(), LIMITS).map(Result::unwrap);
    assert!(differ.is_empty());
    for (i, (name, mode)) in modes.iter().enumerate() {
        let metadata = there.path().join(name).metadata().unwrap();
        let found = (metadata.permissions().mode() & 0o777, metadata.modified().unwrap());
        assert_eq!(found, (*mode, time(i as u64)), "{name}");
    }
    for place in [&here, &there] {
        let closed = place.path().join("deep/er");
        fs::set_permissions(closed, fs::Permissions::from_mode(0o700)).unwrap();
    }
}

#[test]
fn what_an_interrupted_transfer_leaves_is_not_sent_and_goes_with_the_next_one() {
    let here = folder(&[("a", "1"), (".everbloom-mine/kept", "2"), (".everbloom-note", "3")]);
    let there = folder(&[("b", "2")]);
    let aside = |name: &str| {
        let path = here.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join("0"), "half a fi").unwrap();
        fs::File::create(path.join("lock")).unwrap()
    };
    let (left, living, young) =
        (aside(".everbloom-AAAA"), aside(".everbloom-BBBB"), aside(".everbloom-CCCC"));
    let old = std::time::SystemTime::now() - Duration::from_secs(100);
    left.set_modified(old).unwrap();
    living.set_modified(old).unwrap();
    living.lock().unwrap();
    let [came, given, _] = made_equal(here.path(), there.path(), LIMITS).map(Result::unwrap);
    assert_eq!((came, given), (vec!["b".to_owned()], vec!["a".to_owned()]));
    let there_is = |name: &str| here.path().join(name).exists();
    assert!(!there_is(".everbloom-AAAA") && there_is(".everbloom-BBBB/0"));
    assert!(there_is(".everbloom-CCCC/0") && there_is(".everbloom-mine/kept"));
    assert_eq!(Folder::read(here.path()).unwrap().skipped(), 2, "names of ours are not sent");
    drop(young);
}

#[test]
fn whoever_gives_files_hears_that_they_are_not_in_place() {
    let here = folder(&[("a/b", "1")]);
    let there = folder(&[]);
    let (mut one, mut other) = Channel::pair(PATIENCE).unwrap();
    let path = there.path().to_path_buf();
    let far = thread::spawn(move || {
        let folder = Folder::read(&path)?;
        let announced = hold(&mut other, folder.set(), None, LIMITS)?;
        // A file that nobody knew of stands where the folder has to be.
        fs::write(path.join("a"), "in the way")?;
        Exchange::second(&folder, Some(announced)).run(&mut other, LIMITS)
    });
    let ours = Folder::read(here.path()).unwrap();
    let learned = seek(&mut one, ours.set(), false, LIMITS).unwrap();
    let plan = ours.plan(&learned.found).unwrap();
    let told = Exchange::first(&ours, &[], &plan.here).run(&mut one, LIMITS).unwrap_err();
    assert!(told.to_string().contains("something else is there"), "{told}");
    assert!(far.join().unwrap().is_err());
}

#[test]
fn files_are_bounded_by_what_was_announced() {
    use everbloom::exchange::{Frame, Session as _};
    let place = folder(&[]);
    let folder = Folder::read(place.path()).unwrap();
    let frame = |kind: u8, body: &[u8]| {
        let mut out = Vec::new();
        Frame::write(&mut out, kind, body, &LIMITS).unwrap();
        out
    };
    let begins = |size: u64, name: &str| {
        let hash = if name.ends_with('/') { [0; 32] } else { [7; 32] };
        frame(0x96, &[&size.to_le_bytes()[..], &[0; 16], &hash, name.as_bytes()].concat())
    };
    // It may be given 2 entries with names of 2 bytes, and files of 1000 bytes in all.
    let limits = Limits { total: 1000, ..LIMITS };
    let sent = |takes: bool, frames: &[Vec<u8>]| {
        let second = Exchange::second(&folder, takes.then_some((2, 2 * 35)));
        let mut party = Party::new(second.taking_at_most(&limits), LIMITS);
        let mut frames = [&[frame(0x91, &[])], frames].concat();
        let last = frames.pop().unwrap();
        party.receive(&[]).unwrap();
        for frame in frames {
            party.receive(&frame).unwrap();
            // What it has to say: that it sends nothing.
            while !party.receive(&[]).unwrap().send.is_empty() {}
        }
        party.receive(&last).map(|_| ()).map_err(|e| e.to_string())
    };
    let long = [&[0x96][..], &100_000_000u32.to_le_bytes()].concat();
    let piece = [&[0x93][..], &100_000_000u32.to_le_bytes()].concat();
    let none: [Vec<u8>; 0] = [];
    for (takes, frames, says) in [
        (false, vec![begins(1, "ab")[..5].to_vec()], "was not allowed to"),
        (true, vec![long], "are due"),
        (true, vec![begins(1001, "ab")], "1001 bytes, where 1000 more are taken"),
        (
            true,
            vec![begins(600, "ab"), frame(0x93, &[0; 600]), begins(600, "cd")],
            "what came is not",
        ),
        (true, vec![begins(10, "ab"), piece], "at most 10 are due"),
        (
            true,
            vec![begins(10, "ab"), frame(0x93, &[0; 5]), frame(0x93, &[0; 6])],
            "at most 5 are due",
        ),
        (true, vec![begins(10, "ab"), frame(0x93, &[0; 5]), frame(0x94, &[])], "what came is not"),
        (true, vec![frame(0x93, &[0])], "are due"),
        (true, vec![begins(1, "a/")], "not a file"),
        (true, vec![begins(0, "a/"), begins(0, "a/")], "was not allowed to"),
        (true, vec![begins(0, "a/"), begins(0, "b/"), begins(0, "c/")], "more than was announced"),
        (
            true,
            vec![begins(0, "a name that is longer than all that was announced of names/")],
            "more than was announced",
        ),
        (true, vec![begins(0, ".everbloom-x/")], "none inside a folder"),
    ] {
        let refused = sent(takes, &frames).unwrap_err();
        assert!(refused.contains(says), "{frames:?}: {refused}");
    }
    assert!(sent(true, &none).is_ok());
    assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
}

#[test]
fn names_are_printed_on_one_line() {
    assert_eq!(shown("a b/ü.txt"), "a b/ü.txt");
    assert_eq!(shown("a\nb\x1b[2J\u{7f}\u{9b}"), "a\\nb\\x1b[2J\\x7f\\x9b");
    assert_eq!(shown("cod.\u{202e}txt.exe"), "cod.\\u202etxt.exe");
    let odd = folder(&[]);
    let name = if cfg!(unix) { "two\nlines" } else { "two lines" };
    fs::write(odd.path().join(name), "").unwrap();
    let other = folder(&[]);
    let [_, given, _] = made_equal(odd.path(), other.path(), LIMITS).map(Result::unwrap);
    assert_eq!(given, [name]);
}

#[test]
fn names_that_leave_the_folder_are_refused() {
    let hash = [0u8; 32];
    for name in ["", "/etc/passwd", "../x", "a/../../x", "a//b", "./a", "/", "a//", "a\0b", "a\\b"]
    {
        assert!(Entry::of_key(&[&hash[..], name.as_bytes()].concat()).is_err(), "{name:?}");
    }
    assert!(Entry::of_key(&[&hash[..], b"a/b.txt"].concat()).is_ok());
    assert!(Entry::of_key(&[&hash[..], b"a/b/"].concat()).is_ok_and(|entry| entry.is_folder()));
    assert!(Entry::of_key(&[&[1; 32][..], b"a/b/"].concat()).is_err(), "a folder with content");
    let place = folder(&[("kept", "1")]);
    #[cfg(unix)]
    std::os::unix::fs::symlink("/tmp", place.path().join("link")).unwrap();
    let folder = Folder::read(place.path()).unwrap();
    assert!(folder.free("kept").is_err() && folder.free("new/er").is_ok());
    #[cfg(unix)]
    assert!(folder.free("link/x").is_err() && folder.skipped() == 1);
}
