//! What stands behind a list entry: a type that can be planned, predicted, built and loaded.

use std::path::Path;

use crate::cells::check_room;
use crate::codec::pages::{Manifest, Pages};
use crate::codec::{Decoder, State};
use crate::error::Result;
use crate::filter::{Filter, Head, Insert, Record};
use crate::hash::{Digest, HashId, Hasher};
use crate::plan::{Expect, Load, Request};

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

/// A variant's type: how it is planned, predicted and built.
pub trait Structure: Filter + State + Sized {
    /// The numbers that `plan` settles.
    type Shape;

    /// The hash it is mostly built with.
    const HASH: HashId = HashId::Xxh3_128;

    /// The hash a filter of this shape is built with unless the caller names one.
    fn hash(_shape: &Self::Shape) -> HashId {
        Self::HASH
    }

    /// From a goal to a shape.
    fn plan(request: &Request<'_>) -> Result<Self::Shape>;

    /// What the formulas say of that shape under a load; `None` where no formula exists.
    fn expect(shape: &Self::Shape, load: &Load) -> Option<Expect>;

    /// Builds the filter of that shape.
    fn build(shape: &Self::Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self>;
}

/// Inserts every record into an empty filter: the build of a streaming variant.
pub(crate) fn stream<F: Filter + Insert>(mut filter: F, inputs: &mut Inputs<'_>) -> Result<F> {
    let hasher = filter.head().hasher.clone();
    if let Some(bulk) = filter.as_bulk_mut() {
        inputs.records.digests(&hasher, &mut |digests| bulk.insert_digests(digests))?;
        return Ok(filter);
    }
    let mut line = 0;
    inputs.records.batches(&mut |batch| {
        filter
            .insert_many(batch)
            .map_err(|(i, e)| e.context(format!("record {}", line + i + 1)))?;
        line += batch.len();
        Ok(())
    })?;
    Ok(filter)
}

/// The digests of all records, in order: what a collected build holds instead of the keys.
pub(crate) fn digests(hasher: &Hasher, records: &mut dyn Source) -> Result<Vec<Digest>> {
    let mut out = Vec::new();
    records.batches(&mut |batch| {
        out.extend(batch.iter().map(|record| hasher.digest(record.key)));
        Ok(())
    })?;
    Ok(out)
}

/// The shape a goal leads to, and the head of an empty filter of that shape.
pub(crate) fn planned<T: Structure>(request: &Request<'_>) -> Result<(T::Shape, Head)> {
    let shape = T::plan(request)?;
    if let Some(expect) = T::expect(&shape, &Load::default()) {
        check_room(expect.bits)?;
    }
    let head = request.head(T::hash(&shape), |load| T::expect(&shape, load));
    Ok((shape, head))
}

/// The functions behind a list entry, made from its [`Structure`].
#[derive(Debug)]
pub struct Ops {
    pub(crate) build: fn(&Request<'_>, &mut Inputs<'_>) -> Result<Box<dyn Filter>>,
    pub(crate) expect: fn(&Request<'_>, &Load) -> Result<Option<Expect>>,
    pub(crate) load: fn(&mut Decoder<'_>) -> Result<Box<dyn Filter>>,
    /// How it is kept as a folder of pages, where it can be.
    pub(crate) pages: Option<PageOps>,
}

/// A filter as a page store, and back.
#[derive(Debug)]
pub(crate) struct PageOps {
    pub(crate) save: fn(&dyn Filter, &Path) -> Result<()>,
    pub(crate) open: fn(&Pages, &Manifest) -> Result<Box<dyn Filter>>,
}

impl Ops {
    /// The functions of `T`.
    pub const fn of<T: Structure>() -> Self {
        Self {
            build: |request, inputs| {
                let (shape, head) = planned::<T>(request)?;
                Ok(Box::new(T::build(&shape, head, inputs)?))
            },
            expect: |request, load| Ok(T::expect(&T::plan(request)?, load)),
            load: |src| Ok(Box::new(T::load("filter", src)?)),
            pages: None,
        }
    }
}
