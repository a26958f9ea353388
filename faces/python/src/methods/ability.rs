//! What only some variants can do: removing, counting, values, ageing, merging, listing.

use everbloom::{Ability, Answer, Record};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyList, PyTuple};

use crate::abilities::{
    ageing, assigning, counting, estimating, folding, intersecting, listing, lookup, merging,
    reconciling, removing,
};
use crate::answers::{Said, number};
use crate::errors::{raise, unable};
use crate::filter::{Filter, told};
use crate::rows::OwnValue;

#[pymethods]
impl Filter {
    /// Removes a key that was added, with its value where the variant takes one.
    ///
    /// >>> import everbloom
    /// >>> open_files = everbloom.Counting(1000, 0.01)
    /// >>> open_files.add("a")
    /// >>> open_files.remove("a")
    /// >>> "a" in open_files
    /// False
    #[pyo3(signature = (key, value=None))]
    fn remove(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (key, value) = (self.key(key)?.to_vec(), self.value(py, value)?);
        told(self.write(py, |held| {
            let record = Record::key(&key).with(value.as_ref().map(OwnValue::borrow));
            removing(held.filter_mut())?.remove(record)
        }))
    }

    /// Removes a key if it seems to be present.
    fn discard(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        let key = self.key(key)?;
        told(self.write(py, |held| {
            removing(held.filter_mut())?;
            if !held.contains(&key)? {
                return Ok(());
            }
            key.with(|key| removing(held.filter_mut())?.remove(Record::key(key)))
        }))
    }

    /// How often a key was added, as far as the filter can tell.
    fn count<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let key = self.key(key)?.to_vec();
        let count = told(self.read(py, |held| Ok(counting(held.filter())?.count(&key))))?;
        number(py, &count)
    }

    /// The value of a key as bytes; ``default`` for a key that is certainly not a member.
    ///
    /// >>> import everbloom
    /// >>> colors = everbloom.Bloomier({"lime": "green"}, 0.001)
    /// >>> colors.get("lime")
    /// b'green'
    #[pyo3(signature = (key, default=None))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        key: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let key = self.key(key)?.to_vec();
        let value = told(self.read(py, |held| Ok(lookup(held.filter())?.get(&key))))?;
        Ok(value.map(|value| PyBytes::new(py, &value).into_any()).or(default))
    }

    /// Changes the value of a member.
    fn set(
        &self,
        py: Python<'_>,
        key: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let (key, value) = (self.key(key)?.to_vec(), crate::keys::spelled(value)?);
        told(self.write(py, |held| assigning(held.filter_mut())?.set(&key, &value)))
    }

    /// Lets time pass for a filter that forgets.
    #[pyo3(signature = (ticks=1))]
    fn age(&self, py: Python<'_>, ticks: u64) -> PyResult<()> {
        told(self.write_long(py, |held| {
            ageing(held.filter_mut())?.age(ticks);
            Ok(())
        }))
    }

    /// Takes another filter of the same variant, shape, hash and seed in. Returns this filter.
    fn merge<'py>(
        this: Bound<'py, Self>,
        other: &Bound<'py, Filter>,
    ) -> PyResult<Bound<'py, Self>> {
        this.get().merged(this.py(), other.get())?;
        Ok(this)
    }

    /// Keeps what is in another filter, too. Returns this filter.
    fn intersect<'py>(
        this: Bound<'py, Self>,
        other: &Bound<'py, Filter>,
    ) -> PyResult<Bound<'py, Self>> {
        this.get().intersected(this.py(), other.get())?;
        Ok(this)
    }

    /// About how many different keys are in both filters; None if one is too full to tell.
    fn intersection_size(
        &self,
        py: Python<'_>,
        other: &Bound<'_, Filter>,
    ) -> PyResult<Option<f64>> {
        told(self.write_with(py, other.get(), |held, other| {
            intersecting(held.filter_mut())?.intersection_size(other.filter())
        }))
    }

    /// The same keys in a filter of half the size, at a higher rate.
    fn fold(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let folded = told(self.read_long(py, |held| folding(held.filter())?.fold()))?;
        let hash_func = self.hash_func.as_ref().map(|function| function.clone_ref(py));
        crate::classes::wrap(py, Filter::new(folded, None, hash_func))
    }

    /// About how many different keys are inside; None if the filter is too full to tell.
    ///
    /// >>> import everbloom
    /// >>> visitors = everbloom.HyperLogLog(false_positive_rate=0.01)
    /// >>> visitors.add_many(visit % 1000 for visit in range(5000))
    /// >>> 950 < visitors.estimate() < 1050
    /// True
    fn estimate(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        told(self.read_long(py, |held| Ok(estimating(held.filter())?.cardinality())))
    }

    /// What can be read back: pairs of a key and what is known of it.
    ///
    /// >>> import everbloom
    /// >>> top = everbloom.TopK(k=2)
    /// >>> top.add_many("to be or not to be to".split())
    /// >>> [(key, answer.count) for key, answer in top.list()]
    /// [(b'to', 3), (b'be', 2)]
    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let rows: Vec<(Vec<u8>, Answer)> = told(self.read_long(py, |held| {
            let mut rows = Vec::new();
            listing(held.filter())?.list(&mut |key, answer| rows.push((key.to_vec(), answer)))?;
            Ok(rows)
        }))?;
        let row = |(key, answer): (Vec<u8>, Answer)| {
            PyTuple::new(
                py,
                [PyBytes::new(py, &key).into_any(), Bound::new(py, Said(answer))?.into_any()],
            )
        };
        PyList::new(py, rows.into_iter().map(row).collect::<PyResult<Vec<_>>>()?)
    }

    /// The filter of what this one holds and the other does not, and the other way around. ``decode`` lists it.
    ///
    /// >>> import everbloom
    /// >>> here, there = (everbloom.Invertible(100, 0.001) for _ in range(2))
    /// >>> here.update(range(1000)); there.update(range(3, 1001))
    /// >>> ours, theirs = here.minus(there).decode()
    /// >>> len(ours), len(theirs)
    /// (3, 1)
    pub fn minus(&self, py: Python<'_>, other: &Bound<'_, Filter>) -> PyResult<Py<PyAny>> {
        let rest = told(self.write_with(py, other.get(), |held, other| {
            reconciling(held.filter())?.minus(other.filter())
        }))?;
        self.twin(py, rest)
    }

    /// The two sides of a difference as 64-bit ids: what only this filter held, and what only the other.
    fn decode(&self, py: Python<'_>) -> PyResult<(Vec<u64>, Vec<u64>)> {
        let sides = told(self.read_long(py, |held| reconciling(held.filter())?.decode()))?;
        Ok((sides.ours, sides.theirs))
    }

    /// The id under which a key is held, as ``decode`` lists it.
    fn id_of(&self, py: Python<'_>, key: &Bound<'_, PyAny>) -> PyResult<u64> {
        let key = self.key(key)?.to_vec();
        told(self.read(py, |held| Ok(reconciling(held.filter())?.id_of(&key))))
    }

    /// Removes all keys.
    pub fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let goal = self.goal();
        self.write_long(py, |held| held.clear() || emptied(held, goal.as_ref()))?
            .then_some(())
            .ok_or_else(|| {
                crate::errors::unsupported(
                    "this filter was opened, and does not tell what it was planned for: create a new one instead of \
                     clearing it",
                )
            })
    }
}

