"""Every example runs: in docstrings, in README.md and in the guide."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import everbloom as eb

ROOT = Path(__file__).resolve().parents[3]
PAGES = ["docs/guide/python.md", "README.md", "faces/python/README.md"]


def documented() -> list[tuple[str, str]]:
    found = [("everbloom", eb.__doc__ or "")]
    for name in eb.__all__:
        thing: Any = getattr(eb, name)
        found.append((name, getattr(thing, "__doc__", None) or ""))
        if inspect.isclass(thing):
            for part, value in vars(thing).items():
                found.append((f"{name}.{part}", getattr(value, "__doc__", None) or ""))
    return [(name, text) for name, text in found if ">>>" in text]


@pytest.mark.parametrize(("name", "text"), documented(), ids=lambda value: value.split("\n")[0][:40])
def test_examples_of_docstrings_run(name: str, text: str) -> None:
    test = doctest.DocTestParser().get_doctest(inspect.cleandoc(text), {}, name, None, None)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    runner.run(test)
    assert runner.tries > 0 and runner.failures == 0


@pytest.mark.parametrize("page", PAGES)
def test_programs_of_pages_run_as_printed(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ``python`` blocks of a page are one program each or, with ``>>>``, one session."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / page).read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert blocks, page
    names: dict[str, Any] = {}
    for number, block in enumerate(blocks):
        if ">>>" not in block:
            exec(compile(block, f"{page}, block {number}", "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(block, names, f"{page} {number}", page, 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, clear_globs=False)
        names.update(test.globs)
        assert runner.failures == 0
