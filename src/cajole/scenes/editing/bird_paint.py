"""The seagull's colours: white with grey wings, black tips, an orange beak and dark eyes."""

from __future__ import annotations

import numpy as np

from cajole.arrays import Array
from cajole.mesh import MeshTri, Skin
from cajole.scenes.editing.bird_shape import CHORD, RINGS, SIDES, STATIONS, first_of_parts, wing_count, wing_number
from cajole.scenes.recipe import mixed, smoothstep

WHITE, GREY, DARK, PALE = (0.96, 0.96, 0.95), (0.58, 0.62, 0.67), (0.07, 0.07, 0.09), (0.88, 0.89, 0.90)
ORANGE, BEAK, PUPIL = (0.93, 0.52, 0.22), (0.97, 0.60, 0.10), (0.03, 0.03, 0.04)
PARTS = ("body", "beak", "left wing", "right wing", "tail", "eyes", "feet")
# the ring that the beak begins with; along the wing, where grey turns to black
FIRST_OF_BEAK, TIP = 19, (0.72, 0.80)
MATT, WET = 0.05, 0.9


def gull_skin(mesh: MeshTri) -> Skin:
    """Colours, parts and gloss of the bird's vertices."""
    n, first = len(mesh.vertices), first_of_parts()
    labels, colors, gloss = np.zeros(n, dtype=np.int64), np.tile(WHITE, (n, 1)), np.full(n, MATT)
    rings = len(RINGS) * SIDES
    labels[FIRST_OF_BEAK * SIDES : rings] = labels[rings + 1] = PARTS.index("beak")
    for part, at in (("left wing", first["left"]), ("right wing", first["right"])):
        rows = slice(at, at + wing_count())
        labels[rows], colors[rows] = PARTS.index(part), _wing_colors()
    labels[first["tail"] : first["left eye"]] = PARTS.index("tail")
    labels[first["left eye"] : first["toes"]] = PARTS.index("eyes")
    labels[first["toes"] :] = PARTS.index("feet")
    for part, color in (("beak", BEAK), ("eyes", PUPIL), ("feet", ORANGE)):
        colors[labels == PARTS.index(part)] = color
    gloss[labels == PARTS.index("eyes")] = WET
    return Skin(mesh, colors, PARTS, labels, gloss)


def _wing_colors() -> Array:
    """Grey above, pale below and along the back edge, black towards the tip."""
    colors = np.empty((wing_count(), 3))
    share = np.empty(wing_count())
    for station in range(1, STATIONS + 1):
        for place in range(CHORD):
            # above comes last: it wins where both sheets have one vertex
            for below in (True, False):
                number = wing_number(station, place, below)
                colors[number] = PALE if below or place == CHORD - 1 else GREY
                share[number] = station / STATIONS
    return mixed(colors, DARK, smoothstep(*TIP, share))
