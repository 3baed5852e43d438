"""What the flowing scenes share: a model of a motion and its tunnel from the cache, and the shot to follow in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.direct.steering.flow_sampling import sampled_flow
from cajole.flow import Flow, FlowMotion
from cajole.progress import Progress, portion
from cajole.reduction import FlowShot, ReducedFlow
from cajole.reduction.flow import reduced_flow
from cajole.reduction.flow_basis import FlowModes
from cajole.storage import cached, content_hash

Floats = NDArray[np.float64]

KIND = "flows"
# Raised when motions or models are made in another way, so that older ones are not read back.
VERSION = 1
# Side of the box [m], a cell of the finest grid each; time between frames [s].
SIDE, DT = 256.0, 1.0


def box(cells: int) -> Flow:
    """The box of SIDE metres in cells × cells."""
    return Flow(cells, cells, SIDE / cells)


def followed(
    name: str, make: Callable[[], FlowMotion], flow: Flow, particles: Floats, size: int, runs: int,
    feed_forward: str, progress: Progress | None,
) -> FlowShot:  # fmt: skip
    """The shot of a motion in `size` modes of it and of `runs` disturbed runs around it, kept in the cache."""
    key = content_hash(VERSION, name, flow.columns, particles, size, runs, feed_forward)

    def film() -> dict[str, Floats]:
        motion = make()
        samples = sampled_flow(motion, runs=runs, particles=particles, progress=portion(progress, 0.1, 0.7))
        model = reduced_flow(flow, samples.snapshots, size, portion(progress, 0.7, 1.0))
        shot = model.shot(motion, particles=particles, feed_forward=feed_forward)
        return _arrays(shot)

    return _shot(flow, cached(KIND, key, film))


def _arrays(shot: FlowShot) -> dict[str, Floats]:
    model = shot.model
    return {
        "basis": model.basis, "energies": model.modes.energies, "missed": np.array(model.modes.missed),
        "advection": model.advection, "diffusion": model.diffusion, "states": shot.states,
        "particles": shot.particles, "feed_forward": shot.feed_forward, "outside": np.asarray(shot.outside),
    }  # fmt: skip


def _shot(flow: Flow, kept: Mapping[str, NDArray[Any]]) -> FlowShot:
    modes = FlowModes(kept["basis"], kept["energies"], float(kept["missed"]))
    model = ReducedFlow(flow, modes, kept["advection"], kept["diffusion"])
    return FlowShot(model, DT, kept["states"], kept["particles"], kept["feed_forward"], kept["outside"])
