"""Arrays in, arrays out: NumPy, Arrow, pandas, Polars, DuckDB, buffers."""

from __future__ import annotations

import array
import subprocess
import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import everbloom as eb

na = pytest.importorskip("nanoarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")

CLASSES = [eb.Bloom, eb.Blocked, eb.SplitBlock, eb.Counting, eb.Cuckoo]
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


def one_by_one(keys: Any, cls: Any = eb.Bloom) -> eb.Filter:
    filter = cls(1000, 1e-6)
    for key in keys:
        filter.add(key)
    return filter


def together(keys: Any, cls: Any = eb.Bloom, **options: Any) -> eb.Filter:
    filter = cls(1000, 1e-6)
    filter.add_many(keys, **options)
    return filter


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("kind", INTEGERS)
def test_integers_of_every_width_and_order_are_values(kind: str, order: str) -> None:
    info = np.iinfo(kind)
    values = [0, 1, 42, info.max, info.min]
    keys = np.array(values, order + kind)
    assert together(keys) == one_by_one(values)
    for view in (keys[::2], keys[::-1], np.repeat(keys, 3)[1::3], keys.reshape(-1, 1)[:, 0]):
        assert together(view) == one_by_one(view.tolist())
    found = together(keys).contains_many(np.array([1, 99, 42], kind))
    assert found.dtype == bool and found.tolist() == [True, False, True]
    unaligned = np.frombuffer(b"x" + keys.tobytes(), order + kind, offset=1)
    assert together(unaligned) == one_by_one(values)


@pytest.mark.parametrize("cls", CLASSES)
def test_every_way_to_give_keys_is_the_same(cls: Any) -> None:
    numbers, words = list(range(-50, 50)), [f"word {i}" * (i % 4) + f"{i:x}" for i in range(100)]
    expected = one_by_one(numbers, cls)
    ways = [
        numbers,
        tuple(numbers),
        iter(numbers),
        np.array(numbers),
        np.array(numbers, "i2"),
        np.array(numbers, object),
        array.array("q", numbers),
        memoryview(array.array("b", numbers)),
        pa.array(numbers),
        pa.chunked_array([numbers[:30], [], numbers[30:]]),
        pa.table({"id": numbers}),
        pa.array(numbers).dictionary_encode(),
        pl.Series(numbers),
        pl.DataFrame({"id": numbers}),
        pd.Series(numbers),
        pd.Index(numbers),
        na.c_array(numbers, na.int64()),
        duckdb.sql("select unnest(range(-50, 50)) as id"),
    ]
    for keys in ways:
        assert together(keys, cls) == expected, type(keys)
    expected = one_by_one(words, cls)
    ways = [
        words,
        [word.encode() for word in words],
        (word for word in words),
        np.array(words),
        np.array(words, object),
        np.array([word.encode() for word in words]),
        np.array(words, np.dtypes.StringDType()),
        pa.array(words),
        pa.array(words, pa.large_string()),
        pa.array(words, pa.string_view()),
        pa.array([word.encode() for word in words], pa.binary()),
        pa.array([word.encode() for word in words], pa.large_binary()),
        pa.array([word.encode() for word in words], pa.binary_view()),
        pa.array(words).dictionary_encode(),
        pa.chunked_array([words[:1], words[1:]]),
        pa.RecordBatchReader.from_batches(
            pa.schema({"w": pa.string()}), pa.table({"w": words}).to_batches(max_chunksize=7)
        ),
        pl.Series(words),
        pl.Series(words, dtype=pl.Categorical),
        pd.Series(words),
        pd.Series(words, dtype=object),
        pd.Series(words, dtype="category"),
        pd.Series(words, dtype="string[pyarrow]"),
        na.c_array(words, na.string()),
    ]
    for keys in ways:
        assert together(keys, cls) == expected, getattr(keys, "type", type(keys))


def test_answers_come_in_the_form_of_the_keys() -> None:
    seen = eb.Blocked(100, 1e-6)
    seen.add_many([1, 2, 3])
    asked = [3, 4]
    assert seen.contains_many(asked) == [True, False]
    assert seen.contains_many(iter(asked)) == [True, False]
    found = seen.contains_many(np.array(asked))
    assert type(found) is np.ndarray and found.dtype == bool and found.flags.writeable
    found = seen.contains_many(pa.array(asked))
    assert isinstance(found, pa.BooleanArray) and found.to_pylist() == [True, False]
    found = seen.contains_many(pl.Series(asked))
    assert isinstance(found, pl.Series) and found.to_list() == [True, False]
    found = seen.contains_many(pd.Series(asked))
    assert type(found) is np.ndarray and found.tolist() == [True, False]
    found = seen.contains_many(array.array("i", asked))
    assert type(found) is memoryview and found.tolist() == [True, False]
    found = seen.contains_many(na.c_array(asked, na.int32()))
    assert type(found) is eb.Column and len(found) == 2
    assert pa.array(found).to_pylist() == pl.Series(found).to_list() == [True, False]
    frame = pl.DataFrame({"id": [1, 9, 2]})
    assert frame.filter(seen.contains_many(frame["id"]))["id"].to_list() == [1, 2]


