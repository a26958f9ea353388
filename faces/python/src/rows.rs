//! Records of Python's for the library: keys with values and times, that a build goes through as often as it likes.

use everbloom::catalog::{Time, ValueKind};
use everbloom::raw::Digest;
use everbloom::{Facts, Hasher, Mapped, Record, Result, Source, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::columns::{Answers, Column, Given, Nulls, Piece, is_null, null_refused};
use crate::errors::{bad_argument, bad_type, internal};
use crate::held::Chunk;
use crate::keys::{hashed, key_of, spelled, type_name};

/// A value that came with a key.
#[derive(Clone, Debug)]
pub enum OwnValue {
    Label(Vec<u8>),
    Weight(f64),
    Count(u64),
    Bytes(Vec<u8>),
}

impl OwnValue {
    pub fn borrow(&self) -> Value<'_> {
        match self {
            OwnValue::Label(v) => Value::Label(v),
            OwnValue::Weight(v) => Value::Weight(*v),
            OwnValue::Count(v) => Value::Count(*v),
            OwnValue::Bytes(v) => Value::Bytes(v),
        }
    }
}

/// A value of the kind that a variant takes. Numbers that should be text become text, as the command reads them.
pub fn value(facts: &Facts, object: &Bound<'_, PyAny>) -> PyResult<OwnValue> {
    match facts.input.value {
        ValueKind::Label => spelled(object).map(OwnValue::Label),
        ValueKind::Bytes => spelled(object).map(OwnValue::Bytes),
        ValueKind::Weight => Ok(OwnValue::Weight(object.extract()?)),
        ValueKind::Count => Ok(OwnValue::Count(crate::goal::whole("value", object)?)),
        // Some variants without values of their own weigh keys by a prior.
        ValueKind::None => match object.extract() {
            Ok(weight) => Ok(OwnValue::Weight(weight)),
            Err(_) => {
                let message = format!("{} filters take keys without values", facts.slug);
                Err(bad_argument("value", &object.repr()?.to_string(), message))
            }
        },
    }
}

/// Records in memory.
#[derive(Default)]
pub struct Rows {
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// As many as keys, or none.
    values: Vec<Option<OwnValue>>,
    times: Vec<Option<u64>>,
}

impl Rows {
    /// The records that objects are: keys, or tuples and pairs of a dict where the variant takes more.
    pub fn of(
        facts: &Facts,
        hash_func: Option<&Bound<'_, PyAny>>,
        objects: &Bound<'_, PyAny>,
        nulls: Nulls,
    ) -> PyResult<Self> {
        let mut rows = Self::default();
        let items = match objects.cast::<PyDict>() {
            Ok(pairs) => pairs.items().into_any(),
            Err(_) => objects.clone(),
        };
        let takes_more = facts.input.value != ValueKind::None || facts.input.time != Time::No;
        for (number, item) in items.try_iter()?.enumerate() {
            let item = item?;
            if nulls == Nulls::Skip && is_null(&item) {
                continue;
            }
            if item.is_none() && nulls == Nulls::Refuse {
                return Err(null_refused(number));
            }
            let record = item.cast::<PyTuple>().ok().filter(|_| takes_more);
            let Some(parts) = record else {
                rows.push(facts, hash_func, &item, None, None)?;
                continue;
            };
            let timed = facts.input.value == ValueKind::None;
            let part = |at: usize| {
                let part = parts.get_item(at).ok()?;
                (!part.is_none()).then_some(part)
            };
            let (value, time) = match parts.len() {
                1 => (None, None),
                2 if timed => (None, part(1)),
                2 | 3 => (part(1), part(2)),
                _ => {
                    return Err(bad_type(format!(
                        "record {number}: a record is a key, or a tuple of a key, a value and a time"
                    )));
                }
            };
            rows.push(facts, hash_func, &parts.get_item(0)?, value.as_ref(), time.as_ref())?;
        }
        Ok(rows)
    }

    fn push(
        &mut self,
        facts: &Facts,
        hash_func: Option<&Bound<'_, PyAny>>,
        object: &Bound<'_, PyAny>,
        given: Option<&Bound<'_, PyAny>>,
        time: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let key = match hash_func {
            Some(function) => hashed(function, object)?,
            None => key_of(facts.input.key, object)?,
        };
        key.with(|key| self.bytes.extend_from_slice(key));
        self.ends.push(self.bytes.len());
        self.values.push(given.map(|given| value(facts, given)).transpose()?);
        self.times.push(time.map(|time| crate::goal::whole("time", time)).transpose()?);
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    fn records(&self, (start, end): (usize, usize)) -> Vec<Record<'_>> {
        let record = |i: usize| {
            let from = if i == 0 { 0 } else { self.ends[i - 1] };
            let record = Record::key(&self.bytes[from..self.ends[i]]);
            let record = record.with(self.values[i].as_ref().map(OwnValue::borrow));
            self.times[i].map_or(record, |time| record.at(time))
        };
        (start..end).map(record).collect()
    }
}

/// What a build reads: a column, or records.
pub enum Records<'a> {
    Rows(&'a Rows),
    Pieces(&'a [Piece<'a>]),
}

/// Records of a batch.
const BATCH: usize = 4096;
/// Records that a thread takes at once.
const SHARE: usize = 16 * BATCH;

