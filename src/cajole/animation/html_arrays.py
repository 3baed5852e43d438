"""Numbers as an HTML file holds them: 16 bit, packed, and base64.

An array of rows is stored as the differences from each row to the next, modulo 2^bits; all lowest bytes come first,
then the next ones, and so on, which deflates far better than numbers do one by one. That is base64 of a zlib stream.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.errors import InputError

Whole = NDArray[np.unsignedinteger[Any]]

STEPS = 2**16 - 1
# deflate never packs more than 1032 bytes into one
_DEFLATE_RATIO = 1100


@dataclass(frozen=True, eq=False)
class Grid:
    """Even steps between the least and the greatest coordinates (3,) [m], 2^16 of them along each axis."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def _side(self) -> NDArray[np.float64]:
        side = self.high - self.low
        return np.where(side > 0, side, 1.0)  # what is flat has one place only, and any step will do

    def whole(self, points: NDArray[np.float64]) -> NDArray[np.uint16]:
        """The nearest steps (n, 3) of points (n, 3) [m] inside."""
        shares = (points - self.low) / self._side
        return np.rint(STEPS * np.clip(shares, 0.0, 1.0)).astype("<u2")

    def points(self, whole: NDArray[Any]) -> NDArray[np.float64]:
        """Points [m] of steps."""
        return self.low + whole * (self._side / STEPS)

    @property
    def coarseness(self) -> float:
        """How far a stored coordinate is from the true one at most [m]."""
        return float((self.high - self.low).max()) / STEPS / 2


def packed(rows: Whole) -> str:
    """An array (rows, k) of whole numbers as text."""
    steps = np.diff(rows, axis=0, prepend=np.zeros_like(rows[:1]))
    little = np.ascontiguousarray(steps, dtype=steps.dtype.newbyteorder("<"))
    planes = little.reshape(-1).view(np.uint8).reshape(-1, little.itemsize).T
    return base64.b64encode(zlib.compress(np.ascontiguousarray(planes).data, 6)).decode("ascii")


def unpacked(text: str, shape: tuple[int, int], dtype: type[np.unsignedinteger[Any]], name: str) -> Whole:
    """An array from its text. Raises InputError where that is not one of this shape."""
    size = np.dtype(dtype).itemsize
    expected = shape[0] * shape[1] * size
    try:
        stream = base64.b64decode(text.strip(), validate=True)
        # a damaged header may claim more than any stream could hold
        data = zlib.decompressobj().decompress(stream, min(expected, _DEFLATE_RATIO * len(stream)) + 1)
    except (binascii.Error, zlib.error) as reason:
        raise InputError(f"its {name} are damaged ({reason}); write it again") from None
    if len(data) != expected:
        raise InputError(f"its {name} are {len(data)} bytes, where {expected} are needed; write it again")
    planes = np.frombuffer(data, dtype=np.uint8).reshape(size, -1)
    little = np.ascontiguousarray(planes.T).view(np.dtype(dtype).newbyteorder("<")).reshape(shape)
    return np.cumsum(little, axis=0, dtype=dtype)
