//! Keys cut and hashed on all cores: written once, for builds and for queries.

use everbloom::internals::hash::{Digest, Hasher};

use crate::cores::Order;
use crate::error::{Error, Result};
use crate::grammar::{Ends, Grammar};
use crate::lines::Lines;
use crate::pool::Pool;
use crate::text::{each_key, each_line};

/// Whole lines and the digests of their keys.
pub struct Hashed<'a> {
    text: &'a [u8],
    ends: Ends,
    digests: Vec<Digest>,
}

impl Hashed<'_> {
    /// A digest for each line.
    pub fn digests(&self) -> &[Digest] {
        &self.digests
    }

    /// Copies the wanted lines with their ends, in order.
    pub fn copy_lines(&self, wanted: &[bool], out: &mut Vec<u8>) {
        copy_lines(self.text, self.ends, wanted, out);
    }

    /// Keeps the lines for later.
    pub fn keep(&self, kept: &mut Kept) {
        kept.ends = self.ends;
        kept.text.clear();
        kept.text.extend_from_slice(self.text);
    }
}

/// Whole lines whose keys are not cut yet.
pub struct Keyed<'a> {
    text: &'a [u8],
    grammar: Grammar,
}

impl<'a> Keyed<'a> {
    /// Calls `f` with every line, without its end, and its key.
    #[inline]
    pub fn each(&self, f: impl FnMut(&'a [u8], &[u8])) -> Result<()> {
        each_key(self.text, self.grammar, f)
    }
}

/// Whole lines, kept.
#[derive(Default)]
pub struct Kept {
    text: Vec<u8>,
    ends: Ends,
}

impl Kept {
    /// Copies the wanted lines with their ends, in order.
    pub fn copy_lines(&self, wanted: &[bool], out: &mut Vec<u8>) {
        copy_lines(&self.text, self.ends, wanted, out);
    }

