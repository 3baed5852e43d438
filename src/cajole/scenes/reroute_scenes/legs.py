"""A pair of walking legs: hips, knees and feet as capsules for contact and as an animated surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial.transform import Rotation

from cajole.animation import Animation
from cajole.arrays import Array
from cajole.body import Capsules
from cajole.scenes.easing import unit_smoothstep
from cajole.scenes.enrich_scenes.walker_rig import FORWARD, UP, solve_two_bone_ik
from cajole.scenes.tube import build_tube, join_meshes

# [s] of a cycle of two steps, the way it covers [m], and over how long [s] the walk begins
CYCLE_PERIOD, STRIDE, START_DURATION = 1.05, 0.90, 0.5
# share of a cycle for which a foot stands, and how high it is lifted after [m]
STANCE_FRACTION, FOOT_LIFT = 0.62, 0.07
# [m] hips: mean height, how far they bob and sway; [degrees] how far they turn, and tilt to the side
HIP_HEIGHT, BOB_AMPLITUDE, SWAY_AMPLITUDE = 0.865, 0.012, 0.018
YAW_AMPLITUDE, TILT_AMPLITUDE = 7.0, 4.0
# [m] from the middle to a hip joint, bones of a leg, an ankle's height, and from there to the ball of the foot
HIP_HALF_WIDTH, THIGH_LENGTH, SHIN_LENGTH, ANKLE_HEIGHT, INSTEP_LENGTH = 0.085, 0.42, 0.41, 0.075, 0.145
# [m] hips, thighs, shins, feet
CAPSULE_RADII = (0.088, 0.072, 0.050, 0.036)
TUBE_SIDES, CAP_RINGS = 18, 9


@dataclass(frozen=True, eq=False)
class LegPose:
    """hips (3,) [m] between the joints and rotation (3, 3); joints (2, 4, 3) [m]: hip, knee, ankle and ball, left
    first.
    """

    hips: Array
    rotation: Array
    joints: Array

    @property
    def capsules(self) -> tuple[Array, Array, Array]:
        """Starts, ends (7, 3) [m] and radii (7,) [m] of hips, thighs, shins and feet."""
        legs = self.joints
        starts = np.concatenate([legs[:1, 0], legs[:, 0], legs[:, 1], legs[:, 2]])
        ends = np.concatenate([legs[1:, 0], legs[:, 1], legs[:, 2], legs[:, 3]])
        return starts, ends, np.repeat(CAPSULE_RADII, (1, 2, 2, 2))


def compute_leg_pose(time: float) -> LegPose:
    """Pose at a time [s]; the walk starts at 0 with both feet on the ground."""
    u = compute_cycle_count(time)
    double, side = np.cos(4 * np.pi * (u - STANCE_FRACTION / 2)), np.cos(2 * np.pi * (u - STANCE_FRACTION / 2))
    hips = np.array([STRIDE * u, SWAY_AMPLITUDE * side, HIP_HEIGHT + BOB_AMPLITUDE * double])
    turn = Rotation.from_euler(
        "ZX", (YAW_AMPLITUDE * -np.cos(2 * np.pi * u), TILT_AMPLITUDE * side), degrees=True
    ).as_matrix()
    return LegPose(hips, turn, np.array([_compute_leg_joints(hips, turn, u, way) for way in (1.0, -1.0)]))


def compute_cycle_count(time: float) -> float:
    """Number of walk cycles at a time [s], with a smooth start from standing."""
    x = max(time, 0.0) / START_DURATION
    y = min(x, 1.0)
    # the integral of smoothstep
    return START_DURATION / CYCLE_PERIOD * (y**3 - 0.5 * y**4 + max(x - 1.0, 0.0))


def build_leg_capsules(pose: LegPose, *, stiffness: float, margin: float) -> Capsules:
    """Capsule obstacles of a pose."""
    starts, ends, radii = pose.capsules
    return Capsules(starts, ends, radii, stiffness=stiffness, margin=margin)


def build_legs_animation(poses: list[LegPose], fps: float) -> Animation:
    """Animated surfaces of the limbs."""
    starts, ends, radii = poses[0].capsules
    parts = [
        build_tube(*_build_capsule_profile(float(np.linalg.norm(b - a)), r), TUBE_SIDES)
        for a, b, r in zip(starts, ends, radii)
    ]
    mesh = join_meshes(
        [
            part.__class__(_align_to_segment(part.vertices, a, b), part.triangles)
            for part, a, b in zip(parts, starts, ends)
        ]
    )
    frames = [
        np.vstack([_align_to_segment(part.vertices, a, b) for part, a, b in zip(parts, *pose.capsules[:2])])
        for pose in poses
    ]
    return Animation(mesh, np.array(frames), fps=fps, name="legs")


def _compute_leg_joints(hips: Array, rotation: Array, cycle: float, side: float) -> Array:
    """Positions (4, 3) [m] of hip, knee, ankle and ball of the left (side 1) or right (-1) leg after a number of
    cycles.
    """
    # [degrees] by which a heel is up when its foot leaves the ground
    heel_lift_angle = 38.0
    offset = 0.0 if side > 0 else 0.5
    whole, phase = np.floor(cycle + offset), (cycle + offset) % 1.0
    air = np.clip((phase - STANCE_FRACTION) / (1.0 - STANCE_FRACTION), 0.0, 1.0)
    stood = STRIDE * (whole + STANCE_FRACTION / 2 - offset)
    ball = np.array([stood + STRIDE * float(unit_smoothstep(air)), side * HIP_HALF_WIDTH, ANKLE_HEIGHT])
    ball += INSTEP_LENGTH * FORWARD + FOOT_LIFT * float(np.sin(np.pi * air)) ** 2 * UP
    # the heel comes up while the ball still stands, and is down again before the next step
    roll = np.radians(heel_lift_angle) * float(
        unit_smoothstep((phase - 0.36) / (STANCE_FRACTION - 0.36)) * unit_smoothstep((0.95 - phase) / 0.25)
    )
    back = INSTEP_LENGTH * (np.cos(roll) * FORWARD - np.sin(roll) * UP)
    hip = hips + rotation @ (0.0, side * HIP_HALF_WIDTH, 0.0)
    knee, ankle = solve_two_bone_ik(hip, ball - back, THIGH_LENGTH, SHIN_LENGTH, rotation @ FORWARD)
    down = 0.55 * (ANKLE_HEIGHT - CAPSULE_RADII[3]) * UP
    return np.array([hip, knee, ankle, ankle + back - down])


def _build_capsule_profile(length: float, radius: float) -> tuple[Array, Array]:
    """Points (k, 3) [m] along z and radii (k,) [m] of a capsule."""
    turn = np.linspace(0.5 * np.pi, 0.06, CAP_RINGS)
    below, thick = -radius * np.sin(turn), radius * np.cos(turn)
    thick[0] = 0.02 * radius  # a tube needs some thickness where it is closed
    heights = np.concatenate([below, length - below[::-1]])
    return heights[:, None] * UP, np.concatenate([thick, thick[::-1]])


def _align_to_segment(points: Array, start: Array, end: Array) -> Array:
    """Rotate and translate points (n, 3) of a capsule along z to the segment from `start` to `end`."""
    along = (end - start) / np.linalg.norm(end - start)
    # bars lie across the walk or in its plane, none points straight ahead and level
    first = np.cross(np.cross(along, FORWARD), along)
    first /= np.linalg.norm(first)
    return np.asarray(start + points @ np.array([first, np.cross(along, first), along]))
