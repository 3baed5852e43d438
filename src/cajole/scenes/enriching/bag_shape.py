"""An open bag of 88 vertices, and how its spine bends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTri
from cajole.scenes.enriching.easing import smooth

# Cells of a box without its top: 88 vertices, 158 triangles and 16 edges around the opening, as in §5.3 of Bergou 2007;
# halved twice it has 1297 vertices
DEEP, WIDE, TALL = 3, 5, 4
DEPTH, WIDTH, HEIGHT = 0.27, 0.45, 0.72
# joints of the spine: where they are above the bottom and over which length they bend, both in bag heights
JOINTS = {"ankle": (0.12, 0.24), "knee": (0.32, 0.28), "hip": (0.58, 0.32), "chest": (0.82, 0.30)}
# points at which the spine's direction is summed up
SAMPLES = 201


@dataclass(frozen=True)
class Pose:
    """pitch, ankle, knee, hip, chest [degrees], forward positive; stretch: of the height, 1 at rest, widths shrink so
    that the volume stays; pinch: by how much, as a share, the opening is narrower.
    """

    pitch: float = 0.0
    ankle: float = 0.0
    knee: float = 0.0
    hip: float = 0.0
    chest: float = 0.0
    stretch: float = 1.0
    pinch: float = 0.0


def bag_mesh() -> MeshTri:
    """The bag at rest: it stands on z = 0, faces +x, and is open above."""
    # points of the bottom, then the walls ring by ring
    cells = np.array([DEEP, WIDE, TALL])
    grid = np.indices((DEEP + 1, WIDE + 1)).reshape(2, -1).T
    floor = np.column_stack([grid, np.zeros(len(grid), dtype=np.int64)])
    around = rim()
    rings = [np.column_stack([around, np.full(len(around), level)]) for level in range(1, TALL + 1)]
    points = np.vstack([floor, *rings]) / cells - [0.5, 0.5, 0.0]
    return MeshTri(points * [DEPTH, WIDTH, HEIGHT], np.vstack([_bottom(), _walls()]))


def rim() -> IndexArray:
    """(16, 2) the cell corners around the bottom, counterclockwise as seen from above."""
    front, right = np.arange(DEEP), np.arange(WIDE)
    sides = [
        np.column_stack([front, np.zeros(DEEP, dtype=np.int64)]),
        np.column_stack([np.full(WIDE, DEEP), right]),
        np.column_stack([DEEP - front, np.full(DEEP, WIDE)]),
        np.column_stack([np.zeros(WIDE, dtype=np.int64), WIDE - right]),
    ]
    return np.vstack(sides)


def _bottom() -> IndexArray:
    """Triangles of the bottom, seen from below, its diagonals alternating."""
    i, j = np.indices((DEEP, WIDE)).reshape(2, -1)
    a = i * (WIDE + 1) + j
    b, c, d = a + WIDE + 1, a + WIDE + 2, a + 1
    return _halved(a, d, c, b, (i + j) % 2 == 0)


def _walls() -> IndexArray:
    ring = rim()
    count, first = len(ring), (DEEP + 1) * (WIDE + 1)
    lowest = ring[:, 0] * (WIDE + 1) + ring[:, 1]
    rows = np.vstack([lowest, first + np.arange(TALL * count).reshape(TALL, count)])
    i, j = np.indices((TALL, count)).reshape(2, -1)
    nxt = (j + 1) % count
    return _halved(rows[i, j], rows[i, nxt], rows[i + 1, nxt], rows[i + 1, j], (i + j) % 2 == 0)


def _halved(a: IndexArray, b: IndexArray, c: IndexArray, d: IndexArray, even: IndexArray) -> IndexArray:
    """Two triangles for each quad a b c d, cut from a to c where `even`, from b to d elsewhere."""
    one = np.where(even[:, None], np.column_stack([a, b, c]), np.column_stack([a, b, d]))
    two = np.where(even[:, None], np.column_stack([a, c, d]), np.column_stack([b, c, d]))
    return np.stack([one, two], axis=1).reshape(-1, 3)


def posed(rest: Array, pose: Pose) -> Array:
    """Points (n, 3) of the bag at rest in a pose: sections stand across a spine that bends at its joints.

    The middle of the bottom stays at the origin. Where the spine bends more sharply than the bag is deep, the sections
    cross each other.
    """
    s = np.linspace(0.0, 1.0, SAMPLES)
    angle = np.full(SAMPLES, pose.pitch)
    for name, (joint, over) in JOINTS.items():
        angle += getattr(pose, name) * smooth((s - joint) / over + 0.5)
    phi = np.radians(angle)
    ahead = np.column_stack([np.sin(phi), np.cos(phi)])
    steps = pose.stretch * HEIGHT * 0.5 * (ahead[1:] + ahead[:-1]) / (SAMPLES - 1)
    spine = np.vstack([[0.0, 0.0], np.cumsum(steps, axis=0)])
    at = rest[:, 2] / HEIGHT
    x, z, turn = (np.interp(at, s, values) for values in (spine[:, 0], spine[:, 1], phi))
    across = pose.stretch**-0.5
    narrow = across * (1.0 - pose.pinch * at**2)
    depth = rest[:, 0] * narrow
    return np.column_stack([x + depth * np.cos(turn), rest[:, 1] * narrow, z - depth * np.sin(turn)])
