"""A flow's shot as plain arrays, and back: what caches and files hold of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.errors import FileError
from cajole.flow import Flow
from cajole.reduction.flow import ReducedFlow
from cajole.reduction.flow_basis import FlowModes
from cajole.reduction.flow_shot import FlowShot


def shot_arrays(shot: FlowShot) -> dict[str, Array]:
    """A shot with its model and grid, by name."""
    model, flow = shot.model, shot.model.flow
    outside = np.zeros(len(shot.states)) if shot.outside is None else shot.outside
    return {
        "grid": np.array([flow.columns, flow.rows, flow.cell, flow.viscosity]), "dt": np.array(shot.dt),
        "basis": model.basis, "energies": model.modes.energies, "missed": np.array(model.modes.missed),
        "advection": model.advection, "diffusion": model.diffusion, "states": shot.states,
        "particles": shot.particles, "feed_forward": shot.feed_forward, "outside": outside,
    }  # fmt: skip


def shot_from(arrays: Mapping[str, NDArray[Any]]) -> FlowShot:
    """The shot that `shot_arrays` took apart. Raises FileError for arrays that are missing or do not fit."""
    if missing := {"grid", "dt", "basis", "energies", "missed", "advection", "diffusion"} - arrays.keys():
        raise FileError(f"{', '.join(sorted(missing))} missing; write the flow again")
    columns, rows, cell, viscosity = _real(arrays, "grid", (4,))
    flow = Flow(int(columns), int(rows), float(cell), float(viscosity))
    basis = _real(arrays, "basis", (flow.count, None))
    r = basis.shape[1]
    modes = FlowModes(basis, _real(arrays, "energies", (r,)), float(_real(arrays, "missed", ())))
    model = ReducedFlow(flow, modes, _real(arrays, "advection", (r, r, r)), _real(arrays, "diffusion", (r, r)))
    fed = _real(arrays, "feed_forward", (None, r))
    frames = len(fed) + 1
    states, outside = _real(arrays, "states", (frames, r)), _real(arrays, "outside", (frames,))
    particles = _real(arrays, "particles", (frames, None, 2))
    dt = checks.moderate(float(_real(arrays, "dt", ())), "dt (s)", error=FileError)
    return FlowShot(model, dt, states, particles, fed, outside)


def _real(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int | None, ...]) -> Array:
    if name not in arrays:
        raise FileError(f"{name} is missing; write the flow again")
    # a number comes back as an array of one from `ascontiguousarray`
    value = checks.real_array(arrays[name], name, (1,) if shape == () else shape, error=FileError)
    return value[0] if shape == () else value
