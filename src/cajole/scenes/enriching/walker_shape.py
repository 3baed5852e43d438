"""A puppet in the form of an X: four limbs that meet in the middle, 3038 vertices, and the bones inside it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.mesh import MeshTri
from cajole.scenes.enriching.easing import smooth

# Cells: limbs are ACROSS wide and THICK deep, arms and legs stick out of the middle by so many, and the tips of the
# arms lack their corners. The skin around them has 3038 vertices, as the character of §5.4 of Bergou 2007.
ACROSS, THICK, ARM, LEG = 8, 5, 23, 30
# [m] a cell along the limbs and across them
CELL, CELL_ACROSS, CELL_THICK = 0.026, 0.0195, 0.023
# of arms and legs from upright [degrees], each to its own side
ARM_SPLAY, LEG_SPLAY = 46.0, 26.0
# how often the skin is evened out
ROUNDS = 3
# bones: where along a limb its joints are [cells from the middle], and over how many cells they bend
SHOULDER, ELBOW, HIP, KNEE, ANKLE, BALL = 5.0, 15.0, 5.5, 14.5, 24.5, 30.5
BEND, FOOT_BEND = 7.0, 6.0
# the feet: the part of a leg that bends forward [cells], and by how much [degrees]
INSTEP, FORWARD_BY = (21.5, 27.5), 75.0
LIMBS = ("right arm", "left leg", "left arm", "right leg")


@dataclass(frozen=True, eq=False)
class Puppet:
    """The X before it takes a pose, facing +x: vertices (n, 3) [m], triangles (m, 3); limbs are straight but for feet.

    weights (n, bones): how much each vertex belongs to a bone, rows add up to 1; origins (bones, 3), [m]: the joint
    that each bone turns about. bones: names; limb (n,): the number in LIMBS, along (n,) [cells] from the middle.
    """

    vertices: Array
    triangles: IndexArray
    bones: tuple[str, ...]
    weights: Array
    origins: Array
    limb: IndexArray
    along: Array

    def bone(self, name: str) -> int:
        """Its number."""
        return self.bones.index(name)


@cache
def puppet() -> Puppet:
    """The X, made once."""
    corners, triangles = _skin(_cells())
    p, q, h = (corners - [0.0, 0.0, THICK / 2]).T
    # the limb whose part of the cross a point lies in
    limb = np.where(np.abs(p) >= np.abs(q), np.where(p >= 0, 0, 1), np.where(q >= 0, 2, 3))
    along = np.maximum(np.abs(p), np.abs(q))
    # the cross has its right arm along +p, where the X seen from the front has it at -y: triangles turn around
    triangles = triangles[:, ::-1]
    vertices = _rounded(_laid(p, q, h), triangles)
    names, weights, origins = _bones(limb, along, vertices)
    return Puppet(vertices, triangles, names, weights, origins, limb, along)


def directions() -> Array:
    """(4, 3) along each limb away from the middle, in the order of LIMBS."""
    arm, leg = np.radians([ARM_SPLAY, LEG_SPLAY])
    # seen from the front the puppet's right is at -y
    return np.array([
        [0.0, -np.sin(arm), np.cos(arm)], [0.0, np.sin(leg), -np.cos(leg)],
        [0.0, np.sin(arm), np.cos(arm)], [0.0, -np.sin(leg), -np.cos(leg)],
    ])  # fmt: skip


def bone_line(number: int, along: Array) -> tuple[Array, Array]:
    """The middle (k, 3) [m] of a limb at `along` (k,) [cells], and the direction of its front there."""
    away, ahead = directions()[number], np.array([1.0, 0.0, 0.0])
    if LIMBS[number].endswith("arm"):
        return CELL * along[:, None] * away, np.broadcast_to(ahead, (len(along), 3))
    first, last = INSTEP
    whole = np.radians(FORWARD_BY)
    radius = (last - first) / whole
    turn = whole * np.clip((along - first) / (last - first), 0.0, 1.0)
    beyond = np.maximum(along - last, 0.0)
    down = np.minimum(along, first) + radius * np.sin(turn) + beyond * np.cos(whole)
    forward = radius * (1.0 - np.cos(turn)) + beyond * np.sin(whole)
    front = np.cos(turn)[:, None] * ahead - np.sin(turn)[:, None] * away
    return CELL * (down[:, None] * away + forward[:, None] * ahead), front


def _cells() -> IndexArray:
    """(k, 2) corners of the cross's cells next to the origin; the right arm goes along +p, the left arm along +q."""
    half = ACROSS // 2
    filled = []
    for i in range(-LEG - half, ARM + half):
        for j in range(-LEG - half, ARM + half):
            inner = (-half <= i < half, -half <= j < half)
            tip = ARM + half - 1 in (i, j)
            at_edge = (i if inner[0] else j) in (-half, half - 1)
            if any(inner) and not (tip and at_edge):
                filled.append((i, j))
    return np.array(filled)