def test_nulls_are_no_keys() -> None:
    numbers = [1, None, 3]
    for keys in (
        pa.array(numbers),
        pa.array([0, *numbers])[1:],
        pa.array(numbers).dictionary_encode(),
        pl.Series(numbers),
        na.c_array(numbers, na.int64()),
    ):
        seen = together(keys)
        assert seen == one_by_one([1, 3]), type(keys)
        found = pa.array(seen.contains_many(keys))
        assert found.to_pylist() == [True, None, True]
        with pytest.raises(eb.KeyTypeError, match="row 1 is null"):
            seen.add_many(keys, nulls="error")
        with pytest.raises(eb.KeyTypeError, match="row 1 is null"):
            seen.contains_many(keys, nulls="error")
    words = pa.array(["a", None, "", "c"])
    assert together(words) == one_by_one(["a", "", "c"])
    assert together(words).contains_many(words).to_pylist() == [True, None, True, True]
    assert pa.array(together(words).contains_many(words)).null_count == 1
    for keys in (pd.Series(["a", None, "c"]), pd.Series(["a", float("nan"), "c"], dtype=object)):
        seen = together(keys)
        assert seen == one_by_one(["a", "c"])
        assert seen.contains_many(keys).tolist() == [True, False, True]
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    assert together(masked) == one_by_one([1, 3])
    assert together(masked).contains_many(masked).tolist() == [True, False, True]
    times = np.array(["2000-01-01", "NaT"], "M8[D]")
    assert together(times) == one_by_one([10957])
    assert together(times).contains_many(times).tolist() == [True, False]
    with pytest.raises(eb.KeyTypeError, match="row 1"):
        together([1, None])
    assert together([1, None], nulls="skip") == one_by_one([1])
    assert together([1, 3]).contains_many([1, None, 3, None], nulls="skip") == [True, False, True, False]
    assert not together(pa.nulls(5))
    with pytest.raises(eb.ParameterError, match="'skip' or 'error'"):
        together([1], nulls="drop")


def test_a_null_of_a_dictionary_is_a_null() -> None:
    keys = pa.DictionaryArray.from_arrays(pa.array([0, 1, None, 1]), pa.array(["a", None]))
    assert together(keys) == one_by_one(["a"])
    assert together(keys).contains_many(keys).to_pylist() == [True, None, None, None]


def test_dates_times_truths_and_fixed_bytes() -> None:
    days = pa.array([0, 10957], pa.date32())
    assert together(days) == one_by_one([0, 10957])
    for unit in ("s", "ms", "us", "ns"):
        stamps = pa.array([0, 86400], pa.timestamp(unit, "Europe/Rome"))
        assert together(stamps) == one_by_one([0, 86400])
        assert together(np.array([0, 86400], f"M8[{unit}]")) == one_by_one([0, 86400])
        assert together(pa.array([5], pa.duration(unit))) == one_by_one([5])
    assert together(pa.array([True, False, True])) == one_by_one([True, False, True])
    assert together(np.array([True, False])) == one_by_one([1, 0])
    fixed = [b"ab\0", b"\0\0\0"]
    assert together(pa.array(fixed, pa.binary(3))) == one_by_one(fixed)
    assert together(np.array(fixed, "V3")) == one_by_one(fixed)
    # NumPy's own byte strings end before trailing zeros, also when they are taken out one by one.
    assert together(np.array(fixed)) == one_by_one(np.array(fixed).tolist()) == one_by_one([b"ab", b""])


