//! Page files that were begun: what a killed writer leaves of them is cleared away by the next one.
//!
//! The pages of a store have no header, so that any file could be called `pages-7`. Writers list the page files they make in
//! the file that they lock, `pages-7` a line, and nothing that is not listed is ever removed.

use std::fs;
use std::io;
use std::path::Path;

use super::manifest::{Layout, MANIFEST_MAGIC};
use crate::disk::{self, Lock};
use crate::error::{Error, Kind, Result};

/// The name of the page file with this number.
pub(super) fn page_file(number: u64) -> String {
    format!("pages-{number}")
}

/// The numbers of the page files that a list names; none where it is no list of ours, and not ours to change.
fn numbers(list: &[u8]) -> Option<Vec<u64>> {
    let list = str::from_utf8(list).ok()?;
    // The last line may be one that was not written to its end.
    let whole = list.rfind('\n').map_or("", |end| &list[..=end]);
    let number = |line: &str| {
        let number = line.strip_prefix("pages-")?.parse().ok()?;
        (page_file(number) == line).then_some(number)
    };
    whole.split_terminator('\n').map(number).collect()
}

fn list(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| format!("{}\n", page_file(*number)).into_bytes()).collect()
}

/// Lists a page file that this process has just made.
pub(super) fn begin(lock: &mut Lock, number: u64) -> io::Result<()> {
    match numbers(&lock.read()?) {
        Some(mut begun) => {
            begun.push(number);
            lock.write(&list(&begun))
        }
        None => Ok(()),
    }
}

/// Removes the page files that are listed and `dead`. One that cannot be removed stays listed.
pub(super) fn clear(folder: &Path, lock: &mut Lock, dead: impl Fn(u64) -> bool) -> io::Result<()> {
    let Some(begun) = numbers(&lock.read()?) else { return Ok(()) };
    if begun.iter().any(|number| dead(*number)) {
        // The manifest that names none of them may be a new one, whose writer was killed before it was durable.
        disk::sync_folder(folder)?;
    }
    let removed = |number: u64| match disk::remove(&folder.join(page_file(number))) {
        Ok(()) => true,
        Err(e) => e.kind() == io::ErrorKind::NotFound,
    };
    let stays = |number: &u64| !dead(*number) || !removed(*number);
    let kept: Vec<u64> = begun.iter().copied().filter(stays).collect();
    if kept == begun { Ok(()) } else { lock.write(&list(&kept)) }
}

/// What the manifest of a folder says before a store is made there.
pub(super) enum Before {
    /// There is none.
    Nothing,
    /// A store with this page file.
    Store(u64),
    /// It is one of ours and cannot be read.
    Damaged,
}

impl Before {
    pub(super) fn of(folder: &Path) -> Result<Self> {
        match fs::read(folder.join(super::MANIFEST)) {
            Ok(bytes) if bytes.starts_with(&MANIFEST_MAGIC) => {
                Ok(Layout::parse(&bytes).map_or(Self::Damaged, |layout| Self::Store(layout.number)))
            }
            Ok(_) => {
                let message = "its manifest is not one of Everbloom: use another folder";
                Err(Error::new(Kind::NotOurs, message).context(folder.display()))
            }
            Err(_) => Ok(Self::Nothing),
        }
    }

    /// The number of the page file that it names. Others that were begun are removed, unless nobody can tell which one
    /// that is.
    pub(super) fn number(self, folder: &Path, lock: &mut Lock) -> Option<u64> {
        let number = match self {
            Self::Nothing => None,
            Self::Store(number) => Some(number),
            Self::Damaged => return None,
        };
        // What cannot be removed takes space and does no other harm.
        let _ = clear(folder, lock, |other| Some(other) != number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written_and_nothing_else_is_one() {
        assert_eq!(numbers(&list(&[0, 7, u64::MAX])), Some(vec![0, 7, u64::MAX]));
        assert_eq!(numbers(b""), Some(vec![]));
        assert_eq!(numbers(b"pages-1\npages-2"), Some(vec![1]), "the second line was cut off");
        for other in [&b"pages-01\n"[..], b"pages-+1\n", b"pages-\n", b"\n", b"notes\n", b"\xff\n"]
        {
            assert_eq!(numbers(other), None, "{other:?}");
        }
    }
}
