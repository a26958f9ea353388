//! An input as records: in batches, again if need be.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use everbloom::internals::filter::Record;

use crate::block::Block;
use crate::blocks::{Blocks, Stream};
use crate::cores::{Order, on_all_cores};
use crate::csv;
use crate::error::{Error, Fault, Result};
use crate::grammar::{Bad, Cr, Field, Grammar};
use crate::input::{Input, Passed, watched};
use crate::pieces::Pieces;
use crate::text;
use crate::unpack::{MARK, Notice, examined, opened, unmarked};

/// What a text is kept in when it has to be read again: memory up to here, then a temporary file.
const SPOOL: usize = 64 << 20;

/// Makes what watches the bytes of an input pass, as they come, still packed. It is told how many there will be,
/// where that is known.
pub type Watch = fn(Option<u64>) -> Passed;

/// Called with anything unusual about an input, and its name.
pub type Noticed = fn(&str, Notice);

/// Called with lines that are not records and are skipped.
pub type Skipped = fn(Error);

/// Where lines come from.
enum Origin {
    /// A file, opened anew for each pass.
    File(PathBuf),
    /// A reader, passed through once; then it is gone.
    Reader(Option<Input<'static>>),
    /// Text, kept.
    Spool(tempfile::SpooledTempFile),
}

/// An input from its beginning.
struct Fresh {
    text: Input<'static>,
    /// Whether it should be read only once: it is gone then, or has to be unpacked again.
    once: bool,
    file: Option<Plain>,
}

/// A file whose lines stand in it as they are, so that several threads can read it.
struct Plain {
    file: File,
    /// Where the first line begins: behind a byte order mark.
    start: usize,
    length: u64,
}

/// Lines as records.
///
/// Lines are split at the grammar's end alone, so a CR belongs to its key; an empty line is an empty
/// key. Packed input is unpacked, and a byte order mark at its start is taken off.
pub struct Lines {
    origin: Origin,
    /// What errors call it.
    name: String,
    grammar: Grammar,
    /// Whether it is gone through several times.
    again: bool,
    watch: Option<Watch>,
    noticed: Option<Noticed>,
    skipped: Option<Skipped>,
    /// The first row of CSV, with its end, once it is read.
    header: Option<Vec<u8>>,
    /// What was opened for its first row, and not read further.
    pending: Option<Fresh>,
    /// Inputs whose lines come behind these, none of them with further ones.
    next: Vec<Lines>,
}

impl Lines {
    /// The lines of a file, which is opened for each pass.
    pub fn file(path: &Path, grammar: Grammar) -> Self {
        Self::new(Origin::File(path.to_path_buf()), path.display().to_string(), grammar)
    }

    /// The lines of a reader, for one pass: a second one would find nothing left.
    pub fn reader(
        name: impl Into<String>,
        input: impl Read + Send + 'static,
        grammar: Grammar,
    ) -> Self {
        Self::new(Origin::Reader(Some(Box::new(input))), name.into(), grammar)
    }

    fn new(origin: Origin, name: String, grammar: Grammar) -> Self {
        Self {
            origin,
            name,
            grammar,
            again: false,
            watch: None,
            noticed: None,
            skipped: None,
            header: None,
            pending: None,
            next: Vec::new(),
        }
    }

    /// These lines, and behind them those of another input with the same grammar.
    #[must_use]
    pub fn followed_by(mut self, mut other: Lines) -> Self {
        let next = std::mem::take(&mut other.next);
        self.next.push(other);
        self.next.extend(next);
        self
    }

    /// The same lines, for several passes: a reader is kept in the first, and packed input is unpacked only once, into
    /// memory or a temporary file.
    #[must_use]
    pub fn again(self) -> Self {
        Self { again: true, ..self }
    }

    /// The same lines, watched while they are read.
    #[must_use]
    pub fn watched(self, watch: Watch) -> Self {
        Self { watch: Some(watch), ..self }
    }

    /// The same lines; `noticed` is called with anything unusual about them, once per pass.
    #[must_use]
    pub fn noticed(self, noticed: Noticed) -> Self {
        Self { noticed: Some(noticed), ..self }
    }

    /// The same lines; `skipped` is called with the lines that the grammar skips, in every pass and in any order.
    #[must_use]
    pub fn skipping(self, skipped: Skipped) -> Self {
        Self { skipped: Some(skipped), ..self }
    }

    /// How a line becomes a record.
    pub fn grammar(&self) -> Grammar {
        self.grammar
    }

    /// The first row of CSV, with its end; nothing of other lines. Of several inputs it is that of the first.
    pub fn header(&mut self) -> Result<&[u8]> {
        self.prepare()?;
        Ok(self.header.as_deref().unwrap_or_default())
    }

