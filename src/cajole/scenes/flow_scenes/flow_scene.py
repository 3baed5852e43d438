"""Base class of the flow scenes, and the cached reduced reference motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from cajole.arrays import Array
from cajole.direct import steer
from cajole.direct.steering.controller import FlowController
from cajole.direct.steering.disturbances import GustNoise
from cajole.direct.steering.sampling import sample_flow
from cajole.flow import Flow, FlowForce, FlowMotion
from cajole.progress import ProgressCallback, build_subprogress
from cajole.reduction import FlowShot
from cajole.reduction.reduced_flow import pack_shot, reduce_flow, unpack_shot
from cajole.storage import hash_content, load_or_compute

CACHE_KIND = "flows"
# Noise of takes: acceleration [m/s²] (rms), size of a lump [m], lumps a second.
NOISE_STRENGTH, NOISE_LENGTH, NOISE_FREQUENCY = 0.01, 64.0, 1.0 / 40.0
# Side of the box [m], a cell of the finest grid each; time between frames [s].
BOX_SIDE, DT = 256.0, 1.0


@dataclass(frozen=True, eq=False)
class FlowScene:
    """A flow and the reference motion that its particles must follow."""

    flow: Flow
    shot: FlowShot

    @property
    def steer_options(self) -> Mapping[str, Any]:
        """Options of `steer` for this scene."""
        # What suits these scenes: the end counts as much as all that comes before, which takes the swirl 8 % more
        # effort and the letter 40 %.
        steer_options: Mapping[str, Any] = MappingProxyType({"effort": 1e-4, "final": 1.0})
        return steer_options

    def create_controller(self, **options: Any) -> FlowController:
        """Run `steer` with the options of this scene; others override them."""
        return steer(self.shot, **{**self.steer_options, **options})

    def build_disturbance(self, seed: int = 0) -> list[FlowForce]:
        """Default disturbances of a run; empty unless a scene defines some."""
        return []

    def build_noise(self, seed: int, *, strength: float = NOISE_STRENGTH) -> GustNoise:
        """Random wind of a seed; strength [m/s²]."""
        return GustNoise(strength, NOISE_LENGTH, NOISE_FREQUENCY, seed)


def build_flow_box(cells: int) -> Flow:
    """Create the square box of BOX_SIDE metres with cells × cells."""
    return Flow(cells, cells, BOX_SIDE / cells)


def load_or_compute_shot(
    name: str, simulate: Callable[[], FlowMotion], flow: Flow, particles: Array, size: int, runs: int,
    feed_forward: str, progress: ProgressCallback | None,
) -> FlowShot:  # fmt: skip
    """Load or compute the reduced reference of a motion: `size` modes of the motion and of `runs` disturbed runs around
    it.
    """
    # Raised when motions or models are made in another way, so that older ones are not read back.
    cache_version = 2
    key = hash_content(cache_version, name, flow.columns, particles, size, runs, feed_forward)

    def compute_arrays() -> dict[str, Array]:
        motion = simulate()
        samples = sample_flow(motion, runs=runs, particles=particles, progress=build_subprogress(progress, 0.1, 0.7))
        model = reduce_flow(flow, samples.snapshots, size, build_subprogress(progress, 0.7, 1.0))
        return pack_shot(model.shot(motion, particles=particles, feed_forward=feed_forward))

    return unpack_shot(load_or_compute(CACHE_KIND, key, compute_arrays))
