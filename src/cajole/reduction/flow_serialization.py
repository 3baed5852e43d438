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
from cajole.reduction.flow_basis import FlowModes
from cajole.reduction.reduced_flow import FlowShot, ReducedFlow


def pack_shot(shot: FlowShot) -> dict[str, Array]:
    """A shot with its model and grid, by name."""
    model, flow = shot.model, shot.model.flow
    outside = np.zeros(len(shot.states)) if shot.projection_errors is None else shot.projection_errors
    return {
        "grid": np.array([flow.columns, flow.rows, flow.cell_size, flow.viscosity]), "dt": np.array(shot.dt),
        "basis": model.basis, "energies": model.modes.energies, "missed": np.array(model.modes.missed_energy),
        "advection": model.advection, "diffusion": model.diffusion, "states": shot.states,
        "particles": shot.particles, "feed_forward": shot.feed_forward, "outside": outside,
    }  # fmt: skip


def unpack_shot(arrays: Mapping[str, NDArray[Any]]) -> FlowShot:
    """The shot that `shot_arrays` took apart. Raises FileError for arrays that are missing or do not fit."""
    if missing := {"grid", "dt", "basis", "energies", "missed", "advection", "diffusion"} - arrays.keys():
        raise FileError(f"{', '.join(sorted(missing))} missing; write the flow again")
    columns, rows, cell, viscosity = _read_array(arrays, "grid", (4,))
    flow = Flow(int(columns), int(rows), float(cell), float(viscosity))
    basis = _read_array(arrays, "basis", (flow.face_count, None))
    r = basis.shape[1]
    modes = FlowModes(basis, _read_array(arrays, "energies", (r,)), float(_read_array(arrays, "missed", ())))
    model = ReducedFlow(
        flow, modes, _read_array(arrays, "advection", (r, r, r)), _read_array(arrays, "diffusion", (r, r))
    )
    fed = _read_array(arrays, "feed_forward", (None, r))
    frames = len(fed) + 1
    states, outside = _read_array(arrays, "states", (frames, r)), _read_array(arrays, "outside", (frames,))
    particles = _read_array(arrays, "particles", (frames, None, 2))
    dt = checks.require_safe_magnitude(float(_read_array(arrays, "dt", ())), "dt (s)", error=FileError)
    return FlowShot(model, dt, states, particles, fed, outside)


def _read_array(arrays: Mapping[str, NDArray[Any]], name: str, shape: tuple[int | None, ...]) -> Array:
    if name not in arrays:
        raise FileError(f"{name} is missing; write the flow again")
    # a number comes back as an array of one from `ascontiguousarray`
    value = checks.require_real_array(arrays[name], name, (1,) if shape == () else shape, error=FileError)
    return value[0] if shape == () else value
