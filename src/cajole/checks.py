"""Checks of user input. Each message names the value, its position and the remedy."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole.errors import InputError, MissingExtra, SolveError


@dataclass(frozen=True)
class OptionalPackage:
    """A package of an extra. Call `require` before the work that leads to its use.

    modules: its import names; name: that of pip; purpose: the subject of the message, such as "reading USD files".
    """

    modules: tuple[str, ...]
    name: str
    extra: str
    purpose: str

    def is_installed(self) -> bool:
        """True if all modules are found; none is imported."""
        return all(importlib.util.find_spec(module) is not None for module in self.modules)

    def require(self) -> None:
        """Raise MissingExtra if the package is not installed."""
        if not self.is_installed():
            raise MissingExtra(self.name, self.extra, self.purpose)


# largest integer of kernels and arrays
MAX_INT64 = int(np.iinfo(np.int64).max)


def require_real_array(
    value: ArrayLike, name: str, shape: tuple[int | None, ...], *, error: type[InputError] = InputError
) -> NDArray[np.float64]:
    """`value` as a contiguous float64 array of `shape` (None: any length), every entry finite."""
    try:
        if np.iscomplexobj(value):
            raise TypeError("complex numbers")
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as reason:
        raise error(f"{name} must be numbers of shape {_format_shape(shape)}: {reason}") from None
    require_shape(array, name, shape, error=error)
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        count = int(array.size - finite.sum())
        raise error(
            f"{name}{list(where)} is {array[where]}: every value must be finite ({count} of {array.size} are not); "
            "remove or repair these entries before passing them in"
        )
    return array


def require_unit_interval_array(value: ArrayLike, name: str, shape: tuple[int | None, ...]) -> NDArray[np.float64]:
    """`value` as a real array of `shape`, every entry in 0..1, such as colours and gloss."""
    array = require_real_array(value, name, shape)
    wrong = (array < 0) | (array > 1)
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"{name}{list(where)} is {array[where]}, outside 0..1 ({int(wrong.sum())} such); divide colours of 0..255 "
            "by 255"
        )
    return array


def require_index_array(
    value: ArrayLike, name: str, shape: tuple[int | None, ...], limit: int, *, error: type[InputError] = InputError
) -> NDArray[np.int64]:
    """`value` as an int64 array of `shape`, every entry in [0, limit)."""
    if isinstance(limit, bool) or not isinstance(limit, int | np.integer):
        raise error(f"the number that {name} must be below is {format_value(limit)}, but must be a whole number")
    try:
        array = np.asarray(value)
    except (TypeError, ValueError, OverflowError) as reason:
        raise error(f"{name} must be whole numbers of shape {_format_shape(shape)}: {reason}") from None
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype == bool or not np.issubdtype(array.dtype, np.integer):
        raise error(f"{name} must be whole numbers (indices from 0), not {array.dtype}")
    require_shape(array, name, shape, error=error)
    wrong = (array < 0) | (array >= limit)
    if wrong.any():
        where = tuple(int(i) for i in np.argwhere(wrong)[0])
        raise error(
            f"{name}{list(where)} is {array[where]}, outside 0..{limit - 1} ({int(wrong.sum())} such); "
            "indices count from 0, so a file that counts from 1 needs one subtracted"
        )
    return np.ascontiguousarray(array, dtype=np.int64)


def require_indices_or_mask(value: ArrayLike, name: str, count: int) -> NDArray[np.int64]:
    """`value` as int64 indices below `count`: a list of indices, or a boolean mask (count,)."""
    try:
        mask = np.asarray(value)
    except ValueError:  # ragged: the check of indices explains it
        return require_index_array(value, name, (None,), count)
    if mask.dtype == bool and mask.size > 0:
        require_shape(mask, f"the mask {name}", (count,))
        return np.flatnonzero(mask)
    return require_index_array(value, name, (None,), count)


def count_axes(value: ArrayLike) -> int:
    """The number of axes of an array; 2 for ragged lists, which later checks reject."""
    try:
        return np.ndim(value)
    except (TypeError, ValueError):
        return 2


def is_empty(value: ArrayLike) -> bool:
    """True if `value` is a list or an array without entries."""
    return count_axes(value) > 0 and len(value) == 0  # type: ignore[arg-type]


def wrap_scalar(value: ArrayLike) -> ArrayLike:
    """A scalar as an array of one entry; other values unchanged."""
    return np.atleast_1d(value) if count_axes(value) == 0 else value


def require_shape(
    array: NDArray[Any], name: str, shape: tuple[int | None, ...], *, error: type[InputError] = InputError
) -> None:
    """Raise unless `array` has `shape`; None means any length."""
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape))
    if not fits:
        raise error(f"{name} has shape {array.shape}, but {_format_shape(shape)} is needed")


def require_positive(
    value: float, name: str, *, allow_zero: bool = False, error: type[InputError] = InputError
) -> float:
    """`value` as a positive finite float, or non-negative with `allow_zero`."""
    number = require_real_number(value, name, error=error)
    if number < 0 or (number == 0 and not allow_zero):
        raise error(f"{name} is {number}, but must be {'at least zero' if allow_zero else 'positive'}")
    return number


def require_safe_magnitude(
    value: float, name: str, *, allow_zero: bool = False, error: type[InputError] = InputError
) -> float:
    """`value` as in `require_positive`, with a finite square and finite inverse square."""
    number = require_positive(value, name, allow_zero=allow_zero, error=error)
    # fourth powers of larger numbers, or of their inverses, come close to overflow
    if number and not 1e-75 < number < 1e75:
        raise error(f"{name} is {number:g}, but must lie between 1e-75 and 1e+75")
    return number


def length(value: float, name: str) -> float:
    """`value` as a positive length of at most 1e6 [m]; larger values have the wrong unit."""
    number = require_positive(value, name)
    if number > 1e6:
        raise InputError(
            f"{name} is {number:g}, but must be at most 1e+06; lengths are in metres, so divide millimetres by 1000"
        )
    return number


def require_real_number(value: Any, name: str, *, error: type[InputError] = InputError) -> float:
    """`value` as a finite float; text and booleans are rejected."""
    try:
        if isinstance(value, bool | np.bool_ | str | bytes) or np.ndim(value) != 0:
            raise TypeError
        number = float(value)
    except OverflowError:
        raise error(f"{name} is {format_value(value)}, which is too large for double precision") from None
    except (TypeError, ValueError):  # ValueError: of ragged lists
        raise error(f"{name} must be a number, not {format_value(value)}") from None
    if not np.isfinite(number):
        raise error(f"{name} is {number}, but must be finite")
    return number


def require_instance(value: Any, kind: type[Any] | tuple[type[Any], ...], name: str) -> None:
    """Raise unless `value` is an instance of `kind`, a type or a tuple of types."""
    if not isinstance(value, kind):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        raise InputError(f"{name} must be a {' or '.join(k.__name__ for k in kinds)}, not {type(value).__name__}")


def require_plane(value: Any, name: str, *, alternative: str = "") -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Point (3,) [m] and unit normal (3,) of a plane ((point), (normal)). alternative: other accepted values."""
    try:
        point, normal = value
    except (TypeError, ValueError):
        raise InputError(
            f"{name} must be {alternative}a plane ((x, y, z), (nx, ny, nz)), not {format_value(value)}"
        ) from None
    place = require_real_array(point, "the plane's point", (3,))
    direction = require_real_array(normal, "the plane's normal", (3,))
    length = float(np.linalg.norm(direction))
    if length == 0:
        raise InputError("the plane's normal is zero; give the direction that leads out of what is touched")
    return place, direction / length


