//! How keys come and go: bits are written once their numbers are known, counters at any time.

use super::{MOST_SETS, SHIFT, Shape, Shifting, Task};
use crate::parts::exact::Exact;
use crate::parts::labels::label_of;
use crate::variant::prelude::*;

impl Shifting {
    fn raise(&mut self, digest: Digest, offsets: &[u64]) -> bool {
        let places = self.places(digest, offsets);
        let new = places.iter().any(|i| self.cells.get(*i) == 0);
        places.iter().for_each(|i| self.cells.increment(*i));
        new
    }

    fn lower(&mut self, digest: Digest, offsets: &[u64]) {
        self.places(digest, offsets).iter().for_each(|i| self.cells.decrement(*i));
    }

    /// The offset of a key whose number in the table is `number`, which is not 0: a count, or a mask of sets.
    fn place_of(&mut self, digest: Digest, number: u64) -> Result<u64> {
        if self.task() == Task::Multiplicity {
            return Ok(number.min(self.span) - 1);
        }
        let region = match self.masks.iter().position(|mask| *mask == number) {
            Some(region) => region,
            None if (self.masks.len() as u64) < self.most => {
                self.masks.push(number);
                self.masks.len() - 1
            }
            None => {
                let message = format!(
                    "another combination of sets, but the filter distinguishes only {}: set more {{regions}}",
                    self.most
                );
                return Err(Error::new(Kind::CapacityExceeded, message));
            }
        };
        Ok(self.offset(digest, region as u64))
    }

    /// Moves a key from its old number in the table to a new one; either may be 0.
    fn change(&mut self, digest: Digest, old: u64, new: u64) -> Result<bool> {
        // The new place first: where there is none, nothing has changed.
        let to = if new > 0 { Some(self.place_of(digest, new)?) } else { None };
        if old > 0 {
            let from = self.place_of(digest, old)?;
            self.lower(digest, &[from]);
        }
        let fresh = to.is_some_and(|to| self.raise(digest, &[to]));
        if self.counts() {
            self.table.set(digest, new);
        }
        Ok(fresh)
    }

    /// What a record adds to, or takes from, a key's number in the table: one copy, or one set.
    fn step(&mut self, record: &Record<'_>) -> Result<u64> {
        match (self.task(), record.value) {
            (Task::Association, _) => {
                let label = label_of(record)?;
                Ok(1 << self.sets.intern(label, MOST_SETS)?)
            }
            (_, Some(Value::Count(0))) => Err(Error::record("a count of 0 adds nothing")),
            (_, Some(Value::Count(times))) => Ok(times),
            _ => Ok(1),
        }
    }

    fn with(&self, old: u64, step: u64) -> u64 {
        if self.task() == Task::Association { old | step } else { old.saturating_add(step) }
    }

    fn take(&mut self, record: &Record<'_>) -> Result<Seen> {
        let digest = self.head.digest(record.key);
        if self.task() == Task::Membership {
            let new = self.raise(digest, &[0, Self::shift(digest)]);
            self.head.count(1);
            return Ok(Seen::new_if(new));
        }
        let (sets, old) = (self.sets.len(), self.table.get(digest));
        let taken =
            self.step(record).and_then(|step| self.change(digest, old, self.with(old, step)));
        if taken.is_err() && self.sets.len() > sets {
            self.sets.remove(label_of(record)?);
        }
        taken?;
        if self.task() == Task::Association {
            let copy = self.copy(digest, label_of(record)?);
            self.copies.set(copy, self.copies.get(copy).saturating_add(1));
        }
        self.head.count(1);
        Ok(Seen::new_if(old == 0))
    }

    /// Under what the copies of a key in a set are counted.
    fn copy(&self, digest: Digest, label: &[u8]) -> Digest {
        digest.salted(SHIFT + self.sets.find(label).unwrap_or(MOST_SETS))
    }
}

impl Create for Shifting {
    /// Forms of bits that hold a number for each key are built when all numbers are known.
    fn create(shape: &Shape, head: Head, inputs: &mut Inputs<'_>) -> Result<Self> {
        let mut filter = Self::of_shape(shape, head)?;
        let streams = filter.counts() || filter.task() == Task::Membership;
        let mut numbers = Exact::default();
        inputs.records.batches(&mut |batch| {
            for record in batch {
                if streams {
                    filter.take(record)?;
                    continue;
                }
                let (digest, step) = (filter.head.digest(record.key), filter.step(record)?);
                numbers.set(digest, filter.with(numbers.get(digest), step));
                filter.head.count(1);
            }
            Ok(())
        })?;
        for (digest, number) in numbers.iter() {
            filter.change(digest, 0, number)?;
        }
        Ok(filter)
    }
}

impl Insert for Shifting {
    fn insert(&mut self, record: Record<'_>) -> Result<Seen> {
        self.take(&record)
    }
}

impl Remove for Shifting {
    /// Takes a copy of the key away, or takes the key out of the set that the record names.
    fn remove(&mut self, record: Record<'_>) -> Result<()> {
        let digest = self.head.digest(record.key);
        let absent =
            || Error::new(Kind::NotDeletable, "the key is not in the filter, or not in this set");
        if self.task() == Task::Membership {
            let places = self.places(digest, &[0, Self::shift(digest)]);
            if places.iter().any(|i| self.cells.get(*i) == 0) {
                return Err(absent());
            }
            places.iter().for_each(|i| self.cells.decrement(*i));
        } else {
            let old = self.table.get(digest);
            let new = if self.task() == Task::Association {
                let label = label_of(&record)?;
                let set = self.sets.find(label).ok_or_else(absent)?;
                let copy = self.copy(digest, label);
                let left = self.copies.get(copy).checked_sub(1).ok_or_else(absent)?;
                if left == 0 && old & !(1 << set) != 0 {
                    self.place_of(digest, old & !(1 << set))?;
                }
                self.copies.set(copy, left);
                if left > 0 {
                    self.head.count_off();
                    return Ok(());
                }
                old & !(1 << set)
            } else {
                old.checked_sub(self.step(&record)?).ok_or_else(absent)?
            };
            if new == old {
                return Err(absent());
            }
            self.change(digest, old, new)?;
        }
        self.head.count_off();
        Ok(())
    }
}
