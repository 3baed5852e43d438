"""Modes of a fluid from snapshots: principal components by their Gram matrix, then free of divergence to rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array
from cajole.errors import InputError
from cajole.flow import Flow, FlowMotion
from cajole.linalg import limit_blas_threads

FlowSnapshots = FlowMotion | ArrayLike | Sequence[FlowMotion | ArrayLike]

# Directions with less than this share of the largest one's energy are rounding, by the type of the snapshots.
MIN_ENERGY_SHARE = {np.dtype(np.float32): 1e-9, np.dtype(np.float64): 1e-14}
# Edges whose products are added up at a time: single precision within, double between.
GRAM_BLOCK = 8192


@dataclass(frozen=True, eq=False)
class FlowModes:
    """basis: (n, r), orthonormal under cell² Σ; energies: (r,) of all snapshots along each; missed: the share of their
    energy that the basis leaves out."""

    basis: Array
    energies: Array
    missed_energy: float


def compute_flow_modes(flow: Flow, snapshots: FlowSnapshots, size: int) -> FlowModes:
    """The `size` divergence-free modes that hold most of the snapshots' energy.

    Raises InputError for fewer snapshots than modes, and for snapshots that span fewer directions.
    """
    with limit_blas_threads():
        return _compute_modes(flow, stack_snapshots(flow, snapshots), checks.require_integer(size, "size"))


def _compute_modes(flow: Flow, rows: NDArray[np.float32] | Array, size: int) -> FlowModes:
    if len(rows) < size:
        raise InputError(f"size is {size}, but there are only {len(rows)} snapshots; give more, or ask for fewer modes")
    energies, shares = scipy.linalg.eigh(compute_gram(rows))
    energies, shares = energies[::-1], shares[:, ::-1]
    held = int((energies > MIN_ENERGY_SHARE[rows.dtype] * max(energies[0], 0.0)).sum())
    if held < size:
        raise InputError(
            f"size is {size}, but the {len(rows)} snapshots span only {held} directions; disturb the runs more, or ask "
            "for fewer modes"
        )
    lifted = rows.T @ (shares[:, :size] / np.sqrt(energies[:size])).astype(rows.dtype)
    missed = max(1.0 - float(energies[:size].sum() / energies.clip(0.0).sum()), 0.0)
    return FlowModes(_make_divergence_free(flow, lifted), flow.cell_size**2 * energies[:size], missed)


def stack_snapshots(flow: Flow, snapshots: FlowSnapshots) -> NDArray[np.float32] | Array:
    """Snapshots (k, n) in one array, single precision when all are. Raises InputError for those of another grid."""
    several = snapshots if isinstance(snapshots, list | tuple) else [snapshots]
    if not several:
        raise InputError("snapshots is empty: give states of the flow, (k, n), or a list of such")
    rows = np.concatenate([_check_snapshots(flow, part, f"snapshots[{k}]") for k, part in enumerate(several)])
    if not np.isfinite(rows).all():
        raise InputError("snapshots must be finite numbers; a run among them has blown up")
    if not rows.any():
        raise InputError("all snapshots are at rest; give some of a moving fluid")
    return rows


def _check_snapshots(flow: Flow, snapshots: object, name: str) -> NDArray[np.float32] | Array:
    if isinstance(snapshots, FlowMotion):
        if snapshots.flow != flow:
            raise InputError(f"{name} is a motion of {snapshots.flow}, not of {flow}")
        return snapshots.states
    array = np.asarray(snapshots)
    if array.dtype != np.float32:
        array = checks.require_real_array(array, name, (None, flow.face_count))
    checks.require_shape(array, name, (None, flow.face_count))
    return array


def compute_gram(rows: NDArray[np.float32] | Array) -> Array:
    """rows rowsᵀ (k, k) in double precision, in blocks of their columns."""
    total = np.zeros((len(rows), len(rows)))
    for first in range(0, rows.shape[1], GRAM_BLOCK):
        part = rows[:, first : first + GRAM_BLOCK]
        total += part @ part.T
    return total


def _make_divergence_free(flow: Flow, fields: NDArray[np.float32] | Array) -> Array:
    """Orthonormal modes (n, r) that span the columns (n, r), made divergence-free in double precision before."""
    columns = np.asarray(fields.T, dtype=np.float64).copy()
    for column in columns:
        flow.pressure_solver.project(*flow.split_faces(column))
    basis, _ = scipy.linalg.qr(columns.T, mode="economic", overwrite_a=True)
    return np.ascontiguousarray(basis) / flow.cell_size
