"""`reduce`: a body in a basis, u = U z; the questions a body answers, answered in microseconds."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.body import Body, BodySolid
from cajole.dynamics import Modes, modes
from cajole.errors import FileError, InputError
from cajole.progress import Progress
from cajole.reduction import kernels
from cajole.reduction.bases import orthonormal
from cajole.reduction.polynomial import Polynomial, polynomial
from cajole.reduction.trajectory import Trajectory, newmark_plan, predictor, rollout
from cajole.storage import atomic_path

Array = NDArray[np.float64]

# How far UᵀMU may be from the identity before a loaded basis is refused.
ORTHONORMAL = 1e-8


class ReducedSolid:
    """St. Venant-Kirchhoff in a mass-orthonormal basis: reduced mass is the identity, forces are an exact cubic.

    basis: (3n, r); size: r. Damping is the body's, D(z) = αI + βK(z).
    """

    def __init__(self, body: BodySolid, basis: Array, tables: Polynomial):
        self.body, self.basis, self.tables = body, basis, tables
        self.alpha, self.beta = body.alpha, body.beta
        pairs = self.size * (self.size + 1) // 2
        self._work = np.empty((3, pairs))

    @property
    def size(self) -> int:
        """Number of coordinates r."""
        return self.basis.shape[1]

    @cached_property
    def mass_basis(self) -> Array:
        """M U (3n, r)."""
        return np.ascontiguousarray(self.body.mass @ self.basis)

    @cached_property
    def frequency(self) -> float:
        """ω₁ [rad/s] of the body's first elastic mode: the unit of time of all dials."""
        return float(np.sqrt(modes(self.body, 1).eigenvalues[0]))

    def project(self, displacement: ArrayLike) -> Array:
        """z = UᵀM u (r,) of u (n, 3), or (frames, r) of (frames, n, 3)."""
        u = np.asarray(displacement, dtype=np.float64)
        if u.shape[-2:] != (self.body.count, 3) or u.ndim > 3:
            raise InputError(f"displacement has shape {u.shape}, but ({self.body.count}, 3) or (frames, ...) is needed")
        return u.reshape(*u.shape[:-2], -1) @ self.mass_basis

    def lift(self, state: ArrayLike) -> Array:
        """u = U z (n, 3) of z (r,), or (frames, n, 3) of (frames, r)."""
        z = np.asarray(state, dtype=np.float64)
        if z.shape[-1:] != (self.size,) or z.ndim > 2:
            raise InputError(f"state has shape {z.shape}, but ({self.size},) or (frames, {self.size}) is needed")
        return (z @ self.basis.T).reshape(*z.shape[:-1], -1, 3)

    def energy(self, state: ArrayLike) -> float:
        """W(Uz) [J]."""
        return self._evaluate(state)[0]

    def force(self, state: ArrayLike) -> Array:
        """Uᵀ f(Uz) (r,)."""
        return self._evaluate(state)[1]

    def stiffness(self, state: ArrayLike | None = None) -> Array:
        """Uᵀ K(Uz) U (r, r), symmetric."""
        return self._evaluate(np.zeros(self.size) if state is None else state)[2]

    def stiffness_change(self, state: ArrayLike, direction: ArrayLike) -> Array:
        """H(z):v = d/dε K(z + εv) (r, r)."""
        z, v = self._checked(state), self._checked(direction, "direction")
        out = np.empty((self.size, self.size))
        kernels.stiffness_change(z, v, self.tables.C1, self.tables.C2, *self._work, out)
        return out

    @cached_property
    def system(self) -> tuple:
        """The tables as the compiled trajectories take them, see `kernels_motion`."""
        none = np.empty((0, 0))
        return (self.tables.K0, self.tables.C1, self.tables.C2, self.alpha, self.beta, none, none, none)

    def rollout(
        self, controls: ArrayLike, dt: float, *, state: ArrayLike | None = None, velocity: ArrayLike | None = None
    ) -> Trajectory:
        """Simulate under controls (T, r), each acting on the step into the next frame, from (state, velocity) (r,).

        z̈ + D(z) ż + f(z) = w by implicit Newmark, converged; the result holds the exact derivatives of every step.
        Raises NotConverged naming the step.
        """
        W = checks.real_array(controls, "controls", (None, self.size))
        h = checks.positive(dt, "dt (s)")
        q = np.zeros(self.size) if state is None else self._checked(state)
        v = np.zeros(self.size) if velocity is None else self._checked(velocity, "velocity")
        start = predictor(self.system, q, v, h)
        return rollout(self.system, newmark_plan(np.full(len(W) + 1, h)), start, W)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write basis and tables to an .npz; `load_model` reads them back for the same body."""
        arrays = {"basis": self.basis, "K0": self.tables.K0, "C1": self.tables.C1, "C2": self.tables.C2}
        with atomic_path(path) as temporary, temporary.open("wb") as stream:
            np.savez(stream, allow_pickle=False, body=np.array(self.body.content()), **arrays)

    def _evaluate(self, state: ArrayLike) -> tuple[float, Array, Array]:
        z = self._checked(state)
        f, K = np.empty(self.size), np.empty((self.size, self.size))
        W = kernels.force_stiffness(z, self.tables.K0, self.tables.C1, self.tables.C2, *self._work, f, K)
        checks.finite_result(f, "the reduced force")
        return float(W), f, K

    def _checked(self, state: ArrayLike, name: str = "state") -> Array:
        return checks.real_array(state, name, (self.size,))


def reduce(body: Body, basis: Modes | ArrayLike, *, progress: Progress | None = None) -> ReducedSolid:
    """`body` in `basis` (3n, r), or in the shapes of Modes; the basis is made mass-orthonormal, its span kept.

    Raises InputError for dependent columns, or columns that move fixed vertices.
    """
    checks.require_instance(body, BodySolid, "body")
    assert isinstance(body, BodySolid)
    columns = basis.shapes if isinstance(basis, Modes) else checks.real_array(basis, "basis", (3 * body.count, None))
    _refuse_fixed(body, columns)
    U = orthonormal(body, columns)
    return ReducedSolid(body, U, polynomial(body, U, progress=progress))


def load_model(path: str | os.PathLike[str], body: BodySolid) -> ReducedSolid:
    """A model written by `save`, for the body it was made from. Raises FileError otherwise."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            data: dict[str, Any] = {name: stored[name] for name in stored.files}
        basis, tables = data["basis"], Polynomial(data["K0"], data["C1"], data["C2"])
        owner = str(data["body"])
    except (OSError, ValueError, KeyError, EOFError) as reason:
        raise FileError(f"cannot read a reduced model from {path}: {reason}; write it again with model.save") from None
    if owner != body.content():
        raise FileError(f"{path} holds a model of another body (mesh, material, fixed vertices or damping differ)")
    error = np.abs(basis.T @ (body.mass @ basis) - np.eye(basis.shape[1])).max()
    if not error <= ORTHONORMAL:
        raise FileError(f"the basis in {path} is not mass-orthonormal (by {error:.1e}); the file is damaged")
    return ReducedSolid(body, basis, tables)


def _refuse_fixed(body: Body, columns: Array) -> None:
    moved = np.abs(columns.reshape(body.count, 3, -1)[body.fixed]).max(axis=(1, 2), initial=0.0)
    if (moved > 0).any():
        vertex = body.fixed[int(np.argmax(moved > 0))]
        raise InputError(f"the basis moves vertex {vertex}, which the body fixes; set its rows to zero or free it")
