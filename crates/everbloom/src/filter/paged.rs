//! The head and state of a filter that is kept as a folder of pages.

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