def _skin(cells: IndexArray) -> tuple[Array, IndexArray]:
    """Corners (n, 3) [cells] and outward triangles of the skin around cells (k, 2) that are THICK high."""
    there = {tuple(cell) for cell in cells.tolist()}
    quads: list[list[tuple[int, int, int]]] = []
    for i, j in sorted(there):
        square = [(i, j), (i + 1, j), (i + 1, j + 1), (i, j + 1)]
        quads.append([(*corner, THICK) for corner in square])
        quads.append([(*corner, 0) for corner in reversed(square)])
        for a, b, (di, dj) in zip(square, square[1:] + square[:1], ((0, -1), (1, 0), (0, 1), (-1, 0))):
            if (i + di, j + dj) not in there:
                quads += [[(*a, k), (*b, k), (*b, k + 1), (*a, k + 1)] for k in range(THICK)]
    keys, numbers = np.unique(np.array(quads).reshape(-1, 3), axis=0, return_inverse=True)
    quad = numbers.reshape(-1, 4)
    even = (keys[quad[:, 0]].sum(axis=1) % 2 == 0)[:, None]
    one = np.where(even, quad[:, [0, 1, 2]], quad[:, [0, 1, 3]])
    two = np.where(even, quad[:, [0, 2, 3]], quad[:, [1, 2, 3]])
    return keys.astype(np.float64), np.stack([one, two], axis=1).reshape(-1, 3)


def _laid(p: Array, q: Array, h: Array) -> Array:
    """Points of the cross (p, q) [cells], `h` in front of its plane, in the plane of the X [m]."""
    half = ACROSS / 2
    out = np.zeros((len(p), 3))
    # limbs are round: what is far from the middle of a limb is thinner
    deep = CELL_THICK * h * np.sqrt(1.0 - 0.5 * (np.minimum(np.abs(p), np.abs(q)) / half) ** 2)
    ways = dict(zip(("+p", "-p", "+q", "-q"), directions()))
    halves = (("+p", p, q, "q"), ("-p", -p, q, "q"), ("+q", q, p, "p"), ("-q", -q, p, "p"))
    for number, (name, s, w, sides) in enumerate(halves):
        here = s >= np.abs(w)
        away = ways[name]
        tip = LEG + half if away[2] < 0 else ARM + half
        # in the middle the neighbours' directions meet; farther out a limb's own width is square to it
        beside = np.where((w >= 0)[:, None], ways["+" + sides], -ways["-" + sides])
        square = ways["+" + sides] - (ways["+" + sides] @ away) * away
        square /= np.linalg.norm(square)
        turn = smooth((s - half) / half)[:, None]
        across = (1 - turn) * CELL * beside + turn * CELL_ACROSS * square
        slim = _slim(s, tip)
        middle, front = bone_line(number, s)
        out[here] = (middle + (slim * w)[:, None] * across + (slim * deep)[:, None] * front)[here]
    return out


def _slim(s: Array, tip: float) -> Array:
    """How wide a limb is at s [cells], as a share: it tapers a little, swells to a hand or foot and has a round end."""
    share = np.maximum(s - ACROSS / 2, 0.0) / (tip - ACROSS / 2)
    taper = 1.0 - 0.22 * smooth(share / 0.7) + 0.18 * smooth((share - 0.7) / 0.2)
    rest = np.clip((tip - s) / 4.0, 0.0, 1.0)
    return np.asarray(taper * (0.45 + 0.55 * np.sqrt(1.0 - (1.0 - rest) ** 2)))


def _rounded(vertices: Array, triangles: IndexArray) -> Array:
    """Each vertex drawn halfway to the mean of its neighbours, a few times: rims and the middle lose their edges."""
    links = MeshTri(vertices, triangles).adjacency
    degree = np.asarray(links.sum(axis=1)).reshape(-1, 1)
    for _ in range(ROUNDS):
        vertices = 0.5 * (vertices + links @ vertices / degree)
    return np.asarray(vertices)


def _bones(limb: IndexArray, along: Array, vertices: Array) -> tuple[tuple[str, ...], Array, Array]:
    """Names, weights (n, bones) and origins of a body, and of two bones an arm and four a leg."""
    # above the middle the body belongs to the chest, below to the pelvis
    upper = smooth(vertices[:, 2] / (8 * CELL) + 0.5)
    body = {"pelvis": 1.0 - upper, "chest": upper}
    names, columns, origins = ["pelvis", "chest"], [np.zeros(len(limb)), np.zeros(len(limb))], [np.zeros(3)] * 2
    for number, name in enumerate(LIMBS):
        is_arm = name.endswith("arm")
        joints = (SHOULDER, ELBOW) if is_arm else (HIP, KNEE, ANKLE, BALL)
        parts = ("upper", "fore") if is_arm else ("thigh", "shin", "foot", "toes")
        over = (BEND, BEND) if is_arm else (BEND, BEND, FOOT_BEND, FOOT_BEND)
        here = limb == number
        reached = [np.where(here, smooth((along - at) / wide + 0.5), 0.0) for at, wide in zip(joints, over)]
        for k, part in enumerate(parts):
            beyond = reached[k + 1] if k + 1 < len(parts) else np.zeros(len(limb))
            names.append(f"{name} {part}")
            columns.append(reached[k] - beyond)
            origins.append(bone_line(number, np.array([joints[k]]))[0][0])
        for place, part in enumerate(("pelvis", "chest")):
            columns[place] = columns[place] + np.where(here, (1.0 - reached[0]) * body[part], 0.0)
    return tuple(names), np.column_stack(columns), np.array(origins)


def worn(shape: Puppet, turns: Array, places: Array) -> Array:
    """The vertices (n, 3) [m] when each bone is turned by `turns` (bones, 3, 3) and its joint is at `places`."""
    shifts = places - np.einsum("bij,bj->bi", turns, shape.origins)
    turned = np.einsum("nij,nj->ni", (shape.weights @ turns.reshape(-1, 9)).reshape(-1, 3, 3), shape.vertices)
    return np.asarray(turned + shape.weights @ shifts)


def puppet_mesh(vertices: Array) -> MeshTri:
    """The skin with its vertices elsewhere."""
    return MeshTri(vertices, puppet().triangles)
