//! Many keys at a time: lists, arrays, columns.

use everbloom::{Record, Seen};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyList};

use crate::abilities::{counting, insert, lookup, removing};
use crate::answers;
use crate::columns::{Answers, Column, Given, Nulls, Piece, is_null, null_refused};
use crate::errors::raise;
use crate::filter::{Filter, told};
use crate::held::{CHUNK, Chunk, Held};
use crate::keys::Key;
use crate::rows::OwnValue;
use crate::work::{self, refused};

#[pymethods]
impl Filter {
    /// Adds every key of a list, an iterator, a NumPy array, an Arrow column, a pandas Series or a buffer.
    ///
    /// Columns are not copied where they already hold what is hashed, the work is done on all cores, and other threads
    /// run meanwhile. A null is skipped; ``nulls="error"`` refuses it. None in a list is refused; ``nulls="skip"`` skips it.
    ///
    /// >>> import everbloom
    /// >>> seen = everbloom.Blocked(1000, 0.01)
    /// >>> seen.add_many(["apple", "pear"])
    /// >>> seen.contains_many(["pear", "plum"])
    /// [True, False]
    #[pyo3(signature = (keys, *, nulls=None))]
    fn add_many(&self, keys: &Bound<'_, PyAny>, nulls: Option<&str>) -> PyResult<()> {
        self.take(keys.py(), keys, nulls)
    }

    /// Whether each key may be a member: as a list for a list, a NumPy array for one, an Arrow column for one.
    ///
    /// The answer to a null is null in Arrow, else False.
    ///
    /// >>> import everbloom, numpy
    /// >>> seen = everbloom.Blocked(1000, 0.01)
    /// >>> seen.add_many(numpy.arange(5))
    /// >>> seen.contains_many(numpy.array([3, 10**9])).tolist()
    /// [True, False]
    #[pyo3(signature = (keys, *, nulls=None))]
    pub fn contains_many(
        &self,
        keys: &Bound<'_, PyAny>,
        nulls: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let py = keys.py();
        let given = Given::of(keys)?;
        let nulls = Nulls::of(nulls, &given)?;
        match given {
            Given::Column(column) => self.contains_column(py, keys, &column, nulls),
            Given::Objects(objects, form) => {
                let mut found: Vec<bool> = Vec::new();
                let rows = self.objects(&objects, nulls, |py, keys, rows| {
                    let mut some = [false; CHUNK];
                    let some = &mut some[..keys.len()];
                    told(self.read(py, |held| held.contains_many(keys, some)))?;
                    for (row, truth) in rows.iter().zip(some) {
                        // Rows between them were null.
                        found.resize(*row, false);
                        found.push(*truth);
                    }
                    Ok(())
                })?;
                found.resize(rows, false);
                match form {
                    Answers::List => {
                        let found = found.iter().map(|truth| PyBool::new(py, *truth).to_owned());
                        Ok(PyList::new(py, found)?.into_any().unbind())
                    }
                    form => {
                        let bytes: Vec<u8> = found.into_iter().map(u8::from).collect();
                        answers::truths(py, &PyByteArray::new(py, &bytes), None, form)
                    }
                }
            }
        }
    }

    /// Adds every key, with a value for each where the variant takes them; says which were certainly not there before.
    ///
    /// >>> import everbloom
    /// >>> seen = everbloom.Bloom(1000, 0.01)
    /// >>> seen.insert_many(["a", "b", "a"])
    /// [True, True, False]
    #[pyo3(signature = (keys, values=None, *, nulls=None))]
    fn insert_many(
        &self,
        keys: &Bound<'_, PyAny>,
        values: Option<&Bound<'_, PyAny>>,
        nulls: Option<&str>,
    ) -> PyResult<Py<PyAny>> {
        let py = keys.py();
        self.takes_keys()?;
        let mut values = match values {
            Some(values) => Some(values.try_iter()?),
            None => None,
        };
        // Values are Python objects, so their keys are taken one by one.
        let mut value = |filter: &Filter| -> PyResult<Option<OwnValue>> {
            let Some(values) = &mut values else { return Ok(None) };
            let missing = || crate::errors::bad_argument("values", "…", "must be as many as keys");
            filter.value(py, Some(&values.next().ok_or_else(missing)??))
        };
        let mut rows: Vec<(Vec<u8>, Option<OwnValue>)> = Vec::new();
        let (form, valid) = self.all(keys, nulls, |key| {
            let value = value(self)?;
            rows.extend(key.map(|key| (key.to_vec(), value)));
            Ok(())
        })?;
        let seen = self.write_long(py, move |held| inserted(held, &rows))??;
        let mut seen = seen.into_iter();
        let new = valid.iter().map(|valid| u8::from(*valid && seen.next() == Some(Seen::New)));
        let bytes = PyByteArray::new(py, &new.collect::<Vec<_>>());
        answers::truths(py, &bytes, Some(&valid), form)
    }