impl Records<'_> {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Records::Rows(rows) => rows.len(),
            Records::Pieces(pieces) => pieces.iter().map(|piece| piece.len() - piece.nulls()).sum(),
        }
    }

    /// Calls `f` with the records of some rows, a batch at a time.
    fn some(
        &self,
        (piece, start, end): (usize, usize, usize),
        f: &mut dyn FnMut(&[Record<'_>]) -> Result<()>,
    ) -> Result<()> {
        match self {
            Records::Rows(rows) => (start..end)
                .step_by(BATCH)
                .try_for_each(|first| f(&rows.records((first, end.min(first + BATCH))))),
            Records::Pieces(pieces) => {
                let piece = &pieces[piece];
                let mut outcome = Ok(());
                let read = piece.chunks((start, end), BATCH, |first, chunk| {
                    let valid =
                        |i: &usize| piece.valid.as_ref().is_none_or(|valid| valid[first + *i]);
                    let numbers = (0..chunk.len()).filter(valid);
                    outcome = match chunk {
                        Chunk::Words(words) => {
                            let keys: Vec<[u8; 8]> =
                                numbers.map(|i| words[i].to_le_bytes()).collect();
                            f(&keys.iter().map(|key| Record::key(key)).collect::<Vec<_>>())
                        }
                        Chunk::Slices(slices) => {
                            f(&numbers.map(|i| Record::key(slices[i])).collect::<Vec<_>>())
                        }
                    };
                    if outcome.is_ok() { Ok(()) } else { Err(internal("stopped")) }
                });
                outcome?;
                read.map_err(|e| everbloom::Error::new(everbloom::Kind::BadRecord, e.to_string()))
            }
        }
    }

    /// The rows of each share of the work.
    fn shares(&self) -> Vec<(usize, usize, usize)> {
        let cut = |piece: usize, len: usize| {
            (0..len).step_by(SHARE).map(move |start| (piece, start, len.min(start + SHARE)))
        };
        match self {
            Records::Rows(rows) => cut(0, rows.len()).collect(),
            Records::Pieces(pieces) => {
                pieces.iter().enumerate().flat_map(|(i, piece)| cut(i, piece.len())).collect()
            }
        }
    }
}

/// How many cores there are.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Source for Records<'_> {
    fn batches(&mut self, f: &mut dyn FnMut(&[Record<'_>]) -> Result<()>) -> Result<()> {
        self.shares().into_iter().try_for_each(|share| self.some(share, f))
    }

    fn digests_anywhere(&mut self, hasher: &Hasher, f: &(dyn Fn(&[Digest]) + Sync)) -> Result<()> {
        let work = |records: &[Record<'_>]| -> Mapped {
            let digests: Vec<Digest> = records.iter().map(|r| hasher.digest(r.key)).collect();
            f(&digests);
            Box::new(())
        };
        self.map_batches(&work, &mut |_| Ok(()))
    }

    /// As many shares at a time as there are cores, so that little waits in memory.
    fn map_batches(
        &mut self,
        work: &(dyn Fn(&[Record<'_>]) -> Mapped + Sync),
        done: &mut dyn FnMut(Mapped) -> Result<()>,
    ) -> Result<()> {
        let this: &Self = self;
        for shares in this.shares().chunks(cores()) {
            let of = |share: &(usize, usize, usize)| -> Result<Vec<Mapped>> {
                let mut all = Vec::new();
                this.some(*share, &mut |batch| {
                    all.push(work(batch));
                    Ok(())
                })?;
                Ok(all)
            };
            let made: Vec<Result<Vec<Mapped>>> = std::thread::scope(|scope| {
                let (own, others) = shares.split_at(1);
                let threads: Vec<_> =
                    others.iter().map(|share| scope.spawn(move || of(share))).collect();
                let own = of(&own[0]);
                let join = |thread: std::thread::ScopedJoinHandle<'_, _>| {
                    thread.join().unwrap_or_else(|e| std::panic::resume_unwind(e))
                };
                std::iter::once(own).chain(threads.into_iter().map(join)).collect()
            });
            for made in made {
                made?.into_iter().try_for_each(&mut *done)?;
            }
        }
        Ok(())
    }
}

/// What a build was given: kept while it reads.
pub enum Kept {
    Column(Column),
    Rows(Rows),
}

/// The records that an object holds for a variant.
pub fn kept(
    facts: &Facts,
    hash_func: Option<&Bound<'_, PyAny>>,
    object: &Bound<'_, PyAny>,
    nulls: Option<&str>,
) -> PyResult<Kept> {
    if object.is_instance_of::<PyDict>() {
        let given = Given::Objects(object.clone(), Answers::List);
        let nulls = Nulls::of(nulls, &given)?;
        return Rows::of(facts, hash_func, object, nulls).map(Kept::Rows);
    }
    let given = Given::of(object)?;
    let nulls = Nulls::of(nulls, &given)?;
    match given {
        Given::Column(_) if hash_func.is_some() => Err(no_function(object)),
        Given::Column(column) => {
            if nulls == Nulls::Refuse {
                refuse_nulls(&column.pieces()?)?;
            }
            Ok(Kept::Column(column))
        }
        Given::Objects(objects, _) => Rows::of(facts, hash_func, &objects, nulls).map(Kept::Rows),
    }
}

/// What a column says that would have to go through a function, one by one.
pub fn no_function(object: &Bound<'_, PyAny>) -> PyErr {
    bad_type(format!(
        "a filter with a hash_func takes keys one by one, not a whole {}: pass list(keys), or make the filter \
         without hash_func",
        type_name(object)
    ))
}

/// Refuses a column with nulls.
pub fn refuse_nulls(pieces: &[Piece<'_>]) -> PyResult<()> {
    let mut rows = 0;
    for piece in pieces {
        let null = piece.valid.as_ref().and_then(|valid| valid.iter().position(|valid| !valid));
        if let Some(at) = null {
            return Err(null_refused(rows + at));
        }
        rows += piece.len();
    }
    Ok(())
}
