"""Rotation-strain warping (§6): turns the linear displacement of a frame into one without swelling.

Every element is rotated and strained separately. A Poisson solve, L δ = Σ_j V_j (F'_j - F̄_j) g_a, finds the
displacement with the closest gradients. Fixed vertices keep their positions; a component of the mesh without fixed
vertices keeps its centroid where the linear displacement puts it; contacts are preserved.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.direct.editing import kernels_laplacian
from cajole.direct.editing import kernels_warp as kernels
from cajole.direct.editing.kernels_warp import decompose_frame
from cajole.direct.editing.poisson import PoissonSystem, WarpContactConstraints
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri

__all__ = ["WARP_FORMS", "FrameDecomposition", "Warp", "WarpContactConstraints", "WarpProbe"]


WARP_FORMS = ("composition", "additive")


@dataclass(frozen=True, eq=False)
class FrameDecomposition:
    """Rotation and stretch of every element of an input frame, F = Q S, in blocks."""

    blocks: NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class WarpProbe:
    """Weights that give the warped displacement of one vertex from one pass over the elements, without a solve.

    weights: of the elements, the same in all directions or, where contacts couple them, one set per direction;
    centroid_weights: of the centroid of each floating component; isolated_vertex: the vertex if it belongs to no
    element, else -1. Built by `Warp.build_probe`.
    """

    weights: Array
    centroid_weights: Array
    isolated_vertex: int


class _WarpWorkspace(threading.local):
    """Work arrays of a warp, one set per thread: the kernels release the interpreter lock.

    p, x: (n + 1, 3) of the unknowns; the padding elements of the last block refer to the last row.
    """

    def __init__(self, unknowns: int, blocks: int):
        self.p, self.x = np.zeros((unknowns + 1, 3)), np.zeros((unknowns + 1, 3))
        self.work = np.zeros(kernels.WORK_ROWS * kernels.LANES)
        self.gradient_changes = np.empty((blocks, 9 * kernels.LANES))


class Warp:
    """Elements of a mesh at rest with the factors of their Laplacian; immutable, several threads may use it.

    fixed: (k,) vertices that never move; elements with no other vertices cost nothing. form: "composition", or
    "additive" as in the paper. Raises InputError for vertices out of range.
    """

    def __init__(self, mesh: MeshTet | MeshTri, fixed: ArrayLike, *, form: str = "composition"):
        if not isinstance(mesh, MeshTet | MeshTri):
            raise InputError(f"mesh must be a MeshTet or a MeshTri, not {type(mesh).__name__}")
        self.form = checks.require_choice(form, "form", WARP_FORMS)
        self._additive = form == "additive"
        self._values_per_element = (3 if self._additive else 9) + 6
        self.vertices, self.elements = mesh.vertices, mesh.elements
        stays = np.zeros(len(mesh.vertices), dtype=bool)
        stays[checks.require_index_array(fixed, "fixed", (None,), len(mesh.vertices))] = True
        # vertices of no element take the linear displacement
        self._isolated_vertices = np.flatnonzero(~mesh.used_vertex_mask & ~stays)
        live = np.flatnonzero(~stays[mesh.elements].all(axis=1))
        elements, grads, volumes = (
            mesh.elements[live],
            (mesh.shape_gradients if isinstance(mesh, MeshTet) else compute_triangle_gradients(mesh))[live],
            (mesh.volumes if isinstance(mesh, MeshTet) else mesh.areas)[live],
        )
        self._poisson = PoissonSystem(elements, grads, volumes, stays, mesh.component_labels)
        order = self._poisson.order
        self._unknown_index = np.full(len(mesh.vertices), -1, dtype=np.int64)
        self._unknown_index[order] = np.arange(len(order))
        corners = self._unknown_index[elements]
        # elements in the order of their unknowns: neighbours in memory
        nearby = np.argsort(corners.min(axis=1, initial=len(order)), kind="stable")
        normals = mesh.normals[live][nearby] if isinstance(mesh, MeshTri) else np.empty((len(live), 0))
        shape = np.column_stack(
            [grads[nearby, 1:].reshape(len(live), 3 * (grads.shape[1] - 1)), volumes[nearby], normals]
        )
        self._shape_blocks = _pack_blocks(shape, 0.0)
        self._corner_blocks = _pack_blocks(corners[nearby].astype(np.uint32), len(order))
        # one row more than unknowns, for the padding elements of the last block
        self._rest_positions = np.vstack([self.vertices[order], np.zeros(3)])
        self._workspace = _WarpWorkspace(len(order), len(self._shape_blocks))

    def decompose_frame(self, positions: ArrayLike, *, single_precision: bool = False) -> FrameDecomposition:
        """Rotation and stretch of every element of a frame at `positions` (n, 3) [m].

        single_precision: half the memory; a zero displacement still warps to exactly zero.
        """
        x = checks.require_real_array(positions, "positions (m)", self.vertices.shape)
        p = self._workspace.p
        kernels_laplacian.gather_rows(x, self._poisson.order, p)
        blocks = np.empty(
            (len(self._shape_blocks), self._values_per_element * kernels.LANES),
            dtype=np.float32 if single_precision else np.float64,
        )
        decompose_frame(self._shape_blocks, self._corner_blocks, self._rest_positions, self._additive, p, blocks)
        checks.require_finite_result(blocks, "the deformation of a frame")
        return FrameDecomposition(blocks)

    def apply(
        self, frame: FrameDecomposition, displacement: ArrayLike, contacts: WarpContactConstraints | None = None
    ) -> Array:
        """Warped displacement (n, 3) [m] of a linear one, exactly zero for zero; contacts: constraints to preserve."""
        p, own = self._load_displacement(frame, displacement), self._workspace
        kernels.assemble_rhs(
            self._shape_blocks, self._corner_blocks, frame.blocks, self._additive, own.p, own.work, own.x
        )
        order = self._poisson.order
        if contacts is not None and not self._poisson.is_compatible(contacts):
            raise InputError("contacts were built by another warp; build them with this one")
        self._poisson.solve(own.x[: len(order)], own.p[: len(order)], contacts)
        out = np.zeros(self.vertices.shape)
        kernels_laplacian.scatter_rows(own.x, order, out)
        out[self._isolated_vertices] = p[self._isolated_vertices]
        return checks.require_finite_result(out, "the warped change")

    def build_contact_constraints(
        self, directions: ArrayLike, vertices: ArrayLike, others: ArrayLike
    ) -> WarpContactConstraints | None:
        """Constraints n·(δ_v - δ_w) = 0 for `apply`; None if fixed vertices satisfy them all.

        directions: (k, 3), of any length; vertices, others: (k,), others -1 where a vertex touches an obstacle. Rows
        may be dependent. Raises InputError for vertices of no element and zero directions.
        """
        v = checks.require_index_array(vertices, "vertices", (None,), len(self.vertices))
        w = np.asarray(others)
        w = np.where(
            w == -1, -1, checks.require_index_array(np.where(w == -1, 0, w), "others", (len(v),), len(self.vertices))
        )
        n = checks.require_real_array(directions, "directions", (len(v), 3))
        lengths = np.linalg.norm(n, axis=1)
        if not lengths.all():
            raise InputError(f"directions[{int(np.argmin(lengths))}] is zero; a contact needs a direction")
        lone = np.isin(v, self._isolated_vertices) | np.isin(w, self._isolated_vertices)
        if lone.any():
            k = int(np.argmax(lone))
            which = int(v[k] if v[k] in self._isolated_vertices else w[k])
            raise InputError(
                f"row {k} keeps vertex {which}, which belongs to no element and so takes no part in the warp"
            )
        return self._poisson.build_contact_constraints(
            n / lengths[:, None], self._find_unknowns(v), np.where(w < 0, -1, self._find_unknowns(w))
        )

    def build_probe(self, vertex: int, contacts: WarpContactConstraints | None = None) -> WarpProbe:
        """The probe of a vertex for `evaluate_probes`, in frames with the same contacts."""
        vertex = checks.require_integer(vertex, "vertex", minimum=0, maximum=len(self.vertices) - 1)
        place = int(self._find_unknowns(np.array([vertex]))[0])
        n, floating = len(self._poisson.order), self._poisson.floating_count
        if place < 0:
            lone = vertex if vertex in self._isolated_vertices else -1
            return WarpProbe(np.zeros((len(self._shape_blocks), 3 * kernels.LANES)), np.zeros(floating), lone)
        if contacts is None:
            source = np.zeros((n, 3))
            source[place, 0] = 1.0
            weights, sums = self._compute_element_weights(source)
            return WarpProbe(np.ascontiguousarray(weights[:, : 3 * kernels.LANES]), sums[:, 0].copy(), -1)
        found = [self._compute_element_weights(source) for source in self._poisson.build_probe_sources(place, contacts)]
        return WarpProbe(np.stack([w.ravel() for w, _ in found]), np.stack([s.ravel() for _, s in found]), -1)

    def evaluate_probes(self, frame: FrameDecomposition, displacement: ArrayLike, probes: Sequence[WarpProbe]) -> Array:
        """Warped displacements (k, 3) [m] of the vertices of `probes`, equal to those of `apply`."""
        p, own = self._load_displacement(frame, displacement), self._workspace
        D = own.gradient_changes
        kernels.compute_gradient_changes(
            self._shape_blocks, self._corner_blocks, frame.blocks, self._additive, own.p, own.work, D
        )
        centres = self._poisson.compute_centroids(own.p[:-1])
        out = np.empty((len(probes), 3))
        for k, probe in enumerate(probes):
            if probe.weights.size not in (3 * D.size, D.size // 3):
                raise InputError(f"probes[{k}] was made by another warp; make it with the one that is asked")
            if probe.isolated_vertex >= 0:
                out[k] = p[probe.isolated_vertex]
            elif probe.centroid_weights.ndim == 2:
                out[k] = probe.weights @ D.ravel() + probe.centroid_weights @ centres.ravel()
            else:
                kernels.compute_weighted_sum(D, probe.weights, out[k])
                out[k] += probe.centroid_weights @ centres
        return checks.require_finite_result(out, "the warped change")

    def _load_displacement(self, frame: FrameDecomposition, displacement: ArrayLike) -> Array:
        """Check a linear displacement (n, 3), and copy it to the workspace in the order of the unknowns."""
        if frame.blocks.shape != (len(self._shape_blocks), self._values_per_element * kernels.LANES):
            raise InputError("frame was made by another warp; make it with the one that is to change it")
        p = checks.require_real_array(displacement, "displacement (m)", self.vertices.shape)
        kernels_laplacian.gather_rows(p, self._poisson.order, self._workspace.p)
        return p

    def _find_unknowns(self, vertices: IndexArray) -> IndexArray:
        """Indices of the unknowns of vertices, -1 for fixed ones and those of no element."""
        place = self._unknown_index[vertices]
        held = np.append(self._poisson.is_fixed, True)
        return np.where(held[place], -1, place)

    def _compute_element_weights(self, source: Array) -> tuple[Array, Array]:
        """V Σ_a W_a g_aᵀ of every element (blocks, 9 lanes), W = G source; and the sums of the source by piece."""
        field, sums = self._poisson.apply_inverse(source)
        out = np.empty((len(self._shape_blocks), 9 * kernels.LANES))
        kernels.compute_element_weights(self._shape_blocks, self._corner_blocks, np.vstack([field, np.zeros(3)]), out)
        return out, sums


def compute_triangle_gradients(mesh: MeshTri) -> Array:
    """In-plane gradients (m, 3, 3) of the hat functions: rows a, each n × (opposite edge) / (2 area)."""
    x = mesh.vertices[mesh.triangles]
    edges = x[:, [2, 0, 1]] - x[:, [1, 2, 0]]
    return np.cross(mesh.normals[:, None, :], edges) / (2.0 * mesh.areas[:, None, None])


def _pack_blocks(rows: NDArray[Any], fill_value: float) -> NDArray[Any]:
    """(blocks, c lanes) of rows (m, c): each column of a block contiguous, the last block padded."""
    lanes = kernels.LANES
    count = -(-len(rows) // lanes)
    columns = rows.shape[1]
    padded = np.full((count * lanes, columns), fill_value, dtype=rows.dtype)
    padded[: len(rows)] = rows
    return np.swapaxes(padded.reshape(count, lanes, columns), 1, 2).reshape(count, columns * lanes)


class IdentityWarp:
    """A `Warp` that changes nothing. Contacts are preserved by their representatives in the energy alone."""

    form = "none"

    def decompose_frame(self, positions: ArrayLike) -> FrameDecomposition:
        """An empty decomposition: the frame has no influence."""
        return FrameDecomposition(np.empty(0))

    def apply(
        self, frame: FrameDecomposition, displacement: Array, contacts: WarpContactConstraints | None = None
    ) -> Array:
        """The displacement (n, 3) itself."""
        return displacement

    def build_contact_constraints(self, directions: ArrayLike, vertices: ArrayLike, others: ArrayLike) -> None:
        """None: contacts cannot be preserved without a solve."""

    def build_probe(self, vertex: int, contacts: WarpContactConstraints | None = None) -> WarpProbe:
        """A probe that returns the linear displacement of a vertex."""
        return WarpProbe(np.empty(0), np.empty(0), vertex)

    def evaluate_probes(self, frame: FrameDecomposition, displacement: Array, probes: Sequence[WarpProbe]) -> Array:
        """Displacements (k, 3) of the probed vertices."""
        return displacement[[probe.isolated_vertex for probe in probes]]
