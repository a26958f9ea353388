//! What a follower takes and what it refuses.

use std::fs;
use std::path::Path;
use std::time::Duration;

use everbloom::{Bloom, open_as};
use tempfile::TempDir;

use super::*;

fn shape() -> Shape {
    Shape { format: "evb".into(), capacity: 10_000, rate: 0.01 }
}

fn keys(range: std::ops::Range<u32>) -> Vec<Vec<u8>> {
    range.map(|i| i.to_string().into_bytes()).collect()
}

fn publish(feed: &Path, range: std::ops::Range<u32>) -> Option<(u64, Option<u64>)> {
    let keys = keys(range);
    let bytes = shape().build(keys.iter().map(Vec::as_slice)).unwrap();
    Feed::of(feed).publish(&shape(), &bytes).unwrap()
}

struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn at(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn follow(&self) -> everbloom::Result<Took> {
        Follower::open(&self.at("mine.evb"))?.refresh(&Source::Folder(self.at("feed")))
    }
}

#[test]
fn a_follower_takes_the_file_once_and_deltas_then() {
    let place = Place::new();
    let feed = place.at("feed");
    assert_eq!(publish(&feed, 0..500), Some((1, None)));
    let first = place.follow().unwrap();
    assert!(first.whole && (first.from, first.to) == (0, 1));
    assert_eq!(publish(&feed, 0..500), None, "nothing changed");
    assert_eq!(place.follow().unwrap().bytes, fs::metadata(feed.join("latest")).unwrap().len());
    for last in [505, 510, 520] {
        assert!(publish(&feed, 0..last).unwrap().1.unwrap() < 400);
    }
    let took = place.follow().unwrap();
    assert_eq!((took.from, took.to, took.deltas, took.whole), (1, 4, 3, false));
    assert!(took.bytes * 2 < first.bytes, "{took:?} {first:?}");
    let filter: Bloom = open_as(place.at("mine.evb")).unwrap();
    assert!(keys(0..520).iter().all(|key| filter.contains(key)));
}

#[test]
fn roll_backs_and_second_versions_are_refused() {
    let place = Place::new();
    let feed = place.at("feed");
    publish(&feed, 0..10);
    fs::copy(feed.join("latest"), place.at("old")).unwrap();
    publish(&feed, 0..11);
    place.follow().unwrap();
    let kept = fs::read(place.at("mine.evb")).unwrap();
    fs::copy(place.at("old"), feed.join("latest")).unwrap();
    let refused = place.follow().unwrap_err().to_string();
    assert!(
        refused.contains("went back to version 1") && refused.contains("mine.evb.version"),
        "{refused}"
    );
    publish(&feed, 0..12);
    let refused = place.follow().unwrap_err().to_string();
    assert!(refused.contains("another version 2"), "{refused}");
    assert_eq!(fs::read(place.at("mine.evb")).unwrap(), kept);
}

#[test]
fn damage_and_other_bases_are_found_out() {
    let place = Place::new();
    let feed = place.at("feed");
    publish(&feed, 0..10);
    place.follow().unwrap();
    publish(&feed, 0..20);
    // A delta that is damaged: the whole file comes instead.
    let mut delta = fs::read(feed.join("2.delta")).unwrap();
    let place_in_code = delta.len() - 10;
    delta[place_in_code] ^= 1;
    fs::write(feed.join("2.delta"), delta).unwrap();
    assert!(place.follow().unwrap().whole);
    // A file of another's: it is replaced, by the whole one.
    fs::write(place.at("mine.evb"), "other").unwrap();
    publish(&feed, 0..30);
    assert!(place.follow().unwrap().whole);
    // Both damaged: nothing changes.
    publish(&feed, 0..40);
    fs::write(feed.join("4.delta"), "x").unwrap();
    let mut whole = fs::read(feed.join("4.full")).unwrap();
    whole[200] ^= 1;
    fs::write(feed.join("4.full"), whole).unwrap();
    let kept = fs::read(place.at("mine.evb")).unwrap();
    assert!(place.follow().is_err());
    assert_eq!(fs::read(place.at("mine.evb")).unwrap(), kept);
}

/// A feed whose digests are right, and whose files are no filters, or another kind of them.
#[test]
fn nothing_but_a_filter_replaces_a_filter() {
    let place = Place::new();
    let feed = place.at("feed");
    publish(&feed, 0..10);
    place.follow().unwrap();
    let kept = fs::read(place.at("mine.evb")).unwrap();
    let mut cut = kept.clone();
    cut.truncate(cut.len() - 8);
    let mut lies = kept.clone();
    let middle = lies.len() / 2;
    lies[middle] ^= 1;
    let script = b"#!/bin/sh\necho gone\n";
    let squid = Shape { format: "squid".into(), ..shape() };
    let digests = squid.build([&b"a"[..]]).unwrap();
    for (bytes, shape) in [
        (&script[..], shape()),
        (&cut[..], shape()),
        (&lies[..], shape()),
        (&b""[..], shape()),
        (&digests[..], shape()),
        (&digests[..], squid),
    ] {
        let other = place.at("other");
        fs::create_dir_all(&other).unwrap();
        let latest = Latest { version: 2, digest: digest(bytes), shape };
        fs::write(other.join("latest"), latest.write()).unwrap();
        fs::write(other.join("2.full"), Update::whole(2, bytes).write()).unwrap();
        let follower = || Follower::open(&place.at("mine.evb")).unwrap();
        follower().refresh(&Source::Folder(other.clone())).unwrap_err();
        follower().take(&Update::whole(2, bytes).write()).unwrap_err();
        let delta = Update::delta(2, &kept, &vec![7; kept.len()]).unwrap();
        follower().take(&delta.write()).unwrap_err();
        assert_eq!(fs::read(place.at("mine.evb")).unwrap(), kept);
        let new =
            Follower::open(&place.at("new.evb")).unwrap().take(&Update::whole(2, script).write());
        assert!(new.is_err() && !place.at("new.evb").exists());
    }
}