/// Puts an empty filter of the same goal in the place of a filter.
fn emptied(held: &mut crate::held::Held, goal: Option<&everbloom::Goal>) -> bool {
    let variant = everbloom::catalog::by_id(held.filter().facts().id);
    let made = variant.zip(goal).and_then(|(variant, goal)| crate::goal::empty(variant, goal).ok());
    made.map(|empty| *held = crate::held::Held::of(empty)).is_some()
}

impl Filter {
    pub fn merged(&self, py: Python<'_>, other: &Filter) -> PyResult<()> {
        told(
            self.write_with(py, other, |held, other| {
                merging(held.filter_mut())?.merge(other.filter())
            }),
        )
    }

    pub fn intersected(&self, py: Python<'_>, other: &Filter) -> PyResult<()> {
        told(self.write_with(py, other, |held, other| {
            intersecting(held.filter_mut())?.intersect(other.filter())
        }))
    }

    /// Whether the filter's form declares an ability.
    pub fn can(&self, py: Python<'_>, ability: Ability) -> PyResult<bool> {
        self.read(py, |held| held.filter().can(ability))
    }

    /// Whether keys can be merged: where they cannot, nobody can say what a union would hold.
    pub fn must(&self, py: Python<'_>, ability: Ability) -> PyResult<()> {
        let unable = self.read(py, |held| {
            let filter = held.filter();
            (!filter.can(ability)).then(|| unable(filter.facts(), filter.head().form, ability))
        })?;
        unable.map_or(Ok(()), |e| Err(raise(e)))
    }
}
