"""A box of eight vertices whose lid is turned, pressed down and stopped dead: one motion, many materials."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.spatial.transform import Rotation

from cajole.arrays import Array
from cajole.mesh import MeshTri

SIDE, HEIGHT = 0.6, 0.8
FPS, DURATION = 30.0, 4.6
# [s], then what the lid does: turn [degrees], height as a share, to the side [m], tilt to that side [degrees]
KEYS = (
    (0.00, 0, 1.00, 0.00, 0),
    (0.20, 0, 1.00, 0.00, 0),
    (0.35, -8, 1.02, 0.00, 0),
    (0.90, 112, 0.86, 0.00, 0),
    (1.20, 112, 0.86, 0.00, 0),
    (1.65, 0, 1.00, 0.00, 0),
    (1.85, 0, 1.04, 0.00, 0),
    (2.20, 0, 0.50, 0.00, 0),
    (2.40, 0, 0.50, 0.00, 0),
    (2.65, 0, 1.12, 0.00, 0),
    (2.85, 0, 1.00, -0.20, -14),
    (3.05, 0, 1.00, -0.26, -18),
)  # fmt: skip
# then it goes across at full speed, and at this time [s] it stands [m], upright
STOP, SPEED = 3.40, 0.80
# of the eight corners
TRIANGLES = (
    (0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4),
    (2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6), (1, 3, 5), (3, 7, 5),
)  # fmt: skip


def box_mesh() -> MeshTri:
    """Eight corners and twelve triangles; it stands on z = 0."""
    x, y, z = np.indices((2, 2, 2)).reshape(3, -1)[::-1]
    return MeshTri(np.column_stack([x - 0.5, y - 0.5, z]) * [SIDE, SIDE, HEIGHT], TRIANGLES)


def lid_motion(mesh: MeshTri) -> Array:
    """Positions (frames, 8, 3) [m]: the bottom stays, the lid moves rigidly."""
    times = np.arange(round(DURATION * FPS) + 1) / FPS
    keys = np.array(KEYS)
    turn, high, aside, tilt = PchipInterpolator(keys[:, 0], keys[:, 1:])(np.minimum(times, keys[-1, 0])).T
    # from the last key on: across and upright at a constant pace that ends at once
    late = np.clip((times - keys[-1, 0]) / (STOP - keys[-1, 0]), 0.0, 1.0)
    aside, tilt = aside + SPEED * (STOP - keys[-1, 0]) * late, tilt * (1.0 - late)
    lid = mesh.vertices[:, 2] > 0
    out = np.repeat(mesh.vertices[None], len(times), axis=0)
    for frame in range(len(times)):
        rotation = Rotation.from_euler("zy", (turn[frame], tilt[frame]), degrees=True)
        out[frame, lid] = rotation.apply(mesh.vertices[lid] * [1, 1, 0]) + [aside[frame], 0, HEIGHT * high[frame]]
    return out
