"""Which filter for a goal?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ._errors import made
from ._everbloom import Filter, build, create, rank


@dataclass(frozen=True)
class Candidate:
    """A variant that fits a goal, and what it would cost."""

    slug: str
    form: str
    abilities: list[str]
    items: int
    """The items it holds."""
    bits: int
    """The bits of its cells."""
    bits_per_item: float
    probes: int | None
    """Probes per key, if it has a fixed number."""
    fpr: float
    """The predicted false-positive rate."""
    fnr: float
    """The predicted false-negative rate."""
    undecided: float
    """The predicted rate of undecided answers to non-members."""
    times_bound: float | None
    """Its bits as a multiple of the lower bound."""
    built_once: bool
    """Whether it is built from all its keys at once."""
    goal: dict[str, Any] = field(default_factory=dict[str, Any], repr=False)
    """The arguments that make it."""

    def create(self) -> Filter:
        """An empty filter of this candidate."""
        return create(self.slug, **self.goal)

    def build(self, records: Any) -> Filter:
        """A filter of this candidate with these records."""
        return build(self.slug, records, **self.goal)


@dataclass(frozen=True)
class Plan:
    """The variants for a goal: those that fit, best first, and why others do not."""

    candidates: list[Candidate]
    """Best first: without false negatives before others, and by what the goal leaves open."""
    sized_when_built: list[str]
    """Those whose size depends on their records."""
    refused: dict[str, str]
    """Those that do not fit, and why."""

    @property
    def best(self) -> Candidate:
        """The best candidate."""
        if not self.candidates:
            raise made("BadParameter", "no variant meets all needs within these numbers: see .refused")
        return self.candidates[0]

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self.candidates)

    def __len__(self) -> int:
        return len(self.candidates)

    def _repr_html_(self) -> str:
        names = ("slug", "form", "bits_per_item", "fpr", "fnr", "times_bound")
        head = "".join(f"<th>{name}</th>" for name in names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{_shown(getattr(row, name))}</td>" for name in names) + "</tr>"
            for row in self.candidates
        )
        return f"<table><tr>{head}</tr>{rows}</table>"


def _shown(value: object) -> str:
    return f"{value:.3g}" if isinstance(value, float) else "–" if value is None else str(value)


def plan(
    expected_items: int | None = None,
    false_positive_rate: float | None = None,
    *,
    memory: int | None = None,
    needs: Iterable[str] = (),
    kind: str | None = None,
    **settings: int | float | str,
) -> Plan:
    """Which filter, and how large? Ranks every variant that serves all needs.

    Give items and rate, items and memory (in bytes), or memory and rate. Needs are words of ``catalog()``, such as
    ``"delete"``, ``"merge"``, ``"count"``, ``"static"`` and ``"fast"``.

    >>> import everbloom
    >>> ranking = everbloom.plan(1_000_000, 0.01, needs=["delete"])
    >>> ranking.best.abilities[:2]
    ['insert', 'remove']
    >>> cache = ranking.best.create()
    >>> cache.add("page"); cache.remove("page")
    """
    if isinstance(needs, str):
        needs = [needs]
    rows, sized_when_built, refused = rank(
        expected_items, false_positive_rate, memory, list(needs), kind, settings or None
    )
    candidates: list[Candidate] = []
    for row in rows:
        goal: dict[str, Any] = {**settings, "form": row["form"], "expected_items": row["items"]}
        # Memory is what the number of items was found by, unless that was given too.
        if memory is not None and expected_items is not None:
            goal["memory"] = memory
        if memory is None or expected_items is None or false_positive_rate is not None:
            goal["false_positive_rate"] = false_positive_rate
        candidates.append(Candidate(**row, goal=goal))
    return Plan(candidates, list(sized_when_built), dict(refused))
