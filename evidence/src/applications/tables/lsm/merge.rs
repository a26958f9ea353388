//! Entries of several sources in one order.

use std::iter::Peekable;

use everbloom::Result;

use super::entry::Entry;

/// Entries in the order of their cells.
pub(super) type Source<'a> = Box<dyn Iterator<Item = Result<Entry>> + 'a>;

/// The newest entry of each cell, deletions included; the newest source is the first.
pub(super) struct Merge<'a> {
    sources: Vec<Peekable<Source<'a>>>,
}

impl<'a> Merge<'a> {
    pub fn new(sources: impl IntoIterator<Item = Source<'a>>) -> Self {
        Self { sources: sources.into_iter().map(Iterator::peekable).collect() }
    }
}

impl Iterator for Merge<'_> {
    type Item = Result<Entry>;

    fn next(&mut self) -> Option<Result<Entry>> {
        let mut least: Option<Entry> = None;
        for source in &mut self.sources {
            let smaller = match source.peek() {
                None => false,
                Some(Err(_)) => return source.next(),
                Some(Ok(entry)) => least.as_ref().is_none_or(|least| entry.cell < least.cell),
            };
            if smaller {
                least = source.peek().and_then(|entry| entry.as_ref().ok()).cloned();
            }
        }
        let least = least?;
        // The older versions are passed over.
        for source in &mut self.sources {
            source.next_if(|entry| entry.as_ref().is_ok_and(|entry| entry.cell == least.cell));
        }
        Some(Ok(least))
    }
}
