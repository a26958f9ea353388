"""Filters of other software, read and written beside that software."""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import everbloom as eb

probables = pytest.importorskip("probables")
rbloom = pytest.importorskip("rbloom")

WORDS = [f"word {i}" for i in range(200)]
OTHERS = [f"other {i}" for i in range(200)]


def sha(key: object) -> int:
    return int.from_bytes(hashlib.sha256(str(key).encode()).digest()[:16], "big", signed=True)


def test_rbloom_reads_what_we_write_and_we_read_what_it_writes(tmp_path: Path) -> None:
    theirs = rbloom.Bloom(200, 0.01, sha)
    theirs.update(WORDS)
    theirs.save(str(tmp_path / "theirs"))
    ours = eb.open(tmp_path / "theirs", format="rbloom")
    assert ours.format == "rbloom" and all(ours.contains_many(WORDS))
    assert ours.contains_many(OTHERS) == [word in theirs for word in OTHERS]
    ours.add("added")
    ours.save(tmp_path / "ours")
    again = rbloom.Bloom.load(str(tmp_path / "ours"), sha)
    assert "added" in again and all(word in again for word in WORDS)
    # Nothing but its length speaks for the format.
    with pytest.raises(eb.FormatError, match="rbloom"):
        eb.open(tmp_path / "theirs")
    with pytest.raises(eb.KeyTypeError, match="int is no key here"):
        7 in ours  # noqa: B015
    with pytest.raises(eb.UnsupportedError, match="no variant"):
        ours.to_filter()


def test_pyprobables_reads_what_we_write_and_we_read_what_it_writes(tmp_path: Path) -> None:
    theirs = probables.BloomFilter(200, 0.01)
    for word in WORDS:
        theirs.add(word)
    theirs.export(tmp_path / "theirs.blm")
    ours = eb.open(tmp_path / "theirs.blm", format="pyprobables")
    assert ours.contains_many(WORDS + OTHERS) == [theirs.check(word) for word in WORDS + OTHERS]
    made = eb.create_foreign("pyprobables", 200, 0.01)
    made.add_many(np.array(WORDS))
    made.save(tmp_path / "ours.blm")
    again = probables.BloomFilter(filepath=str(tmp_path / "ours.blm"))
    assert all(again.check(word) for word in WORDS)


def test_parquet_filters_tell_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "users.parquet"
    table = pa.table({"user": pa.array(range(4000), pa.int64()), "name": [f"name {i}" for i in range(4000)]})
    try:
        pq.write_table(
            table,
            path,
            row_group_size=1000,
            bloom_filter_options={"user": {"ndv": 1000, "fpp": 1e-4}, "name": {"ndv": 1000, "fpp": 1e-4}},
        )
    except TypeError:
        pytest.skip("this pyarrow writes no Bloom filters")
    with pytest.raises(eb.ParameterError, match="several columns"):
        eb.open(path)
    users = eb.open(path, column="user")
    assert users.format == "parquet" and len(users) == 4 and users.keys_as == "long"
    assert users.row_groups(2500) == [2] and 2500 in users and -1 not in users
    assert users.contains_many(np.array([0, 3999, 10**9])).tolist() == [True, True, False]
    assert eb.open(path, column="name").row_groups("name 999") == [0]
    one = eb.open(path, column="user", row_group=1)
    assert 1500 in one and 500 not in one
    ours = one.to_filter()
    assert type(ours) is eb.SplitBlock and 1500 in ours and 500 not in ours
    assert all(ours.contains_many(np.arange(1000, 2000)))


@pytest.mark.parametrize("name", [entry["name"] for entry in eb.formats() if entry["build"]])
def test_every_format_that_is_built_is_saved_and_reopened(name: str, tmp_path: Path) -> None:
    entry = next(entry for entry in eb.formats() if entry["name"] == name)
    filter = eb.create_foreign(name, 200, 0.01)
    number = filter.keys_as in ("int", "long")
    keys = list(range(100)) if number else [key.encode().hex().encode() for key in WORDS[:100]]
    filter.add_many(keys)
    assert all(filter.contains_many(keys)) and keys[0] in filter
    assert filter.parts[0]["fill"] > 0 and name in repr(filter)
    if entry["write"]:
        filter.save(tmp_path / "file")
        again = eb.open(tmp_path / "file", format=name)
        assert all(again.contains_many(keys))


def test_filters_are_exported_where_their_bits_fit(tmp_path: Path) -> None:
    column = eb.SplitBlock(200, 0.01)
    column.add_many(WORDS)
    done = 0
    for entry in eb.formats():
        if not entry["convert"]:
            continue
        try:
            column.export(entry["name"], tmp_path / "file")
        except eb.UnsupportedError as refused:
            assert "cannot" in str(refused)
            continue
        done += 1
        assert all(eb.open(tmp_path / "file", format=entry["name"]).contains_many(WORDS))
    assert done >= 1
    with pytest.raises(eb.ParameterError, match="no such format"):
        column.export("nothing", tmp_path / "file")
