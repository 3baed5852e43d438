"""Smoke after a single gust: Figures 3, 5 and 7 of the 2008 paper."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.flow import Flow, FlowForce, FlowMotion, Gust
from cajole.progress import ProgressCallback
from cajole.scenes.flow_scenes.flow_scene import DT, FlowScene, build_flow_box, load_or_compute_shot

# The user's kicks: (frame, particle that is hit, direction); how wide [m], for how long [s].
KICKS = ((12, 0, (1.0, 0.0)), (34, 1, (-0.6, 0.8)), (58, 2, (0.3, -0.95)))
KICK_RADIUS, KICK_DURATION = 20.0, 2.0
# where the smoke is at first [m]: within RADIUS of the middle of the blow's wake
SMOKE_CENTRE, SMOKE_RADIUS = (112.0, 134.0), 44.0


@dataclass(frozen=True, eq=False)
class SwirlScene(FlowScene):
    """The reduced motion with the paths of three particles, without feed-forward."""

    def build_kicks(self, strength: float = 0.3) -> list[Gust]:
        """The three kicks of the user; strength: acceleration [m/s²], each lasting two steps."""
        size = checks.require_positive(strength, "strength (m/s²)")
        return [self._build_kick(frame, particle, way, size) for frame, particle, way in KICKS]

    def build_disturbance(self, seed: int = 0) -> list[FlowForce]:
        """The three kicks, for every seed."""
        return list(self.build_kicks())

    def build_smoke(self) -> Array:
        """Initial disc of smoke (cells, cells) with a soft edge."""
        middle = self.flow.cell_size * (np.arange(self.flow.columns) + 0.5)
        away = np.hypot(middle[:, None] - SMOKE_CENTRE[0], middle - SMOKE_CENTRE[1])
        return np.asarray(np.clip((SMOKE_RADIUS - away) / (0.25 * SMOKE_RADIUS), 0.0, 1.0))

    def _build_kick(self, frame: int, particle: int, direction: tuple[float, float], strength: float) -> Gust:
        x, y = self.shot.particles[frame, particle].tolist()
        return Gust((x, y), (strength * direction[0], strength * direction[1]), KICK_RADIUS, frame * DT, KICK_DURATION)


def build_swirl_scene(
    cells: int = 256, *, size: int = 64, runs: int = 50, progress: ProgressCallback | None = None
) -> SwirlScene:
    """Load the swirl on a grid of cells × cells; the first call simulates it for half a minute."""
    # where the three particles start [m]
    start_positions = np.array([[128.0, 128.0], [96.0, 128.0], [112.0, 152.0]])
    flow = build_flow_box(cells)
    shot = load_or_compute_shot(
        "swirl", lambda: simulate_reference(flow), flow, start_positions, size, runs, "zero", progress
    )
    return SwirlScene(flow, shot)


def simulate_reference(flow: Flow) -> FlowMotion:
    """Full simulation of one initial gust."""
    step_count = 90
    # The blow: where [m], the speed it gives at its centre before pressure spreads it [m/s], and how wide [m].
    initial_gust = Gust((100.0, 120.0), (2.4, 4.0), 36.0)
    return flow.simulate(step_count + 1, DT, start=initial_gust.compute_acceleration(flow, 0, DT))
