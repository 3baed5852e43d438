"""A walk, a walk against the wind, a live wire, and the shaking off of it."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator

from cajole.arrays import Array
from cajole.scenes.enriching.easing import smooth
from cajole.scenes.enriching.walker_pose import SOLE, Arm, Foot, Stance, standing
from cajole.scenes.enriching.walker_shape import puppet

FPS = 30.0
DURATION = 9.4
# [s]: when the wind is up and when it is gone, when the wire is stepped on and when the current ends, the shaking off
WIND, CURRENT, SHAKE = (3.0, 6.2), (6.45, 7.9), (8.05, 8.9)
# [s] over which a wind rises and falls, and a jolt begins and ends
RISE, JOLT = 0.5, 0.08
# cycles of two steps by time [s]: brisk, then slow against the wind, then both feet stand
CYCLES = ((0.0, 0.0), (2.8, 2.8), (3.4, 3.3), (6.05, 5.34), (6.45, 5.56), (7.0, 5.56), (DURATION, 5.56))
# [m] what a cycle covers, against the wind too, and how far the feet are to the side
STRIDE, AGAINST, ASIDE = 0.74, 0.50, 0.195
# cycles at which the stride changes, and over how many
SHORTER, OVER = 3.1, 0.6
# share of a cycle for which a foot stands, and how high it is lifted after [m]
STAND, LIFT = 0.62, 0.055
# of a foot over its cycle: heel up [degrees]; its toes stay flat until they leave the ground
HEEL = ((0.0, -20.0), (0.10, 0.0), (0.36, 0.0), (0.62, 46.0), (0.72, 42.0), (0.84, 6.0), (0.95, -20.0), (1.0, -20.0))
TOES = ((0.0, -20.0), (0.10, 0.0), (0.54, 0.0), (0.62, 12.0), (0.72, 36.0), (0.84, 6.0), (0.95, -20.0), (1.0, -20.0))
# [m] the middle of the body: mean height, how far it bobs, and sways towards the leg that stands
HEIGHT, BOB, SWAY = 0.634, 0.022, 0.030
# of the puppet at rest
REST_HEIGHT, REST_ASIDE = 0.640, 0.265


def rest_shape() -> Array:
    """(n, 3) [m] an X that stands on two feet."""
    feet = tuple(Foot(np.array([0.0, y, SOLE]), out=10.0) for y in (REST_ASIDE, -REST_ASIDE))
    return standing(puppet(), Stance(np.array([0.0, 0.0, REST_HEIGHT]), (feet[0], feet[1])))


def walk() -> Array:
    """Positions (frames, n, 3) [m]."""
    times = np.arange(round(DURATION * FPS) + 1) / FPS
    return np.array([standing(puppet(), stance(float(t))) for t in times])


def wind_at(time: float) -> float:
    """The strength of the headwind, 0..1."""
    return during(time, WIND, RISE)


def current_at(time: float) -> float:
    """Whether the current flows, 0..1."""
    return during(time, CURRENT, JOLT)


def during(time: float, span: tuple[float, float], over: float) -> float:
    """1 within a span of time [s], 0 outside, with smooth flanks inside it."""
    return float(smooth((time - span[0]) / over) * smooth((span[1] - time) / over))


def cycles_at(time: float) -> float:
    """How many cycles have been walked."""
    table = np.array(CYCLES)
    return float(PchipInterpolator(table[:, 0], table[:, 1])(time))


def way(cycles: float) -> float:
    """[m] how far that leads."""
    # the integral of a stride that changes along smoothstep
    x = (cycles - SHORTER) / OVER
    y = min(max(x, 0.0), 1.0)
    slowed = OVER * (y**3 - 0.5 * y**4 + max(x - 1.0, 0.0))
    return STRIDE * cycles - (STRIDE - AGAINST) * slowed


def stance(t: float) -> Stance:
    """The pose at a time [s]."""
    u = cycles_at(t)
    # how much of the walk is left when it stops
    going = 1.0 - float(smooth((t - CURRENT[0] + 0.35) / 0.35))
    wind, current, shake = wind_at(t), current_at(t), during(t, SHAKE, 0.2)
    beat, double = np.cos(2 * np.pi * u), np.cos(4 * np.pi * (u - STAND / 2))
    side = np.cos(2 * np.pi * (u - STAND / 2))
    buzz = current * np.sin(2 * np.pi * 11.0 * t + np.array([0.0, 2.0, 4.0, 1.0]))
    wag = shake * np.sin(2 * np.pi * 3.2 * (t - SHAKE[0]))
    height = HEIGHT + BOB * going * double - 0.02 * wind + 0.02 * (1.0 - going) + 0.006 * buzz[0]
    centre = np.array([way(u) + 0.03 * wind + 0.006 * buzz[1], SWAY * (going * side + 0.5 * wag), height])
    pelvis = (-9.0 * beat * going - 10.0 * wag, 2.0 + 8.0 * wind, 4.0 * side * going + 2.0 * buzz[2])
    lean = 5.0 * going + 16.0 * wind - 10.0 * current + 2.5 * double * going
    chest = (10.0 * beat * going + 16.0 * wag, lean, -5.0 * side * going + 4.0 * buzz[3] + 7.0 * wag)
    arms = tuple(_arm(u, way_, going, wind, current, buzz, wag) for way_ in (-1.0, 1.0))
    feet = tuple(_foot(u + offset, y, going) for offset, y in ((0.0, ASIDE), (0.5, -ASIDE)))
    return Stance(centre, (feet[0], feet[1]), pelvis, chest, (arms[0], arms[1]))


def _arm(u: float, way_: float, going: float, wind: float, current: float, buzz: Array, wag: float) -> Arm:
    """It swings against the leg of its side, the part beyond the elbow later; the wind takes it back."""
    swing, later = (way_ * going * (1.0 - 0.5 * wind) * np.cos(2 * np.pi * (u - lag)) for lag in (0.04, 0.16))
    beat = going * np.cos(4 * np.pi * (u - 0.1))
    calm = 1.0 - current
    return Arm(
        forward=float(26.0 * swing - 30.0 * wind + 8.0 * buzz[0] + 10.0 * way_ * wag),
        down=float(calm * (26.0 + 5.0 * beat) - 12.0 * current + 7.0 * buzz[2] + 10.0 * wag * way_),
        bend=float(calm * (10.0 + 22.0 * later) - 26.0 * wind + 10.0 * buzz[1] + 12.0 * way_ * wag),
        fold=float(calm * (-22.0 - 6.0 * beat) + 9.0 * buzz[3]),
    )


def _foot(u: float, y: float, going: float) -> Foot:
    """The foot whose cycle begins at whole numbers of u, when its heel touches the ground."""
    whole, phase = np.floor(u), u % 1.0
    offset = u - (u if y > 0 else u - 0.5)
    stood, next_ = (way(float(n) + STAND / 2 - offset) for n in (whole, whole + 1.0))
    air = np.clip((phase - STAND) / (1.0 - STAND), 0.0, 1.0)
    x = stood + (next_ - stood) * float(smooth(air))
    z = SOLE + LIFT * float(np.sin(np.pi * air)) ** 2
    heel, toes = (going * float(_curve(keys, phase)) for keys in (HEEL, TOES))
    return Foot(np.array([x, y, z]), heel=heel, toes=toes, out=8.0)


def _curve(keys: tuple[tuple[float, float], ...], at: float) -> float:
    table = np.array(keys)
    return float(PchipInterpolator(table[:, 0], table[:, 1])(at))
