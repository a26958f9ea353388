"""What a user writes, for the type checkers: nothing here is run."""

from pathlib import Path
from typing import assert_type

import everbloom as eb

seen = eb.Bloom(1_000_000, 0.01)
assert_type(seen, eb.Bloom)
assert_type("apple" in seen, bool)
assert_type(seen.insert("apple"), bool)
assert_type(seen | seen, eb.Bloom)
assert_type(seen.copy(), eb.Bloom)
assert_type(eb.Bloom.open(Path("seen.evb")), eb.Bloom)
assert_type(seen.approx_items, float)
assert_type(seen.query("apple"), eb.Answer)
assert_type(seen.query("apple").count, int | float | None)
seen |= eb.Bloom(1_000_000, 0.01, memory=None, k=7)
seen.update(["a"], range(3), seen)
seen.save("seen.evb")

colors = eb.Bloomier({"lime": "green"}, 0.001)
assert_type(colors.get("lime"), bytes | None)
assert_type(colors.get("lime", "none"), bytes | str)

top = eb.TopK(k=3)
for key, answer in top.list():
    assert_type(key, bytes)
    assert_type(answer, eb.Answer)

assert_type(eb.create("stable", 1000, 0.01, form="standard"), eb.Filter)
assert_type(eb.build("ribbon", ["a", "b"]), eb.Filter)
assert_type(eb.plan(1000, 0.01, needs=["delete"]).best.create(), eb.Filter)
assert_type(eb.open("users.parquet", column="user").row_groups(7), list[int])

try:
    eb.open("none.evb")
except eb.MissingFileError as error:
    assert_type(error.remedy, str)
    assert_type(error.field, str | None)
