"""Numbers, vectors and times as written on the command line."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cajole.errors import InputError


def parse_pair(text: str, name: str) -> tuple[float, float]:
    """Two numbers, "a,b"."""
    words = text.split(",")
    if len(words) != 2:
        raise InputError(f"{name} is {text!r}, but must be two numbers, as in 0.1,0.002")
    return parse_number(words[0], name), parse_number(words[1], name)


def parse_vector(text: str, name: str) -> NDArray[np.float64]:
    """Three numbers, "x,y,z"."""
    words = text.split(",")
    if len(words) != 3:
        raise InputError(f"{name} is {text!r}, but must be three numbers separated by commas, as in 0,0,-9.81")
    return np.array([parse_number(word, name) for word in words])


def parse_seconds(text: str, name: str) -> float:
    """A time [s], "0.5" or "1/60", positive or zero."""
    top, slash, bottom = text.partition("/")
    value = parse_number(top, name)
    if slash:
        below = parse_number(bottom, name)
        if below == 0:
            raise InputError(f"{name} is {text!r}, a division by zero")
        value /= below
    if value < 0:
        raise InputError(f"{name} is {text!r}, but a time cannot be negative")
    return value


def parse_number(text: str, name: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise InputError(f"{name}: {text.strip()!r} is not a finite number")
    return value
