"""Everbloom beside other Python packages, in one run: medians of interleaved rounds, nanoseconds per key.

    cargo build --release -p everbloom-python-baseline
    python bench.py [KEYS] [ROUNDS]

Ratios below 1 say that Everbloom is faster. A rival that is not installed is left out, which is said.
"""

from __future__ import annotations

import contextlib
import gc
import importlib.metadata
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import everbloom as eb

RATE = 0.01
BASELINE = Path(__file__).parent / "target/release/everbloom-python-baseline"
MASK = 2**64 - 1
Row = tuple[str, str, str]
times: dict[Row, list[float]] = {}


def number(i: int) -> int:
    return i * 0x9E3779B97F4A7C15 & MASK


def text(i: int) -> str:
    return f"user-{i * 7919}"


def measure(what: str, kind: str, who: str, n: int, work: Callable[[], Any]) -> None:
    """One round of some work on n keys."""
    gc.collect()
    gc.disable()
    start = time.perf_counter_ns()
    work()
    took = time.perf_counter_ns() - start
    gc.enable()
    times.setdefault((what, kind, who), []).append(took / n)


def adding(add: Callable[[Any], Any], keys: list[Any]) -> Callable[[], None]:
    def work() -> None:
        for key in keys:
            add(key)

    return work


def asking(filter: Any, keys: list[Any]) -> Callable[[], None]:
    def work() -> None:
        for key in keys:
            key in filter  # noqa: B015

    return work


def rivals(n: int) -> dict[str, tuple[Callable[[], Any], Callable[[Any], Any], Callable[[Any, list[Any]], Any] | None]]:
    """Name → an empty filter, its add, and its way to add a list."""
    found: dict[str, Any] = {
        "everbloom Bloom": (lambda: eb.Bloom(n, RATE), lambda f: f.add, lambda f, keys: f.update(keys)),
        "everbloom Blocked": (lambda: eb.Blocked(n, RATE), lambda f: f.add, lambda f, keys: f.update(keys)),
    }
    try:
        import rbloom

        found["rbloom"] = (lambda: rbloom.Bloom(n, RATE), lambda f: f.add, lambda f, keys: f.update(keys))
    except ImportError:
        print("rbloom is not installed")
    try:
        import pybloomfilter

        found["pybloomfilter3"] = (
            lambda: pybloomfilter.BloomFilter(n, RATE),
            lambda f: f.add,
            lambda f, keys: f.update(keys),
        )
    except ImportError:
        print("pybloomfilter3 is not installed")
    try:
        import fastbloom_rs

        class Fast:
            """Its calls have a name for each type of key."""

            def __init__(self) -> None:
                self.inner = fastbloom_rs.BloomFilter(n, RATE)
                self.add = self.inner.add

            def __contains__(self, key: Any) -> bool:
                return self.inner.contains(key)

        def many(f: Fast, keys: list[Any]) -> None:
            if isinstance(keys[0], str):
                f.inner.add_str_batch(keys)
            else:
                f.inner.add_int_batch(keys)

        found["fastbloom-rs"] = (Fast, lambda f: f.add, many)
    except ImportError:
        print("fastbloom-rs is not installed")
    try:
        import probables

        found["pyprobables"] = (lambda: probables.BloomFilter(n, RATE), lambda f: f.add, None)
    except ImportError:
        print("pyprobables is not installed")
    return found


# Keys that the slow ones are tried with at most.
FEW = {"pyprobables": 20_000}


def single_and_lists(n: int) -> None:
    # Integers that every rival takes: fastbloom-rs has signed ones of 64 bits.
    ints = {True: [number(i) >> 2 for i in range(n)], False: [number(i) >> 2 for i in range(n, 2 * n)]}
    strs = {True: [text(i) for i in range(n)], False: [text(i) for i in range(n, 2 * n)]}
    for kind, keys in (("int", ints), ("str", strs)):
        for who, (make, add, add_list) in rivals(n).items():
            if who == "pyprobables" and kind == "int":
                continue
            few = FEW.get(who, n)
            members, others = keys[True][:few], keys[False][:few]
            filter = make()
            try:
                add(filter)(members[0])
            except (TypeError, OverflowError, ValueError):
                continue
            filter = make()
            measure("add, one by one", kind, who, few, adding(add(filter), members))
            measure("in, one by one", kind, who, few, asking(filter, others))
            if add_list is not None:
                filter = make()
                measure("add a list", kind, who, few, lambda: add_list(filter, members))
            if who.startswith("everbloom"):
                measure("contains of a list", kind, who, few, lambda: filter.contains_many(others))
            elif who != "pyprobables":
                measure("contains of a list", kind, who, few, lambda: [key in filter for key in others])


