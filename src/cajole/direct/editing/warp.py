"""Warping: a linear change of a frame becomes a shape without the swelling that linear changes bring (§6).

Every element is turned and strained on its own, and the displacement whose gradients come closest to that is found by a
Poisson solve, L δ = Σ_j V_j (F'_j - F̄_j) g_a. Vertices that the body holds keep their place; a free body keeps its
centre where the linear change puts it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.linalg import splu

from cajole.direct.editing import kernels_warp as kernels
from cajole.errors import SolveError
from cajole.linalg.superlu import nested_dissection
from cajole.mesh import MeshTet, MeshTri
from cajole.mesh.tri import cross_products

Array = NDArray[np.float64]
Index = NDArray[np.int64]

WARPS = ("composition", "additive")


@dataclass(frozen=True, eq=False)
class Frame:
    """An input frame as the warp sees it: F = Q S of every element, and the axis times the angle of Q."""

    Q: Array
    S: Array
    turns: Array


class Warp:
    """The elements of a mesh at rest, and the factors of their Laplacian. held: vertices that never move."""

    def __init__(self, mesh: MeshTet | MeshTri, held: Index, *, form: str = "composition"):
        self.form = form
        self.vertices = mesh.vertices
        if isinstance(mesh, MeshTet):
            self.elements, self._grads, self._volumes = mesh.tets, mesh.gradients, mesh.volumes
            self._normals = np.zeros((len(mesh.tets), 3))
        else:
            self.elements, self._volumes, self._normals = mesh.triangles, mesh.areas, mesh.normals
            self._grads = triangle_gradients(mesh)
        self._triangles = isinstance(mesh, MeshTri)
        self.free = len(held) == 0
        # one vertex of a free body is held for the solve only; the whole is then moved to its centre
        used = np.unique(self.elements)
        self._loose = np.setdiff1d(used, held if len(held) else used[:1])
        # vertices of no element have nothing to warp with: they take the linear change
        self._lone = np.setdiff1d(np.arange(len(mesh.vertices)), used)
        self._share = _vertex_shares(self.elements, self._volumes, len(mesh.vertices))
        self._solver = _Laplacian(self.elements, self._grads, self._volumes, self._loose, len(mesh.vertices))
        self._rhs = np.empty((len(mesh.vertices), 3))

    def frame(self, positions: Array) -> Frame:
        """Rotation and stretch of every element of a frame at `positions` (n, 3)."""
        u = np.ascontiguousarray(positions - self.vertices)
        F = np.empty((len(self.elements), 3, 3))
        turned = self._normals
        if self._triangles:
            crosses = cross_products(positions, self.elements)
            lengths = np.linalg.norm(crosses, axis=1, keepdims=True)
            turned = np.divide(crosses, lengths, out=self._normals.copy(), where=lengths > 0)
        kernels.deformed(self.elements, self._grads, self._normals, turned, u, F)
        Q, S = polar(F)
        return Frame(Q, S, rotation_vectors(Q) if self.form == "additive" else np.zeros((len(Q), 3)))

    def apply(self, frame: Frame, change: Array) -> Array:
        """The warped change of displacement (n, 3) of a linear one; exactly zero for zero."""
        kernels.right_side(
            self.elements, self._grads, self._volumes, self._normals, frame.Q, frame.S, frame.turns,
            self.form == "additive", change, self._rhs,
        )  # fmt: skip
        out = np.zeros_like(change)
        out[self._loose] = self._solver.solve(self._rhs[self._loose])
        if self.free:
            out += self._share @ (change - out)
        out[self._lone] = change[self._lone]
        return out

    def probe(self, points: Index) -> Array:
        """Weights c (k, m, 3) with which `at` finds the warped places of vertices `points` by one pass, no solve."""
        out = np.empty((len(points), len(self.elements), 3))
        for k, vertex in enumerate(points):
            w = np.zeros((len(self.vertices), 3))
            row = np.zeros((len(self._loose), 3))
            place = np.searchsorted(self._loose, vertex)
            if place < len(self._loose) and self._loose[place] == vertex:
                row[place] = 1.0
                w[self._loose] = self._solver.solve(row)
            if self.free:
                w[self._loose] -= self._centre_weights()
            out[k] = self._volumes[:, None] * np.einsum("eai,ea->ei", self._grads, w[self.elements, 0])
        return out

    def at(self, frame: Frame, change: Array, weights: Array) -> Array:
        """Warped changes (k, 3) of the vertices that `weights` were made for."""
        out = np.empty((len(weights), 3))
        kernels.at_points(
            self.elements, self._grads, self._normals, frame.Q, frame.S, frame.turns, self.form == "additive", change,
            weights, out,
        )  # fmt: skip
        return out + self._share @ change if self.free else out

    def _centre_weights(self) -> Array:
        return self._solver.solve(np.repeat(self._share[self._loose, None], 3, axis=1))


class _Laplacian:
    """L = Σ V g_a·g_b of the loose vertices, factorised once; three right-hand sides at a time."""

    def __init__(self, elements: Index, grads: Array, volumes: Array, loose: Index, count: int):
        local = np.einsum("e,eai,ebi->eab", volumes, grads, grads)
        corners = elements.shape[1]
        rows, columns = np.repeat(elements, corners, axis=1).ravel(), np.tile(elements, (1, corners)).ravel()
        L = sp.csr_array(sp.coo_array((local.ravel(), (rows, columns)), shape=(count, count)))[loose][:, loose]
        order = nested_dissection(sp.csr_array((np.ones(L.nnz), L.indices, L.indptr), shape=L.shape))
        try:
            factors = splu(
                L[order][:, order].tocsc(), permc_spec="NATURAL", diag_pivot_thresh=0.0,
                options={"SymmetricMode": True},
            )  # fmt: skip
        except RuntimeError as reason:
            raise SolveError(f"the mesh cannot be warped: its Laplacian is singular ({reason})") from None
        if not np.array_equal(factors.perm_r, factors.perm_c):
            raise SolveError("the mesh cannot be warped: its Laplacian needed row exchanges")
        # L D Lᵀ in the order of the factors: row i of the permuted matrix is perm⁻¹
        self._order = order[np.argsort(factors.perm_r)]
        lower = factors.L.tocsc()
        lower.sort_indices()
        self._lower = lower.indptr.astype(np.int64), lower.indices.astype(np.int64), lower.data
        self._diagonal = factors.U.diagonal()

    def solve(self, right: Array) -> Array:
        x = right[self._order]
        kernels.solve_lower(*self._lower, self._diagonal, x)
        out = np.empty_like(x)
        out[self._order] = x
        return out


def triangle_gradients(mesh: MeshTri) -> Array:
    """In-plane gradients (m, 3, 3) of the hat functions: rows a, each n × (opposite edge) / (2 area)."""
    x = mesh.vertices[mesh.triangles]
    edges = x[:, [2, 0, 1]] - x[:, [1, 2, 0]]
    return np.cross(mesh.normals[:, None, :], edges) / (2.0 * mesh.areas[:, None, None])


def polar(F: Array) -> tuple[Array, Array]:
    """F = Q S (m, 3, 3) with Q a rotation; S is indefinite where an element is turned inside out."""
    U, s, Vt = np.linalg.svd(F)
    flip = np.sign(np.linalg.det(U) * np.linalg.det(Vt))
    U[:, :, 2] *= flip[:, None]
    s[:, 2] *= flip
    return np.ascontiguousarray(U @ Vt), np.ascontiguousarray(np.swapaxes(Vt, 1, 2) @ (s[:, :, None] * Vt))


def rotation_vectors(Q: Array) -> Array:
    """The axis times the angle in [0, π] of rotations (m, 3, 3)."""
    from scipy.spatial.transform import Rotation

    return np.asarray(Rotation.from_matrix(Q).as_rotvec())


def _vertex_shares(elements: Index, volumes: Array, count: int) -> Array:
    share = np.zeros(count)
    np.add.at(share, elements, np.repeat(volumes[:, None] / elements.shape[1], elements.shape[1], axis=1))
    return share / share.sum()
