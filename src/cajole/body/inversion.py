"""Inverted tets: which ones a displacement turns inside out, where they are, and how a message describes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cajole.arrays import Array, IndexArray
from cajole.body.base import Body
from cajole.body.solid import BodySolid

# The share of the rest volume up to which inverted tets count as few. A strong load at one vertex inverts the tets
# beside it: 0.7 % to 4 % of a coarse beam of 450 tets under 50 to 100 weights, less on finer meshes. Most motions
# through such keys converge; shapes with more are wrong as a whole, or come from loads that no motion reaches.
MAX_INVERTED_SHARE = 0.05
# Beyond half of the volume the shape itself is mirrored, not squeezed.
MIRRORED_SHARE = 0.5
# how many tets a message lists
MAX_LISTED_TETS = 8
REMEDY = "spread the loads over more vertices or reduce them, or use a stiffer material or a finer mesh"


@dataclass(frozen=True, eq=False)
class InversionReport:
    """Tets turned inside out, worst first: tets (k,), volume ratios to rest (k,) <= 0, centres at rest (k, 3) [m].

    total: the number of tets of the body; share: of its rest volume that is inside out.
    """

    tets: IndexArray
    volume_ratios: Array
    centres: Array
    tet_count: int
    volume_share: float

    @property
    def count_text(self) -> str:
        """How many of all: "3 of 450 tets"."""
        return f"{len(self.tets)} of {self.tet_count} tets"

    @property
    def location_text(self) -> str:
        """The worst tet with its place and volume ratio, then the others."""
        place = ", ".join(f"{x:.3g}" for x in self.centres[0])
        others = ", ".join(map(str, self.tets[1:MAX_LISTED_TETS])) + (
            ", ..." if len(self.tets) > MAX_LISTED_TETS else ""
        )
        text = f"the worst is tet {self.tets[0]} near ({place}) m at rest, at {self.volume_ratios[0]:.2g} of its volume"
        return text + (f", then tets {others}" if others else "")

    def __str__(self) -> str:
        return f"{self.count_text} are inside out; {self.location_text}; {REMEDY}"


def find_inverted_tets(body: Body, displacement: ArrayLike) -> InversionReport | None:
    """The tets that a displacement (n, 3) [m] turns inside out; None if there are none, or the body has no tets."""
    if not isinstance(body, BodySolid):
        return None
    ratios = body.compute_volume_ratios(displacement)
    tets = np.flatnonzero(ratios <= 0)
    if len(tets) == 0:
        return None
    tets = tets[np.argsort(ratios[tets], kind="stable")]
    places = body.vertices[body.mesh.tets[tets]].mean(axis=1)
    share = float(body.mesh.volumes[tets].sum() / body.mesh.volume)
    return InversionReport(tets, ratios[tets], places, len(ratios), share)
