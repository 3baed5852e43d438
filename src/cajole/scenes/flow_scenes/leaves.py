"""Leaves in the wind: the red one draws an S, the others drift passively. Figure 2 of the 2008 paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole.arrays import Array
from cajole.flow import Flow, FlowForce, FlowMotion, Gust
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes.flow_scenes.flow_scene import BOX_SIDE, DT, FlowScene, build_flow_box, load_or_compute_shot

STEP_COUNT = 200
# The letter: two arcs of this radius [m], one above the other, of this many degrees each, from where on [degrees].
ARC_RADIUS, ARC_ANGLE, ARC_START_ANGLE = 42.0, 250.0, 20.0
# The wind that takes the leaf along in the full simulation: how wide [m], and what share of the missing speed it gives
# in a step; more than all of it, for pressure spreads what it pushes.
GUST_WIDTH, VELOCITY_GAIN = 28.0, 1.5


@dataclass(frozen=True, eq=False)
class LeavesScene(FlowScene):
    """The reduced motion with the red leaf's path, and the feed-forward that reproduces it without disturbances.

    passive_particles: (7, 2) [m] start positions of the uncontrolled leaves.
    """

    passive_particles: Array

    def build_disturbance(self, seed: int = 0) -> list[FlowForce]:
        """Random wind of a seed."""
        return [self.build_noise(seed)]

    def build_smoke(self) -> Array:
        """Soft horizontal bands of smoke (cells, cells), which visualise the wind."""
        # Smoke to see the wind by: bands of this height [m].
        smoke_band_height = 32.0
        height = self.flow.cell_size * (np.arange(self.flow.rows) + 0.5)
        return np.tile(0.5 - 0.5 * np.cos(2.0 * np.pi * height / smoke_band_height), (self.flow.columns, 1))


def build_leaves_scene(
    cells: int = 256, *, size: int = 64, runs: int = 50, progress: ProgressCallback | None = None
) -> LeavesScene:
    """Load the leaves on a grid of cells × cells; the first call simulates them for about a minute."""
    flow = build_flow_box(cells)
    start = compute_letter_path()[:1]
    shot = load_or_compute_shot(
        "leaves", lambda: simulate_letter(flow, progress), flow, start, size, runs, "inverse", progress
    )
    return LeavesScene(flow, shot, _place_passive_particles())


def compute_letter_path() -> Array:
    """Target of the red leaf in every frame (201, 2) [m]: an S at constant speed."""
    turned = 2.0 * ARC_ANGLE * np.arange(STEP_COUNT + 1) / STEP_COUNT
    upper = np.radians(ARC_START_ANGLE + turned)
    lower = np.radians(ARC_START_ANGLE + ARC_ANGLE - 180.0 - (turned - ARC_ANGLE))
    above = turned <= ARC_ANGLE
    angle = np.where(above, upper, lower)
    rise = np.where(above, ARC_RADIUS, -ARC_RADIUS)
    return 0.5 * BOX_SIDE + np.stack([ARC_RADIUS * np.cos(angle), rise + ARC_RADIUS * np.sin(angle)], axis=1)


def simulate_letter(flow: Flow, progress: ProgressCallback | None = None) -> FlowMotion:
    """Full simulation in which a gust around the leaf moves it along the letter in every step."""
    # How much of being off the letter is made good in a step.
    position_gain = 0.5
    goal = compute_letter_path()
    at, states, gusts = goal[:1].copy(), [np.zeros(flow.face_count)], []
    for step in range(STEP_COUNT):
        wanted = (
            position_gain * (goal[step + 1] - at[0]) / DT + (1.0 - position_gain) * (goal[step + 1] - goal[step]) / DT
        )
        ax, ay = (VELOCITY_GAIN / DT * (wanted - flow.interpolate_velocity(states[-1], at)[0])).tolist()
        gusts.append(Gust((float(at[0, 0]), float(at[0, 1])), (ax, ay), GUST_WIDTH, time=step * DT))
        states.append(flow.step(states[-1], DT, gusts[-1].compute_acceleration(flow, step, DT)))
        at = flow.advect_points(at, states[-2], states[-1], DT)
        report_progress(progress, 0.1 * (step + 1) / STEP_COUNT, "the leaf writes its letter")
    return FlowMotion(flow, DT, np.array(states), gusts)


def _place_passive_particles() -> Array:
    """Start positions (7, 2) [m] of the other leaves, around the letter."""
    angle = 2.0 * np.pi * np.arange(7) / 7 + 0.3
    return 0.5 * BOX_SIDE + 0.3 * BOX_SIDE * np.stack([np.cos(angle), np.sin(angle)], axis=1)
