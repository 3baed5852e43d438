"""Smoke after one blow: what Figures 3, 5 and 7 of the 2008 paper show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.flow import Flow, FlowForce, FlowMotion, Gust
from cajole.progress import Progress
from cajole.scenes.flowing.building import DT, FlowScene, box, followed

STEPS = 90
# The blow: where [m], the speed it gives at its centre before pressure spreads it [m/s], and how wide [m].
BLOW = Gust((100.0, 120.0), (2.4, 4.0), 36.0)
# where the three particles start [m]
STARTS = np.array([[128.0, 128.0], [96.0, 128.0], [112.0, 152.0]])
# The user's kicks: (frame, particle that is hit, direction); how wide [m], for how long [s].
KICKS = ((12, 0, (1.0, 0.0)), (34, 1, (-0.6, 0.8)), (58, 2, (0.3, -0.95)))
KICK_RADIUS, KICK_SECONDS = 20.0, 2.0
# where the smoke is at first [m]: within RADIUS of the middle of the blow's wake
SMOKE, RADIUS = (112.0, 134.0), 44.0


@dataclass(frozen=True, eq=False)
class Swirl(FlowScene):
    """The full motion's paths of three particles and its velocities in modes, with nothing as feed-forward."""

    def kicks(self, strength: float = 0.3) -> list[Gust]:
        """The user's three; strength: acceleration [m/s²], each lasting two steps."""
        size = checks.positive(strength, "strength (m/s²)")
        return [self._kick(frame, particle, way, size) for frame, particle, way in KICKS]

    def disturbance(self, seed: int = 0) -> list[FlowForce]:
        """What a take is disturbed by: the three kicks, whatever the seed."""
        return list(self.kicks())

    def smoke(self) -> Array:
        """A disc of smoke (cells, cells) to start with, soft at its edge."""
        middle = self.flow.cell * (np.arange(self.flow.columns) + 0.5)
        away = np.hypot(middle[:, None] - SMOKE[0], middle - SMOKE[1])
        return np.clip((RADIUS - away) / (0.25 * RADIUS), 0.0, 1.0)

    def _kick(self, frame: int, particle: int, way: tuple[float, float], size: float) -> Gust:
        x, y = self.shot.particles[frame, particle].tolist()
        return Gust((x, y), (size * way[0], size * way[1]), KICK_RADIUS, frame * DT, KICK_SECONDS)


def swirl(cells: int = 256, *, size: int = 64, runs: int = 50, progress: Progress | None = None) -> Swirl:
    """The swirl on a grid of cells × cells. The first call simulates it, half a minute; then it is in the cache."""
    flow = box(cells)
    shot = followed("swirl", lambda: centre_line(flow), flow, STARTS, size, runs, "zero", progress)
    return Swirl(flow, shot)


def centre_line(flow: Flow) -> FlowMotion:
    """The full simulation: one blow, then nothing."""
    return flow.simulate(STEPS + 1, DT, start=BLOW.field(flow, 0, DT))
