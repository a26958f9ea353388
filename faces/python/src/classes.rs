//! The everyday classes, and how filters are made.

use everbloom::internals::variant::{Inputs, Source};
use everbloom::{Ability, Goal};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::errors::{bad_argument, calm, raise, unsupported};
use crate::filter::{Filter, told};
use crate::goal::{Wish, variant};
use crate::rows::{Kept, Records, kept};

/// An empty filter of any variant that starts empty.
///
/// ``expected_items`` and ``false_positive_rate`` mean what ``catalog()`` says of the variant. Any two of items, rate and
/// memory (in bytes) are enough. Filters of equal arguments merge. A secret ``key`` (16 bytes) keeps people who choose keys
/// from aiming at cells. Further arguments are parameters of the variant, such as ``k``, ``form`` or ``hash``.
///
/// >>> import everbloom
/// >>> recent = everbloom.create("stable", 1000, 0.01)
/// >>> recent.add("apple")
/// >>> "apple" in recent
/// True
#[pyfunction]
#[pyo3(signature = (slug, expected_items=None, false_positive_rate=None, hash_func=None, *, memory=None, seed=None,
                    key=None, **settings))]
#[allow(clippy::too_many_arguments)]
pub fn create(
    py: Python<'_>,
    slug: &str,
    expected_items: Option<&Bound<'_, PyAny>>,
    false_positive_rate: Option<f64>,
    hash_func: Option<&Bound<'_, PyAny>>,
    memory: Option<&Bound<'_, PyAny>>,
    seed: Option<u64>,
    key: Option<&Bound<'_, PyAny>>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let (items, rate) = (expected_items, false_positive_rate);
    wrap(py, empty(slug, Wish { items, rate, memory, seed, key, settings }, hash_func)?)
}

/// A filter of any variant, built from all its records.
///
/// Records are keys: a list, an iterator, a NumPy array, an Arrow column. A variant with values takes pairs of a key and a
/// value, or a dict; one with times takes a time behind them. ``negatives`` are known non-members, for variants that use
/// them.
///
/// >>> import everbloom
/// >>> words = everbloom.build("ribbon", ["apple", "pear"], 0.001)
/// >>> "pear" in words, "plum" in words
/// (True, False)
#[pyfunction]
#[pyo3(signature = (slug, records, false_positive_rate=None, hash_func=None, *, expected_items=None, negatives=None,
                    memory=None, seed=None, key=None, nulls=None, **settings))]
#[allow(clippy::too_many_arguments)]
pub fn build(
    py: Python<'_>,
    slug: &str,
    records: &Bound<'_, PyAny>,
    false_positive_rate: Option<f64>,
    hash_func: Option<&Bound<'_, PyAny>>,
    expected_items: Option<&Bound<'_, PyAny>>,
    negatives: Option<&Bound<'_, PyAny>>,
    memory: Option<&Bound<'_, PyAny>>,
    seed: Option<u64>,
    key: Option<&Bound<'_, PyAny>>,
    nulls: Option<&str>,
    settings: Option<&Bound<'_, PyDict>>,
) -> PyResult<Py<PyAny>> {
    let (items, rate) = (expected_items, false_positive_rate);
    let wish = Wish { items, rate, memory, seed, key, settings };
    wrap(py, built(slug, (records, negatives, nulls), wish, hash_func)?)
}

