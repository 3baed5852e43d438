"""Pressure projection and implicit viscosity of the fluid: exact, by cosine transforms."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.fft

from cajole.arrays import Array
from cajole.flow import kernels


def compute_laplacian_eigenvalues(cells: int, orders: int, first: int = 0) -> Array:
    """Eigenvalues (orders,) of the negative second difference on `count` cells: 2 - 2 cos(π k / count)."""
    return 2.0 - 2.0 * np.cos(np.pi * np.arange(first, first + orders) / cells)


@dataclass(frozen=True)
class PressureSolver:
    """Solves the Poisson equation on nx × ny cells in a closed box, where cosines diagonalise it."""

    nx: int
    ny: int
    _inverse_eigenvalues: Array = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        stiffness = compute_laplacian_eigenvalues(self.nx, self.nx)[:, None] + compute_laplacian_eigenvalues(
            self.ny, self.ny
        )
        stiffness[0, 0] = 1.0
        scale = -1.0 / stiffness
        # pressure is known up to a constant, which no velocity feels
        scale[0, 0] = 0.0
        object.__setattr__(self, "_inverse_eigenvalues", scale)

    def solve(self, divergence: Array) -> Array:
        """p (nx, ny) whose second differences are `divergence` (nx, ny), with no slope at the walls and mean zero."""
        transformed = scipy.fft.dctn(divergence, type=2, norm="ortho")
        transformed *= self._inverse_eigenvalues
        return np.asarray(scipy.fft.idctn(transformed, type=2, norm="ortho", overwrite_x=True))

    def project(self, u: Array, v: Array) -> None:
        """Take the gradient of a pressure from (u, v), in place: no divergence is left, and no flow through walls."""
        u[0], u[-1], v[:, 0], v[:, -1] = 0.0, 0.0, 0.0, 0.0
        divergence = np.empty((self.nx, self.ny))
        kernels.compute_divergence(u, v, divergence)
        kernels.subtract_gradient(self.solve(divergence), u, v)


def diffuse(u: Array, v: Array, amount: float) -> None:
    """One implicit step of viscosity, in place: (1 - amount Δ) u' = u with second differences Δ; amount: ν dt / cell².

    The walls are slipped along: sines across them, cosines beside them.
    """
    _diffuse_component(u, amount)
    _diffuse_component(v.T, amount)


def _diffuse_component(f: Array, amount: float) -> None:
    inside = scipy.fft.dct(scipy.fft.dst(f[1:-1], type=1, axis=0, norm="ortho"), type=2, axis=1, norm="ortho")
    rows, columns = f.shape
    inside /= 1.0 + amount * (
        compute_laplacian_eigenvalues(rows - 1, rows - 2, 1)[:, None] + compute_laplacian_eigenvalues(columns, columns)
    )
    f[1:-1] = scipy.fft.idst(scipy.fft.idct(inside, type=2, axis=1, norm="ortho"), type=1, axis=0, norm="ortho")