def arrays(n: int) -> None:
    import numpy as np
    import pyarrow as pa

    indices = np.arange(2 * n, dtype=np.uint64)
    numbers = indices * np.uint64(0x9E3779B97F4A7C15)
    words = pa.array([text(i) for i in range(2 * n)])
    for name in ("Bloom", "Blocked"):
        for kind, keys in (("int", numbers), ("str", words)):
            filter = getattr(eb, name)(n, RATE)
            measure("add an array", kind, f"everbloom {name}", n, lambda: filter.add_many(keys[:n]))
            measure("contains of an array", kind, f"everbloom {name}", n, lambda: filter.contains_many(keys[n:]))
    if not BASELINE.exists():
        return
    done = subprocess.run([str(BASELINE), str(n)], capture_output=True, text=True, check=True)
    for name, kinds in json.loads(done.stdout).items():
        for kind, calls in kinds.items():
            times.setdefault(("add an array", kind, f"Rust {name}"), []).append(calls["add"])
            times.setdefault(("contains of an array", kind, f"Rust {name}"), []).append(calls["contains"])


def opening(size: int, rounds: int) -> list[float]:
    """Milliseconds to open a file of so many bytes by mapping it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "large.evb")
        eb.Blocked(expected_items=size, memory=size).save(path)
        took = []
        for _ in range(rounds):
            start = time.perf_counter_ns()
            opened = eb.open(path, verify=False)
            took.append((time.perf_counter_ns() - start) / 1e6)
            assert "absent" not in opened
        return took


def median(row: Row) -> float | None:
    return statistics.median(times[row]) if row in times else None


def ratio(ours: float | None, theirs: float | None) -> str:
    return "–" if ours is None or theirs is None else f"{ours / theirs:.2f}"


def cell(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def machine() -> str:
    """Where this ran."""
    name = platform.machine()
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        name = next((line.split(": ")[1] for line in lines if line.startswith("model name")), name)
    packages = []
    for package in ("rbloom", "pybloomfilter3", "fastbloom-rs", "pyprobables", "numpy", "pyarrow"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            packages.append(f"{package} {importlib.metadata.version(package)}")
    return f"{name}, {os.cpu_count()} cores; Python {platform.python_version()}, {', '.join(packages)}"


def report(n: int, rounds: int) -> None:
    names = [who for (_, _, who) in times if not who.startswith("Rust")]
    names = list(dict.fromkeys(names))
    print(machine())
    print(
        f"medians of {rounds} interleaved rounds, nanoseconds per key, false-positive rate {RATE}; {n} keys in arrays, "
        f"{n // 5} one by one and in lists, {FEW['pyprobables']} with pyprobables\n"
    )
    print("| | keys | " + " | ".join(names) + " | Bloom / rbloom |")
    print("|---|---|" + "---:|" * (len(names) + 1))
    for what in ("add, one by one", "in, one by one", "add a list", "contains of a list"):
        for kind in ("int", "str"):
            values = [cell(median((what, kind, who))) for who in names]
            quotient = ratio(median((what, kind, "everbloom Bloom")), median((what, kind, "rbloom")))
            print(f"| {what} | {kind} | " + " | ".join(values) + f" | {quotient} |")
    print("\n| arrays on all cores | keys | everbloom | Rust library | ratio |\n|---|---|---:|---:|---:|")
    for name in ("Bloom", "Blocked"):
        for what in ("add an array", "contains of an array"):
            for kind, source in (("int", "NumPy uint64"), ("str", "Arrow string")):
                ours, theirs = median((what, kind, f"everbloom {name}")), median((what, kind, f"Rust {name}"))
                print(f"| {name}: {what} | {source} | {cell(ours)} | {cell(theirs)} | {ratio(ours, theirs)} |")


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    for _ in range(rounds):
        single_and_lists(n // 5)
        arrays(n)
    report(n, rounds)
    took = opening(1 << 30, 5)
    print(f"\nOpening a file of 1 GiB by mapping it (verify=False): {statistics.median(took):.2f} ms")


if __name__ == "__main__":
    main()
