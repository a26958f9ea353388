"""The exceptions of Everbloom: what went wrong, where, and what to do about it."""

from __future__ import annotations

import os


class Error(Exception):
    """Base of all exceptions of this package.

    Each one is a built-in exception too, so that code that knows nothing of Everbloom catches it: a missing file is
    a ``FileNotFoundError``, a bad number a ``ValueError``.
    """

    kind: str = "Internal"
    """What went wrong, for code that decides what to do next: ``"Corrupt"``, ``"Unsupported"``, …"""
    field: str | None = None
    """The argument at fault, where there is one."""
    value: str | None = None
    """What that argument was."""
    remedy: str = ""
    """What to do about it."""

    def __str__(self) -> str:
        # Not as KeyError and OSError print themselves.
        return str(self.args[0]) if self.args else type(self).__name__


class FormatError(Error, ValueError):
    """The bytes are no filter that this version reads."""


class CorruptError(Error, ValueError):
    """The bytes are damaged or end too early."""


class LimitError(Error, ValueError):
    """The filter exceeds a limit."""


class IncompatibleError(Error, ValueError):
    """Two filters differ where they must agree."""


class FullError(Error, ValueError):
    """The filter is full and cannot grow."""


class SecretKeyError(Error, ValueError):
    """The filter is keyed, and its key was not given, or is another."""


class ParameterError(Error, ValueError):
    """No filter has these parameters."""


class RecordError(Error, ValueError):
    """The filter cannot take this key or value."""


class KeyTypeError(Error, TypeError):
    """An object of this type is no key."""


class KeyValueError(Error, ValueError):
    """An object of the right type that is no key all the same: text without UTF-8, an integer beyond 128 bits."""


class NotDeletableError(Error, KeyError):
    """Removing the key would remove another one too."""


class UndecidableError(Error, ValueError):
    """More than one answer is possible: an ambiguous key, a difference that is too large to decode."""


class UnsupportedError(Error, TypeError):
    """Filters of this variant or form cannot do that."""


class OutOfMemoryError(Error, MemoryError):
    """The system does not give so much memory."""


class BusyError(Error, OSError):
    """Another process is changing the file."""


class SystemFailure(Error, OSError):
    """The operating system refused."""


class MissingFileError(Error, FileNotFoundError):
    """The file does not exist."""


class ForbiddenError(Error, PermissionError):
    """The operating system does not permit it."""


class InternalError(Error, RuntimeError):
    """A fault of Everbloom itself. Please report it."""


_CLASSES: dict[str, type[Error]] = {
    "NotOurs": FormatError,
    "UnsupportedVersion": FormatError,
    "UnsupportedFeature": FormatError,
    "Corrupt": CorruptError,
    "Truncated": CorruptError,
    "LimitExceeded": LimitError,
    "Incompatible": IncompatibleError,
    "CapacityExceeded": FullError,
    "KeyMissing": SecretKeyError,
    "BadParameter": ParameterError,
    "BadRecord": RecordError,
    "BadKeyType": KeyTypeError,
    "BadKeyValue": KeyValueError,
    "NotDeletable": NotDeletableError,
    "Ambiguous": UndecidableError,
    "Undecodable": UndecidableError,
    "Unsupported": UnsupportedError,
    "OutOfMemory": OutOfMemoryError,
    "Busy": BusyError,
    "Io": SystemFailure,
}

_REMEDIES: dict[str, str] = {
    "NotOurs": "name the format of another program's file with format=; everbloom.formats() lists them",
    "UnsupportedVersion": "update everbloom",
    "UnsupportedFeature": "update everbloom",
    "Corrupt": "restore the file from a copy, or build the filter again",
    "Truncated": "restore the file from a copy, or build the filter again",
    "LimitExceeded": "read a smaller file, or one that you trust",
    "Incompatible": "build both filters with the same arguments",
    "CapacityExceeded": "build a larger filter, or one that grows: everbloom.Scalable",
    "KeyMissing": "give the secret key that the filter was built with as key=",
    "BadParameter": "change the argument that the message names",
    "BadRecord": "give keys and values as everbloom.catalog() describes them for this variant",
    "BadKeyType": "convert the key, or give the filter a hash_func that makes an int of it",
    "BadKeyValue": "convert the key to bytes",
    "NotDeletable": "remove only keys that were added",
    "Ambiguous": "say which one is meant",
    "Undecodable": "build both filters for a larger difference",
    "Unsupported": "choose another variant: everbloom.plan(needs=…) ranks those that can",
    "OutOfMemory": "build a smaller filter, or give a higher false_positive_rate",
    "Busy": "try again when the other process has finished",
    "Io": "check the path and its permissions",
}

# They are named as users know them, in tracebacks and in pickles.
for _class in {Error, InternalError, MissingFileError, ForbiddenError, *_CLASSES.values()}:
    _class.__module__ = "everbloom"

# What the system's refusals are in Python, where code asks for them.
_BY_ERRNO: dict[int, type[Error]] = {1: ForbiddenError, 2: MissingFileError, 13: ForbiddenError}


def made(
    kind: str,
    message: str,
    field: str | None = None,
    value: str | None = None,
    errno: int | None = None,
) -> Error:
    """The exception of a kind of error."""
    cls = _CLASSES.get(kind, InternalError)
    if errno is not None:
        cls = _BY_ERRNO.get(errno, cls)
    error = cls(message)
    error.kind, error.field, error.value = kind, field, value
    error.remedy = _REMEDIES.get(kind, "report it, with what you did")
    if errno is not None and isinstance(error, OSError):
        error.errno, error.strerror = errno, os.strerror(errno)
    return error
