"""A beating heart: springs along the wall contract, those through it lengthen, atria before ventricles."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import BodySprings
from cajole.dynamics.prescribed_motion import FrameCallback, simulate_with_prescribed_motion
from cajole.mesh import MeshTet
from cajole.mesh.tet import compute_signed_volumes
from cajole.pictures import Prop
from cajole.progress import ProgressCallback
from cajole.scenes.easing import unit_smoothstep
from cajole.scenes.tube import build_tube, resample_spline

LAYERS, RINGS, COLUMNS = 3, 33, 34
NODES_PER_LAYER = RINGS * COLUMNS + 2
# [m] half lengths across, and from the middle to apex and base
HALF_WIDTH, HALF_DEPTH, HALF_LENGTH = 0.044, 0.040, 0.056
# [degrees] how far the apex points aside and ahead
AXIS_SIDE_TILT, AXIS_FORWARD_TILT = 32.0, 12.0
# polar angle [rad] of the groove between ventricles and atria, counted from the apex
GROOVE_ANGLE = 1.98
# [kg] of a node; [N/m] and [N s/m] of a spring; the clamp of folds
NODE_MASS, SPRING_STIFFNESS, DAMPING, BENDING_CLAMP = 9.0e-5, 200.0, 0.6, 0.02


@cache
def build_heart_springs() -> BodySprings:
    """Springs on the edges of the tets, fixed at the base."""
    # rings at the base that the vessels hold
    fixed_rings = 3
    rings = np.arange(LAYERS * NODES_PER_LAYER).reshape(LAYERS, NODES_PER_LAYER)[
        :, 1 + (RINGS - fixed_rings) * COLUMNS :
    ]
    return BodySprings.from_mesh(
        build_heart_mesh(),
        stiffness=SPRING_STIFFNESS,
        mass=NODE_MASS,
        damping=DAMPING,
        clamp=BENDING_CLAMP,
        fixed=rings.ravel(),
    )


@cache
def build_heart_mesh() -> MeshTet:
    """Tets between the layers, the outermost first; node 0 of a layer is the apex, its last the base."""
    # each layer is so much smaller than the one around it
    layer_shrinkage = 0.115
    outer, middle = _build_outer_layer(), np.array([0.0, 0.0, 0.004])
    layers = [middle + (1.0 - layer_shrinkage * k) * (outer - middle) for k in range(LAYERS)]
    turn = Rotation.from_euler("XY", (AXIS_FORWARD_TILT, AXIS_SIDE_TILT), degrees=True).as_matrix()
    points, tets = np.vstack(layers) @ turn.T, _build_layer_tets(_build_layer_triangles())
    inverted = compute_signed_volumes(points, tets) < 0
    tets[inverted] = tets[inverted][:, [0, 1, 3, 2]]
    return MeshTet(points, tets)


def compute_polar_angles() -> Array:
    """Polar angle (n,) [rad] of each node, 0 at the apex and π at the base."""
    rings = np.repeat(np.pi * np.arange(1, RINGS + 1) / (RINGS + 1), COLUMNS)
    return np.tile(np.concatenate([[0.0], rings, [np.pi]]), LAYERS)


def get_layer_index(nodes: IndexArray) -> IndexArray:
    """Layer of each node, 0 for the outermost."""
    return np.asarray(nodes) // NODES_PER_LAYER


def build_vessels() -> tuple[Prop, ...]:
    """Build the great vessels as props."""
    # lines [m] and radii [m] of vessels, and their colours: aorta, pulmonary trunk, superior vena cava
    vessels = {
        "aorta": (
            (
                (0.006, 0.0, 0.03),
                (0.01, 0.004, 0.06),
                (0.002, 0.008, 0.082),
                (-0.02, 0.014, 0.086),
                (-0.034, 0.018, 0.06),
            ),
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
    made = []
    for name, (points, radii, color) in vessels.items():
        line, thick = resample_spline(points, radii, 24)
        made.append(Prop(name, build_tube(line, thick, 20), color))
    return tuple(made)


def _build_outer_layer() -> Array:
    """Outer surface (nodes, 3) [m] of the heart, apex down."""
    theta = np.pi * np.arange(1, RINGS + 1)[:, None] / (RINGS + 1)
    phi = 2 * np.pi * np.arange(COLUMNS) / COLUMNS
    # an egg: slimmer towards the apex
    slim = 0.74 + 0.30 * (0.5 - 0.5 * np.cos(theta))
    wide = np.sin(theta) * slim * _compute_relief(theta, phi)
    grid = np.stack(
        [HALF_WIDTH * wide * np.cos(phi), HALF_DEPTH * wide * np.sin(phi), -HALF_LENGTH * np.cos(theta) + 0.0 * phi],
        axis=2,
    )
    return np.vstack([[(0.0, 0.0, -HALF_LENGTH)], grid.reshape(-1, 3), [(0.0, 0.0, HALF_LENGTH)]])


def _compute_relief(theta: Array, phi: Array) -> Array:
    """Radial factor around 1: grooves between the chambers and the swelling of the atria."""
    below = 1.0 / (1.0 + np.exp((theta - GROOVE_ANGLE) / 0.08))
    between = sum(_evaluate_angular_gaussian(phi, at, 0.25) for at in (-1.9, 1.5))
    ring = np.exp(-(((theta - GROOVE_ANGLE) / 0.16) ** 2))
    atria = np.exp(-(((theta - 2.42) / 0.34) ** 2)) * (
        _evaluate_angular_gaussian(phi, 2.7, 0.75) + _evaluate_angular_gaussian(phi, -0.35, 0.75)
    )
    right = np.exp(-(((theta - 1.35) / 0.6) ** 2)) * _evaluate_angular_gaussian(phi, -0.7, 0.9)
    return np.asarray(1.0 - 0.07 * below * between * np.sin(theta) - 0.10 * ring + 0.24 * atria + 0.10 * right)


def _evaluate_angular_gaussian(phi: Array, centre: float, width: float) -> Array:
    away = (phi - centre + np.pi) % (2 * np.pi) - np.pi
    return np.asarray(np.exp(-((away / width) ** 2)))


def _build_layer_triangles() -> IndexArray:
    """Triangles (m, 3) of one layer."""
    i, j = np.indices((RINGS - 1, COLUMNS)).reshape(2, -1)
    a, b = 1 + i * COLUMNS + j, 1 + i * COLUMNS + (j + 1) % COLUMNS
    k = np.arange(COLUMNS)
    around, last = (k + 1) % COLUMNS, 1 + (RINGS - 1) * COLUMNS
    return np.vstack([
        np.column_stack([np.zeros_like(k), 1 + around, 1 + k]),
        np.column_stack([a, b, b + COLUMNS]), np.column_stack([a, b + COLUMNS, a + COLUMNS]),
        np.column_stack([np.full_like(k, NODES_PER_LAYER - 1), last + k, last + around]),
    ])  # fmt: skip


def _build_layer_tets(triangles: IndexArray) -> IndexArray:
    """Three tets (m, 4) per prism between two layers; diagonals follow the node order and match at neighbours."""
    a, b, c = np.sort(triangles, axis=1).T
    tets = []
    for layer in range(LAYERS - 1):
        near, far = layer * NODES_PER_LAYER, (layer + 1) * NODES_PER_LAYER
        tets += [(a + near, b + near, c + near, c + far), (a + near, b + near, b + far, c + far)]
        tets += [(a + near, a + far, b + far, c + far)]
    return np.concatenate([np.column_stack(tet) for tet in tets])


FRAMES, DT = 58, 1 / 60
# [s] of a beat, how long a part contracts, when atria and ventricles begin, and how long the wave climbs from the apex
BEAT_PERIOD, SYSTOLE_DURATION, ATRIA_START, VENTRICLE_START, WAVE_DURATION = 0.85, 0.42, 0.02, 0.16, 0.06
# the share by which springs along the wall shorten, in ventricles and atria, and by which those through it lengthen
VENTRICLE_SHORTENING, ATRIUM_SHORTENING, WALL_THICKENING = 0.13, 0.08, 0.12


@cache
def compute_rest_lengths() -> Array:
    """Rest lengths (frames, m) [m] of the springs."""
    # [rad] up to where the apex contracts less
    apex_angle = 0.6
    net = build_heart_springs()
    ends = net.edges
    height: Array = compute_polar_angles()[ends].mean(axis=1)
    through = get_layer_index(ends[:, 0]) != get_layer_index(ends[:, 1])
    # the apex is a stiff tip: where all columns meet, full contraction would fold the wall into itself
    most = np.where(height > GROOVE_ANGLE, ATRIUM_SHORTENING, VENTRICLE_SHORTENING) * unit_smoothstep(
        height / apex_angle
    )
    share = np.where(through, WALL_THICKENING * unit_smoothstep(height / apex_angle), -most)
    begins: Array = np.where(
        height > GROOVE_ANGLE, ATRIA_START, VENTRICLE_START + WAVE_DURATION * height / GROOVE_ANGLE
    )
    times: Array = DT * np.arange(FRAMES, dtype=np.float64)[:, None]
    return np.asarray(net.rest_lengths * (1.0 + share * compute_contraction(times - begins)))


def compute_contraction(time: Array) -> Array:
    """Contraction, 0 at rest to 1, that starts at time 0 [s] and repeats every beat."""
    phase = np.where(time < 0.0, 0.0, time % BEAT_PERIOD) / SYSTOLE_DURATION
    return np.asarray(np.sin(np.pi * np.clip(phase, 0.0, 1.0)) ** 2)


def simulate_heart_pilot(progress: ProgressCallback | None = None, on_frame: FrameCallback | None = None) -> Animation:
    """Simulate one beat and the beginning of the next."""
    run = simulate_with_prescribed_motion(
        build_heart_springs(), FRAMES, DT, rest_lengths=compute_rest_lengths(), on_frame=on_frame, progress=progress
    )
    return replace(run, name="heart")
