"""A pair of legs that walks: where hips, knees and feet are, as capsules to bump into and as a shape to look at."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Capsules
from cajole.scenes.enriching.easing import smooth
from cajole.scenes.enriching.tube import joined, tube
from cajole.scenes.enriching.walker_pose import FORWARD, UP, bent

# [s] of a cycle of two steps, the way it covers [m], and over how long [s] the walk begins
PERIOD, STRIDE, BEGINS = 1.05, 0.90, 0.5
# share of a cycle for which a foot stands, and how high it is lifted after [m]
STAND, LIFT = 0.62, 0.07
# [m] hips: mean height, how far they bob and sway; [degrees] how far they turn, and tilt to the side
HEIGHT, BOB, SWAY = 0.865, 0.012, 0.018
YAW, TILT = 7.0, 4.0
# [m] from the middle to a hip joint, bones of a leg, an ankle's height, and from there to the ball of the foot
ASIDE, THIGH, SHIN, ANKLE, INSTEP = 0.085, 0.42, 0.41, 0.075, 0.145
# [degrees] by which a heel is up when its foot leaves the ground
ROLL = 38.0
# [m] hips, thighs, shins, feet
RADII = (0.088, 0.072, 0.050, 0.036)
SIDES, RINGS = 18, 9


@dataclass(frozen=True, eq=False)
class Pose:
    """hips (3,) [m] between the joints and turn (3, 3); joints (2, 4, 3) [m]: hip, knee, ankle and ball, left first."""

    hips: Array
    turn: Array
    joints: Array

    @property
    def bars(self) -> tuple[Array, Array, Array]:
        """starts, ends (7, 3) [m] and radii (7,) [m] of hips, thighs, shins and feet."""
        legs = self.joints
        starts = np.concatenate([legs[:1, 0], legs[:, 0], legs[:, 1], legs[:, 2]])
        ends = np.concatenate([legs[1:, 0], legs[:, 1], legs[:, 2], legs[:, 3]])
        return starts, ends, np.repeat(RADII, (1, 2, 2, 2))


def walking(time: float) -> Pose:
    """The pose at a time [s]; the walk begins at 0, with both feet on the ground."""
    u = cycles(time)
    double, side = np.cos(4 * np.pi * (u - STAND / 2)), np.cos(2 * np.pi * (u - STAND / 2))
    hips = np.array([STRIDE * u, SWAY * side, HEIGHT + BOB * double])
    turn = Rotation.from_euler("ZX", (YAW * -np.cos(2 * np.pi * u), TILT * side), degrees=True).as_matrix()
    return Pose(hips, turn, np.array([_leg(hips, turn, u, way) for way in (1.0, -1.0)]))


def cycles(time: float) -> float:
    """How many have been walked: from standing to full speed within BEGINS."""
    x = max(time, 0.0) / BEGINS
    y = min(x, 1.0)
    # the integral of smoothstep
    return BEGINS / PERIOD * (y**3 - 0.5 * y**4 + max(x - 1.0, 0.0))


def limbs(pose: Pose, *, stiffness: float, margin: float) -> Capsules:
    """What a garment bumps into."""
    starts, ends, radii = pose.bars
    return Capsules(starts, ends, radii, stiffness=stiffness, margin=margin)


def legs_animation(poses: list[Pose], fps: float) -> Animation:
    """The surfaces of the limbs, moving."""
    starts, ends, radii = poses[0].bars
    parts = [tube(*_capsule(float(np.linalg.norm(b - a)), r), SIDES) for a, b, r in zip(starts, ends, radii)]
    mesh = joined(
        [part.__class__(_placed(part.vertices, a, b), part.triangles) for part, a, b in zip(parts, starts, ends)]
    )
    frames = [np.vstack([_placed(part.vertices, a, b) for part, a, b in zip(parts, *pose.bars[:2])]) for pose in poses]
    return Animation(mesh, np.array(frames), fps=fps, name="legs")


def _leg(hips: Array, turn: Array, u: float, way: float) -> Array:
    """(4, 3) [m] hip, knee, ankle, ball of the left (way 1) or right (-1) leg after u cycles."""
    offset = 0.0 if way > 0 else 0.5
    whole, phase = np.floor(u + offset), (u + offset) % 1.0
    air = np.clip((phase - STAND) / (1.0 - STAND), 0.0, 1.0)
    stood = STRIDE * (whole + STAND / 2 - offset)
    ball = np.array([stood + STRIDE * float(smooth(air)), way * ASIDE, ANKLE])
    ball += INSTEP * FORWARD + LIFT * float(np.sin(np.pi * air)) ** 2 * UP
    # the heel comes up while the ball still stands, and is down again before the next step
    roll = np.radians(ROLL) * float(smooth((phase - 0.36) / (STAND - 0.36)) * smooth((0.95 - phase) / 0.25))
    back = INSTEP * (np.cos(roll) * FORWARD - np.sin(roll) * UP)
    hip = hips + turn @ (0.0, way * ASIDE, 0.0)
    knee, ankle = bent(hip, ball - back, THIGH, SHIN, turn @ FORWARD)
    down = 0.55 * (ANKLE - RADII[3]) * UP
    return np.array([hip, knee, ankle, ankle + back - down])


def _capsule(length: float, radius: float) -> tuple[Array, Array]:
    """A line (k, 3) [m] along z and the radii (k,) [m] around it of a bar of that length with round ends."""
    turn = np.linspace(0.5 * np.pi, 0.06, RINGS)
    below, thick = -radius * np.sin(turn), radius * np.cos(turn)
    thick[0] = 0.02 * radius  # a tube needs some thickness where it is closed
    heights = np.concatenate([below, length - below[::-1]])
    return heights[:, None] * UP, np.concatenate([thick, thick[::-1]])


def _placed(points: Array, start: Array, end: Array) -> Array:
    """Points (n, 3) of a bar along z, moved to where it goes from `start` to `end`."""
    along = (end - start) / np.linalg.norm(end - start)
    # bars lie across the walk or in its plane, none points straight ahead and level
    first = np.cross(np.cross(along, FORWARD), along)
    first /= np.linalg.norm(first)
    return np.asarray(start + points @ np.array([first, np.cross(along, first), along]))