    /// How often each key occurred: as a list for a list, a NumPy array for one, an Arrow column for one.
    ///
    /// >>> import everbloom
    /// >>> words = everbloom.CountMin(1000, 0.001)
    /// >>> words.add_many("to be or not to be".split())
    /// >>> words.count_many(["to", "not", "that"])
    /// [2, 1, 0]
    #[pyo3(signature = (keys, *, nulls=None))]
    fn count_many(&self, keys: &Bound<'_, PyAny>, nulls: Option<&str>) -> PyResult<Py<PyAny>> {
        let py = keys.py();
        let (counts, form) = self.looked_up(keys, nulls, work::counts, |held, key| {
            Ok(counting(held.filter())?.count(key))
        })?;
        answers::counts(py, &counts, form)
    }

    /// The value of each key as bytes; None for a key that is certainly not a member.
    ///
    /// >>> import everbloom
    /// >>> colors = everbloom.Bloomier({"lime": "green", "plum": "blue"}, 0.001)
    /// >>> colors.get_many(["plum", "lime"])
    /// [b'blue', b'green']
    #[pyo3(signature = (keys, *, nulls=None))]
    fn get_many(&self, keys: &Bound<'_, PyAny>, nulls: Option<&str>) -> PyResult<Py<PyAny>> {
        let py = keys.py();
        let (values, form) = self.looked_up(
            keys,
            nulls,
            |held, pieces| Ok(work::values(held, pieces)?.into_iter().map(Some).collect()),
            |held, key| Ok(lookup(held.filter())?.get(key)),
        )?;
        let values: Vec<Option<Vec<u8>>> = values.into_iter().map(Option::flatten).collect();
        answers::values(py, &values, form)
    }

    /// Removes every key. Stops at the first that is refused.
    #[pyo3(signature = (keys, *, nulls=None))]
    fn remove_many(&self, keys: &Bound<'_, PyAny>, nulls: Option<&str>) -> PyResult<()> {
        let mut rows: Vec<(usize, Vec<u8>)> = Vec::new();
        let mut number = 0;
        self.all(keys, nulls, |key| {
            rows.extend(key.map(|key| (number, key.to_vec())));
            number += 1;
            Ok(())
        })?;
        self.write_long(keys.py(), move |held| {
            let remove = removing(held.filter_mut()).map_err(raise)?;
            rows.iter().try_for_each(|(row, key)| {
                remove.remove(Record::key(key)).map_err(|e| refused(*row, e))
            })
        })?
    }
}

/// Inserts records; what each of them found.
fn inserted(held: &mut Held, rows: &[(Vec<u8>, Option<OwnValue>)]) -> PyResult<Vec<Seen>> {
    let insert = insert(held.filter_mut()).map_err(raise)?;
    let one = |(row, (key, value)): (usize, &(Vec<u8>, Option<OwnValue>))| {
        let record = Record::key(key).with(value.as_ref().map(OwnValue::borrow));
        insert.insert(record).map_err(|e| refused(row, e))
    };
    rows.iter().enumerate().map(one).collect()
}

impl Filter {
    /// Adds every key that an object holds.
    pub fn take(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        nulls: Option<&str>,
    ) -> PyResult<()> {
        self.takes_keys()?;
        let given = Given::of(keys)?;
        let nulls = Nulls::of(nulls, &given)?;
        match given {
            Given::Column(column) => {
                let pieces = self.pieces(keys, &column, nulls)?;
                self.write_long(py, |held| work::add(held, &pieces))?
            }
            Given::Objects(objects, _) => self
                .objects(&objects, nulls, |py, keys, rows| {
                    let done = self.write(py, |held| held.insert_many(keys))?;
                    done.map_err(|(i, e)| refused(rows[i], e))
                })
                .map(drop),
        }
    }

    fn contains_column(
        &self,
        py: Python<'_>,
        keys: &Bound<'_, PyAny>,
        column: &Column,
        nulls: Nulls,
    ) -> PyResult<Py<PyAny>> {
        let pieces = self.pieces(keys, column, nulls)?;
        let len = pieces.iter().map(Piece::len).sum();
        let bytes = PyByteArray::new_with(py, len, |found| {
            self.read_long(py, |held| work::contains(held, &pieces, found))?
        })?;
        answers::truths(py, &bytes, valid(&pieces).as_deref(), column.answers)
    }

