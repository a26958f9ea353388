"""What is a key, and which objects are the same one."""

from __future__ import annotations

import datetime
import ipaddress
import pathlib
import struct
import uuid

import numpy as np
import pytest

import everbloom as eb


def key_bytes(key: object) -> bytes:
    """The bytes that a key is, by a filter that keeps them."""
    pairs = eb.Iblt(10, 0.001, key_bytes=255)
    pairs.insert(key, b"v")
    [(found, _)] = pairs.list()
    return found


def word(value: int) -> bytes:
    return (value % 2**64).to_bytes(8, "little")


def test_keys_are_the_bytes_that_rust_gives_them() -> None:
    assert key_bytes("aß€😀") == "aß€😀".encode()
    assert key_bytes(b"\0\xff") == key_bytes(bytearray(b"\0\xff")) == key_bytes(memoryview(b"\0\xff")) == b"\0\xff"
    assert key_bytes("") == b""
    for value in (0, 1, -1, 42, 2**63 - 1, -(2**63), 2**63, 2**64 - 1):
        assert key_bytes(value) == word(value)
    assert key_bytes(2**64) == (2**64).to_bytes(16, "little")
    assert key_bytes(2**128 - 1) == b"\xff" * 16
    assert key_bytes(-(2**63) - 1) == (-(2**63) - 1).to_bytes(16, "little", signed=True)
    assert key_bytes(True) == word(1) and key_bytes(False) == word(0)
    some = uuid.UUID("12345678-1234-5678-1234-567812345678")
    assert key_bytes(some) == some.bytes
    assert key_bytes(ipaddress.ip_address("127.0.0.1")) == bytes([127, 0, 0, 1])
    assert key_bytes(ipaddress.ip_address("::1")) == bytes(15) + b"\1"
    assert key_bytes(pathlib.PurePosixPath("/usr")) == b"/usr"
    length = struct.Struct("<Q").pack
    assert key_bytes(("ab", 1)) == length(2) + b"ab" + length(8) + word(1)
    assert key_bytes((("a",), ())) == length(9) + length(1) + b"a" + length(0)


def test_numpy_scalars_are_their_values() -> None:
    for kind in (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64):
        assert key_bytes(kind(42)) == word(42)
    assert key_bytes(np.int8(-1)) == word(-1)
    assert key_bytes(np.bool_(True)) == word(1)
    assert key_bytes(np.str_("a")) == b"a" and key_bytes(np.bytes_(b"a")) == b"a"
    assert key_bytes(np.datetime64("1970-01-02", "D")) == word(1)
    assert key_bytes(np.timedelta64(5, "s")) == word(5)


@pytest.mark.parametrize(
    ("key", "error", "words"),
    [
        (None, eb.KeyTypeError, "None"),
        (1.0, eb.KeyTypeError, "float"),
        (float("nan"), eb.KeyTypeError, "NaN"),
        (np.float64(1), eb.KeyTypeError, "float"),
        (np.float32("nan"), eb.KeyTypeError, "float"),
        ([1, 2], eb.KeyTypeError, "list is no key"),
        ({"a": 1}, eb.KeyTypeError, "dict is no key"),
        (frozenset(), eb.KeyTypeError, "hash_func"),
        (object(), eb.KeyTypeError, "object is no key"),
        (1j, eb.KeyTypeError, "complex"),
        (datetime.date(2000, 1, 1), eb.KeyTypeError, "date is no key"),
        (np.arange(3), eb.KeyTypeError, "contains_many"),
        (("a", None), eb.KeyTypeError, "None"),
        (("a", 1.5), eb.KeyTypeError, "float"),
        (2**128, eb.KeyValueError, "128 bits"),
        (-(2**127) - 1, eb.KeyValueError, "128 bits"),
        ("\ud800", eb.KeyValueError, "surrogate"),
        (("a", "\udfff"), eb.KeyValueError, "surrogate"),
    ],
    ids=repr,
)
def test_what_is_no_key_is_refused_with_a_remedy(key: object, error: type[eb.Error], words: str) -> None:
    for filter in (eb.Bloom(10, 0.01), eb.Counting(10, 0.01), eb.create("two-choices", 10, 0.01)):
        for call in (filter.add, filter.contains, filter.query, filter.insert, filter.explain):
            with pytest.raises(error, match=words) as refused:
                call(key)
            assert refused.value.remedy
        with pytest.raises(error):
            key in filter  # noqa: B015
        with pytest.raises(error):
            filter.add_many([key])
        assert not filter


def test_keys_with_parts_are_given_as_python_has_them() -> None:
    towns = eb.build("spatial", [((12.5, 41.9), 1), ([10, 59.9], 2)], 0.01)
    assert towns.query((12.5, 41.9)) and towns.query("10,59.9")
    assert towns == eb.build("spatial", [("12.5,41.9", "1"), ("10,59.9", "2")], 0.01)
    codes = eb.build("distance-sensitive", [[0, 1] * 64, "01" * 32 + "10" * 32], 0.01, length=128)
    assert codes.query(np.array([0, 1] * 64)) and codes.query("01" * 64)
    users = eb.build("ranges", [("ann", 7), ("bob", 9)], 0.01)
    assert users.query(("ann", 7)) and users.query("bob\t9")
    names = eb.build("parallel-attributes", [("Ann", "Rome"), ("Bob", "Oslo")], 0.01, attributes=2)
    assert names.query(("Ann", "Rome")) and names.query("Ann\tRome")
    with pytest.raises(eb.KeyValueError, match="TAB"):
        names.query(("Ann\t", "Rome"))


def test_values_come_as_text_or_numbers() -> None:
    values = eb.build("bloomier", {"a": 1, "b": "2", "c": b"3"}, 0.001)
    assert [values.get(key) for key in "abc"] == [b"1", b"2", b"3"]
    assert values.get("nobody", "default") in ("default", b"1", b"2", b"3")
    assert values.get_many(["a", "c"]) == [b"1", b"3"]
    counts = eb.CountMin(100, 0.01)
    counts.insert("a", 5)
    counts.insert("a")
    assert counts.count("a") == 6
    with pytest.raises(eb.ParameterError, match="value"):
        counts.insert("a", -1)
    with pytest.raises(eb.ParameterError, match="without values"):
        eb.Bloom(10, 0.01).insert("a", "b")
    changed = eb.build("bloomier", {"a": 1, "b": 2}, 0.001, form="mutable")
    changed.set("a", 2)
    assert changed.get("a") == b"2"
