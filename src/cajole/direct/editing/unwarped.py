"""No warp: the linear change as it is, to see what warping is for, and for changes so small that it does nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array
from cajole.direct.editing.warp import Frame, Kept, Probe

_NOTHING = np.empty(0)


class Unwarped:
    """Asked as a `Warp` is, it leaves changes as they are. Contacts are kept by the energy's stand-ins alone."""

    form = "none"

    def frame(self, positions: ArrayLike) -> Frame:
        """Nothing about a frame matters."""
        return Frame(_NOTHING)

    def apply(self, frame: Frame, change: Array, kept: Kept | None = None) -> Array:
        """The change (n, 3) itself."""
        return change

    def kept(self, directions: ArrayLike, vertices: ArrayLike, others: ArrayLike) -> None:
        """No rows can be kept without a solve."""

    def probe(self, vertex: int, kept: Kept | None = None) -> Probe:
        """A vertex is seen where the linear change has it."""
        return Probe(_NOTHING, _NOTHING, vertex)

    def at(self, frame: Frame, change: Array, probes: Sequence[Probe]) -> Array:
        """Changes (k, 3) of the probed vertices."""
        return change[[probe.lone for probe in probes]]
