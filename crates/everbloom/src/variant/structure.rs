//! What stands behind a list entry: a type that can be planned, predicted, built and loaded.

use std::any::Any;

use super::Variant;
use crate::error::{Error, Result};
use crate::filter::{Filter, Head, Loader, Record};
use crate::hash::{Digest, HashId, Hasher};
use crate::memory::check_room;
use crate::pages::{Manifest, Pages};
use crate::plan::{Expect, Goal, Load, Request};
use crate::state::State;
use crate::threads::available;

/// A sequence of records that can be gone through again.
pub trait Source {
    /// Calls `f` with all records in order, in batches.
    fn batches(&mut self, f: &mut dyn FnMut(&[Record<'_>]) -> Result<()>) -> Result<()>;

    /// Calls `f` with the digests of all keys, in batches, in any order: a source that can hash on
    /// several cores may do so.
    fn digests(&mut self, hasher: &Hasher, f: &mut dyn FnMut(&[Digest])) -> Result<()> {
        let mut digests = Vec::new();
        self.batches(&mut |batch| {
            digests.clear();
            digests.extend(batch.iter().map(|record| hasher.digest(record.key)));
            f(&digests);
            Ok(())
        })
    }

    /// [`Source::digests`], with `f` called on several threads at once where the source hashes on several.
    fn digests_anywhere(&mut self, hasher: &Hasher, f: &(dyn Fn(&[Digest]) + Sync)) -> Result<()> {
        self.digests(hasher, &mut |digests| f(digests))
    }

    /// Does `work` on batches of records and `done` with what came of them, in order: `work` on several cores where the
    /// source reads on several, `done` on this one.
    fn map_batches(
        &mut self,
        work: &(dyn Fn(&[Record<'_>]) -> Mapped + Sync),
        done: &mut dyn FnMut(Mapped) -> Result<()>,
    ) -> Result<()> {
        self.batches(&mut |batch| done(work(batch)))
    }
}

/// What came of a batch of records.
pub type Mapped = Box<dyn Any + Send>;

/// Does `work` on batches of records, on all cores if the source can, and `done` with what came of them, in order, on this one.
pub(crate) fn mapped<T: Send + 'static>(
    source: &mut dyn Source,
    work: impl Fn(&[Record<'_>]) -> T + Sync,
    mut done: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let work = |batch: &[Record<'_>]| -> Mapped { Box::new(work(batch)) };
    // Nothing but what `work` made comes.
    let mut done = |made: Mapped| made.downcast().map_or(Ok(()), |made| done(*made));
    source.map_batches(&work, &mut done)
}

impl Source for &[Record<'_>] {
    fn batches(&mut self, f: &mut dyn FnMut(&[Record<'_>]) -> Result<()>) -> Result<()> {
        self.chunks(4096).try_for_each(f)
    }
}

/// What a build reads.
pub struct Inputs<'a> {
    /// The members.
    pub records: &'a mut dyn Source,
    /// Known non-members, for variants that use them.
    pub negatives: Option<&'a mut dyn Source>,
}

/// A type that has an entry in the list.
pub trait Listed {
    /// Its entry.
    fn entry() -> &'static Variant;
}

/// How a variant's type is planned and predicted.
#[allow(unnameable_types, reason = "sealed: only types of this crate implement it")]
pub trait Plan: Filter + Listed + State + Sized {
    /// The numbers that `plan` settles.
    type Shape;

    /// The hash it is mostly built with.
    const HASH: HashId = HashId::Xxh3_128;

    /// The hash a filter of this shape is built with unless the caller names one. From the shape alone, so
    /// that equal shapes merge.
    fn hash(_shape: &Self::Shape) -> HashId {
        Self::HASH
    }

    /// From a goal to a shape.
    fn plan(request: &Request<'_>) -> Result<Self::Shape>;

    /// What the formulas say of that shape under a load; `None` where no formula exists.
    fn expect(_shape: &Self::Shape, _load: &Load) -> Option<Expect> {
        None
    }

    /// Bits of the tables beside the cells under a load, where they grow with the items.
    fn beside(_request: &Request<'_>, _shape: &Self::Shape, _load: &Load) -> u64 {
        0
    }
}

/// A type whose filters start empty and take one record after the other.
#[allow(unnameable_types, reason = "sealed: only types of this crate implement it")]
pub trait Stream: Plan {
    /// The empty filter of a shape.
    fn empty(shape: &Self::Shape, head: Head) -> Result<Self>;

    /// What is left to do once all records are in: nothing, unless filters of this form are built as those of
    /// another.
    fn finished(self, _form: &'static str) -> Result<Self> {
        Ok(self)
    }
}

/// A type whose filters can be built from records: those that take them one by one, and those that need them
/// all at once.
#[allow(unnameable_types, reason = "sealed: only types of this crate implement it")]
pub trait Create: Plan {
    /// Builds the filter of a shape.
    fn create(shape: &Self::Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self>;
}

impl<T: Stream> Create for T {
    fn create(shape: &Self::Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let form = head.form;
        let mut filter = Self::empty(shape, head)?;
        stream(&mut filter, inputs)?;
        filter.finished(form)
    }
}

/// Inserts every record into a filter.
fn stream(filter: &mut dyn Filter, inputs: &mut Inputs<'_>) -> Result<()> {
    let hasher = filter.head().hasher.clone();
    if let Some(bulk) = filter.as_bulk_mut() {
        if let Some(lent) = bulk.lend().filter(|_| available() > 1) {
            let insert = |digests: &[Digest]| lent.insert_digests(digests);
            inputs.records.digests_anywhere(&hasher, &insert)?;
        } else {
            inputs.records.digests(&hasher, &mut |digests| bulk.insert_digests(digests))?;
        }
        return Ok(());
    }
    let Some(insert) = filter.as_insert() else {
        return Err(Error::unsupported("this form cannot take keys one by one"));
    };
    let mut line = 0;
    inputs.records.batches(&mut |batch| {
        insert.insert_all(batch).map_err(|(i, e)| e.context(format!("record {}", line + i + 1)))?;
        line += batch.len();
        Ok(())
    })
}

/// The digests of all records, in order: what a collected build holds instead of the keys.
pub(crate) fn digests(hasher: &Hasher, records: &mut dyn Source) -> Result<Vec<Digest>> {
    let work = |batch: &[Record<'_>]| -> Vec<Digest> {
        batch.iter().map(|record| hasher.digest(record.key)).collect()
    };
    let mut out = Vec::new();
    mapped(records, work, |digests| {
        out.extend(digests);
        Ok(())
    })?;
    Ok(out)
}

/// The shape a goal leads to, and the head of an empty filter of that shape.
fn planned<T: Plan>(request: &Request<'_>) -> Result<(T::Shape, Head)> {
    let shape = T::plan(request)?;
    if let Some(expect) = T::expect(&shape, &Load::default()) {
        check_room(expect.bits)?;
    }
    let head = request.head(T::hash(&shape), &|load| T::expect(&shape, load));
    Ok((shape, head))
}

/// The shape and the empty head that a goal leads to.
pub(crate) fn settle<T: Plan>(goal: &Goal) -> Result<(T::Shape, Head)> {
    planned::<T>(&Request::new(&T::entry().facts, goal)?)
}

/// The empty filter that a goal leads to.
pub(crate) fn empty<T: Stream>(goal: &Goal) -> Result<T> {
    let (shape, head) = settle::<T>(goal)?;
    let form = head.form;
    T::empty(&shape, head)?.finished(form)
}

/// The functions behind a list entry, made from its type.
#[derive(Debug)]
pub struct Ops {
    pub(crate) build: fn(&Request<'_>, &mut Inputs<'_>) -> Result<Box<dyn Filter>>,
    pub(crate) expect: fn(&Request<'_>, &Load) -> Result<Option<Expect>>,
    pub(crate) load: Loader,
    /// The type's path in this crate.
    pub(crate) name: fn() -> &'static str,
    /// How it is kept as a folder of pages, where it can be.
    pub(crate) pages: Option<OpenPages>,
}

/// A filter from a folder of pages, and the head in its manifest.
pub(crate) type OpenPages = fn(&Pages, &Manifest, Head) -> Result<Box<dyn Filter>>;

impl Ops {
    /// The functions of `T`, which may be kept as a folder of pages.
    pub(super) const fn of<T: Create>(pages: Option<OpenPages>) -> Self {
        Self {
            build: |request, inputs| {
                let (shape, head) = planned::<T>(request)?;
                Ok(Box::new(T::create(&shape, head, inputs)?))
            },
            expect: |request, load| {
                let shape = T::plan(request)?;
                let beside = T::beside(request, &shape, load);
                Ok(T::expect(&shape, load).map(|expect| Expect { beside, ..expect }))
            },
            load: |src| Ok(Box::new(T::load("filter", src)?)),
            name: std::any::type_name::<T>,
            pages,
        }
    }
}
