"""The types that checkers see are those that are there."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import everbloom as eb
from everbloom import _everbloom

HERE = Path(__file__).resolve().parent
STUB = Path(eb.__file__).parent / "_everbloom.pyi"


def check(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=HERE.parent, capture_output=True, text=True)
    if "No module named" in done.stderr:
        pytest.skip(f"{command[0]} is not installed")
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_is_content() -> None:
    check("mypy", "--strict", "--python-executable", sys.executable, str(HERE / "typed.py"))


def test_pyright_is_content() -> None:
    check("pyright", "--pythonpath", sys.executable, str(HERE / "typed.py"))


def test_stubs_name_everything_and_nothing_else() -> None:
    tree = ast.parse(STUB.read_text())
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    public = {name for name in vars(_everbloom) if not name.startswith("__")}
    assert set(classes) | set(functions) == public
    for name, node in classes.items():
        cls = getattr(_everbloom, name)
        stated = {part.name: part for part in node.body if isinstance(part, ast.FunctionDef)}
        own = {part for part, value in vars(cls).items() if not part.startswith("__")}
        assert {part for part in stated if not part.startswith("__")} == own, name
        for part, function in stated.items():
            found = getattr(cls, part, None)
            assert found is not None, (name, part)
            if not part.startswith("__") and callable(found):
                assert arguments(function) == list(inspect.signature(found).parameters), (name, part)
    for name, node in functions.items():
        if not name.startswith("_"):
            assert arguments(node) == list(inspect.signature(getattr(_everbloom, name)).parameters), name


def arguments(node: ast.FunctionDef) -> list[str]:
    args = node.args
    names = [arg.arg for arg in (*args.posonlyargs, *args.args)]
    names += [args.vararg.arg] if args.vararg else []
    names += [arg.arg for arg in args.kwonlyargs]
    names += [args.kwarg.arg] if args.kwarg else []
    return [name for name in names if name not in ("cls",)]


def test_everything_public_is_explained() -> None:
    for name in eb.__all__:
        thing = getattr(eb, name)
        if name.startswith("__"):
            continue
        assert thing.__doc__, name
        if inspect.isclass(thing) and issubclass(thing, eb.Filter):
            for part, value in vars(thing).items():
                assert part.startswith("_") or value.__doc__, (name, part)
