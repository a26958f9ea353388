"""Threads share filters; a fork copies them."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import everbloom as eb


def run(*work: Any) -> None:
    failures: list[BaseException] = []

    def calm(f: Any) -> None:
        try:
            f()
        except BaseException as e:  # noqa: BLE001
            failures.append(e)

    threads = [threading.Thread(target=calm, args=(f,)) for f in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "threads stop each other"
    assert not failures, failures


@pytest.mark.parametrize("cls", [eb.Bloom, eb.Blocked, eb.Counting, eb.Scalable])
def test_two_add_while_two_ask(cls: Any) -> None:
    n = 20_000
    shared, alone = cls(4 * n, 0.001), cls(4 * n, 0.001)
    shared.add(-1)

    def add(start: int) -> None:
        shared.add_many(np.arange(start, start + n))
        for key in range(start + n, start + n + 2000):
            shared.add(key)

    def ask() -> None:
        keys = np.arange(0, 2 * n)
        for _ in range(20):
            assert -1 in shared
            shared.contains_many(keys)
            shared.predict()

    run(lambda: add(0), lambda: add(100_000), ask, ask)
    expected = [-1, *range(n + 2000), *range(100_000, 100_000 + n + 2000)]
    assert all(shared.contains_many(expected))
    if cls is not eb.Scalable:
        alone.add_many(expected)
        assert shared == alone


def test_filters_that_take_each_other_in_do_not_stop_each_other() -> None:
    a, b = eb.Bloom(1000, 0.01), eb.Bloom(1000, 0.01)
    a.update(range(100))
    b.update(range(100, 200))

    def merge(one: eb.Filter, other: eb.Filter) -> None:
        for _ in range(500):
            one.merge(other)

    run(lambda: merge(a, b), lambda: merge(b, a), lambda: merge(a, a))
    assert a == b and all(a.contains_many(range(200)))


def test_other_threads_run_while_arrays_are_worked_on() -> None:
    seen = eb.Blocked(1_000_000, 0.01)
    keys = np.arange(1_000_000)
    gate, ran = threading.Lock(), []

    def work() -> None:
        with gate:
            ran.append(True)

    gate.acquire()
    other = threading.Thread(target=work)
    other.start()
    before = sys.getswitchinterval()
    # From here on only a call that gives Python's lock away lets the other thread run.
    sys.setswitchinterval(1000)
    try:
        gate.release()
        for _ in range(1000):
            seen.contains_many(keys)
            if ran:
                break
        assert ran
    finally:
        sys.setswitchinterval(before)
        other.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_has_a_filter_of_its_own() -> None:
    seen = eb.Blocked(1_000_000, 0.001)
    seen.add_many(np.arange(500_000))
    child = os.fork()
    if child == 0:
        try:
            seen.add("child")
            fine = "child" in seen and bool(seen.contains_many(np.arange(200_000)).all())
            os._exit(0 if fine else 1)
        except BaseException:  # noqa: BLE001
            os._exit(2)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert "child" not in seen


def test_a_second_interpreter_works_or_is_refused() -> None:
    """Never a crash: interpreters with a lock of their own are not supported by pyo3."""
    code = (
        "import sys\n"
        "import everbloom\n"
        "try:\n    import _xxsubinterpreters as interpreters\n"
        "except ImportError:\n    import _interpreters as interpreters\n"
        "other = interpreters.create()\n"
        "try:\n    said = interpreters.run_string(other, f'import sys; sys.path = {sys.path}; import everbloom')\n"
        "except Exception as refused:\n    said = refused\n"
        "assert said is None or 'subinterpreters' in str(said), said\n"
        "assert 'a' not in everbloom.Bloom(10, 0.01)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
