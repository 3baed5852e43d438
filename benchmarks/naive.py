"""What one would write without this package: NumPy over elements, matrices rebuilt for every call, default solvers."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh, spsolve

import cajole as cj


def force_stiffness(mesh: cj.MeshTet, material: cj.MaterialStVK, u: np.ndarray) -> tuple[np.ndarray, sp.csr_array]:
    """StVK force and stiffness by einsum, assembled through a COO matrix."""
    lam, mu = material.lame
    g, volume, tets = mesh.shape_gradients, mesh.volumes, mesh.tets
    F = np.eye(3) + np.einsum("eai,eaj->eij", u[tets], g)
    E = 0.5 * (np.einsum("eki,ekj->eij", F, F) - np.eye(3))
    S = lam * np.einsum("ekk->e", E)[:, None, None] * np.eye(3) + 2 * mu * E
    f = np.einsum("e,eij,ejk,eak->eai", volume, F, S, g)
    force = np.zeros_like(u)
    np.add.at(force, tets, f)
    A = np.einsum("eij,eaj->eai", F, g)
    K = np.einsum("eai,eij,ebj->eab", g, S, g)[..., None, None] * np.eye(3)
    K = K + lam * np.einsum("eai,ebj->eabij", A, A) + mu * np.einsum("ebi,eaj->eabij", A, A)
    K = K + mu * np.einsum("eai,ebi,ejk,elk->eabjl", g, g, F, F)
    K *= volume[:, None, None, None, None]
    dofs = (3 * tets[:, :, None] + np.arange(3)).reshape(len(tets), 12)
    blocks = K.transpose(0, 1, 3, 2, 4).reshape(len(tets), 12, 12)
    rows, columns = np.repeat(dofs, 12, axis=1).ravel(), np.tile(dofs, (1, 12)).ravel()
    size = 3 * len(u)
    return force, sp.coo_array((blocks.ravel(), (rows, columns)), shape=(size, size)).tocsr()


def newmark_iteration(body: cj.BodySolid, material: cj.MaterialStVK, u: np.ndarray, h: float) -> np.ndarray:
    """Assemble and solve one Newton iteration of a Newmark step with scipy's default sparse solver."""
    force, K = force_stiffness(body.mesh, material, u)
    free = body.free_dofs
    A = (K + 4 / h**2 * body.mass).tocsc()[free][:, free]
    return spsolve(sp.csc_matrix(A), force.ravel()[free])


def modes(body: cj.BodySolid, count: int) -> np.ndarray:
    """Shift and invert with scipy's defaults."""
    free = body.free_dofs
    K, M = (sp.csc_matrix(matrix[free][:, free]) for matrix in (body.stiffness(), body.mass))
    return eigsh(K, count, M, sigma=0.0)[0]
