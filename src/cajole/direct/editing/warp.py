"""Warping: a linear change of a frame becomes a shape without the swelling that linear changes bring (§6).

Every element is turned and strained on its own, and the displacement whose gradients come closest to that is found by a
Poisson solve, L δ = Σ_j V_j (F'_j - F̄_j) g_a. Vertices that the body holds keep their place; a piece of the mesh that
holds none keeps its centre where the linear change puts it; contacts keep their planes.
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
from cajole.direct.editing.warp_frames import split_frame
from cajole.direct.editing.warp_kept import Kept
from cajole.direct.editing.warp_poisson import Poisson
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri

__all__ = ["FORMS", "Frame", "Kept", "Probe", "Warp"]


FORMS = ("composition", "additive")


@dataclass(frozen=True, eq=False)
class Frame:
    """An input frame as the warp sees it: the rotation and the stretch of every element, F = Q S, block by block."""

    blocks: NDArray[np.floating]


@dataclass(frozen=True, eq=False)
class Probe:
    """What finds the warped place of one vertex by a pass over the elements, without a solve; made by `Warp.probe`.

    weights: of the elements, the same in all directions or, where contacts mix them, one set a direction; centres: what
    each floating piece's centre adds; lone: the vertex when it belongs to no element, else -1.
    """

    weights: Array
    centres: Array
    lone: int


class _Scratch(threading.local):
    """Work arrays of a warp, one set for each thread: the kernels release the interpreter.

    p, x: (n + 1, 3) of the unknowns, and a last row that the elements refer to which fill up the last block.
    """

    def __init__(self, unknowns: int, blocks: int):
        self.p, self.x = np.zeros((unknowns + 1, 3)), np.zeros((unknowns + 1, 3))
        self.work = np.zeros(kernels.WORK * kernels.LANES)
        self.differences = np.empty((blocks, 9 * kernels.LANES))


class Warp:
    """The elements of a mesh at rest, and the factors of their Laplacian; immutable, several threads may use it.

    held: (k,) vertices that never move; elements with no other vertices cost nothing. form: "composition", or the
    paper's own, "additive". Raises InputError for vertices out of range.
    """

    def __init__(self, mesh: MeshTet | MeshTri, held: ArrayLike, *, form: str = "composition"):
        if not isinstance(mesh, MeshTet | MeshTri):
            raise InputError(f"mesh must be a MeshTet or a MeshTri, not {type(mesh).__name__}")
        self.form = checks.one_of(form, "form", FORMS)
        self._additive = form == "additive"
        self._rows = (3 if self._additive else 9) + 6
        self.vertices, self.elements = mesh.vertices, mesh.elements
        stays = np.zeros(len(mesh.vertices), dtype=bool)
        stays[checks.index_array(held, "held", (None,), len(mesh.vertices))] = True
        # vertices of no element have nothing to warp with: they take the linear change
        self._lone = np.flatnonzero(~mesh.used & ~stays)
        live = np.flatnonzero(~stays[mesh.elements].all(axis=1))
        elements, grads, volumes = mesh.elements[live], _gradients(mesh)[live], _volumes(mesh)[live]
        self._poisson = Poisson(elements, grads, volumes, stays, mesh.components)
        order = self._poisson.order
        self._place = np.full(len(mesh.vertices), -1, dtype=np.int64)
        self._place[order] = np.arange(len(order))
        corners = self._place[elements]
        # elements in the order of the unknowns they touch: neighbours in memory
        nearby = np.argsort(corners.min(axis=1, initial=len(order)), kind="stable")
        normals = mesh.normals[live][nearby] if isinstance(mesh, MeshTri) else np.empty((len(live), 0))
        shape = np.column_stack(
            [grads[nearby, 1:].reshape(len(live), 3 * (grads.shape[1] - 1)), volumes[nearby], normals]
        )
        self._shapes = _blocks(shape, 0.0)
        self._corners = _blocks(corners[nearby].astype(np.uint32), len(order))
        # one row more than unknowns: elements that fill up the last block stand there
        self._rest = np.vstack([self.vertices[order], np.zeros(3)])
        self._scratch = _Scratch(len(order), len(self._shapes))

    def frame(self, positions: ArrayLike, *, single: bool = False) -> Frame:
        """Rotation and stretch of every element of a frame at `positions` (n, 3) [m].

        single: in single precision, half the memory; no change is still exactly no change.
        """
        x = checks.real_array(positions, "positions (m)", self.vertices.shape)
        p = self._scratch.p
        kernels_laplacian.gathered(x, self._poisson.order, p)
        blocks = np.empty((len(self._shapes), self._rows * kernels.LANES), dtype=np.float32 if single else np.float64)
        split_frame(self._shapes, self._corners, self._rest, self._additive, p, blocks)
        checks.finite_result(blocks, "the deformation of a frame")
        return Frame(blocks)

    def apply(self, frame: Frame, change: ArrayLike, kept: Kept | None = None) -> Array:
        """The warped change of displacement (n, 3) [m] of a linear one; exactly zero for zero. kept: rows it keeps."""
        p, own = self._linear(frame, change), self._scratch
        kernels.right_side(self._shapes, self._corners, frame.blocks, self._additive, own.p, own.work, own.x)
        order = self._poisson.order
        if kept is not None and not self._poisson.knows(kept):
            raise InputError("kept was made by another warp; make it with the one that is to keep it")
        self._poisson.solve(own.x[: len(order)], own.p[: len(order)], kept)
        out = np.zeros(self.vertices.shape)
        kernels_laplacian.scattered(own.x, order, out)
        out[self._lone] = p[self._lone]
        return checks.finite_result(out, "the warped change")

    def kept(self, directions: ArrayLike, vertices: ArrayLike, others: ArrayLike) -> Kept | None:
        """Rows that `apply` keeps at zero: n·(δ_v - δ_w), None when held vertices satisfy them all.

        directions: (k, 3), of any length; vertices, others: (k,), others -1 where a vertex touches what does not belong
        to the mesh. Rows may repeat one another. Raises InputError for vertices of no element and zero directions.
        """
        v = checks.index_array(vertices, "vertices", (None,), len(self.vertices))
        w = np.asarray(others)
        w = np.where(w == -1, -1, checks.index_array(np.where(w == -1, 0, w), "others", (len(v),), len(self.vertices)))
        n = checks.real_array(directions, "directions", (len(v), 3))
        lengths = np.linalg.norm(n, axis=1)
        if not lengths.all():
            raise InputError(f"directions[{int(np.argmin(lengths))}] is zero; a contact needs a direction")
        lone = np.isin(v, self._lone) | np.isin(w, self._lone)
        if lone.any():
            k = int(np.argmax(lone))
            which = int(v[k] if v[k] in self._lone else w[k])
            raise InputError(
                f"row {k} keeps vertex {which}, which belongs to no element and so takes no part in the warp"
            )
        return self._poisson.kept(n / lengths[:, None], self._moving(v), np.where(w < 0, -1, self._moving(w)))

    def probe(self, vertex: int, kept: Kept | None = None) -> Probe:
        """What `at` needs to find the warped place of a vertex in frames that keep the same rows."""
        vertex = checks.count(vertex, "vertex", least=0, most=len(self.vertices) - 1)
        place = int(self._moving(np.array([vertex]))[0])
        n, floating = len(self._poisson.order), self._poisson.floating
        if place < 0:
            lone = vertex if vertex in self._lone else -1
            return Probe(np.zeros((len(self._shapes), 3 * kernels.LANES)), np.zeros(floating), lone)
        if kept is None:
            source = np.zeros((n, 3))
            source[place, 0] = 1.0
            weights, sums = self._weights(source)
            return Probe(np.ascontiguousarray(weights[:, : 3 * kernels.LANES]), sums[:, 0].copy(), -1)
        found = [self._weights(source) for source in self._poisson.kept_sources(place, kept)]
        return Probe(np.stack([w.ravel() for w, _ in found]), np.stack([s.ravel() for _, s in found]), -1)

    def at(self, frame: Frame, change: ArrayLike, probes: Sequence[Probe]) -> Array:
        """Warped changes (k, 3) [m] of the vertices that `probes` were made for, as `apply` has them."""
        p, own = self._linear(frame, change), self._scratch
        D = own.differences
        kernels.differences(self._shapes, self._corners, frame.blocks, self._additive, own.p, own.work, D)
        centres = self._poisson.centres(own.p[:-1])
        out = np.empty((len(probes), 3))
        for k, probe in enumerate(probes):
            if probe.weights.size not in (3 * D.size, D.size // 3):
                raise InputError(f"probes[{k}] was made by another warp; make it with the one that is asked")
            if probe.lone >= 0:
                out[k] = p[probe.lone]
            elif probe.centres.ndim == 2:
                out[k] = probe.weights @ D.ravel() + probe.centres @ centres.ravel()
            else:
                kernels.weighed(D, probe.weights, out[k])
                out[k] += probe.centres @ centres
        return checks.finite_result(out, "the warped change")

    def _linear(self, frame: Frame, change: ArrayLike) -> Array:
        """A linear change (n, 3) of a frame, checked, and put in the order of the unknowns."""
        if frame.blocks.shape != (len(self._shapes), self._rows * kernels.LANES):
            raise InputError("frame was made by another warp; make it with the one that is to change it")
        p = checks.real_array(change, "change (m)", self.vertices.shape)
        kernels_laplacian.gathered(p, self._poisson.order, self._scratch.p)
        return p

    def _moving(self, vertices: IndexArray) -> IndexArray:
        """The unknowns of vertices, -1 for those that are held or in no element."""
        place = self._place[vertices]
        held = np.append(self._poisson.held, True)
        return np.where(held[place], -1, place)

    def _weights(self, source: Array) -> tuple[Array, Array]:
        """V Σ_a W_a g_aᵀ of every element (blocks, 9 lanes), W = G source; and the sums of the source by piece."""
        field, sums = self._poisson.field(source)
        out = np.empty((len(self._shapes), 9 * kernels.LANES))
        kernels.element_weights(self._shapes, self._corners, np.vstack([field, np.zeros(3)]), out)
        return out, sums


def _gradients(mesh: MeshTet | MeshTri) -> Array:
    return mesh.gradients if isinstance(mesh, MeshTet) else triangle_gradients(mesh)


def _volumes(mesh: MeshTet | MeshTri) -> Array:
    return mesh.volumes if isinstance(mesh, MeshTet) else mesh.areas


def triangle_gradients(mesh: MeshTri) -> Array:
    """In-plane gradients (m, 3, 3) of the hat functions: rows a, each n × (opposite edge) / (2 area)."""
    x = mesh.vertices[mesh.triangles]
    edges = x[:, [2, 0, 1]] - x[:, [1, 2, 0]]
    return np.cross(mesh.normals[:, None, :], edges) / (2.0 * mesh.areas[:, None, None])


def _blocks(rows: NDArray[Any], filling: float) -> NDArray[Any]:
    """(blocks, c lanes) of rows (m, c): each entry of a block's elements side by side, the last block filled up."""
    lanes = kernels.LANES
    count = -(-len(rows) // lanes)
    columns = rows.shape[1]
    padded = np.full((count * lanes, columns), filling, dtype=rows.dtype)
    padded[: len(rows)] = rows
    return np.swapaxes(padded.reshape(count, lanes, columns), 1, 2).reshape(count, columns * lanes)