fn callable(hash_func: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Py<PyAny>>> {
    match hash_func {
        Some(function) if !function.is_callable() => Err(bad_argument(
            "hash_func",
            &function.repr()?.to_string(),
            "must be a function that makes an int of a key; without one, str, bytes, int, tuples and UUIDs are keys \
             as they are",
        )),
        function => Ok(function.map(|function| function.clone().unbind())),
    }
}

fn empty(slug: &str, wish: Wish<'_, '_>, hash_func: Option<&Bound<'_, PyAny>>) -> PyResult<Filter> {
    let (variant, hash_func) = (variant(slug)?, callable(hash_func)?);
    let goal = wish.goal(Some(variant))?;
    let named = goal.settings.iter().rev().find(|(name, _)| name == "form");
    let form = match named {
        Some((_, name)) => variant.form(&name.to_string()),
        None => variant.forms.first(),
    };
    if form.is_some_and(|form| !form.abilities.contains(&Ability::Insert)) {
        return Err(unsupported(format!(
            "a {slug} filter is built from all its keys at once: everbloom.build({slug:?}, keys)"
        )));
    }
    let made = told(calm(|| crate::goal::empty(variant, &goal)))?;
    Ok(Filter::new(made, Some(goal), hash_func))
}

type Given<'a, 'py> = (&'a Bound<'py, PyAny>, Option<&'a Bound<'py, PyAny>>, Option<&'a str>);

fn built(
    slug: &str,
    (records, negatives, nulls): Given<'_, '_>,
    wish: Wish<'_, '_>,
    hash_func: Option<&Bound<'_, PyAny>>,
) -> PyResult<Filter> {
    let (py, variant) = (records.py(), variant(slug)?);
    let function = callable(hash_func)?;
    let mut goal: Goal = wish.goal(Some(variant))?;
    let records = kept(&variant.facts, hash_func, records, nulls)?;
    let negatives = match negatives {
        Some(negatives) => Some(kept(&variant.facts, hash_func, negatives, nulls)?),
        None => None,
    };
    let (records, others) = (pieces(&records)?, negatives.as_ref().map(pieces).transpose()?);
    let (mut source, mut others) = (records.source(), others.as_ref().map(Pieces::source));
    if goal.items.is_none() && (goal.bits.is_none() || goal.fpr.is_none()) {
        goal.items = Some((source.len() as u64).max(1));
    }
    let made = told(py.detach(|| {
        calm(|| {
            let negatives = others.as_mut().map(|others| others as &mut dyn Source);
            variant.build(&goal, &mut Inputs { records: &mut source, negatives })
        })
    }))?;
    Ok(Filter::new(made, Some(goal), function))
}

/// What was kept, ready to be read.
enum Pieces<'a> {
    Rows(&'a crate::rows::Rows),
    Pieces(Vec<crate::columns::Piece<'a>>),
}

impl Pieces<'_> {
    fn source(&self) -> Records<'_> {
        match self {
            Pieces::Rows(rows) => Records::Rows(rows),
            Pieces::Pieces(pieces) => Records::Pieces(pieces),
        }
    }
}

fn pieces(kept: &Kept) -> PyResult<Pieces<'_>> {
    Ok(match kept {
        Kept::Rows(rows) => Pieces::Rows(rows),
        Kept::Column(column) => Pieces::Pieces(column.pieces()?),
    })
}

impl Filter {
    /// A filter like this one in all but its content.
    pub fn twin(&self, py: Python<'_>, filter: Box<dyn everbloom::Filter>) -> PyResult<Py<PyAny>> {
        let hash_func = self.hash_func.as_ref().map(|function| function.clone_ref(py));
        wrap(py, Self::new(filter, self.goal(), hash_func))
    }
}

/// A filter as an object of its class, which must be the one asked for.
pub fn checked(cls: &Bound<'_, PyType>, object: Py<PyAny>) -> PyResult<Py<PyAny>> {
    let py = cls.py();
    if object.bind(py).is_instance(cls)? {
        return Ok(object);
    }
    let slug =
        object.bind(py).cast::<Filter>()?.get().read(py, |held| held.filter().facts().slug)?;
    let message = format!("it is a {slug} filter, not a {}: use everbloom.open", cls.name()?);
    Err(raise(everbloom::Error::new(everbloom::Kind::Incompatible { what: "variant" }, message)))
}

