"""What the flowing scenes share: a model of a motion and its tunnel from the cache, and the shot to follow in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from cajole.arrays import Array
from cajole.direct import steer
from cajole.direct.steering.flow import FlowController
from cajole.direct.steering.flow_noise import GustNoise
from cajole.direct.steering.flow_sampling import sampled_flow
from cajole.flow import Flow, FlowForce, FlowMotion
from cajole.progress import Progress, portion
from cajole.reduction import FlowShot
from cajole.reduction.flow import reduced_flow
from cajole.reduction.flow_files import shot_arrays, shot_from
from cajole.storage import cached, content_hash

KIND = "flows"
# Raised when motions or models are made in another way, so that older ones are not read back.
VERSION = 2
# What suits these scenes: the end counts as much as all that comes before, which takes the swirl 8 % more
# effort and the letter 40 %.
DIALS: Mapping[str, Any] = MappingProxyType({"effort": 1e-4, "final": 1.0})
# Noise of takes: acceleration [m/s²] (rms), size of a lump [m], lumps a second.
NOISE, LUMP, PACE = 0.01, 64.0, 1.0 / 40.0
# Side of the box [m], a cell of the finest grid each; time between frames [s].
SIDE, DT = 256.0, 1.0


@dataclass(frozen=True, eq=False)
class FlowScene:
    """A flow and what its particles follow."""

    flow: Flow
    shot: FlowShot

    @property
    def dials(self) -> Mapping[str, Any]:
        """Those of `steer` that suit it."""
        return DIALS

    def controller(self, **dials: Any) -> FlowController:
        """`steer` with the dials that suit this scene; others override them."""
        return steer(self.shot, **{**self.dials, **dials})

    def disturbance(self, seed: int = 0) -> list[FlowForce]:
        """What a take is disturbed by when nothing else is said: nothing, where a scene has none of its own."""
        return []

    def noise(self, seed: int, *, strength: float = NOISE) -> GustNoise:
        """The wind of a take; strength [m/s²]."""
        return GustNoise(strength, LUMP, PACE, seed)


def box(cells: int) -> Flow:
    """The box of SIDE metres in cells × cells."""
    return Flow(cells, cells, SIDE / cells)


def followed(
    name: str, make: Callable[[], FlowMotion], flow: Flow, particles: Array, size: int, runs: int,
    feed_forward: str, progress: Progress | None,
) -> FlowShot:  # fmt: skip
    """The shot of a motion in `size` modes of it and of `runs` disturbed runs around it, kept in the cache."""
    key = content_hash(VERSION, name, flow.columns, particles, size, runs, feed_forward)

    def film() -> dict[str, Array]:
        motion = make()
        samples = sampled_flow(motion, runs=runs, particles=particles, progress=portion(progress, 0.1, 0.7))
        model = reduced_flow(flow, samples.snapshots, size, portion(progress, 0.7, 1.0))
        return shot_arrays(model.shot(motion, particles=particles, feed_forward=feed_forward))

    return shot_from(cached(KIND, key, film))
