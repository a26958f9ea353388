//! The head and state of a filter that is kept as a folder of pages.

use std::ops::Range;
use std::path::Path;

use super::head::{Children, Lock, Origin};
use super::{Facts, Head};
use crate::disk::Wait;
use crate::error::{Error, Kind, Result};
use crate::hash::SecretKey;
use crate::pages::{MANIFEST_MAGIC, Manifest, Pages, Purpose};
use crate::state::{Encoder, State, push_version, u16_at};

/// Makes all changed pages durable, with the head and state that belong to them.
pub(crate) fn commit<T: State>(pages: &Pages, facts: &Facts, head: &Head, state: &T) -> Result<()> {
    let mut encoder = Encoder::default();
    head.save_before(&mut encoder);
    encoder.group("store", |out| {
        head.save("head", out);
        state.save("state", out);
    });
    let mut prefix = Vec::new();
    push_version(MANIFEST_MAGIC, head.features(), &mut prefix);
    head.push_prefix(facts.id, &mut prefix);
    pages.commit(&prefix, &encoder)
}

/// Pages in memory while others are compared with them or written.
const ROOM: usize = 64;

/// Writes a filter whose pages are all in memory as a store in a folder. `shape` are the words of a page, the pages of a
/// block, and how many pages there are. Of a store that is there and has most of them already, only the others are
/// written.
pub(crate) fn save<'a, T: State>(
    folder: &Path,
    [words, block, count]: [u64; 3],
    page: impl Fn(u64) -> Result<&'a [u64]>,
    (facts, head, state): (&Facts, &Head, &T),
) -> Result<()> {
    let (pages, changed) = match kept(folder, [words, block, count], &page) {
        Some(kept) => kept,
        None => {
            let pages = Pages::create(folder, words as usize, block, ROOM)?;
            (pages, filled(0..count, &page)?)
        }
    };
    while pages.len() < count {
        pages.grow();
    }
    for number in changed {
        let new = page(number)?;
        pages.change(number, |words| words.copy_from_slice(new))?;
    }
    commit(&pages, facts, head, state)
}

/// The pages that are not all zeros, as pages are until they are written.
fn filled<'a>(numbers: Range<u64>, page: &impl Fn(u64) -> Result<&'a [u64]>) -> Result<Vec<u64>> {
    let mut filled = Vec::new();
    for number in numbers {
        if page(number)?.iter().any(|word| *word != 0) {
            filled.push(number);
        }
    }
    Ok(filled)
}

/// The store in a folder, and the pages that must be changed to make it another one of the same shape; none if there is no
/// such store, or no whole one, or if most pages differ: they take less space in a new page file.
fn kept<'a>(
    folder: &Path,
    [words, block, count]: [u64; 3],
    page: &impl Fn(u64) -> Result<&'a [u64]>,
) -> Option<(Pages, Vec<u64>)> {
    let (pages, _) = Pages::open(folder, ROOM, Purpose::Write(Wait::No)).ok()?;
    let shape = (pages.words() as u64, pages.block(), pages.len() <= count);
    if shape != (words, block, true) {
        return None;
    }
    let mut changed = Vec::new();
    for number in 0..pages.len() {
        let new = page(number).ok()?;
        if pages.look(number, |old| old != new).ok()? {
            changed.push(number);
        }
    }
    changed.extend(filled(pages.len()..count, page).ok()?);
    (2 * changed.len() as u64 <= count).then_some((pages, changed))
}

/// `opens!(ForestStore { directory }: committed);`: the ways to open a store with the fields `head`, `pages` and its
/// own state, which the function makes of pages, manifest and head.
macro_rules! opens {
    ($type:ident { $state:ident }: $committed:path) => {
        impl $type {
            /// The store in a folder, with at most `room` pages in memory.
            pub fn open(folder: impl AsRef<Path>, room: usize) -> Result<Self> {
                Self::open_keyed(folder, room, None)
            }

            /// [`Self::open`] for a store that may be keyed.
            pub fn open_keyed(
                folder: impl AsRef<Path>,
                room: usize,
                key: Option<&SecretKey>,
            ) -> Result<Self> {
                let folder = folder.as_ref();
                let (pages, manifest, head) = paged::open(folder, room, &VARIANT.facts, key)?;
                let (head, $state) =
                    $committed(&pages, &manifest, head).map_err(|e| e.context(folder.display()))?;
                Ok(Self { head, $state, pages })
            }
        }
    };
}
pub(crate) use opens;

/// The store of a variant in `folder`, to be written to, with `room` pages in memory, and the head in its manifest.
pub(crate) fn open(
    folder: &Path,
    room: usize,
    facts: &'static Facts,
    key: Option<&SecretKey>,
) -> Result<(Pages, Manifest, Head)> {
    let (pages, manifest) = Pages::open(folder, room, Purpose::Write(Wait::No))?;
    let id = u16_at(manifest.prefix(), 20);
    if id != facts.id {
        let message = format!("the store holds variant {id}, not a {} filter", facts.slug);
        return Err(
            Error::new(Kind::Incompatible { what: "variant" }, message).context(folder.display())
        );
    }
    let head = Head::from_prefix(manifest.prefix(), facts, key, Lock::Closed)
        .map_err(|e| e.context(folder.display()))?;
    Ok((pages, manifest, head))
}

/// Head and state, as they were committed.
pub(crate) fn committed<T: State>(
    manifest: &Manifest,
    facts: &'static Facts,
    mut head: Head,
) -> Result<(Head, T)> {
    // Pages hold no filters of their own.
    const NONE: Children = |_| None;
    let mut src = manifest.decoder(Box::new(()));
    head.load_before(manifest.prefix(), &mut src)?;
    src.swap_context(Origin::context(facts, head, NONE));
    let both = src.group("store", |src| Ok((Head::load("head", src)?, T::load("state", src)?)))?;
    src.finish()?;
    Ok(both)
}