    /// Reads the first row of CSV, which tells the number of a column that was named.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        let Field::Csv { .. } = self.grammar.field else { return Ok(()) };
        if self.header.is_some() {
            return Ok(());
        }
        self.pending = self.fresh().map_err(|e| e.of(&self.name))?;
        self.header.get_or_insert_default();
        self.grammar.field = self.resolved(self.grammar)?.field;
        for next in &mut self.next {
            next.prepare()?;
            if next.grammar.field != self.grammar.field {
                let message =
                    format!("its columns are in another order than those of {}", self.name);
                let error = io::Error::new(io::ErrorKind::InvalidData, message);
                return Err(Error::from(error).of(&next.name));
            }
        }
        Ok(())
    }

    /// A grammar for the same lines, in which a column that was named has its number.
    pub fn resolved(&mut self, grammar: Grammar) -> Result<Grammar> {
        self.prepare()?;
        grammar.under(self.header.as_deref().unwrap_or_default(), &self.name)
    }

    /// Lines of the first row of CSV.
    fn header_lines(&self) -> u64 {
        let header = self.header.as_deref().unwrap_or_default();
        memchr::memchr_iter(self.grammar.end, header).count() as u64
    }

    /// Opens the input, watched and unpacked. What cannot be read again, or must be unpacked again, is kept if it will be.
    fn open(&mut self) -> Result<(Input<'_>, Option<Plain>)> {
        let mut fresh = self.fresh()?;
        if let Some(once) = fresh.take_if(|fresh| self.again && fresh.once) {
            self.origin = Origin::Spool(spooled(once.text)?);
        }
        let (text, file): (Input<'_>, _) = match (fresh, &mut self.origin) {
            (Some(fresh), _) => (fresh.text, fresh.file),
            (None, Origin::Spool(spool)) => {
                spool.rewind()?;
                (Box::new(spool), None)
            }
            (None, _) => (Box::new(io::empty()), None),
        };
        let Some(noticed) = self.noticed else { return Ok((text, file)) };
        let Grammar { end, cr, field, .. } = self.grammar;
        let delimiter = match field {
            Field::Column { delimiter, .. } => Some(delimiter),
            Field::Line | Field::Csv { .. } => None,
        };
        let name = &self.name;
        let text = examined(text, end, delimiter, |notice| {
            if (notice, cr) != (Notice::CarriageReturns, Cr::Cut) {
                noticed(name, notice);
            }
        })?;
        Ok((text, file))
    }