def test_zero_length_is_no_key() -> None:
    for keys in (
        [],
        np.array([], "i8"),
        np.array([], "S5"),
        np.array([], "U5"),
        np.array([], "M8[s]"),
        pa.array([], pa.string()),
        pa.array([], pa.int64()),
        pa.array([], pa.string_view()),
        pa.array([], pa.dictionary(pa.int8(), pa.string())),
        pa.chunked_array([], pa.string()),
        pl.Series([], dtype=pl.String),
        pd.Series([], dtype=object),
        array.array("q"),
    ):
        seen = together(keys)
        assert not seen
        assert len(seen.contains_many(keys)) == 0
    assert together(np.array(["", "a"])) == one_by_one(["", "a"])
    assert together(np.array(["", ""])) == one_by_one(["", ""])


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        (np.array([1.5]), "floats"),
        (np.array([1j]), "floats"),
        (np.array([[1, 2]]), "2 dimensions"),
        (np.array(7), "0 dimensions"),
        (np.array([(1, 2)], "i4,i4"), "holds no keys"),
        (pa.array([1.5]), "floats"),
        (pa.array([[1]]), "hold no keys"),
        (pa.table({"a": [1], "b": [2]}), "several columns"),
        (pd.DataFrame({"a": [1], "b": [2]}), "several columns"),
        (pl.Series([1.5]), "floats"),
        (array.array("d", [1.5]), "floats"),
        ("text", "one key"),
        (b"bytes", "one key"),
        (bytearray(b"x"), "one key"),
        (7, "holds no keys"),
        (None, "holds no keys"),
        ([1.5], "float"),
        ([object()], "object is no key"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_holds_no_keys_is_refused(keys: Any, words: str) -> None:
    seen = eb.Bloom(10, 0.01)
    for call in (seen.add_many, seen.contains_many, seen.insert_many):
        with pytest.raises(eb.KeyTypeError, match=words) as refused:
            call(keys)
        assert isinstance(refused.value, TypeError) and refused.value.remedy
    assert not seen


def test_surrogates_in_arrays_are_refused() -> None:
    with pytest.raises(eb.KeyValueError, match="surrogate"):
        together(np.array(["\ud800"]))


def test_an_error_of_an_iterator_is_its_own() -> None:
    def keys() -> Any:
        yield 1
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        together(keys())


@pytest.mark.parametrize("slug", ["bloom", "blocked", "split-block", "counting", "banked", "two-choices", "ribbon"])
def test_many_keys_on_all_cores_give_the_same_file(slug: str) -> None:
    n = 300_000
    numbers = np.arange(n) * 7919
    words = pa.array([f"key {i}" for i in range(n)])
    for keys, objects in ((numbers, numbers.tolist()), (words, words.to_pylist())):
        whole = eb.build(slug, keys, 0.01)
        assert whole == eb.build(slug, objects, 0.01)
        assert np.asarray(whole.contains_many(keys)).all()
        if "insert" in whole.abilities:
            added = eb.create(slug, n, 0.01)
            added.add_many(keys)
            assert added == whole
    others = whole.contains_many(pa.array([f"other {i}" for i in range(n)]))
    assert 0.001 < np.asarray(others).mean() < 0.02


def test_insert_many_tells_what_was_new() -> None:
    seen = eb.Bloom(1000, 1e-6)
    assert seen.insert_many(np.array([1, 2, 1])).tolist() == [True, True, False]
    assert seen.insert_many(pa.array([2, None, 3])).to_pylist() == [False, None, True]
    pairs = eb.Iblt(100, 0.001)
    pairs.insert_many(["a", "b"], ["1", "2"])
    assert pairs.get_many(["a", "b", "c"]) == [b"1", b"2", None]
    assert pairs.get_many(pa.array(["b", None, "c"])).to_pylist() == [b"2", None, None]
    with pytest.raises(eb.ParameterError, match="as many as keys"):
        pairs.insert_many(["x", "y"], ["1"])


def test_counts_are_numbers() -> None:
    words = eb.CountMin(1000, 1e-6)
    words.add_many(["a", "b", "a"])
    assert words.count_many(["a", "b", "c"]) == [2, 1, 0]
    counts = words.count_many(np.array(["a", "c"]))
    assert counts.dtype == np.uint64 and counts.tolist() == [2, 0]
    counts = words.count_many(pa.array(["a", None]))
    assert counts.type == pa.uint64() and counts.to_pylist() == [2, None]
    signed = eb.create("count-min", 1000, 1e-6, form="signed")
    signed.add("a")
    signed.remove_many(["b", "b"])
    assert signed.count_many(np.array(["a", "b"])).dtype.kind in "iu"


def test_numpy_is_not_needed() -> None:
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import everbloom as eb\n"
        "seen = eb.Bloom(100, 0.001); seen.add_many(['a', 1]); seen.add_many(range(3))\n"
        "import array; found = seen.contains_many(array.array('q', [1, 7]))\n"
        "assert found.tolist() == [True, False]\n"
        "assert seen.contains_many(['a']) == [True]\n"
        "assert not any(name.split('.')[0] in ('pyarrow', 'polars', 'pandas') for name in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_filters_with_functions_take_keys_one_by_one() -> None:
    seen = eb.Bloom(100, 0.01, lambda key: int(key) + 1)
    seen.add_many([1.5, "2"])
    assert seen.contains_many([1, 2.5]) == [True, True]
    with pytest.raises(eb.KeyTypeError, match=r"list\(keys\)"):
        seen.add_many(np.arange(3))


def test_an_arrow_capsule_is_taken_once() -> None:
    class Once:
        def __init__(self) -> None:
            self.capsules = pa.array([1, 2]).__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return self.capsules

    once = Once()
    assert together(once) == one_by_one([1, 2])
    with pytest.raises(eb.KeyTypeError, match="taken already"):
        together(once)


def test_memory_comes_back() -> None:
    import gc
    import resource

    seen = eb.Blocked(1000, 0.01)
    keys, words = np.arange(100_000), pa.array([f"{i}" for i in range(100_000)])

    def work() -> int:
        for _ in range(50):
            seen.contains_many(keys)
            seen.contains_many(words)
            seen.add_many(words)
        gc.collect()
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    work()
    before = work()
    assert work() - before < 20_000
    assert pa.total_allocated_bytes() < 100 << 20
