"""Poses of the puppet: a body, arms that turn at their joints, and legs that reach for where their feet shall be."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.arrays import Array
from cajole.scenes.enriching.walker_shape import BALL, LIMBS, Puppet, bone_line, worn

# a leg never gets quite straight: its knee could not tell where to bend
STRAIGHTEST = 0.998
# [m] the height of the bones of a foot that stands flat
SOLE = 0.062
FORWARD, UP = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])


@dataclass(frozen=True)
class Foot:
    """Where a foot is: `place` (3,) [m] of its ankle if it stood flat, and how it rolls [degrees].

    heel: how far the heel is up over the ball, or when negative how far the ball is up over the heel; toes: how far the
    toes point down; out: to which side it points.
    """

    place: Array
    heel: float = 0.0
    toes: float = 0.0
    out: float = 0.0


@dataclass(frozen=True)
class Arm:
    """forward, down: how an arm is turned from the X; bend, fold: the same for what is beyond its elbow [degrees]."""

    forward: float = 0.0
    down: float = 0.0
    bend: float = 0.0
    fold: float = 0.0


@dataclass(frozen=True)
class Stance:
    """centre (3,) [m] of the body; pelvis, chest: yaw, lean forward and roll [degrees] of both, of the world; arms and
    feet, left before right.
    """

    centre: Array
    feet: tuple[Foot, Foot]
    pelvis: tuple[float, float, float] = (0.0, 0.0, 0.0)
    chest: tuple[float, float, float] = (0.0, 0.0, 0.0)
    arms: tuple[Arm, Arm] = field(default=(Arm(), Arm()))


def standing(shape: Puppet, stance: Stance) -> Array:
    """The puppet's vertices (n, 3) [m] in a stance."""
    turns = np.empty((len(shape.bones), 3, 3))
    places = np.empty((len(shape.bones), 3))
    for name, angles in (("pelvis", stance.pelvis), ("chest", stance.chest)):
        turns[shape.bone(name)] = Rotation.from_euler("ZYX", angles, degrees=True).as_matrix()
        places[shape.bone(name)] = stance.centre
    for side, arm, foot in zip(("left", "right"), stance.arms, stance.feet):
        _arm(shape, side, arm, turns, places)
        _leg(shape, side, foot, turns, places)
    return worn(shape, turns, places)


def _arm(shape: Puppet, side: str, arm: Arm, turns: Array, places: Array) -> None:
    outward = -1.0 if side == "left" else 1.0
    before = shape.bone("chest")
    for part, ahead, down in (("upper", arm.forward, arm.down), ("fore", arm.bend, arm.fold)):
        bone = shape.bone(f"{side} arm {part}")
        places[bone] = places[before] + turns[before] @ (shape.origins[bone] - shape.origins[before])
        own = Rotation.from_euler("YX", (ahead, outward * down), degrees=True).as_matrix()
        turns[bone] = turns[before] @ own
        before = bone


def _leg(shape: Puppet, side: str, foot: Foot, turns: Array, places: Array) -> None:
    """Two bones to the ankle, bent at the knee, then the foot and its toes."""
    thigh, shin, ankle, toes = (shape.bone(f"{side} leg {part}") for part in ("thigh", "shin", "foot", "toes"))
    rest = [shape.origins[b] - shape.origins[a] for a, b in ((thigh, shin), (shin, ankle), (ankle, toes))]
    upper, lower, instep = (float(np.linalg.norm(bone)) for bone in rest)
    top = bone_line(LIMBS.index(f"{side} leg"), np.array([BALL]))[1][0]
    out = np.radians(foot.out if side == "left" else -foot.out)
    ahead = np.array([np.cos(out), np.sin(out), 0.0])
    pelvis = shape.bone("pelvis")
    places[thigh] = places[pelvis] + turns[pelvis] @ (shape.origins[thigh] - shape.origins[pelvis])
    goal = foot.place + _rolled(foot, instep, ahead)
    knee, goal = bent(places[thigh], goal, upper, lower, turns[pelvis] @ FORWARD)
    places[shin], places[ankle] = knee, goal
    turns[thigh] = _turned(rest[0], FORWARD, knee - places[thigh], turns[pelvis] @ FORWARD)
    turns[shin] = _turned(rest[1], FORWARD, goal - knee, turns[pelvis] @ FORWARD)
    for bone, angle in ((ankle, foot.heel), (toes, foot.toes)):
        down = np.radians(angle)
        turns[bone] = _turned(rest[2], top, np.cos(down) * ahead - np.sin(down) * UP, UP)
    places[toes] = goal + turns[ankle] @ (shape.origins[toes] - shape.origins[ankle])


def _rolled(foot: Foot, instep: float, ahead: Array) -> Array:
    """How far the ankle (3,) is from where it would be flat: it turns about the ball when the heel is up."""
    up = np.radians(max(foot.heel, 0.0))
    return np.asarray(instep * ((1.0 - np.cos(up)) * ahead + np.sin(up) * UP))


def bent(hip: Array, goal: Array, thigh: float, shin: float, ahead: Array) -> tuple[Array, Array]:
    """Where knee and ankle are, (3,) each; an ankle out of reach comes as near to its goal as the leg is long."""
    r = goal - hip
    reach = STRAIGHTEST * (thigh + shin)
    length = min(float(np.linalg.norm(r)), reach)
    r /= np.linalg.norm(r)
    along = (thigh**2 - shin**2 + length**2) / (2 * length)
    bow = np.sqrt(max(thigh**2 - along**2, 0.0))
    across = ahead - (ahead @ r) * r
    return hip + along * r + bow * across / np.linalg.norm(across), hip + length * r


def _turned(along: Array, front: Array, new_along: Array, new_front: Array) -> Array:
    """The rotation (3, 3) that takes a bone's direction to a new one and its front as near as it can to a new one."""
    return np.asarray(_frame(new_along, new_front) @ _frame(along, front).T)


def _frame(along: Array, front: Array) -> Array:
    a = along / np.linalg.norm(along)
    b = front - (front @ a) * a
    b /= np.linalg.norm(b)
    return np.column_stack([a, b, np.cross(a, b)])
