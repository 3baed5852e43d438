"""A free elephant, 3 m long and 2.1 m high, standing at the floor z = 0 with its trunk along x."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline
from scipy.spatial import cKDTree
from scipy.spatial.transform import Rotation

from cajole.arrays import Array, IndexArray
from cajole.checks import require_real_number
from cajole.mesh import MeshTet, Skin
from cajole.scenes.scene_definition import PaintContext, SceneDefinition, build_eye_pair, mix_colors, smoothstep
from cajole.scenes.sdf import ImplicitShape
from cajole.scenes.shape_builder import ImplicitShapeBuilder

GREY, DARK, PINK = (0.52, 0.54, 0.58), (0.26, 0.27, 0.31), (0.80, 0.62, 0.60)
IVORY, NAIL = (0.95, 0.91, 0.80), (0.88, 0.85, 0.78)

TRUNK_POINTS = [(1.36, 0, 1.45), (1.66, 0, 1.16), (1.78, 0, 0.72), (1.82, 0, 0.36), (2.02, 0, 0.20)]
TAIL_POINTS = [(-1.12, 0, 1.35), (-1.34, 0, 1.18), (-1.42, 0, 0.86), (-1.44, 0, 0.62)]
# high and turned aside: between ears and shoulders, too, there is room for air
EAR_ROOT, EAR_DIRECTION = (0.98, 0.34, 1.66), (-0.24, 0.97, 0.0)
# where the legs stand along x: front and hind
LEG_X = (0.50, -0.66)
LEG_Y = 0.33


def define_scene() -> SceneDefinition:
    """A free elephant of about nineteen thousand tets."""
    return SceneDefinition(
        name="elephant",
        title="Elephant",
        description="An elephant that no vertex holds: trunk, ears, legs and tail all swing.",
        shape=_build_shape(),
        tets=19_400,
        skin_spacing=(0.030, 0.019),
        find_fixed_vertices=_find_fixed_vertices,
        young=7.5e5,
        damping=(0.2, 0.003),
        eyes=build_eye_pair((1.30, 0.300, 1.66), (1.328, 0.322, 1.663), (0.056, 0.036)),
        painter=_paint,
        camera={
            "azimuth": -58.0,
            "elevation": 9.0,
            "fov": 28.0,
            "size": (960, 640),
            "background": (0.84, 0.76, 0.66),
            "floor": (0.86, 0.79, 0.70),
            "floor_height": 0.0,
        },
    )


def _find_fixed_vertices(mesh: MeshTet, parts: Mapping[str, IndexArray]) -> IndexArray:
    return np.zeros(0, dtype=np.int64)


def _build_shape() -> ImplicitShape:
    # outline of the left ear from its root: along it, and upwards
    ear_outline = [
        (-0.10, -0.20), (-0.10, 0.26), (0.10, 0.40), (0.38, 0.43), (0.58, 0.30), (0.66, 0.04), (0.58, -0.24),
        (0.38, -0.44), (0.12, -0.36),
    ]  # fmt: skip
    # the tusks spread, so that between them and the trunk there is room for air in the cage
    tusk_points = [(1.20, 0.22, 1.24), (1.40, 0.40, 1.06), (1.62, 0.52, 0.98), (1.84, 0.56, 1.06)]
    s = ImplicitShapeBuilder(color=GREY)
    s.add_chain("torso", [(-0.62, 0, 1.18), (0, 0, 1.22), (0.48, 0, 1.20)], [0.58, 0.66, 0.54], segments=8)
    s.add_ellipsoid("head", (1.05, 0, 1.52), (0.44, 0.40, 0.46), blend=0.18)
    s.add_chain("trunk", TRUNK_POINTS, [0.245, 0.185, 0.135, 0.105, 0.09], segments=16, blend=0.16)
    for part, x in zip(("front legs", "hind legs"), LEG_X):
        leg = [(x, LEG_Y, 0.95), (x, LEG_Y, 0.45), (x, LEG_Y, 0.05)]
        s.add_chain(part, leg, [0.31, 0.235, 0.245], segments=6, blend=0.14, mirror="y")
    # normal x along points up, as the outline's second axis does
    normal = np.cross(EAR_DIRECTION, (0.0, 0.0, 1.0))
    s.add_sheet("ears", ear_outline, origin=EAR_ROOT, along=EAR_DIRECTION, normal=normal, thickness=(0.055, 0.035),
            bend=(-0.15, 0.0, 0.0), blend=0.08, mirror="y")  # fmt: skip
    s.add_chain("tusks", tusk_points, [0.075, 0.070, 0.055, 0.028], segments=10, blend=0.02, color=IVORY, mirror="y")
    s.add_chain("tail", TAIL_POINTS, [0.085, 0.05, 0.04, 0.04], segments=8, blend=0.10)
    s.add_ellipsoid("tail", (-1.445, 0, 0.55), (0.06, 0.06, 0.13), blend=0.04, color=DARK)
    _add_nails(s)
    s.cut_below(0.0, blend=0.03)
    return s.build()


def _add_nails(builder: ImplicitShapeBuilder) -> None:
    """Add three nails to the front of each foot."""
    for x in LEG_X:
        for turn in np.deg2rad([-42.0, 0.0, 42.0]):
            at = (x + 0.235 * np.cos(turn), LEG_Y + 0.235 * np.sin(turn), 0.055)
            builder.add_ellipsoid("nails", at, (0.035, 0.050, 0.055), blend=0.01, color=NAIL, mirror="y", usage="decor")


def _paint(context: PaintContext) -> Array:
    # distance of the rings painted round the trunk [m]
    wrinkle_spacing = 0.11
    p, n, colors = context.points, context.normals, context.colors
    skin = context.is_on_part("torso", "head", "trunk", "front legs", "hind legs", "ears")
    colors = colors * (1 - np.where(skin, 0.14 * np.clip(-n[:, 2], 0, 1), 0))[:, None]
    # the inside of the ears faces forward
    inner = np.where(context.is_on_part("ears"), 0.55 * smoothstep(0.2, 0.8, n[:, 0]) * _compute_ear_weights(p), 0)
    colors = mix_colors(colors, PINK, inner)
    along = _compute_trunk_arc_length(p)
    wrinkles = smoothstep(0.75, 0.97, np.cos(2 * np.pi * along / wrinkle_spacing)) * smoothstep(0.10, 0.16, along)
    return mix_colors(colors, DARK, np.where(context.is_on_part("trunk"), 0.35 * wrinkles, 0))


def _compute_ear_weights(points: Array) -> Array:
    """1 in the middle of an ear, 0 at its edge."""
    out, up = np.abs(points[:, 1]) - EAR_ROOT[1], points[:, 2] - EAR_ROOT[2]
    return smoothstep(1.0, 0.75, np.hypot((out - 0.22) / 0.34, (up + 0.03) / 0.40))


@cache
def _sample_trunk_curve() -> tuple[Array, Array, Array]:
    """Arc lengths (k,) [m], points (k, 3) and tangents (k, 3) of the centreline of the trunk."""
    # places at which the trunk's middle line is known: 5 mm apart, finer than the skin
    trunk_samples = 400
    points = np.array(TRUNK_POINTS, dtype=float)
    chords = np.concatenate([[0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    line = CubicSpline(chords, points)(np.linspace(0, chords[-1], trunk_samples))
    steps = np.linalg.norm(np.diff(line, axis=0), axis=1)
    ways = np.gradient(line, axis=0)
    return np.concatenate([[0], np.cumsum(steps)]), line, ways / np.linalg.norm(ways, axis=1)[:, None]


def _compute_trunk_arc_length(points: Array) -> Array:
    """Arc length [m] of the trunk's centreline at the point nearest to each point; negative before its root."""
    lengths, line, ways = _sample_trunk_curve()
    nearest = cKDTree(line).query(points)[1]
    return np.asarray(lengths[nearest] + ((points - line[nearest]) * ways[nearest]).sum(axis=1))