/// `everyday! { empty { Bloom = "bloom", … } built { Ribbon = "ribbon", … } }`: the classes, by how they start.
macro_rules! everyday {
    (
        empty { $($(#[$doc:meta])* $empty:ident = $slug:literal,)+ }
        built { $($(#[$built_doc:meta])* $built:ident = $built_slug:literal,)+ }
    ) => {
        $(
            $(#[$doc])*
            #[pyclass(extends = Filter, subclass, frozen, module = "everbloom")]
            pub struct $empty;

            #[pymethods]
            impl $empty {
                #[new]
                #[pyo3(signature = (expected_items=None, false_positive_rate=None, hash_func=None, *, memory=None,
                                    seed=None, key=None, **settings))]
                #[allow(clippy::too_many_arguments)]
                fn new(
                    expected_items: Option<&Bound<'_, PyAny>>,
                    false_positive_rate: Option<f64>,
                    hash_func: Option<&Bound<'_, PyAny>>,
                    memory: Option<&Bound<'_, PyAny>>,
                    seed: Option<u64>,
                    key: Option<&Bound<'_, PyAny>>,
                    settings: Option<&Bound<'_, PyDict>>,
                ) -> PyResult<PyClassInitializer<Self>> {
                    let (items, rate) = (expected_items, false_positive_rate);
                    let filter = empty($slug, Wish { items, rate, memory, seed, key, settings }, hash_func)?;
                    Ok(PyClassInitializer::from(filter).add_subclass(Self))
                }
            }
        )+
        $(
            $(#[$built_doc])*
            #[pyclass(extends = Filter, subclass, frozen, module = "everbloom")]
            pub struct $built;

            #[pymethods]
            impl $built {
                #[new]
                #[pyo3(signature = (records, false_positive_rate=None, hash_func=None, *, memory=None, seed=None,
                                    key=None, nulls=None, **settings))]
                #[allow(clippy::too_many_arguments)]
                fn new(
                    records: &Bound<'_, PyAny>,
                    false_positive_rate: Option<f64>,
                    hash_func: Option<&Bound<'_, PyAny>>,
                    memory: Option<&Bound<'_, PyAny>>,
                    seed: Option<u64>,
                    key: Option<&Bound<'_, PyAny>>,
                    nulls: Option<&str>,
                    settings: Option<&Bound<'_, PyDict>>,
                ) -> PyResult<PyClassInitializer<Self>> {
                    let wish = Wish { items: None, rate: false_positive_rate, memory, seed, key, settings };
                    let filter = built($built_slug, (records, None, nulls), wish, hash_func)?;
                    Ok(PyClassInitializer::from(filter).add_subclass(Self))
                }
            }
        )+

        /// A filter as an object of its class.
        pub fn wrap(py: Python<'_>, filter: Filter) -> PyResult<Py<PyAny>> {
            let slug = filter.read(py, |held| held.filter().facts().slug)?;
            let made = PyClassInitializer::from(filter);
            Ok(match slug {
                $($slug => Py::new(py, made.add_subclass($empty))?.into_any(),)+
                $($built_slug => Py::new(py, made.add_subclass($built))?.into_any(),)+
                _ => Py::new(py, made)?.into_any(),
            })
        }

        /// Adds the classes to the module.
        pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
            $(module.add_class::<$empty>()?;)+
            $(module.add_class::<$built>()?;)+
            Ok(())
        }
    };
}

everyday! {
    empty {
        /// The standard Bloom filter: an insert-only set that merges, intersects, folds and estimates its size.
        ///
        /// >>> from everbloom import Bloom
        /// >>> seen = Bloom(1_000_000, 0.01)
        /// >>> seen.add("apple")
        /// >>> "apple" in seen, "pear" in seen
        /// (True, False)
        Bloom = "bloom",
        /// The blocked Bloom filter: the fastest set, one cache line for each key.
        ///
        /// >>> from everbloom import Blocked
        /// >>> seen = Blocked(1_000_000, 0.01)
        /// >>> seen.add_many(["apple", "pear"])
        /// >>> seen.contains_many(["pear", "plum"])
        /// [True, False]
        Blocked = "blocked",
        /// The split-block Bloom filter of the Parquet specification.
        ///
        /// >>> from everbloom import SplitBlock
        /// >>> column = SplitBlock(1000, 0.01)
        /// >>> column.update(range(10))
        /// >>> 7 in column
        /// True
        SplitBlock = "split-block",
        /// The counting Bloom filter: a set from which keys are removed, and that says how often each was added.
        ///
        /// >>> from everbloom import Counting
        /// >>> open_files = Counting(1000, 0.01)
        /// >>> open_files.update(["a", "a", "b"])
        /// >>> open_files.count("a")
        /// 2
        /// >>> open_files.remove("b")
        /// >>> "b" in open_files
        /// False
        Counting = "counting",
        /// The cuckoo filter: a set from which keys are removed, in a quarter of the space of counters.
        ///
        /// >>> from everbloom import Cuckoo
        /// >>> cache = Cuckoo(1000, 0.01)
        /// >>> cache.add("page")
        /// >>> cache.discard("page")
        /// >>> "page" in cache
        /// False
        Cuckoo = "cuckoo",
        /// The quotient filter: a set from which keys are removed, and that merges.
        ///
        /// >>> from everbloom import Quotient
        /// >>> level = Quotient(1000, 0.01)
        /// >>> level.add("page")
        /// >>> "page" in level
        /// True
        Quotient = "quotient",
        /// The scalable Bloom filter: a set of unknown size that keeps its false-positive rate.
        ///
        /// >>> from everbloom import Scalable
        /// >>> seen = Scalable(100, 0.01)
        /// >>> seen.update(range(10_000))
        /// >>> seen.predict()["fpr"] < 0.01
        /// True
        Scalable = "scalable",
        /// The stable Bloom filter: was it seen recently in an endless stream?
        ///
        /// >>> from everbloom import Stable
        /// >>> recent = Stable(1000, 0.01)
        /// >>> recent.insert("apple"), recent.insert("apple")
        /// (True, False)
        Stable = "stable",
        /// The windowed filter: keys with a time to live.
        ///
        /// >>> from everbloom import Windowed
        /// >>> sessions = Windowed(1000, 0.01, ttl=30)
        /// >>> sessions.insert("ann", 10)
        /// True
        /// >>> sessions.age(31)
        /// >>> "ann" in sessions
        /// False
        Windowed = "windowed",
        /// The count-min sketch: how much each key brought, never too low.
        ///
        /// >>> from everbloom import CountMin
        /// >>> words = CountMin(1000, 0.001)
        /// >>> words.update("to be or not to be".split())
        /// >>> words.count("to")
        /// 2
        CountMin = "count-min",
        /// HyperLogLog: how many different keys came. ``false_positive_rate`` is its relative standard error.
        ///
        /// >>> from everbloom import HyperLogLog
        /// >>> visitors = HyperLogLog(p=14)
        /// >>> visitors.update(["ann", "bob", "ann"])
        /// >>> round(visitors.estimate())
        /// 2
        HyperLogLog = "hyperloglog",
        /// Top-k by HeavyKeeper: which keys come most often.
        ///
        /// >>> from everbloom import TopK
        /// >>> top = TopK(k=1)
        /// >>> top.update("to be or not to be to".split())
        /// >>> [key for key, answer in top.list()]
        /// [b'to']
        TopK = "top-k",
        /// The invertible Bloom lookup table: pairs that come and go, and are listed.
        ///
        /// >>> from everbloom import Iblt
        /// >>> pairs = Iblt(100, 0.001)
        /// >>> pairs.insert("ann", "7")
        /// True
        /// >>> pairs.get("ann")
        /// b'7'
        Iblt = "iblt",
        /// The invertible Bloom filter: which keys do two sets not share, at a cost of the difference alone?
        ///
        /// >>> from everbloom import Invertible
        /// >>> here, there = Invertible(10, 0.001), Invertible(10, 0.001)
        /// >>> here.update(range(100)); there.update(range(1, 100))
        /// >>> here.minus(there).decode() == ([here.id_of(0)], [])
        /// True
        Invertible = "invertible",
    }
    built {
        /// The binary fuse filter: a fixed set, fast and in 9 bits for each key at 0.4 %.
        ///
        /// >>> from everbloom import BinaryFuse
        /// >>> words = BinaryFuse(["apple", "pear"], 0.004)
        /// >>> "pear" in words
        /// True
        BinaryFuse = "binary-fuse",
        /// The ribbon filter: a fixed set in nearly the fewest bits.
        ///
        /// >>> from everbloom import Ribbon
        /// >>> words = Ribbon(["apple", "pear"], 0.01)
        /// >>> "pear" in words
        /// True
        Ribbon = "ribbon",
        /// The Bloomier filter: what value does this key of a fixed set have?
        ///
        /// >>> from everbloom import Bloomier
        /// >>> colors = Bloomier({"lime": "green", "plum": "blue"}, 0.001)
        /// >>> colors.get("plum")
        /// b'blue'
        Bloomier = "bloomier",
    }
}
