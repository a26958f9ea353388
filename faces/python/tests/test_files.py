"""Files: the command, Rust and Python write the same bytes and give the same answers."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import everbloom as eb

ROOT = Path(__file__).resolve().parents[3]


def command(*typed: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command that was built beside the wheel, or the one inside it."""
    binary = os.environ.get("EVERBLOOM") or str(ROOT / "target/debug/everbloom")
    run = [binary] if Path(binary).exists() else [sys.executable, "-m", "everbloom"]
    return subprocess.run([*run, *typed], cwd=folder, capture_output=True, text=True, timeout=300)


PLAIN = [
    entry["slug"]
    for entry in eb.catalog()
    if entry["kind"] == "filter"
    and entry["input"] == {"key": "bytes", "value": "none", "negatives": "no"}
    and "hostile-only" not in entry["needs"]
]


@pytest.mark.parametrize("slug", PLAIN)
def test_python_and_the_command_write_the_same_file(slug: str, tmp_path: Path) -> None:
    lines = [key.decode() for key, _ in eb.sample(slug, 300)]
    (tmp_path / "keys").write_text("".join(line + "\n" for line in lines))
    done = command("build", "keys", "-o", "c.evb", "--kind", slug, "-n", "300", "-p", "0.01", "-q", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    ours = eb.build(slug, lines, 0.01, expected_items=300)
    assert ours.to_bytes() == (tmp_path / "c.evb").read_bytes()


def test_integers_are_values_for_both(tmp_path: Path) -> None:
    numbers = [0, 42, 2**63, 2**64 - 1]
    (tmp_path / "keys").write_text("".join(f"{number}\n" for number in numbers))
    done = command(
        "build", "keys", "-o", "c.evb", "--kind", "bloom", "-n", "10", "-p", "0.01", "--key-type", "u64", "-q",
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    ours = eb.Bloom(10, 0.01, key_type="u64")
    ours.update(numbers)
    assert ours.to_bytes() == (tmp_path / "c.evb").read_bytes()
    theirs = eb.open(tmp_path / "c.evb")
    # Texts are read as the command reads them.
    assert all(number in theirs and str(number) in theirs for number in numbers)
    with pytest.raises(eb.KeyValueError):
        "forty-two" in theirs  # noqa: B015


def test_the_command_answers_for_a_file_of_python(tmp_path: Path) -> None:
    seen = eb.Blocked(100, 0.001)
    seen.update(["apple", "pear"])
    seen.save(tmp_path / "seen.evb")
    (tmp_path / "queries").write_text("pear\nplum\n")
    done = command("check", "seen.evb", "queries", folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "pear\n"), done.stderr


def test_the_module_is_the_command(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "everbloom"]
    done = subprocess.run([*run, "plan", "-n", "1000", "-p", "0.01", "--json"], capture_output=True, text=True)
    assert done.returncode == 0 and '"candidates"' in done.stdout
    done = subprocess.run([*run, "check", "missing.evb", "-"], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 2 and "missing.evb" in done.stderr
    done = subprocess.run([*run, "--help"], capture_output=True, text=True)
    assert done.returncode == 0 and "Usage" in done.stdout


def test_a_mapped_file_is_not_changed_until_it_is_saved(tmp_path: Path) -> None:
    path = tmp_path / "seen.evb"
    eb.Bloom(1000, 0.01).save(path)
    before = path.read_bytes()
    mapped = eb.Bloom.open(path)
    mapped.add("apple")
    assert "apple" in mapped and path.read_bytes() == before
    mapped.save(path)
    assert "apple" in eb.open(path) and path.read_bytes() != before


def test_a_class_opens_its_own_variant_alone(tmp_path: Path) -> None:
    path = tmp_path / "seen.evb"
    eb.Counting(10, 0.01).save(path)
    assert type(eb.open(path)) is eb.Counting
    assert type(eb.Filter.open(path)) is eb.Counting
    with pytest.raises(eb.IncompatibleError, match="counting"):
        eb.Bloom.open(path)


def test_missing_forbidden_and_foreign_files_say_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as missing:
        eb.open(tmp_path / "none.evb")
    assert isinstance(missing.value, eb.Error) and missing.value.errno == 2
    assert "none.evb" in str(missing.value) and missing.value.remedy
    with pytest.raises(OSError):
        eb.Bloom(10, 0.01).save(tmp_path / "no/such/folder.evb")
    (tmp_path / "text").write_text("hello, this is no filter at all")
    with pytest.raises(eb.FormatError, match="not an everbloom filter"):
        eb.open(tmp_path / "text")
    (tmp_path / "empty").write_bytes(b"")
    with pytest.raises(eb.Error):
        eb.open(tmp_path / "empty")
    with pytest.raises(eb.Error):
        eb.open(tmp_path)


def test_lines_of_a_file_are_keys_and_a_closed_one_says_so(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(b"a\nb\n")
    seen = eb.Bloom(100, 0.01)
    with (tmp_path / "keys").open("rb") as lines:
        seen.add_many(line.rstrip(b"\n") for line in lines)
    assert "a" in seen and b"b" in seen
    with pytest.raises(ValueError, match="closed file"):
        seen.add_many(lines)


def test_keyed_filters_need_their_key(tmp_path: Path) -> None:
    secret = bytes(range(16))
    path = tmp_path / "keyed.evb"
    seen = eb.Bloom(100, 0.01, key=secret)
    seen.add("apple")
    seen.save(path)
    assert "apple" in eb.open(path, key=secret)
    assert "apple" in eb.Bloom.open(path, key=secret.hex())
    with pytest.raises(eb.SecretKeyError, match="give its key"):
        eb.open(path)
    with pytest.raises(eb.SecretKeyError):
        eb.open(path, key=bytes(16))
    with pytest.raises(eb.ParameterError):
        eb.Bloom(100, 0.01, key=b"short")
    import pickle

    with pytest.raises(eb.UnsupportedError, match="pickle"):
        pickle.dumps(seen)