def require_finite_result(array: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    """`array` if every entry is finite, else raise SolveError: valid input has overflowed."""
    if not np.isfinite(array).all():
        raise SolveError(
            f"{what} overflows: the displacements or forces are too large for double precision; reduce them"
        )
    return array


def require_integer(value: int, name: str, *, minimum: int = 1, maximum: int | None = None) -> int:
    """`value` as an integer in [minimum, maximum] and of at most 64 bits."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} must be a whole number, not {format_value(value)}")
    if value < minimum or (maximum is not None and value > maximum):
        limits = f"at least {minimum}" if maximum is None else f"between {minimum} and {maximum}"
        raise InputError(f"{name} is {format_value(value)}, but must be {limits}")
    if value > MAX_INT64:
        raise InputError(
            f"{name} is {format_value(value)}, which is more than any computer counts; use a smaller number"
        )
    return int(value)


def repetitions(value: int, name: str, *, least: int = 1) -> int:
    """`value` as a number of repetitions, such as substeps or runs, in [least, 1000000].

    At a millisecond each, more would take over a quarter of an hour, and the call would seem to hang.
    """
    number = require_integer(value, name, minimum=least)
    if number > 1_000_000:
        raise InputError(f"{name} is {number}, but must be at most 1000000; use a smaller number")
    return number


def count_steps(time: float, dt: float, *, minimum: int = 0) -> int:
    """The number of steps `dt` [s] nearest to `time` [s], at least `minimum`. Raises InputError beyond 64 bits."""
    steps = time / dt
    if steps > MAX_INT64:
        raise InputError(
            f"{time:g} s are {steps:.3g} steps of {dt:.3g} s, which is more than any computer counts; "
            "use a shorter time"
        )
    return max(minimum, round(steps))


def format_value(value: Any) -> str:
    """`value` as text for messages: one line of at most 80 characters."""
    try:
        text = " ".join(repr(value.item() if isinstance(value, np.generic) else value).split())
    except Exception:  # Python does not format integers of more than 4300 digits, and a repr may raise anything
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}…"


def require_choice(value: str, name: str, choices: tuple[str, ...]) -> str:
    """`value` if it is among `choices`."""
    # an array would be compared elementwise
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} is {format_value(value)}, but must be one of {', '.join(map(repr, choices))}")
    return value


def require_bool(value: bool, name: str) -> bool:
    """`value` as a bool; other truthy values, such as text or a path, are rejected."""
    if not isinstance(value, bool | np.bool_):
        raise InputError(f"{name} must be True or False, not {format_value(value)}")
    return bool(value)


def require_sequence(value: Iterable[Any], name: str, expected: str) -> tuple[Any, ...]:
    """The entries of an iterable `value`. expected: description for the message, such as "a list of vertices"."""
    try:
        return tuple(value)
    except TypeError:
        raise InputError(f"{name} must be {expected}, not {format_value(value)}") from None


def _format_shape(shape: tuple[int | None, ...]) -> str:
    return "(" + ", ".join("any" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"