    /// Opens the input for several threads.
    fn blocks(&mut self) -> Result<Blocks<'_>> {
        let (grammar, watch, before) = (self.grammar, self.watch, self.header_lines());
        let (text, file) = self.open()?;
        // Lines that are skipped are told of with their numbers, which takes counting those before.
        let pieces = file.filter(|_| grammar.bad == Bad::Ends).and_then(|plain| {
            let passed = watch.map(|watch| watch(Some(plain.length)));
            Pieces::of(plain.file, plain.start, grammar.end, passed)
        });
        Ok(pieces.map_or_else(
            || Blocks::Stream(Mutex::new(Stream::new(text, grammar.ends(), before))),
            Blocks::Pieces,
        ))
    }

    /// A file or a reader from its beginning; nothing of what was kept or is gone.
    fn fresh(&mut self) -> Result<Option<Fresh>> {
        if let Some(pending) = self.pending.take() {
            return Ok(Some(pending));
        }
        let mut plain = None;
        let (input, length): (Input<'static>, _) = match &mut self.origin {
            Origin::File(path) => {
                let file = File::open(path)?;
                let metadata = file.metadata()?;
                if metadata.is_dir() {
                    return Err(Fault::Folder.into());
                }
                // What is no file is a pipe, as `<(…)` of shells is.
                let length = metadata.is_file().then_some(metadata.len());
                if let Some(length) = length {
                    plain = Some(Plain { file: file.try_clone()?, start: 0, length });
                }
                (Box::new(file), length)
            }
            Origin::Reader(input) => match input.take() {
                Some(input) => (input, None),
                None => return Ok(None),
            },
            Origin::Spool(_) => return Ok(None),
        };
        let input = match self.watch {
            Some(watch) => watched(input, watch(length)),
            None => input,
        };
        let opened = opened(input)?;
        plain = plain.filter(|_| !opened.packed && self.grammar.ends().csv.is_none());
        let (mut text, marked) = unmarked(opened.text)?;
        if marked {
            plain = plain.map(|plain| Plain { start: MARK.len(), ..plain });
            if let Some(noticed) = self.noticed {
                noticed(&self.name, Notice::ByteOrderMark);
            }
        }
        if let Field::Csv { delimiter, .. } = self.grammar.field {
            let (header, rest) = csv::header(text, delimiter)?;
            (self.header, text) = (Some(header), rest);
        }
        Ok(Some(Fresh { text, once: length.is_none() || opened.packed, file: plain }))
    }

    /// The number of records.
    pub fn count(&mut self) -> Result<u64> {
        let mut count = 0;
        if self.grammar.bad == Bad::Skipped || self.grammar.ends().csv.is_some() {
            self.each(|_, records| {
                count += records.len() as u64;
                Ok(())
            })?;
            return Ok(count);
        }
        // Every line is one, or the work ends when it is read.
        let end = self.grammar.end;
        let lines = |text: &[u8]| {
            let last = !text.is_empty() && !text.ends_with(&[end]);
            Ok(memchr::memchr_iter(end, text).count() as u64 + u64::from(last))
        };
        self.each_block(Order::Any, lines, |lines| -> Result<()> {
            count += lines;
            Ok(())
        })?;
        Ok(count)
    }

    /// What takes out the lines of a text that are skipped, given what tells where in the input they are.
    fn good(
        &self,
    ) -> impl for<'t> Fn(&'t [u8], &dyn Fn(Error) -> Error) -> Cow<'t, [u8]> + Sync + use<> {
        let (grammar, name, skipped) = (self.grammar, self.name.clone(), self.skipped);
        move |text, placed| match grammar.bad {
            Bad::Ends => Cow::Borrowed(text),
            Bad::Skipped => text::good_lines(text, grammar, |e| {
                if let Some(skipped) = skipped {
                    skipped(placed(e).of(&name));
                }
            }),
        }
    }

    /// Calls `f` with batches of lines and the records they spell.
    pub fn each(
        &mut self,
        mut f: impl FnMut(&[&[u8]], &[Record<'_>]) -> everbloom::Result<()>,
    ) -> Result<()> {
        self.prepare()?;
        self.each_here(&mut f)?;
        self.next.iter_mut().try_for_each(|next| next.each_here(&mut f))
    }

    /// [`Lines::each`] of this input alone.
    fn each_here(
        &mut self,
        mut f: impl FnMut(&[&[u8]], &[Record<'_>]) -> everbloom::Result<()>,
    ) -> Result<()> {
        let (grammar, good, before) = (self.grammar, self.good(), self.header_lines());
        let mut read = || -> Result<()> {
            let stream = Stream::new(self.open()?.0, grammar.ends(), before);
            let (blocks, mut block) = (Blocks::Stream(Mutex::new(stream)), Block::default());
            while blocks.next(&mut block)? {
                let placed = |e| blocks.placed(e, &block);
                let text = good(block.text(), &placed);
                text::batch(&text, grammar, &mut f).map_err(placed)?;
            }
            Ok(())
        };
        read().map_err(|e| e.of(&self.name))
    }

    /// Does `work` on every block of whole lines, on all cores, and `done` with every result, here.
    pub(crate) fn each_block<T: Send, E: From<Error>>(
        &mut self,
        order: Order,
        work: impl Fn(&[u8]) -> Result<T> + Sync,
        mut done: impl FnMut(T) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.each_run(order, work, |run| run.drain(..).try_for_each(&mut done))
    }

    /// Does `work` on every block of whole lines, on all cores, and `done` with the results, here, as many at a time as
    /// have come by then.
    pub(crate) fn each_run<T: Send, E: From<Error>>(
        &mut self,
        order: Order,
        work: impl Fn(&[u8]) -> Result<T> + Sync,
        mut done: impl FnMut(&mut Vec<T>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        self.run_here(order, &work, &mut done)?;
        self.next.iter_mut().try_for_each(|next| next.run_here(order, &work, &mut done))
    }

    /// [`Lines::each_run`] of this input alone.
    fn run_here<T: Send, E: From<Error>>(
        &mut self,
        order: Order,
        work: &(impl Fn(&[u8]) -> Result<T> + Sync),
        done: &mut impl FnMut(&mut Vec<T>) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        let (name, good) = (self.name.clone(), self.good());
        let blocks = self.blocks().map_err(|e| e.of(&name))?;
        let work = |block: &Block| work(&good(block.text(), &|e| blocks.placed(e, block)));
        on_all_cores(&blocks, order, work, |run: Result<&mut Vec<T>>| {
            done(run.map_err(|e| e.of(&name))?)
        })
    }
}

/// A text, kept.
fn spooled(mut text: Input<'_>) -> Result<tempfile::SpooledTempFile> {
    let mut spool = tempfile::SpooledTempFile::new(SPOOL);
    let mut buffer = vec![0; 256 << 10];
    loop {
        match text.read(&mut buffer) {
            Ok(0) => return Ok(spool),
            Ok(read) => spool.write_all(&buffer[..read]).map_err(Fault::Keep)?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e.into()),
        }
    }
}

#[cfg(test)]
mod tests;