@dataclass(frozen=True)
class ElephantPose:
    """Rotations of the bones of an elephant [degrees].

    curl: trunk tip up and over; swing: trunk to the left; nod: nose down; turn: head to the left; flap: both ears
    forward; step: left front leg forward; wag: tail to the left.
    """

    curl: float = 0.0
    swing: float = 0.0
    nod: float = 0.0
    turn: float = 0.0
    flap: float = 0.0
    step: float = 0.0
    wag: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            require_real_number(getattr(self, field.name), f"{field.name} (degrees)")


def pose_elephant_skin(skin: Skin, pose: ElephantPose) -> Array:
    """Vertices (k, 3) [m] of an elephant's skin in a pose.

    The rotation of a bone grows smoothly from zero at its root, so that the skin neither tears nor collapses.
    """
    # what the head carries as a whole, wherever it hangs
    head_parts = ("trunk", "ears", "tusks")
    x, rest = skin.mesh.vertices.copy(), skin.mesh.vertices
    for part, bend in (("trunk", _curl_trunk), ("ears", _flap_ears), ("front legs", _swing_leg), ("tail", _wag_tail)):
        own = skin.find_part_vertices(part)
        x[own] = bend(rest[own], pose)
    nails = skin.find_part_vertices("nails")
    x[nails] = _swing_leg(rest[nails], pose)
    carried = np.concatenate(
        [skin.find_part_vertices(part) for part in skin.parts if part in head_parts or part.endswith(("eye", "pupil"))]
    )
    share = smoothstep(*NECK_RANGE, rest @ NECK_DIRECTION)
    share[carried] = 1.0
    return _rotate_about(x, (0.70, 0.0, 1.35), share[:, None] * [0.0, pose.nod, pose.turn])