    /// Calls `f` with the keys that objects are, up to a chunk at a time, and their rows; says how many rows there are.
    fn objects(
        &self,
        objects: &Bound<'_, PyAny>,
        nulls: Nulls,
        mut f: impl FnMut(Python<'_>, Chunk<'_>, &[usize]) -> PyResult<()>,
    ) -> PyResult<usize> {
        let py = objects.py();
        let mut items: Vec<Bound<'_, PyAny>> = Vec::with_capacity(CHUNK);
        let mut rows: Vec<usize> = Vec::with_capacity(CHUNK);
        let mut count = 0;
        for item in objects.try_iter()? {
            let item = item?;
            count += 1;
            if nulls == Nulls::Skip && is_null(&item) {
                continue;
            }
            if item.is_none() {
                return Err(null_refused(count - 1));
            }
            items.push(item);
            rows.push(count - 1);
            if items.len() == CHUNK {
                self.chunk(py, &items, &rows, &mut f)?;
                items.clear();
                rows.clear();
            }
        }
        self.chunk(py, &items, &rows, &mut f)?;
        Ok(count)
    }

    /// Calls `f` with the keys that some objects are: integers together, and all others together.
    fn chunk(
        &self,
        py: Python<'_>,
        items: &[Bound<'_, PyAny>],
        rows: &[usize],
        f: &mut impl FnMut(Python<'_>, Chunk<'_>, &[usize]) -> PyResult<()>,
    ) -> PyResult<()> {
        let keys = items.iter().map(|item| self.key(item)).collect::<PyResult<Vec<Key<'_>>>>()?;
        let is_word = |key: &Key<'_>| matches!(key, Key::Word(_));
        let mut at = 0;
        for run in keys.chunk_by(|one, next| is_word(one) == is_word(next)) {
            let rows = &rows[at..at + run.len()];
            at += run.len();
            if is_word(&run[0]) {
                let word = |key: &Key<'_>| if let Key::Word(word) = key { *word } else { 0 };
                let words: Vec<u64> = run.iter().map(word).collect();
                f(py, Chunk::Words(&words), rows)?;
            } else {
                let slice = |key| match key {
                    &Key::Bytes(bytes) => bytes,
                    Key::Owned(bytes) => bytes,
                    Key::Word(_) => &[],
                };
                let slices: Vec<&[u8]> = run.iter().map(slice).collect();
                f(py, Chunk::Slices(&slices), rows)?;
            }
        }
        Ok(())
    }

    /// Calls `f` with every key, or with nothing for a null; says how the answer is to be given, and which rows are not
    /// null.
    fn all(
        &self,
        keys: &Bound<'_, PyAny>,
        nulls: Option<&str>,
        mut f: impl FnMut(Option<&[u8]>) -> PyResult<()>,
    ) -> PyResult<(Answers, Vec<bool>)> {
        let given = Given::of(keys)?;
        let nulls = Nulls::of(nulls, &given)?;
        let mut valid = Vec::new();
        match given {
            Given::Column(column) => {
                work::each(&self.pieces(keys, &column, nulls)?, |key| {
                    valid.push(key.is_some());
                    f(key)
                })?;
                Ok((column.answers, valid))
            }
            Given::Objects(objects, form) => {
                for (row, item) in objects.try_iter()?.enumerate() {
                    let item = item?;
                    let null = nulls == Nulls::Skip && is_null(&item);
                    valid.push(!null);
                    if null {
                        f(None)?;
                        continue;
                    }
                    if item.is_none() {
                        return Err(null_refused(row));
                    }
                    self.key(&item)?.with(|key| f(Some(key)))?;
                }
                Ok((form, valid))
            }
        }
    }

    /// What a lookup says of every key: `column` for a whole one, without Python; `one` for each object.
    fn looked_up<T: Send>(
        &self,
        keys: &Bound<'_, PyAny>,
        nulls: Option<&str>,
        column: impl FnOnce(&Held, &[Piece<'_>]) -> PyResult<Vec<Option<T>>> + Send,
        one: impl Fn(&Held, &[u8]) -> everbloom::Result<T>,
    ) -> PyResult<(Vec<Option<T>>, Answers)> {
        let py = keys.py();
        if let Given::Column(given) = Given::of(keys)? {
            let said = Nulls::of(nulls, &Given::Objects(keys.clone(), Answers::Numpy))?;
            let pieces = self.pieces(keys, &given, said)?;
            let found = self.read_long(py, |held| column(held, &pieces))??;
            return Ok((found, given.answers));
        }
        let mut found = Vec::new();
        let (form, _) = self.all(keys, nulls, |key| {
            let said = key.map(|key| told(self.read(py, |held| one(held, key)))).transpose()?;
            found.push(said);
            Ok(())
        })?;
        Ok((found, form))
    }
}

/// Which rows are not null, if some are.
fn valid(pieces: &[Piece<'_>]) -> Option<Vec<bool>> {
    pieces.iter().any(|piece| piece.valid.is_some()).then(|| {
        let of = |piece: &Piece<'_>| piece.valid.clone().unwrap_or_else(|| vec![true; piece.len()]);
        pieces.iter().flat_map(of).collect()
    })
}
