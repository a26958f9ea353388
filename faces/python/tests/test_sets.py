"""Filters beside sets: what they share means the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import everbloom as eb

keys = st.one_of(
    st.integers(-(2**127), 2**128 - 1),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.binary(),
    st.booleans(),
    st.uuids(),
    st.ip_addresses(),
    st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.integers(-9, 9)),
)
many = st.lists(keys, max_size=50)
CLASSES = [eb.Bloom, eb.Blocked, eb.SplitBlock]


@pytest.mark.parametrize("cls", CLASSES)
@given(members=many, others=many)
@settings(max_examples=50, deadline=None)
def test_a_filter_holds_at_least_what_a_set_holds(cls: type[eb.Filter], members: list, others: list) -> None:
    filter, twin = cls(200, 1e-6), cls(200, 1e-6)  # type: ignore[call-arg]
    filter.update(members)
    for key in members:
        twin.add(key)
    assert filter == twin, "one by one or together is the same"
    assert all(key in filter for key in members)
    assert filter.contains_many(members) == [True] * len(members)
    assert filter.contains_many(others) == [key in filter for key in others]
    assert bool(filter) == bool(members)
    filter.clear()
    assert not filter and filter == cls(200, 1e-6)  # type: ignore[call-arg]


@pytest.mark.parametrize("cls", CLASSES)
@given(one=many, other=many)
@settings(max_examples=50, deadline=None)
def test_operators_are_those_of_sets(cls: type[eb.Filter], one: list, other: list) -> None:
    a, b, both = (cls(200, 1e-6) for _ in range(3))  # type: ignore[call-arg]
    a.update(one)
    b.update(other)
    both.update(one, other)
    assert a | b == b | a == both == a.union(other) == a.union(b)
    assert a <= a | b and b <= a | b and a | b >= a
    assert (a < a) is False and a <= a and a >= a and a.issubset(a)
    assert a & b <= a and a & b <= b
    assert a.intersection(other) == a & b
    united = a.copy()
    united |= b
    assert united == both
    united &= a
    assert united == both & a
    assert a.issuperset(one) and (a | b).issuperset(b)
    assert set(one) >= {key for key in one if key in a}


def test_updates_take_whatever_can_be_iterated() -> None:
    seen = eb.Bloom(1000, 0.001)
    seen.update(["a"], {"b"}, ("c",), {"d": 1}, (key for key in "ef"), range(3), iter([b"g"]))
    assert all(key in seen for key in ["a", "b", "c", "d", "e", "f", 0, 1, 2, b"g"])
    with pytest.raises(eb.KeyTypeError, match="one key"):
        seen.update("abc")
    with pytest.raises(eb.KeyTypeError, match="holds no keys"):
        seen.update(7)


def test_arguments_are_those_of_rbloom() -> None:
    import hashlib

    def function(key: object) -> int:
        return int.from_bytes(hashlib.sha256(repr(key).encode()).digest()[:16], "big", signed=True)

    seen = eb.Bloom(100, 0.01, function)
    seen.add(3.5)
    seen.update([frozenset("a"), 2.5])
    assert 3.5 in seen and 2.5 in seen and 4.5 not in seen
    assert seen.hash_func is function and seen.copy().hash_func is function
    assert seen.approx_items == pytest.approx(3, abs=0.5)
    assert eb.Bloom(expected_items=100, false_positive_rate=0.01).size_in_bits >= 900
    with pytest.raises(eb.KeyTypeError, match="hash_func"):
        eb.Bloom(100, 0.01).add(frozenset("a"))
    with pytest.raises(eb.ParameterError, match="hash_func"):
        eb.Bloom(100, 0.01, 7)  # type: ignore[arg-type]
    with pytest.raises(eb.KeyTypeError, match="must return an int"):
        eb.Bloom(100, 0.01, str).add("a")  # type: ignore[arg-type]


def test_what_hash_func_raises_is_raised() -> None:
    def function(key: object) -> int:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        eb.Bloom(100, 0.01, function).add("a")


def test_filters_of_other_shapes_do_not_merge() -> None:
    with pytest.raises(eb.IncompatibleError, match="differ in") as refused:
        eb.Bloom(100, 0.01) | eb.Bloom(1000, 0.01)
    assert refused.value.kind == "Incompatible" and isinstance(refused.value, ValueError)
    with pytest.raises(eb.IncompatibleError):
        eb.Bloom(100, 0.01).merge(eb.Blocked(100, 0.01))
    with pytest.raises(TypeError):
        eb.Bloom(100, 0.01) | {"a"}  # type: ignore[operator]
    assert eb.Bloom(100, 0.01) != eb.Bloom(1000, 0.01)
    assert eb.Bloom(100, 0.01) != "a filter"
    with pytest.raises(TypeError, match="unhashable"):
        hash(eb.Bloom(100, 0.01))


def test_a_filter_may_take_itself() -> None:
    seen = eb.Bloom(100, 0.01)
    seen.update("abc".split("b"))
    before = seen.copy()
    seen |= seen
    seen &= seen
    assert seen == before and seen <= seen


def test_counting_filters_count() -> None:
    counts = eb.Counting(100, 0.001)
    counts.update(["a", "a", "b"])
    assert (counts.count("a"), counts.count("b"), counts.count("c")) == (2, 1, 0)
    counts.remove("a")
    assert counts.query("a").count == 1
    counts.remove("a")
    with pytest.raises(KeyError) as refused:
        counts.remove("a")
    assert isinstance(refused.value, eb.NotDeletableError) and refused.value.remedy
    counts.discard("a")
    counts.remove_many(["b"])
    assert not counts and counts == eb.Counting(100, 0.001)


def test_classes_and_create_make_the_same() -> None:
    for cls in (eb.Bloom, eb.Blocked, eb.Counting, eb.Cuckoo, eb.Scalable, eb.CountMin, eb.HyperLogLog, eb.Stable):
        made = cls(expected_items=1000, false_positive_rate=0.01)
        assert type(eb.create(made.slug, 1000, 0.01)) is cls
        assert made == eb.create(made.slug, 1000, 0.01)
    assert type(eb.create("two-choices", 100, 0.01)) is eb.Filter
    words = ["apple", "pear"]
    assert eb.Ribbon(words, 0.01) == eb.build("ribbon", words, 0.01)
    assert type(eb.build("binary-fuse", words)) is eb.BinaryFuse
    colors = {"lime": "green", "plum": "blue"}
    assert eb.Bloomier(colors, 0.01) == eb.Bloomier(list(colors.items()), 0.01)


def test_a_subclass_is_one() -> None:
    class Seen(eb.Bloom):
        def twice(self, key: str) -> bool:
            return not self.insert(key)

    seen = Seen(100, 0.01)
    assert not seen.twice("a") and seen.twice("a") and isinstance(seen, eb.Filter)


def test_plans_rank_and_make() -> None:
    plan = eb.plan(1_000_000, 0.01)
    assert plan.best is plan.candidates[0] and len(plan) > 20
    assert plan.best.bits_per_item < 12 and "<table>" in plan._repr_html_()
    for candidate in eb.plan(1000, 0.01, needs=["delete", "merge"]):
        made = candidate.create()
        assert {"remove", "merge"} <= made.abilities and made.form == candidate.form
    static = eb.plan(1000, 0.01, needs=["static"]).best
    assert static.built_once and "a" in static.build(["a", "b"])
    assert eb.plan(1000, memory=2000).best.fpr < 0.01
    assert eb.plan(memory=2000, false_positive_rate=0.01).best.items > 1000
    assert eb.plan(1000, 0.01, kind="bloom").best.slug == "bloom"
    with pytest.raises(eb.ParameterError, match="how many items"):
        eb.plan()
    with pytest.raises(eb.ParameterError, match="needs are"):
        eb.plan(10, needs=["speed"])


def test_parameters_are_refused_by_name() -> None:
    cases = [
        (lambda: eb.Bloom(100, 2.0), "rate"),
        (lambda: eb.Bloom(-1, 0.01), "expected_items"),
        (lambda: eb.Bloom("many", 0.01), "expected_items"),
        (lambda: eb.Bloom(2**70, 0.01), "expected_items"),
        (lambda: eb.Bloom(100, 0.01, k=0), "k"),
        (lambda: eb.Bloom(100, 0.01, depth=3), "depth"),
        (lambda: eb.Blocked(100, 0.01, form="round"), "form"),
        (lambda: eb.Bloom(100, 0.01, k=[1]), "k"),
        (lambda: eb.Bloom(100, 0.01, seed=1, key=bytes(16)), "seed"),
        (lambda: eb.Bloom(100, 0.01, key_type="i8"), "key_type"),
    ]
    for call, field in cases:
        with pytest.raises(eb.ParameterError) as refused:
            call()
        assert isinstance(refused.value, ValueError)
        assert refused.value.kind == "BadParameter" and field in str(refused.value), str(refused.value)
    with pytest.raises(eb.ParameterError, match="did you mean bloom"):
        eb.create("blom", 100)
    with pytest.raises(eb.UnsupportedError, match="everbloom.build"):
        eb.create("ribbon", 100, 0.01)
    with pytest.raises(eb.UnsupportedError, match="technique"):
        eb.create("keyed", 10)
    assert eb.Bloom(1e3, 0.01) == eb.Bloom(1000, 0.01)
    assert eb.Bloom(1000, memory=2000).size_in_bits <= 16000 + 64 * 8


def test_out_of_memory_is_an_exception() -> None:
    with pytest.raises(MemoryError) as refused:
        eb.Bloom(2**40, 0.001)
    assert isinstance(refused.value, eb.Error) and refused.value.kind == "OutOfMemory"


def test_a_full_filter_refuses() -> None:
    small = eb.Cuckoo(10, 0.01)
    with pytest.raises(eb.FullError, match="row") as refused:
        small.add_many(range(10_000))
    assert refused.value.remedy
    assert 0 in small