    /// The lines, without their ends.
    pub fn lines(&self) -> Vec<&[u8]> {
        let mut lines = Vec::new();
        each_line(&self.text, self.ends, |start, end| lines.push(&self.text[start..end]));
        lines
    }
}

fn copy_lines(text: &[u8], ends: Ends, wanted: &[bool], out: &mut Vec<u8>) {
    let mut copy = |from: usize, to: usize| {
        out.extend_from_slice(&text[from..to.min(text.len())]);
        // The last line of an input may lack its end.
        if to > text.len() {
            out.push(ends.byte);
        }
    };
    // Lines that follow each other are copied at once: from here to where the last one ended.
    let (mut run, mut last) = (None, 0);
    let mut wanted = wanted.iter();
    each_line(text, ends, |start, end| {
        match (wanted.next() == Some(&true), run) {
            (true, None) => run = Some(start),
            (false, Some(from)) => {
                copy(from, start);
                run = None;
            }
            _ => {}
        }
        last = end + 1;
    });
    if let Some(from) = run {
        copy(from, last);
    }
}

impl Lines {
    /// Hashes the keys on all cores: `work` gets a block of lines with their digests, on any core, and
    /// leaves what comes of it in a buffer; `done` gets the buffer, on this one. Buffers are used again
    /// as `done` left them.
    pub fn each_hashed<B: Default + Send, E: From<Error>>(
        &mut self,
        hasher: &Hasher,
        order: Order,
        work: impl Fn(&mut Hashed<'_>, &mut B) + Sync,
        mut done: impl FnMut(&mut B) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.each_hashed_run(hasher, order, work, |run: &mut [B]| {
            run.iter_mut().try_for_each(&mut done)
        })
    }

    /// [`Lines::each_hashed`], with as many buffers at a time as have come by then.
    pub fn each_hashed_run<B: Default + Send, E: From<Error>>(
        &mut self,
        hasher: &Hasher,
        order: Order,
        work: impl Fn(&mut Hashed<'_>, &mut B) + Sync,
        done: impl FnMut(&mut [B]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let digest_pool = Pool::default();
        let hash = |keyed: &Keyed<'_>, buffer: &mut B| -> Result<()> {
            let mut digests: Vec<Digest> = digest_pool.take();
            digests.clear();
            keyed.each(|_, key| digests.push(hasher.digest(key)))?;
            let mut hashed = Hashed { text: keyed.text, ends: keyed.grammar.ends(), digests };
            work(&mut hashed, buffer);
            digest_pool.give(hashed.digests);
            Ok(())
        };
        self.each_keyed_run(order, hash, done)
    }

    /// Cuts lines on all cores: `work` gets a block of them, on any core, and leaves what comes of it in a buffer;
    /// `done` gets the buffer, on this one. Buffers are used again as `done` left them.
    pub fn each_keyed<B: Default + Send, E: From<Error>>(
        &mut self,
        order: Order,
        work: impl Fn(&Keyed<'_>, &mut B) -> Result<()> + Sync,
        mut done: impl FnMut(&mut B) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.each_keyed_run(order, work, |run: &mut [B]| run.iter_mut().try_for_each(&mut done))
    }

    /// [`Lines::each_keyed`], with as many buffers at a time as have come by then.
    pub fn each_keyed_run<B: Default + Send, E: From<Error>>(
        &mut self,
        order: Order,
        work: impl Fn(&Keyed<'_>, &mut B) -> Result<()> + Sync,
        mut done: impl FnMut(&mut [B]) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.prepare()?;
        let (grammar, buffers) = (self.grammar(), Pool::default());
        let cut = |text: &[u8]| -> Result<B> {
            let mut buffer: B = buffers.take();
            work(&Keyed { text, grammar }, &mut buffer)?;
            Ok(buffer)
        };
        self.each_run(order, cut, |run: &mut Vec<B>| {
            done(run)?;
            run.drain(..).for_each(|buffer| buffers.give(buffer));
            Ok(())
        })
    }

    /// Calls `f` with the digests of all keys, in any order, hashed on all cores.
    pub(crate) fn each_digests(
        &mut self,
        hasher: &Hasher,
        mut f: impl FnMut(&[Digest]),
    ) -> Result<()> {
        let take = |hashed: &mut Hashed<'_>, digests: &mut Vec<Digest>| {
            std::mem::swap(&mut hashed.digests, digests);
        };
        self.each_hashed(hasher, Order::Any, take, |digests| {
            f(digests);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wanted_lines_are_copied_with_their_ends() {
        for text in [&b"a\n\nccc\nd"[..], b"a\n\nccc\nd\n"] {
            let hashed =
                Hashed { text, ends: Ends { byte: b'\n', csv: None }, digests: Vec::new() };
            let lines: [&[u8]; 4] = [b"a\n", b"\n", b"ccc\n", b"d\n"];
            for pattern in 0..16u8 {
                let wanted = [0, 1, 2, 3].map(|i| pattern >> i & 1 == 1);
                let kept: Vec<&[u8]> =
                    lines.iter().zip(wanted).filter(|(_, w)| *w).map(|(line, _)| *line).collect();
                let mut out = Vec::new();
                hashed.copy_lines(&wanted, &mut out);
                assert_eq!(out, kept.concat(), "{pattern:04b}");
            }
        }
    }

    #[test]
    fn blocks_come_in_order_and_buffers_are_used_again() {
        let text: String = (0..200_000).map(|i| format!("{i}\n")).collect();
        let hasher = Hasher::seeded(1);
        let mut lines =
            Lines::reader("text", std::io::Cursor::new(text.clone()), Grammar::default());
        let (mut copied, mut digests, mut blocks) = (Vec::new(), Vec::new(), 0);
        let work = |hashed: &mut Hashed<'_>, buffer: &mut (Vec<u8>, Vec<Digest>)| {
            assert!(buffer.0.is_empty());
            hashed.copy_lines(&vec![true; hashed.digests().len()], &mut buffer.0);
            buffer.1.extend_from_slice(hashed.digests());
        };
        let done = |buffer: &mut (Vec<u8>, Vec<Digest>)| {
            copied.append(&mut buffer.0);
            digests.append(&mut buffer.1);
            blocks += 1;
            Ok::<_, Error>(())
        };
        lines.each_hashed(&hasher, Order::Kept, work, done).expect("text");
        assert!(blocks > 2);
        assert!(copied == text.as_bytes());
        let expected: Vec<Digest> = text.lines().map(|line| hasher.digest(line)).collect();
        assert!(digests == expected);
    }

    #[test]
    fn what_done_refuses_ends_the_reading() {
        let text = "key\n".repeat(1 << 18);
        let mut lines = Lines::reader("text", std::io::Cursor::new(text), Grammar::default());
        let mut blocks = 0;
        let result = lines.each_hashed(
            &Hasher::seeded(1),
            Order::Kept,
            |_, (): &mut ()| {},
            |()| {
                blocks += 1;
                Err(Error::from(std::io::Error::other("enough")))
            },
        );
        assert!(result.is_err() && blocks == 1);
    }
}
