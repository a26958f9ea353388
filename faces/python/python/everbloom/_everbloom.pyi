"""The compiled part of Everbloom."""

import builtins
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from typing import Any, Literal, Self, TypeAlias, TypeVar, final, overload

__version__: str

T = TypeVar("T")
Path: TypeAlias = str | PathLike[str]
# A key: str, bytes, int, bool, UUID, IP addresses, paths, tuples of these; any object for a filter with a hash_func.
Key: TypeAlias = Any
# Many keys: a list, an iterator, a NumPy array, an Arrow column, a pandas Series, a buffer.
Keys: TypeAlias = Any
HashFunc: TypeAlias = Callable[[Any], int]
Nulls: TypeAlias = Literal["skip", "error"]
Setting: TypeAlias = int | float | str

@final
class Answer:
    @property
    def verdict(self) -> Literal["present", "absent", "undecided"]: ...
    @property
    def count(self) -> int | float | None: ...
    @property
    def bound(self) -> Literal["exact", "estimate", "at least", "saturated"] | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def labels(self) -> list[bytes]: ...
    @property
    def found(self) -> list[bytes]: ...
    @property
    def score(self) -> float | None: ...
    def __bool__(self) -> bool: ...
    def __eq__(self, other: object) -> bool: ...
    def __ne__(self, other: object) -> bool: ...

@final
class Column:
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __len__(self) -> int: ...

class Filter:
    @classmethod
    def open(
        cls,
        path: Path,
        *,
        hash_func: HashFunc | None = None,
        key: bytes | str | None = None,
        mmap: bool = True,
        verify: bool = True,
    ) -> Self: ...
    @classmethod
    def from_bytes(
        cls, data: bytes | bytearray | memoryview, *, hash_func: HashFunc | None = None, key: bytes | str | None = None
    ) -> Self: ...
    @property
    def slug(self) -> str: ...
    @property
    def form(self) -> str: ...
    @property
    def abilities(self) -> frozenset[str]: ...
    @property
    def items(self) -> int: ...
    @property
    def approx_items(self) -> float: ...
    @property
    def false_positive_rate(self) -> float | None: ...
    @property
    def fill(self) -> float | None: ...
    @property
    def size_in_bits(self) -> int: ...
    @property
    def hash_func(self) -> HashFunc | None: ...
    def contains(self, key: Key) -> bool: ...
    def add(self, key: Key) -> None: ...
    def insert(self, key: Key, value: Any = None, *, time: int | None = None) -> bool: ...
    def query(self, key: Key, value: Any = None, *, time: int | None = None) -> Answer: ...
    def update(self, *others: Keys | Filter) -> None: ...
    def explain(self, key: Key) -> dict[str, Any]: ...
    def remove(self, key: Key, value: Any = None) -> None: ...
    def discard(self, key: Key) -> None: ...
    def count(self, key: Key) -> int | float: ...
    @overload
    def get(self, key: Key) -> bytes | None: ...
    @overload
    def get(self, key: Key, default: T) -> bytes | T: ...
    def age(self, ticks: int = 1) -> None: ...
    def merge(self, other: Filter) -> Self: ...
    def intersect(self, other: Filter) -> Self: ...
    def intersection_size(self, other: Filter) -> float | None: ...
    def fold(self) -> Self: ...
    def estimate(self) -> float | None: ...
    def minus(self, other: Filter) -> Self: ...
    def decode(self) -> tuple[builtins.list[int], builtins.list[int]]: ...
    def id_of(self, key: Key) -> int: ...
    def clear(self) -> None: ...
    def add_many(self, keys: Keys, *, nulls: Nulls | None = None) -> None: ...
    def contains_many(self, keys: Keys, *, nulls: Nulls | None = None) -> Any: ...
    def insert_many(self, keys: Keys, values: Iterable[Any] | None = None, *, nulls: Nulls | None = None) -> Any: ...
    def count_many(self, keys: Keys, *, nulls: Nulls | None = None) -> Any: ...
    def get_many(self, keys: Keys, *, nulls: Nulls | None = None) -> Any: ...
    def remove_many(self, keys: Keys, *, nulls: Nulls | None = None) -> None: ...
    def union(self, *others: Keys | Filter) -> Self: ...
    def intersection(self, *others: Keys | Filter) -> Self: ...
    def intersection_update(self, *others: Keys | Filter) -> None: ...
    def issubset(self, other: Filter) -> bool: ...
    def issuperset(self, other: Keys | Filter) -> bool: ...
    def copy(self) -> Self: ...
    def save(self, path: Path) -> None: ...
    def to_bytes(self) -> bytes: ...
    def export(self, format: str, path: Path) -> None: ...
    def describe(self) -> dict[str, Any]: ...
    def predict(self) -> dict[Literal["fpr", "fnr", "undecided"], float | None]: ...
    def __contains__(self, key: Key, /) -> bool: ...
    def __bool__(self) -> bool: ...
    def __or__(self, other: Filter, /) -> Self: ...
    def __and__(self, other: Filter, /) -> Self: ...
    def __sub__(self, other: Filter, /) -> Self: ...
    def __ior__(self, other: Filter, /) -> Self: ...
    def __iand__(self, other: Filter, /) -> Self: ...
    def __le__(self, other: Filter, /) -> bool: ...
    def __lt__(self, other: Filter, /) -> bool: ...
    def __ge__(self, other: Filter, /) -> bool: ...
    def __gt__(self, other: Filter, /) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    __hash__: None  # type: ignore[assignment]  # pyright: ignore[reportIncompatibleMethodOverride]
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, memo: object, /) -> Self: ...
    def __reduce__(self) -> tuple[Callable[..., Filter], tuple[bytes, HashFunc | None]]: ...
    def _repr_html_(self) -> str: ...
    # Last: above, these names are those of the built-in types.
    def list(self) -> builtins.list[tuple[bytes, Answer]]: ...
    def set(self, key: Key, value: bytes | str | int | float) -> None: ...