# the head's share of a turn grows over this stretch [m] of a line from the shoulders up to the forehead
NECK_RANGE, NECK_DIRECTION = (1.20, 1.60), np.array([0.8, 0.0, 0.6])


def _curl_trunk(points: Array, pose: ElephantPose) -> Array:
    """Bend the trunk with its centreline, which keeps its length."""
    lengths, line, _ = _sample_trunk_curve()
    angles = smoothstep(0.15, 1.0, lengths / lengths[-1])[:, None] * [0.0, -pose.curl, pose.swing]
    turns = _build_rotation(angles)
    steps = turns[:-1].apply(np.diff(line, axis=0))
    bent = line[0] + np.vstack([np.zeros(3), np.cumsum(steps, axis=0)])
    place = np.interp(_compute_trunk_arc_length(points), lengths, np.arange(len(lengths))).round().astype(np.int64)
    return np.asarray(turns[place].apply(points - line[place]) + bent[place])


def _flap_ears(points: Array, pose: ElephantPose) -> Array:
    side = np.sign(points[:, 1])
    out = smoothstep(0.10, 0.50, np.abs(points[:, 1]) - EAR_ROOT[1])
    mirrored = points * np.column_stack([np.ones_like(side), side, np.ones_like(side)])
    moved = _rotate_about(mirrored, EAR_ROOT, out[:, None] * [0.0, 0.0, -pose.flap])
    moved[:, 1] *= side
    return moved


def _swing_leg(points: Array, pose: ElephantPose) -> Array:
    """Rotate the left front leg about the hip, and the shin back by half the angle."""
    own = (points[:, 1] > 0) & (points[:, 0] > 0)
    high = points[:, 2]
    shin = np.where(own, smoothstep(0.55, 0.25, high), 0)[:, None] * [0.0, 0.5 * pose.step, 0.0]
    thigh = np.where(own, smoothstep(0.95, 0.50, high), 0)[:, None] * [0.0, -pose.step, 0.0]
    knee = (LEG_X[0], LEG_Y, 0.40)
    return _rotate_about(_rotate_about(points, knee, shin), (LEG_X[0], LEG_Y, 0.85), thigh)


def _wag_tail(points: Array, pose: ElephantPose) -> Array:
    share = smoothstep(1.35, 0.75, points[:, 2])
    return _rotate_about(points, TAIL_POINTS[0], share[:, None] * [-pose.wag, 0.0, 0.0])


def _rotate_about(points: Array, pivot: tuple[float, float, float], angles: Array) -> Array:
    """Rotate points (n, 3) about a pivot, each by its own angles (n, 3) [degrees]."""
    return np.asarray(_build_rotation(angles).apply(points - np.asarray(pivot)) + pivot)


def _build_rotation(angles: Array) -> Rotation:
    """Rotations about the fixed axes x, y, z in this order by angles (n, 3) [degrees]."""
    return Rotation.from_euler("xyz", angles, degrees=True)
