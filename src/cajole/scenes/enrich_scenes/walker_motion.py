"""Motion of the walker: a walk, a walk against the wind, a live wire, and shaking it off."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator

from cajole.arrays import Array
from cajole.scenes.easing import unit_smoothstep
from cajole.scenes.enrich_scenes.walker_rig import (
    FOOT_BONE_HEIGHT,
    ArmPose,
    FootPose,
    PuppetPose,
    build_puppet_rig,
    pose_puppet,
)

FPS = 30.0
DURATION = 9.4
# [s]: when the wind is up and when it is gone, when the wire is stepped on and when the current ends, the shaking off
WIND_SPAN, ELECTRIC_CURRENT_SPAN, SHAKE_SPAN = (3.0, 6.2), (6.45, 7.9), (8.05, 8.9)
# [s] over which a wind rises and falls, and a jolt begins and ends
WIND_RAMP, CURRENT_RAMP = 0.5, 0.08
# cycles of two steps by time [s]: brisk, then slow against the wind, then both feet stand
CYCLE_KEYS = ((0.0, 0.0), (2.8, 2.8), (3.4, 3.3), (6.05, 5.34), (6.45, 5.56), (7.0, 5.56), (DURATION, 5.56))
# [m] what a cycle covers, against the wind too, and how far the feet are to the side
STRIDE, HEADWIND_STRIDE, FOOT_Y = 0.74, 0.50, 0.195
# cycles at which the stride changes, and over how many
STRIDE_CHANGE_CYCLE, STRIDE_CHANGE_CYCLES = 3.1, 0.6
# share of a cycle for which a foot stands, and how high it is lifted after [m]
STANCE_FRACTION, FOOT_LIFT = 0.62, 0.055
# [m] the middle of the body: mean height, how far it bobs, and sways towards the leg that stands
BODY_HEIGHT, BOB_AMPLITUDE, SWAY_AMPLITUDE = 0.634, 0.022, 0.030
# of the puppet at rest
REST_HEIGHT, REST_FOOT_Y = 0.640, 0.265


def compute_rest_shape() -> Array:
    """Vertices (n, 3) [m] of an X-shaped puppet that stands on two feet."""
    feet = tuple(FootPose(np.array([0.0, y, FOOT_BONE_HEIGHT]), yaw=10.0) for y in (REST_FOOT_Y, -REST_FOOT_Y))
    return pose_puppet(build_puppet_rig(), PuppetPose(np.array([0.0, 0.0, REST_HEIGHT]), (feet[0], feet[1])))


def compute_walk() -> Array:
    """Positions (frames, n, 3) [m] of the whole motion."""
    times = np.arange(round(DURATION * FPS) + 1) / FPS
    return np.array([pose_puppet(build_puppet_rig(), compute_pose(float(t))) for t in times])


def compute_wind_strength(time: float) -> float:
    """Strength of the headwind at a time [s], 0 to 1."""
    return evaluate_smooth_window(time, WIND_SPAN, WIND_RAMP)


def compute_electric_current(time: float) -> float:
    """Strength of the electric current at a time [s], 0 to 1."""
    return evaluate_smooth_window(time, ELECTRIC_CURRENT_SPAN, CURRENT_RAMP)


def evaluate_smooth_window(time: float, span: tuple[float, float], ramp: float) -> float:
    """1 inside a time span [s], 0 outside, with smooth ramps inside it."""
    return float(unit_smoothstep((time - span[0]) / ramp) * unit_smoothstep((span[1] - time) / ramp))


def compute_cycle_count(time: float) -> float:
    """Number of walk cycles at a time [s]."""
    table = np.array(CYCLE_KEYS)
    return float(PchipInterpolator(table[:, 0], table[:, 1])(time))


def compute_travel_distance(cycles: float) -> float:
    """Distance [m] walked after a number of cycles."""
    # the integral of a stride that changes along smoothstep
    x = (cycles - STRIDE_CHANGE_CYCLE) / STRIDE_CHANGE_CYCLES
    y = min(max(x, 0.0), 1.0)
    slowed = STRIDE_CHANGE_CYCLES * (y**3 - 0.5 * y**4 + max(x - 1.0, 0.0))
    return STRIDE * cycles - (STRIDE - HEADWIND_STRIDE) * slowed


def compute_pose(t: float) -> PuppetPose:
    """Pose at a time [s]."""
    u = compute_cycle_count(t)
    # how much of the walk is left when it stops
    going = 1.0 - float(unit_smoothstep((t - ELECTRIC_CURRENT_SPAN[0] + 0.35) / 0.35))
    wind, current, shake = (
        compute_wind_strength(t),
        compute_electric_current(t),
        evaluate_smooth_window(t, SHAKE_SPAN, 0.2),
    )
    beat, double = np.cos(2 * np.pi * u), np.cos(4 * np.pi * (u - STANCE_FRACTION / 2))
    side = np.cos(2 * np.pi * (u - STANCE_FRACTION / 2))
    buzz = current * np.sin(2 * np.pi * 11.0 * t + np.array([0.0, 2.0, 4.0, 1.0]))
    wag = shake * np.sin(2 * np.pi * 3.2 * (t - SHAKE_SPAN[0]))
    height = BODY_HEIGHT + BOB_AMPLITUDE * going * double - 0.02 * wind + 0.02 * (1.0 - going) + 0.006 * buzz[0]
    centre = np.array(
        [
            compute_travel_distance(u) + 0.03 * wind + 0.006 * buzz[1],
            SWAY_AMPLITUDE * (going * side + 0.5 * wag),
            height,
        ]
    )
    pelvis = (-9.0 * beat * going - 10.0 * wag, 2.0 + 8.0 * wind, 4.0 * side * going + 2.0 * buzz[2])
    lean = 5.0 * going + 16.0 * wind - 10.0 * current + 2.5 * double * going
    chest = (10.0 * beat * going + 16.0 * wag, lean, -5.0 * side * going + 4.0 * buzz[3] + 7.0 * wag)
    arms = tuple(_compute_arm_pose(u, way_, going, wind, current, buzz, wag) for way_ in (-1.0, 1.0))
    feet = tuple(_compute_foot_pose(u + offset, y, going) for offset, y in ((0.0, FOOT_Y), (0.5, -FOOT_Y)))
    return PuppetPose(centre, (feet[0], feet[1]), pelvis, chest, (arms[0], arms[1]))


def _compute_arm_pose(
    cycle: float, side: float, walking: float, wind: float, current: float, tremor: Array, shake: float
) -> ArmPose:
    """Arm pose: swings opposite to the leg of its side, the forearm with a delay; wind pushes it back."""
    swing, later = (side * walking * (1.0 - 0.5 * wind) * np.cos(2 * np.pi * (cycle - lag)) for lag in (0.04, 0.16))
    beat = walking * np.cos(4 * np.pi * (cycle - 0.1))
    calm = 1.0 - current
    return ArmPose(
        shoulder_pitch=float(26.0 * swing - 30.0 * wind + 8.0 * tremor[0] + 10.0 * side * shake),
        shoulder_roll=float(calm * (26.0 + 5.0 * beat) - 12.0 * current + 7.0 * tremor[2] + 10.0 * shake * side),
        elbow_pitch=float(calm * (10.0 + 22.0 * later) - 26.0 * wind + 10.0 * tremor[1] + 12.0 * side * shake),
        elbow_roll=float(calm * (-22.0 - 6.0 * beat) + 9.0 * tremor[3]),
    )


def _compute_foot_pose(cycle: float, y: float, walking: float) -> FootPose:
    """Foot pose; its cycle starts at whole numbers, when the heel touches the ground."""
    toe_keys = (
        (0.0, -20.0),
        (0.10, 0.0),
        (0.54, 0.0),
        (0.62, 12.0),
        (0.72, 36.0),
        (0.84, 6.0),
        (0.95, -20.0),
        (1.0, -20.0),
    )
    # of a foot over its cycle: heel up [degrees]; its toes stay flat until they leave the ground
    heel_keys = (
        (0.0, -20.0),
        (0.10, 0.0),
        (0.36, 0.0),
        (0.62, 46.0),
        (0.72, 42.0),
        (0.84, 6.0),
        (0.95, -20.0),
        (1.0, -20.0),
    )
    whole, phase = np.floor(cycle), cycle % 1.0
    offset = cycle - (cycle if y > 0 else cycle - 0.5)
    stood, next_ = (compute_travel_distance(float(n) + STANCE_FRACTION / 2 - offset) for n in (whole, whole + 1.0))
    air = np.clip((phase - STANCE_FRACTION) / (1.0 - STANCE_FRACTION), 0.0, 1.0)
    x = stood + (next_ - stood) * float(unit_smoothstep(air))
    z = FOOT_BONE_HEIGHT + FOOT_LIFT * float(np.sin(np.pi * air)) ** 2
    heel, toes = (walking * float(_interpolate_keys(keys, phase)) for keys in (heel_keys, toe_keys))
    return FootPose(np.array([x, y, z]), heel_pitch=heel, toe_pitch=toes, yaw=8.0)


def _interpolate_keys(keys: tuple[tuple[float, float], ...], at: float) -> float:
    table = np.array(keys)
    return float(PchipInterpolator(table[:, 0], table[:, 1])(at))