class Bloom(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class Blocked(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class SplitBlock(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class Counting(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class Cuckoo(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class Quotient(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class Scalable(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class Stable(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class Windowed(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class CountMin(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class HyperLogLog(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class TopK(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class Iblt(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class Invertible(Filter):
    def __new__(
        cls,
        expected_items: int | float | None = None,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        **settings: Setting,
    ) -> Self: ...

class BinaryFuse(Filter):
    def __new__(
        cls,
        records: Keys,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        nulls: Nulls | None = None,
        **settings: Setting,
    ) -> Self: ...

class Ribbon(Filter):
    def __new__(
        cls,
        records: Keys,
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        nulls: Nulls | None = None,
        **settings: Setting,
    ) -> Self: ...

class Bloomier(Filter):
    def __new__(
        cls,
        records: Mapping[Any, Any] | Iterable[tuple[Any, Any]],
        false_positive_rate: float | None = None,
        hash_func: HashFunc | None = None,
        *,
        memory: int | None = None,
        seed: int | None = None,
        key: bytes | str | None = None,
        nulls: Nulls | None = None,
        **settings: Setting,
    ) -> Self: ...

@final
class Foreign:
    @property
    def format(self) -> str: ...
    @property
    def keys_as(self) -> str: ...
    @property
    def parts(self) -> list[dict[str, Any]]: ...
    def contains(self, key: Key) -> bool: ...
    def row_groups(self, key: Key) -> list[int]: ...
    def contains_many(self, keys: Keys, *, nulls: Nulls | None = None) -> Any: ...
    def insert(self, key: Key) -> bool: ...
    def add(self, key: Key) -> None: ...
    def add_many(self, keys: Keys, *, nulls: Nulls | None = None) -> None: ...
    def save(self, path: Path) -> None: ...
    def to_filter(self) -> Filter: ...
    def __contains__(self, key: Key, /) -> bool: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> bool: ...

def create(
    slug: str,
    expected_items: int | float | None = None,
    false_positive_rate: float | None = None,
    hash_func: HashFunc | None = None,
    *,
    memory: int | None = None,
    seed: int | None = None,
    key: bytes | str | None = None,
    **settings: Setting,
) -> Filter: ...
def build(
    slug: str,
    records: Keys | Mapping[Any, Any],
    false_positive_rate: float | None = None,
    hash_func: HashFunc | None = None,
    *,
    expected_items: int | float | None = None,
    negatives: Keys | None = None,
    memory: int | None = None,
    seed: int | None = None,
    key: bytes | str | None = None,
    nulls: Nulls | None = None,
    **settings: Setting,
) -> Filter: ...
@overload
def open(
    path: Path,
    *,
    format: None = None,
    column: None = None,
    row_group: None = None,
    keys_as: None = None,
    probes: None = None,
    key: bytes | str | None = None,
    hash_func: HashFunc | None = None,
    mmap: bool = True,
    verify: bool = True,
) -> Any: ...
@overload
def open(
    path: Path,
    *,
    format: str | None = None,
    column: str | None = None,
    row_group: int | None = None,
    keys_as: str | None = None,
    probes: int | None = None,
    key: bytes | None = None,
    hash_func: HashFunc | None = None,
    mmap: bool = True,
    verify: bool = True,
) -> Foreign: ...
def create_foreign(
    format: str, expected_items: int, false_positive_rate: float = 0.01, *, keys_as: str | None = None
) -> Foreign: ...
def catalog() -> list[dict[str, Any]]: ...
def formats() -> list[dict[str, Any]]: ...
def sample(slug: str, n: int, *, start: int = 0) -> list[tuple[bytes, bytes | float | int | None]]: ...
def rank(
    expected_items: int | None,
    false_positive_rate: float | None,
    memory: int | None,
    needs: list[str],
    kind: str | None,
    settings: dict[str, Setting] | None,
) -> tuple[list[dict[str, Any]], list[str], dict[str, str]]: ...
def _restore(bytes: bytes, hash_func: HashFunc | None) -> Filter: ...
def run_command(typed: list[str]) -> int: ...