/// Who reads a pipe is not told the format, and finds it out.
#[test]
fn a_pipe_brings_filters_of_other_software() {
    let place = Place::new();
    let squid = Shape { format: "squid".into(), capacity: 1000, rate: 0.02 };
    let [one, two] = [&b"a"[..], b"b"].map(|url| squid.build([url]).unwrap());
    let follower = || Follower::open(&place.at("mine.digest")).unwrap();
    assert_eq!(follower().take(&Update::whole(1, &one).write()).unwrap().to, 1);
    let delta = Update::delta(2, &one, &two).unwrap();
    assert_eq!(follower().take(&delta.write()).unwrap().to, 2);
    assert_eq!(fs::read(place.at("mine.digest")).unwrap(), two);
}

#[test]
fn every_cut_and_flip_of_an_update_is_an_error() {
    let (old, new) = (vec![7u8; 100], [vec![7u8; 60], vec![9; 40]].concat());
    for update in [Update::whole(3, &new), Update::delta(3, &old, &new).unwrap()] {
        let bytes = update.write();
        let apply = |bytes: &[u8]| Update::read(bytes).and_then(|(u, _)| u.apply(Some(&old)));
        assert_eq!(apply(&bytes).unwrap(), new);
        for length in 0..bytes.len() {
            assert!(Update::read(&bytes[..length]).is_err(), "cut at {length}");
        }
        for bit in 0..8 * bytes.len() {
            let mut wrong = bytes.clone();
            wrong[bit / 8] ^= 1 << (bit % 8);
            // The version is a name, which the digest does not cover; the last bits of the code are padding; of a
            // whole file the base does not matter.
            if let Ok(same) = apply(&wrong) {
                assert_eq!(same, new, "bit {bit}");
            }
        }
    }
    let mut huge = Update::whole(1, &new).write();
    huge[78..86].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(Update::read(&huge).is_err());
}

#[test]
fn a_pipe_brings_updates_in_order() {
    let place = Place::new();
    let bytes = |last| shape().build(keys(0..last).iter().map(Vec::as_slice)).unwrap();
    let (one, two, three) = (bytes(10), bytes(11), bytes(12));
    let whole = Update::whole(1, &one).write();
    let deltas = [Update::delta(2, &one, &two).unwrap(), Update::delta(3, &two, &three).unwrap()];
    let deltas = deltas.map(|delta| delta.write());
    let follower = || Follower::open(&place.at("mine.evb")).unwrap();
    let took = follower().take(&[whole.clone(), deltas[0].clone()].concat()).unwrap();
    assert_eq!((took.from, took.to, took.deltas, took.whole), (0, 2, 1, true));
    assert!(follower().take(&whole).is_err(), "a roll-back");
    assert!(follower().take(&deltas[1][..50]).is_err(), "cut off");
    assert_eq!(follower().take(&deltas[1]).unwrap().to, 3);
    assert_eq!(fs::read(place.at("mine.evb")).unwrap(), three);
    let other = Update::delta(4, &one, &two).unwrap().write();
    assert!(follower().take(&other).unwrap_err().to_string().contains("another base"));
}

#[test]
fn a_command_fetches_or_ends_in_an_error() {
    let place = Place::new();
    publish(&place.at("feed"), 0..10);
    let fetch = |line: String, seconds: f64| {
        let patience = Duration::from_secs_f64(seconds);
        Follower::open(&place.at("mine.evb")).unwrap().refresh(&Source::Command { line, patience })
    };
    let folder = place.at("feed").display().to_string();
    for (line, says) in
        [("exit 3", "exit"), ("sleep 30", "says nothing"), ("echo hello", "published")]
    {
        let refused = fetch(line.into(), 0.3).unwrap_err().to_string();
        assert!(refused.contains(says), "{line}: {refused}");
    }
    assert!(!place.at("mine.evb").exists());
    assert!(fetch(format!("cat '{folder}'/$1"), 10.0).unwrap().whole);
}

#[test]
fn squid_digests_are_published_as_well() {
    let place = Place::new();
    let feed = Feed::of(&place.at("feed"));
    let shape = Shape { format: "squid".into(), capacity: 1000, rate: 0.02 };
    let urls = |last: u32| -> Vec<Vec<u8>> {
        (0..last).map(|i| format!("http://x/{i}").into_bytes()).collect()
    };
    for (last, version) in [(500, 1), (510, 2)] {
        let bytes = shape.build(urls(last).iter().map(Vec::as_slice)).unwrap();
        let published = feed.publish(&shape, &bytes).unwrap().unwrap();
        assert_eq!(published.0, version);
        place.follow().unwrap();
    }
    let bytes = fs::read(place.at("mine.evb")).unwrap();
    let squid = everbloom_formats::Format::named("squid").unwrap();
    let filter = squid.open_one(&bytes, everbloom::Limits::NETWORK).unwrap();
    assert!(urls(510).iter().all(|url| filter.contains(url.as_slice()).unwrap()));
}
