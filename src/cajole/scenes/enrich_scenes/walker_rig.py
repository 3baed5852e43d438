"""Rig of the puppet: a body, arms that rotate at their joints, and legs with inverse kinematics."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTri
from cajole.scenes.easing import unit_smoothstep

# Cells: limbs are ACROSS wide and THICK deep, arms and legs stick out of the middle by so many, and the tips of the
# arms lack their corners. The skin around them has 3038 vertices, as the character of §5.4 of Bergou 2007.
CELLS_ACROSS, CELLS_DEEP, ARM_CELLS, LEG_CELLS = 8, 5, 23, 30
# [m] a cell along the limbs and across them
CELL_LENGTH, CELL_WIDTH, CELL_DEPTH = 0.026, 0.0195, 0.023
# of arms and legs from upright [degrees], each to its own side
ARM_SPLAY, LEG_SPLAY = 46.0, 26.0
# bones: where along a limb its joints are [cells from the middle], and over how many cells they bend
SHOULDER, ELBOW, HIP, KNEE, ANKLE, FOOT_BALL = 5.0, 15.0, 5.5, 14.5, 24.5, 30.5
JOINT_BEND_CELLS, FOOT_BEND_CELLS = 7.0, 6.0
# the feet: the part of a leg that bends forward [cells], and by how much [degrees]
INSTEP_RANGE, INSTEP_ANGLE = (21.5, 27.5), 75.0
LIMBS = ("right arm", "left leg", "left arm", "right leg")


@dataclass(frozen=True, eq=False)
class PuppetRig:
    """The puppet in its bind pose, facing +x: vertices (n, 3) [m], triangles (m, 3); limbs are straight except for the
    feet.

    weights (n, bones): skinning weights, rows sum to 1; joint_positions (bones, 3) [m]: the joint that each bone
    rotates about; bones: names; limb (n,): index into the limbs; along (n,) [cells] from the middle.
    """

    vertices: Array
    triangles: IndexArray
    bone_names: tuple[str, ...]
    weights: Array
    joint_positions: Array
    limb_index: IndexArray
    limb_coordinate: Array

    def get_bone_index(self, name: str) -> int:
        """Index of a bone by name."""
        return self.bone_names.index(name)


@cache
def build_puppet_rig() -> PuppetRig:
    """Build the rig; the result is cached."""
    corners, triangles = _build_cell_surface(_build_cross_cells())
    p, q, h = (corners - [0.0, 0.0, CELLS_DEEP / 2]).T
    # the limb whose part of the cross a point lies in
    limb = np.where(np.abs(p) >= np.abs(q), np.where(p >= 0, 0, 1), np.where(q >= 0, 2, 3))
    along = np.maximum(np.abs(p), np.abs(q))
    # the cross has its right arm along +p, where the X seen from the front has it at -y: triangles turn around
    triangles = triangles[:, ::-1]
    vertices = _smooth_vertices(_map_cross_to_limbs(p, q, h), triangles)
    names, weights, origins = _build_bones(limb, along, vertices)
    return PuppetRig(vertices, triangles, names, weights, origins, limb, along)


def compute_limb_directions() -> Array:
    """Unit directions (4, 3) of the limbs away from the middle."""
    arm, leg = np.radians([ARM_SPLAY, LEG_SPLAY])
    # seen from the front the puppet's right is at -y
    return np.array([
        [0.0, -np.sin(arm), np.cos(arm)], [0.0, np.sin(leg), -np.cos(leg)],
        [0.0, np.sin(arm), np.cos(arm)], [0.0, -np.sin(leg), -np.cos(leg)],
    ])  # fmt: skip


def evaluate_limb_curve(limb: int, along: Array) -> tuple[Array, Array]:
    """Centreline (k, 3) [m] of a limb at arc lengths (k,) [cells], and the direction of its front there."""
    away, ahead = compute_limb_directions()[limb], np.array([1.0, 0.0, 0.0])
    if LIMBS[limb].endswith("arm"):
        return CELL_LENGTH * along[:, None] * away, np.broadcast_to(ahead, (len(along), 3))
    first, last = INSTEP_RANGE
    whole = np.radians(INSTEP_ANGLE)
    radius = (last - first) / whole
    turn = whole * np.clip((along - first) / (last - first), 0.0, 1.0)
    beyond = np.maximum(along - last, 0.0)
    down = np.minimum(along, first) + radius * np.sin(turn) + beyond * np.cos(whole)
    forward = radius * (1.0 - np.cos(turn)) + beyond * np.sin(whole)
    front = np.cos(turn)[:, None] * ahead - np.sin(turn)[:, None] * away
    return CELL_LENGTH * (down[:, None] * away + forward[:, None] * ahead), front


def _build_cross_cells() -> IndexArray:
    """Lower corners (k, 2) of the cells of the cross; the right arm extends along +p, the left arm along +q."""
    half = CELLS_ACROSS // 2
    filled = []
    for i in range(-LEG_CELLS - half, ARM_CELLS + half):
        for j in range(-LEG_CELLS - half, ARM_CELLS + half):
            inner = (-half <= i < half, -half <= j < half)
            tip = ARM_CELLS + half - 1 in (i, j)
            at_edge = (i if inner[0] else j) in (-half, half - 1)
            if any(inner) and not (tip and at_edge):
                filled.append((i, j))
    return np.array(filled)


def _build_cell_surface(cells: IndexArray) -> tuple[Array, IndexArray]:
    """Corners (n, 3) [cells] and outward triangles of the surface of cells (k, 2) of constant thickness."""
    there = {tuple(cell) for cell in cells.tolist()}
    quads: list[list[tuple[int, int, int]]] = []
    for i, j in sorted(there):
        square = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
        quads.append([(*corner, CELLS_DEEP) for corner in square])
        quads.append([(*corner, 0) for corner in reversed(square)])
        for a, b, (di, dj) in zip(square, square[1:] + square[:1], ((0, -1), (1, 0), (0, 1), (-1, 0))):
            if (i + di, j + dj) not in there:
                quads += [[(*a, k), (*b, k), (*b, k + 1), (*a, k + 1)] for k in range(CELLS_DEEP)]
    keys, numbers = np.unique(np.array(quads).reshape(-1, 3), axis=0, return_inverse=True)
    quad = numbers.reshape(-1, 4)
    even = (keys[quad[:, 0]].sum(axis=1) % 2 == 0)[:, None]
    one = np.where(even, quad[:, [0, 1, 2]], quad[:, [0, 1, 3]])
    two = np.where(even, quad[:, [0, 2, 3]], quad[:, [1, 2, 3]])
    return keys.astype(np.float64), np.stack([one, two], axis=1).reshape(-1, 3)


def _map_cross_to_limbs(p: Array, q: Array, h: Array) -> Array:
    """Map points of the cross (p, q, h) [cells] to the X shape [m]."""
    half = CELLS_ACROSS / 2
    out = np.zeros((len(p), 3))
    # limbs are round: what is far from the middle of a limb is thinner
    deep = CELL_DEPTH * h * np.sqrt(1.0 - 0.5 * (np.minimum(np.abs(p), np.abs(q)) / half) ** 2)
    ways = dict(zip(("+p", "-p", "+q", "-q"), compute_limb_directions()))
    halves = (("+p", p, q, "q"), ("-p", -p, q, "q"), ("+q", q, p, "p"), ("-q", -q, p, "p"))
    for number, (name, s, w, sides) in enumerate(halves):
        here = s >= np.abs(w)
        away = ways[name]
        tip = LEG_CELLS + half if away[2] < 0 else ARM_CELLS + half
        # in the middle the neighbours' directions meet; farther out a limb's own width is square to it
        beside = np.where((w >= 0)[:, None], ways["+" + sides], -ways["-" + sides])
        square = ways["+" + sides] - (ways["+" + sides] @ away) * away
        square /= np.linalg.norm(square)
        turn = unit_smoothstep((s - half) / half)[:, None]
        across = (1 - turn) * CELL_LENGTH * beside + turn * CELL_WIDTH * square
        share = np.maximum(s - CELLS_ACROSS / 2, 0.0) / (tip - CELLS_ACROSS / 2)
        taper = 1.0 - 0.22 * unit_smoothstep(share / 0.7) + 0.18 * unit_smoothstep((share - 0.7) / 0.2)
        rest = np.clip((tip - s) / 4.0, 0.0, 1.0)
        slim = np.asarray(taper * (0.45 + 0.55 * np.sqrt(1.0 - (1.0 - rest) ** 2)))
        middle, front = evaluate_limb_curve(number, s)
        out[here] = (middle + (slim * w)[:, None] * across + (slim * deep)[:, None] * front)[here]
    return out


def _smooth_vertices(vertices: Array, triangles: IndexArray) -> Array:
    """Laplacian smoothing: move each vertex halfway to the mean of its neighbours, a few times."""
    # how often the skin is evened out
    smoothing_passes = 3
    links = MeshTri(vertices, triangles).adjacency
    degree = np.asarray(links.sum(axis=1)).reshape(-1, 1)
    for _ in range(smoothing_passes):
        vertices = 0.5 * (vertices + links @ vertices / degree)
    return np.asarray(vertices)


def _build_bones(limb: IndexArray, along: Array, vertices: Array) -> tuple[tuple[str, ...], Array, Array]:
    """Names, skinning weights (n, bones) and joints of a body bone, two bones per arm and four per leg."""
    # above the middle the body belongs to the chest, below to the pelvis
    upper = unit_smoothstep(vertices[:, 2] / (8 * CELL_LENGTH) + 0.5)
    body = {"pelvis": 1.0 - upper, "chest": upper}
    names, columns, origins = ["pelvis", "chest"], [np.zeros(len(limb)), np.zeros(len(limb))], [np.zeros(3)] * 2
    for number, name in enumerate(LIMBS):
        is_arm = name.endswith("arm")
        joints = (SHOULDER, ELBOW) if is_arm else (HIP, KNEE, ANKLE, FOOT_BALL)
        parts = ("upper", "fore") if is_arm else ("thigh", "shin", "foot", "toes")
        over = (
            (JOINT_BEND_CELLS, JOINT_BEND_CELLS)
            if is_arm
            else (JOINT_BEND_CELLS, JOINT_BEND_CELLS, FOOT_BEND_CELLS, FOOT_BEND_CELLS)
        )
        here = limb == number
        reached = [np.where(here, unit_smoothstep((along - at) / wide + 0.5), 0.0) for at, wide in zip(joints, over)]
        for k, part in enumerate(parts):
            beyond = reached[k + 1] if k + 1 < len(parts) else np.zeros(len(limb))
            names.append(f"{name} {part}")
            columns.append(reached[k] - beyond)
            origins.append(evaluate_limb_curve(number, np.array([joints[k]]))[0][0])
        for place, part in enumerate(("pelvis", "chest")):
            columns[place] = columns[place] + np.where(here, (1.0 - reached[0]) * body[part], 0.0)
    return tuple(names), np.column_stack(columns), np.array(origins)


def apply_linear_blend_skinning(rig: PuppetRig, rotations: Array, joint_positions: Array) -> Array:
    """Vertices (n, 3) [m] for bone rotations (bones, 3, 3) and joint positions (bones, 3) [m]."""
    shifts = joint_positions - np.einsum("bij,bj->bi", rotations, rig.joint_positions)
    turned = np.einsum("nij,nj->ni", (rig.weights @ rotations.reshape(-1, 9)).reshape(-1, 3, 3), rig.vertices)
    return np.asarray(turned + rig.weights @ shifts)


def build_puppet_mesh(vertices: Array) -> MeshTri:
    """Surface mesh of the puppet with the given vertices."""
    return MeshTri(vertices, build_puppet_rig().triangles)


# [m] the height of the bones of a foot that stands flat
FOOT_BONE_HEIGHT = 0.062
FORWARD, UP = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class FootPose:
    """Position (3,) [m] of the ankle for a flat foot, and rolls [degrees].

    heel: lift of the heel about the ball, negative: of the ball about the heel; toes: downward bend; out: outward yaw.
    """

    ankle: Array
    heel_pitch: float = 0.0
    toe_pitch: float = 0.0
    yaw: float = 0.0


@dataclass(frozen=True)
class ArmPose:
    """Shoulder pitch and roll relative to the bind pose, and the same of the elbow [degrees]."""

    shoulder_pitch: float = 0.0
    shoulder_roll: float = 0.0
    elbow_pitch: float = 0.0
    elbow_roll: float = 0.0


@dataclass(frozen=True)
class PuppetPose:
    """centre (3,) [m] of the body; pelvis, chest: yaw, forward lean and roll [degrees] in world space; arms and feet,
    left first.
    """

    centre: Array
    feet: tuple[FootPose, FootPose]
    pelvis: tuple[float, float, float] = (0.0, 0.0, 0.0)
    chest: tuple[float, float, float] = (0.0, 0.0, 0.0)
    arms: tuple[ArmPose, ArmPose] = field(default=(ArmPose(), ArmPose()))


def pose_puppet(rig: PuppetRig, pose: PuppetPose) -> Array:
    """Vertices (n, 3) [m] of the puppet in a pose."""
    turns = np.empty((len(rig.bone_names), 3, 3))
    places = np.empty((len(rig.bone_names), 3))
    for name, angles in (("pelvis", pose.pelvis), ("chest", pose.chest)):
        turns[rig.get_bone_index(name)] = Rotation.from_euler("ZYX", angles, degrees=True).as_matrix()
        places[rig.get_bone_index(name)] = pose.centre
    for side, arm, foot in zip(("left", "right"), pose.arms, pose.feet):
        outward = -1.0 if side == "left" else 1.0
        before = rig.get_bone_index("chest")
        for part, ahead, down in (
            ("upper", arm.shoulder_pitch, arm.shoulder_roll),
            ("fore", arm.elbow_pitch, arm.elbow_roll),
        ):
            bone = rig.get_bone_index(f"{side} arm {part}")
            places[bone] = places[before] + turns[before] @ (rig.joint_positions[bone] - rig.joint_positions[before])
            own = Rotation.from_euler("YX", (ahead, outward * down), degrees=True).as_matrix()
            turns[bone] = turns[before] @ own
            before = bone
        _pose_leg(rig, side, foot, turns, places)
    return apply_linear_blend_skinning(rig, turns, places)


def _pose_leg(rig: PuppetRig, side: str, foot: FootPose, rotations: Array, joint_positions: Array) -> None:
    """Pose thigh and shin by two-bone inverse kinematics, then the foot and its toes."""
    thigh, shin, ankle, toes = (rig.get_bone_index(f"{side} leg {part}") for part in ("thigh", "shin", "foot", "toes"))
    rest = [rig.joint_positions[b] - rig.joint_positions[a] for a, b in ((thigh, shin), (shin, ankle), (ankle, toes))]
    upper, lower, instep = (float(np.linalg.norm(bone)) for bone in rest)
    top = evaluate_limb_curve(LIMBS.index(f"{side} leg"), np.array([FOOT_BALL]))[1][0]
    out = np.radians(foot.yaw if side == "left" else -foot.yaw)
    ahead = np.array([np.cos(out), np.sin(out), 0.0])
    pelvis = rig.get_bone_index("pelvis")
    joint_positions[thigh] = joint_positions[pelvis] + rotations[pelvis] @ (
        rig.joint_positions[thigh] - rig.joint_positions[pelvis]
    )
    goal = foot.ankle + _compute_ankle_offset(foot, instep, ahead)
    knee, goal = solve_two_bone_ik(joint_positions[thigh], goal, upper, lower, rotations[pelvis] @ FORWARD)
    joint_positions[shin], joint_positions[ankle] = knee, goal
    rotations[thigh] = _compute_aligning_rotation(
        rest[0], FORWARD, knee - joint_positions[thigh], rotations[pelvis] @ FORWARD
    )
    rotations[shin] = _compute_aligning_rotation(rest[1], FORWARD, goal - knee, rotations[pelvis] @ FORWARD)
    for bone, angle in ((ankle, foot.heel_pitch), (toes, foot.toe_pitch)):
        down = np.radians(angle)
        rotations[bone] = _compute_aligning_rotation(rest[2], top, np.cos(down) * ahead - np.sin(down) * UP, UP)
    joint_positions[toes] = goal + rotations[ankle] @ (rig.joint_positions[toes] - rig.joint_positions[ankle])


def _compute_ankle_offset(foot: FootPose, instep: float, forward: Array) -> Array:
    """Offset (3,) [m] of the ankle from its flat position: it rotates about the ball when the heel is lifted."""
    up = np.radians(max(foot.heel_pitch, 0.0))
    return np.asarray(instep * ((1.0 - np.cos(up)) * forward + np.sin(up) * UP))


def solve_two_bone_ik(
    hip: Array, target: Array, thigh: float, shin: float, bend_direction: Array
) -> tuple[Array, Array]:
    """Positions (3,) of knee and ankle; an unreachable target is approached as far as the leg is long."""
    # a leg never gets quite straight: its knee could not tell where to bend
    max_leg_extension = 0.998
    r = target - hip
    reach = max_leg_extension * (thigh + shin)
    length = min(float(np.linalg.norm(r)), reach)
    r /= np.linalg.norm(r)
    along = (thigh**2 - shin**2 + length**2) / (2 * length)
    bow = np.sqrt(max(thigh**2 - along**2, 0.0))
    across = bend_direction - (bend_direction @ r) * r
    return hip + along * r + bow * across / np.linalg.norm(across), hip + length * r


def _compute_aligning_rotation(along: Array, front: Array, new_along: Array, new_front: Array) -> Array:
    """Rotation (3, 3) that maps a bone direction exactly, and its front as closely as possible, to new directions."""
    return np.asarray(_build_frame(new_along, new_front) @ _build_frame(along, front).T)


def _build_frame(along: Array, front: Array) -> Array:
    a = along / np.linalg.norm(along)
    b = front - (front @ a) * a
    b /= np.linalg.norm(b)
    return np.column_stack([a, b, np.cross(a, b)])
