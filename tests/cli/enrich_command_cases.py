"""What tests of `cajole enrich` begin with: a rough animation, the command's shell, and files to compare."""

from __future__ import annotations

import numpy as np

import cajole as cj

CORNERS = np.array([(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
SIDES = [
    (0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4), (2, 6, 3), (3, 6, 7), (0, 4, 2), (2, 4, 6),
    (1, 3, 5), (3, 7, 5),
]  # fmt: skip
SOFT = {"young": 2e4, "thickness": 2e-3, "density": 300.0}
FAST = ("--dt", "1/60")


def lid() -> cj.Animation:
    """A box whose lid turns and sinks in four frames, the first of which other programs call 1001."""
    positions = np.repeat(CORNERS[None], 4, axis=0)
    for frame, s in enumerate(np.linspace(0, 1, 4)):
        c, d = np.cos(s), np.sin(s)
        turned = CORNERS[4:] - (0.5, 0.5, 0)
        positions[frame, 4:] = turned @ np.array([(c, d, 0), (-d, c, 0), (0, 0, 1 - 0.25 * s)]) + (0.5, 0.5, 0)
    return cj.Animation(cj.MeshTri(CORNERS, SIDES), positions, fps=30, start_frame=1001, name="lid")


def shell(mesh, **more):
    return cj.BodyShell(mesh, cj.MaterialShell(**SOFT), **({"damping": (0.5, 1e-3)} | more))


def same(path, result):
    found = cj.read_animation(path)
    assert np.array_equal(found.positions, result.animation.positions)
    return found
