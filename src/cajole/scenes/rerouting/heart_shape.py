"""A heart of 3,372 nodes: a wall of three layers, each of 33 rings of 34 nodes and two poles, and its great vessels."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.arrays import Array, IndexArray
from cajole.body import BodySprings
from cajole.mesh import MeshTet
from cajole.mesh.tet import signed_volumes
from cajole.pictures import Prop
from cajole.scenes.enriching.tube import smooth_line, tube

LAYERS, RINGS, COLUMNS = 3, 33, 34
SHELL = RINGS * COLUMNS + 2
# each layer is so much smaller than the one around it
THINNER = 0.115
# [m] half lengths across, and from the middle to apex and base
ACROSS, DEEP, LONG = 0.044, 0.040, 0.056
# [degrees] how far the apex points aside and ahead
ASIDE, AHEAD = 32.0, 12.0
# polar angle [rad] of the groove between ventricles and atria, counted from the apex
GROOVE = 1.98
# rings at the base that the vessels hold
HELD = 3
# [kg] of a node; [N/m] and [N s/m] of a spring; the clamp of folds
MASS, STIFFNESS, DAMPING, CLAMP = 9.0e-5, 200.0, 0.6, 0.02
# lines [m] and radii [m] of vessels, and their colours: aorta, pulmonary trunk, superior vena cava
VESSELS = {
    "aorta": (
        ((0.006, 0.0, 0.03), (0.01, 0.004, 0.06), (0.002, 0.008, 0.082), (-0.02, 0.014, 0.086), (-0.034, 0.018, 0.06)),
        (0.0125, 0.0125, 0.0120, 0.0105, 0.0095),
        (0.72, 0.20, 0.20),
    ),
    "pulmonary trunk": (
        ((-0.010, -0.014, 0.028), (-0.014, -0.016, 0.048), (-0.026, -0.006, 0.062), (-0.046, 0.008, 0.062)),
        (0.0110, 0.0115, 0.0105, 0.0085),
        (0.35, 0.42, 0.66),
    ),
    "vena cava": (
        ((0.034, 0.006, 0.022), (0.035, 0.008, 0.044), (0.034, 0.010, 0.082)),
        (0.0090, 0.0090, 0.0085),
        (0.40, 0.46, 0.70),
    ),
}  # fmt: skip


@cache
def heart_net() -> BodySprings:
    """Springs on the edges of its tets, held at the base."""
    rings = np.arange(LAYERS * SHELL).reshape(LAYERS, SHELL)[:, 1 + (RINGS - HELD) * COLUMNS :]
    return BodySprings.from_mesh(
        heart_mesh(), stiffness=STIFFNESS, mass=MASS, damping=DAMPING, clamp=CLAMP, fixed=rings.ravel()
    )


@cache
def heart_mesh() -> MeshTet:
    """Tets between the layers, the outermost first: node 0 of a layer is its apex, its last the base."""
    outer, middle = _outer(), np.array([0.0, 0.0, 0.004])
    layers = [middle + (1.0 - THINNER * k) * (outer - middle) for k in range(LAYERS)]
    turn = Rotation.from_euler("XY", (AHEAD, ASIDE), degrees=True).as_matrix()
    points, tets = np.vstack(layers) @ turn.T, _tets(_triangles())
    inverted = signed_volumes(points, tets) < 0
    tets[inverted] = tets[inverted][:, [0, 1, 3, 2]]
    return MeshTet(points, tets)


def heights() -> Array:
    """(n,) [rad] the polar angle of each node, 0 at the apex and π at the base."""
    rings = np.repeat(np.pi * np.arange(1, RINGS + 1) / (RINGS + 1), COLUMNS)
    return np.tile(np.concatenate([[0.0], rings, [np.pi]]), LAYERS)


def layer_of(nodes: IndexArray) -> IndexArray:
    """0 for the outermost."""
    return np.asarray(nodes) // SHELL


def vessels() -> tuple[Prop, ...]:
    """What the heart hangs on."""
    made = []
    for name, (points, radii, color) in VESSELS.items():
        line, thick = smooth_line(points, radii, 24)
        made.append(Prop(name, tube(line, thick, 20), color))
    return tuple(made)


def _outer() -> Array:
    """(SHELL, 3) [m] the outside of the heart, its apex down."""
    theta = np.pi * np.arange(1, RINGS + 1)[:, None] / (RINGS + 1)
    phi = 2 * np.pi * np.arange(COLUMNS) / COLUMNS
    # an egg: slimmer towards the apex
    slim = 0.74 + 0.30 * (0.5 - 0.5 * np.cos(theta))
    wide = np.sin(theta) * slim * _relief(theta, phi)
    grid = np.stack([ACROSS * wide * np.cos(phi), DEEP * wide * np.sin(phi), -LONG * np.cos(theta) + 0.0 * phi], axis=2)
    return np.vstack([[(0.0, 0.0, -LONG)], grid.reshape(-1, 3), [(0.0, 0.0, LONG)]])


def _relief(theta: Array, phi: Array) -> Array:
    """Grooves between the chambers and the swelling of the atria, around 1."""
    below = 1.0 / (1.0 + np.exp((theta - GROOVE) / 0.08))
    between = sum(_bump(phi, at, 0.25) for at in (-1.9, 1.5))
    ring = np.exp(-(((theta - GROOVE) / 0.16) ** 2))
    atria = np.exp(-(((theta - 2.42) / 0.34) ** 2)) * (_bump(phi, 2.7, 0.75) + _bump(phi, -0.35, 0.75))
    right = np.exp(-(((theta - 1.35) / 0.6) ** 2)) * _bump(phi, -0.7, 0.9)
    return np.asarray(1.0 - 0.07 * below * between * np.sin(theta) - 0.10 * ring + 0.24 * atria + 0.10 * right)


def _bump(phi: Array, at: float, width: float) -> Array:
    away = (phi - at + np.pi) % (2 * np.pi) - np.pi
    return np.asarray(np.exp(-((away / width) ** 2)))


def _triangles() -> IndexArray:
    """(m, 3) of one layer."""
    i, j = np.indices((RINGS - 1, COLUMNS)).reshape(2, -1)
    a, b = 1 + i * COLUMNS + j, 1 + i * COLUMNS + (j + 1) % COLUMNS
    k = np.arange(COLUMNS)
    around, last = (k + 1) % COLUMNS, 1 + (RINGS - 1) * COLUMNS
    return np.vstack([
        np.column_stack([np.zeros_like(k), 1 + around, 1 + k]),
        np.column_stack([a, b, b + COLUMNS]), np.column_stack([a, b + COLUMNS, a + COLUMNS]),
        np.column_stack([np.full_like(k, SHELL - 1), last + k, last + around]),
    ])  # fmt: skip


def _tets(triangles: IndexArray) -> IndexArray:
    """(m, 4) three tets of each prism between two layers; in the order of numbers, neighbours share their diagonals."""
    a, b, c = np.sort(triangles, axis=1).T
    tets = []
    for layer in range(LAYERS - 1):
        near, far = layer * SHELL, (layer + 1) * SHELL
        tets += [(a + near, b + near, c + near, c + far), (a + near, b + near, b + far, c + far)]
        tets += [(a + near, a + far, b + far, c + far)]
    return np.concatenate([np.column_stack(tet) for tet in tets])
