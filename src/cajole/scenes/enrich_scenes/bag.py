"""The bag of Figure 9, Bergou 2007: one backflip, five materials and wind."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import partial
from typing import Any

import numpy as np
from scipy.interpolate import PchipInterpolator

from cajole.animation import Animation
from cajole.arrays import Array, IndexArray
from cajole.body import EARTH_GRAVITY, BodyShell, LoadWind, MaterialShell
from cajole.body.rayleigh import ShellDamping
from cajole.body.undeformed_shapes import build_accordion, build_crinkle, build_ridges
from cajole.direct.enriching import regions_subdivided
from cajole.dynamics import Ground
from cajole.mesh import MeshTri
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes.easing import unit_smoothstep
from cajole.scenes.enrich_scenes.enrich_scene import EnrichScene, ShellVariant

# Cells of a box without its top: 88 vertices, 158 triangles and 16 edges around the opening, as in §5.3 of Bergou 2007;
# halved twice it has 1297 vertices
CELLS_DEEP, CELLS_WIDE, CELLS_TALL = 3, 5, 4
DEPTH, WIDTH, HEIGHT = 0.27, 0.45, 0.72


@dataclass(frozen=True)
class BagPose:
    """pitch, ankle, knee, hip, chest [degrees], forward positive; stretch: factor of the height, widths shrink so that
    the volume is constant; pinch: relative narrowing of the opening.
    """

    pitch: float = 0.0
    ankle: float = 0.0
    knee: float = 0.0
    hip: float = 0.0
    chest: float = 0.0
    stretch: float = 1.0
    pinch: float = 0.0


def build_bag_mesh() -> MeshTri:
    """Mesh of the bag at rest: it stands on z = 0, faces +x and is open at the top."""
    # points of the bottom, then the walls ring by ring
    cells = np.array([CELLS_DEEP, CELLS_WIDE, CELLS_TALL])
    grid = np.indices((CELLS_DEEP + 1, CELLS_WIDE + 1)).reshape(2, -1).T
    floor = np.column_stack([grid, np.zeros(len(grid), dtype=np.int64)])
    around = find_bottom_boundary()
    rings = [np.column_stack([around, np.full(len(around), level)]) for level in range(1, CELLS_TALL + 1)]
    points = np.vstack([floor, *rings]) / cells - [0.5, 0.5, 0.0]
    return MeshTri(points * [DEPTH, WIDTH, HEIGHT], np.vstack([_build_bottom_triangles(), _build_wall_triangles()]))


def find_bottom_boundary() -> IndexArray:
    """Cell corners (16, 2) around the bottom, counterclockwise from above."""
    front, right = np.arange(CELLS_DEEP), np.arange(CELLS_WIDE)
    sides = [
        np.column_stack([front, np.zeros(CELLS_DEEP, dtype=np.int64)]),
        np.column_stack([np.full(CELLS_WIDE, CELLS_DEEP), right]),
        np.column_stack([CELLS_DEEP - front, np.full(CELLS_DEEP, CELLS_WIDE)]),
        np.column_stack([np.zeros(CELLS_WIDE, dtype=np.int64), CELLS_WIDE - right]),
    ]
    return np.vstack(sides)


def _build_bottom_triangles() -> IndexArray:
    """Triangles of the bottom, facing down, with alternating diagonals."""
    i, j = np.indices((CELLS_DEEP, CELLS_WIDE)).reshape(2, -1)
    a = i * (CELLS_WIDE + 1) + j
    b, c, d = a + CELLS_WIDE + 1, a + CELLS_WIDE + 2, a + 1
    return _split_quads(a, d, c, b, (i + j) % 2 == 0)


def _build_wall_triangles() -> IndexArray:
    ring = find_bottom_boundary()
    count, first = len(ring), (CELLS_DEEP + 1) * (CELLS_WIDE + 1)
    lowest = ring[:, 0] * (CELLS_WIDE + 1) + ring[:, 1]
    rows = np.vstack([lowest, first + np.arange(CELLS_TALL * count).reshape(CELLS_TALL, count)])
    i, j = np.indices((CELLS_TALL, count)).reshape(2, -1)
    nxt = (j + 1) % count
    return _split_quads(rows[i, j], rows[i, nxt], rows[i + 1, nxt], rows[i + 1, j], (i + j) % 2 == 0)


def _split_quads(a: IndexArray, b: IndexArray, c: IndexArray, d: IndexArray, even: IndexArray) -> IndexArray:
    """Split each quad a b c d into two triangles along a-c where `even`, along b-d elsewhere."""
    one = np.where(even[:, None], np.column_stack([a, b, c]), np.column_stack([a, b, d]))
    two = np.where(even[:, None], np.column_stack([a, c, d]), np.column_stack([b, c, d]))
    return np.stack([one, two], axis=1).reshape(-1, 3)


def pose_bag(rest: Array, pose: BagPose) -> Array:
    """Deform the rest points (n, 3) of the bag: cross sections follow a spine that bends at its joints.

    The middle of the bottom stays at the origin. Where the spine bends more sharply than the bag is deep, cross
    sections intersect.
    """
    # points at which the spine's direction is summed up
    spine_samples = 201
    # joints of the spine: where they are above the bottom and over which length they bend, both in bag heights
    spine_joints = {"ankle": (0.12, 0.24), "knee": (0.32, 0.28), "hip": (0.58, 0.32), "chest": (0.82, 0.30)}
    s = np.linspace(0.0, 1.0, spine_samples)
    angle = np.full(spine_samples, pose.pitch)
    for name, (joint, over) in spine_joints.items():
        angle += getattr(pose, name) * unit_smoothstep((s - joint) / over + 0.5)
    phi = np.radians(angle)
    ahead = np.column_stack([np.sin(phi), np.cos(phi)])
    steps = pose.stretch * HEIGHT * 0.5 * (ahead[1:] + ahead[:-1]) / (spine_samples - 1)
    spine = np.vstack([[0.0, 0.0], np.cumsum(steps, axis=0)])
    at = rest[:, 2] / HEIGHT
    x, z, turn = (np.interp(at, s, values) for values in (spine[:, 0], spine[:, 1], phi))
    across = pose.stretch**-0.5
    narrow = across * (1.0 - pose.pinch * at**2)
    depth = rest[:, 0] * narrow
    return np.column_stack([x + depth * np.cos(turn), rest[:, 1] * narrow, z - depth * np.sin(turn)])


FPS = 30.0
# when it leaves the ground and when it is back on it [s], and how far back it lands [m]
TAKEOFF_TIME, LANDING_TIME, BACKWARD_DISTANCE = 1.10, 1.80, 0.55
DURATION = 3.6


def interpolate_poses(times: Array) -> list[BagPose]:
    """Interpolate the pose keys at times (k,) [s] without overshoot."""
    # [s], then pitch, ankle, knee, hip, chest [degrees], stretch, pinch
    pose_keys = (
        (0.00, 0, 0, 0, 0, 0, 1.00, 0.00),
        (0.15, 0, 0, 0, 0, 0, 1.00, 0.00),
        # a short rise before the crouch
        (0.35, 0, 0, 0, -6, -10, 1.05, 0.05),
        (0.72, 0, 40, -90, 102, 16, 0.92, 0.26),
        (0.88, 0, 42, -94, 108, 22, 0.90, 0.28),
        # the push: everything opens, the chest leads backwards
        (1.02, -4, 6, -16, -18, -34, 1.10, 0.12),
        (1.10, -14, 0, 0, -26, -38, 1.16, 0.05),
        # tucked, upside down
        (1.30, -112, 10, -48, 62, 34, 0.94, 0.22),
        (1.46, -208, 14, -66, 88, 44, 0.90, 0.30),
        (1.62, -296, 8, -34, 46, 18, 0.98, 0.15),
        (1.80, -356, 4, -10, 24, 6, 1.06, 0.04),
        # the landing
        (1.86, -360, 30, -70, 84, 20, 0.90, 0.18),
        (1.95, -360, 46, -102, 116, 36, 0.82, 0.32),
        (2.04, -360, 44, -98, 112, 38, 0.84, 0.30),
        # the recoil, and what is left of it
        (2.32, -360, 4, -8, -8, -26, 1.12, 0.02),
        (2.58, -360, 8, -20, 24, 10, 0.95, 0.10),
        (2.84, -360, 0, 0, -4, -8, 1.02, 0.02),
        (3.10, -360, 0, 0, 2, 3, 0.995, 0.00),
        (3.35, -360, 0, 0, 0, 0, 1.00, 0.00),
        (3.60, -360, 0, 0, 0, 0, 1.00, 0.00),
    )  # fmt: skip
    table = np.array(pose_keys)
    names = [field.name for field in fields(BagPose)]
    values = PchipInterpolator(table[:, 0], table[:, 1:])(np.clip(times, 0.0, DURATION))
    return [BagPose(**dict(zip(names, row.tolist()))) for row in values]


def compute_backflip(rest: Array) -> Array:
    """Positions (frames, n, 3) [m] of the rest points (n, 3) during the backflip."""
    times = np.arange(round(DURATION * FPS) + 1) / FPS
    shapes = np.array([pose_bag(rest, pose) for pose in interpolate_poses(times)])
    return shapes + _compute_root_path(rest, shapes, times)[:, None]


def _compute_root_path(rest: Array, shapes: Array, times: Array) -> Array:
    """Path (frames, 3) of the middle of the bottom: on the ground, or such that the centre of mass falls freely."""
    left, landed = (
        _compute_ground_offset(pose_bag(rest, pose))
        for pose in interpolate_poses(np.array([TAKEOFF_TIME, LANDING_TIME]))
    )
    middle = [pose_bag(rest, pose).mean(axis=0) for pose in interpolate_poses(np.array([TAKEOFF_TIME, LANDING_TIME]))]
    start, end = middle[0] + left, middle[1] + landed - [BACKWARD_DISTANCE, 0.0, 0.0]
    out = np.empty((len(times), 3))
    for frame, (t, shape) in enumerate(zip(times, shapes)):
        if t <= TAKEOFF_TIME:
            out[frame] = _compute_ground_offset(shape)
        elif t >= LANDING_TIME:
            out[frame] = _compute_ground_offset(shape) - [BACKWARD_DISTANCE, 0.0, 0.0]
        else:
            share = (t - TAKEOFF_TIME) / (LANDING_TIME - TAKEOFF_TIME)
            rise = 0.5 * EARTH_GRAVITY * (t - TAKEOFF_TIME) * (LANDING_TIME - t)
            out[frame] = (1 - share) * start + share * end + [0.0, 0.0, rise] - shape.mean(axis=0)
    return out


def _compute_ground_offset(shape: Array) -> Array:
    """Translation (3,) [m] that puts the lowest point of a shape (n, 3) on the ground."""
    return np.array([0.0, 0.0, -shape[:, 2].min()])


STRONG_DAMPING, WEAK_DAMPING = ShellDamping(1.0, 0.02, 0.03), ShellDamping(0.0, 0.0005, 0.0005)
# horizontal folds and vertical ridges: from crest to crest, and how deep [m]
FOLD_WAVELENGTH, FOLD_DEPTH = HEIGHT / 4, 0.02
RIDGE_SPACING, RIDGE_WIDTH, RIDGE_HEIGHT = WIDTH / 5, WIDTH / 5, 0.018
CRINKLE_SCALE, CRINKLE_AMPLITUDE = 0.05, 0.007
# of the wind [m/s], from the front and a little from below, and of its gusts
WIND_VELOCITY, GUST_SPEED = (-11.0, 4.0, 2.0), 6.0


def build_bag_scene(progress: ProgressCallback | None = None) -> EnrichScene:
    """The scene with 88 regions, the hat functions of the guide's vertices."""
    camera = {
        "azimuth": -62.0,
        "elevation": 8.0,
        "fov": 28.0,
        "size": (720, 720),
        "background": (0.86, 0.82, 0.76),
        "floor": (0.86, 0.82, 0.75),
        "floor_height": 0.0,
    }
    # 88 vertices become 1297
    subdivision_levels = 2
    coarse = build_bag_mesh()
    fine, regions = regions_subdivided(coarse, subdivision_levels)
    report_progress(progress, 1.0, "the bag is ready")
    return EnrichScene(
        name="bag",
        title="Backflip",
        description="A bag crouches, jumps, flips backwards and lands hard; what it is made of tells in its folds.",
        guide=Animation(coarse, compute_backflip(coarse.vertices), fps=FPS, name="bag"),
        regions=regions,
        variants=_build_shell_variants(fine),
        enrich_options={"dt": 1 / 120, "gravity": EARTH_GRAVITY},
        colliders=(Ground(-0.008),),
        camera=camera,
        frames_shown=(0, 22, 31, 36, 42, 47, 54, 58, 62, 70, 77),
    )


def _build_shell_variants(mesh: MeshTri) -> dict[str, ShellVariant]:
    def build_variant(
        text: str, color: tuple[float, float, float], damping: ShellDamping, shape: Array | None = None, **settings: Any
    ) -> ShellVariant:
        return ShellVariant(text, color, partial(_build_shell, mesh, damping, shape), settings)

    gale = LoadWind(mesh, WIND_VELOCITY, tangential_drag=0.1, gust_speed=GUST_SPEED, gust_size=0.25, gust_rate=2.0)
    zigzag = build_accordion(mesh, amplitude=FOLD_DEPTH, wavelength=FOLD_WAVELENGTH, direction=(0.0, 0.0, 1.0))
    rips = build_ridges(mesh, height=RIDGE_HEIGHT, spacing=RIDGE_SPACING, width=RIDGE_WIDTH, direction=(0.0, 1.0, 0.0))
    rough = build_crinkle(mesh, amplitude=CRINKLE_AMPLITUDE, scale=CRINKLE_SCALE, seed=3)
    return {
        "vinyl": build_variant("red vinyl, much damped: fine upright wrinkles", (0.80, 0.12, 0.14), STRONG_DAMPING),
        "silk": build_variant(
            "orange silk, hardly damped: waves run up after the landing", (0.95, 0.52, 0.12), WEAK_DAMPING
        ),
        "accordion": build_variant("coarse horizontal folds at rest", (0.52, 0.28, 0.66), STRONG_DAMPING, zigzag),
        "ridges": build_variant(
            "fine upright ridges at rest, a woven gift bag", (0.78, 0.20, 0.34), STRONG_DAMPING, rips
        ),
        "crinkle": build_variant("crumpled cellophane", (0.42, 0.70, 0.82), STRONG_DAMPING, rough),
        "wind": build_variant("silk in a gale", (0.98, 0.66, 0.22), WEAK_DAMPING, forces=gale),
    }


def _build_shell(mesh: MeshTri, damping: ShellDamping, undeformed: Array | None) -> BodyShell:
    shell_material = MaterialShell(young=2.5e5, poisson=0.3, thickness=1.5e-3, density=180.0)
    return BodyShell(mesh, shell_material, damping=damping, undeformed=undeformed)
