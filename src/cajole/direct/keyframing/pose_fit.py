"""`fit_pose`: poses of a body that follow a triangle mesh deformed elsewhere (§4.2, Barbič 2009).

A fit is an equilibrium: springs of zero rest length pull the skin's points to their targets, against the body's
elasticity. The solver of static poses computes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import BodySolid
from cajole.dynamics.statics import StaticSolver
from cajole.errors import InputError, NotConverged
from cajole.mesh import Embedding, MeshTri, Skin
from cajole.mesh.base import build_kd_tree
from cajole.progress import ProgressCallback, report_progress


@dataclass(frozen=True, eq=False)
class PoseFit:
    """A pose fitted to a skin.

    displacement: (n, 3) [m]; error, max_error: distance of the skin from its targets, root mean square over area
    and maximum, in body sizes; energy: of the pose [J]; iterations: of Newton's method; inverted_count: inverted tets;
    a pose with more than a few is not accepted as a key (see `keyframe`).
    """

    displacement: Array
    error: float
    max_error: float
    energy: float
    iterations: int
    inverted_count: int

    def __repr__(self) -> str:
        return f"PoseFit(off by {100 * self.error:.3g} % of the size, {self.inverted_count} tets inside out)"

    def __str__(self) -> str:
        off = f"off by {100 * self.error:.3g} % of the size ({100 * self.max_error:.3g} % at most)"
        bad = f", {self.inverted_count} tets inside out" if self.inverted_count else ""
        return f"fit: {off}, strain energy {self.energy:.3g} J, {self.iterations} iterations{bad}"


def fit_pose(
    body: BodySolid,
    skin: Skin | Embedding,
    deformed: MeshTri | ArrayLike,
    *,
    weight: float = 1e-4,
    areas: ArrayLike | None = None,
    start: ArrayLike | None = None,
    progress: ProgressCallback | None = None,
) -> PoseFit:
    """The pose u that minimises ½ Σ aᵢ |Aᵢu - ūᵢ|²/L² + β W(u)/W₀ (eq. (5) with the norm squared), by Newton.

    deformed: (k, 3) [m], target positions of the skin's vertices; ū is their displacement from rest.
    weight: β, dimensionless: W₀ = Σ Vμ is shear modulus times volume, L the body's size, and the areas aᵢ add up to
        one. A strain of ε everywhere costs as much as an error of ε√(2β) sizes, on any scale and in any material.
    areas: (k,) of the skin's vertices; those of its mesh for a Skin, equal ones for an Embedding.
    start: (n, 3); else each vertex moves as the skin vertex nearest to it at rest. If the result has inverted tets, the
        rigid motion closest to the skin's is tried as well, and the better result is kept.
    Raises InputError for a skin of another mesh or one that does not constrain a piece of the body, NotConverged.
    """
    fitting = _PoseFitter(body, skin, weight, areas, progress)
    first = None if start is None else body.check_vertex_vectors(start, "start")
    return fitting.fit(_check_points(deformed, fitting.point_count, "deformed"), first)


def fit_poses(
    body: BodySolid,
    skin: Skin | Embedding,
    sequence: Sequence[MeshTri | ArrayLike] | ArrayLike,
    *,
    weight: float = 1e-4,
    areas: ArrayLike | None = None,
    progress: ProgressCallback | None = None,
) -> tuple[PoseFit, ...]:
    """`fit_pose` for each of a sequence of deformed skins (frames, k, 3) [m], started from the one before."""
    fitting = _PoseFitter(body, skin, weight, areas, None)
    if checks.count_axes(sequence) == 0 or len(sequence) == 0:  # type: ignore[arg-type]
        raise InputError("the sequence is empty: give the deformed skins (frames, k, 3), one at least")
    wanted = [_check_points(one, fitting.point_count, f"sequence[{i}]") for i, one in enumerate(sequence)]  # type: ignore[arg-type]
    fits: list[PoseFit] = []
    for index, points in enumerate(wanted):
        fits.append(fitting.fit(points, fits[-1].displacement if fits else None))
        report_progress(progress, (index + 1) / len(wanted), f"pose {index + 1} of {len(wanted)} fitted")
    return tuple(fits)


class _SkinAttachedBody(BodySolid):
    """`body` with ½ uᵀSu added to its energy, S = s AᵀDA: springs from every skin point to its rest position."""

    def __init__(self, body: BodySolid, embedding: Embedding, weights: Array, stiffness: float):
        vars(self).update(vars(body))  # the same solid: shares its cached quantities
        self._base_body = body
        self._spring_values = _assemble_spring_values(body, embedding, stiffness * weights)
        self.spring_stiffness = self.pattern.build_matrix(self._spring_values)

    def energy(self, displacement: ArrayLike) -> float:
        u = self.check_vertex_vectors(displacement).ravel()
        return self._base_body.energy(displacement) + 0.5 * float(u @ (self.spring_stiffness @ u))

    def force(self, displacement: ArrayLike) -> Array:
        u = self.check_vertex_vectors(displacement)
        return np.asarray(self._base_body.force(u) + (self.spring_stiffness @ u.ravel()).reshape(-1, 3))

    def stiffness(self, displacement: ArrayLike | None = None) -> sp.csr_array:
        return self.pattern.build_matrix(self._base_body.stiffness(displacement).data + self._spring_values)

    def get_content(self) -> tuple[Array | IndexArray | str | float, ...]:
        return "skin-attached solid", *self._base_body.get_content(), self._spring_values

    def compute_unconstrained_rigid_modes(self, constrained: IndexArray) -> Array:
        """None: the springs constrain every piece."""
        return np.empty((3 * self.vertex_count, 0))


class _PoseFitter:
    """A body and its skin; matrices and the symbolic factorisation are shared by all fits."""

    def __init__(
        self,
        body: BodySolid,
        skin: Skin | Embedding,
        weight: float,
        areas: ArrayLike | None,
        progress: ProgressCallback | None,
    ):
        checks.require_instance(body, BodySolid, "body")
        self.body, self.embedding = body, _require_embedding(body, skin)
        self.point_count = len(self.embedding.weights)
        self.weights = _compute_point_weights(skin, areas, self.point_count)
        _, _, volumes, _, mu = body.element_arrays
        # eq. (5) times W₀/β, so that energies stay in joules
        strength = float(volumes @ mu) / (checks.require_safe_magnitude(weight, "weight") * body.size**2)
        self._load_matrix = strength * (sp.diags_array(self.weights) @ self.embedding.matrix).T
        self.rest_points = self.embedding.apply(body.vertices)
        self._attached_body = _SkinAttachedBody(body, self.embedding, self.weights, strength)
        self._require_no_rigid_motion()
        self._iteration_count, self._progress = 0, progress
        none = np.empty(0, dtype=np.int64)
        self._statics = StaticSolver(
            self._attached_body, none, np.zeros((body.vertex_count, 3)), progress=self._count_iteration
        )

    def fit(self, target: Array, start: Array | None) -> PoseFit:
        """Fit to points (k, 3): the first result without inverted tets over all starts, or the best."""
        found: list[tuple[float, PoseFit]] = []
        failure: NotConverged | None = None
        nearest = build_kd_tree(self.rest_points).query(self.body.vertices)[1]
        starts = [] if start is None else [start]
        for first in (*starts, (target - self.rest_points)[nearest], self._fit_rigid_motion(target)):
            first = first.copy()
            first[self.body.fixed] = 0.0
            try:
                found.append(self._fit_from(target, first))
            except NotConverged as reason:
                failure = reason
                continue
            if found[-1][1].inverted_count == 0:
                return found[-1][1]
        if failure is not None and not found:
            raise NotConverged(f"the skin cannot be fitted: {failure}; or raise weight (beta)")
        return min(found, key=lambda one: (one[1].inverted_count > 0, one[0]))[1]

    def _fit_rigid_motion(self, target: Array) -> Array:
        """Displacements (n, 3) of the rigid motion that brings the skin at rest closest to the targets (k, 3)."""
        a, b = self.weights @ self.rest_points, self.weights @ target
        V, _, Wt = np.linalg.svd((target - b).T @ (self.weights[:, None] * (self.rest_points - a)))
        turn = Rotation.from_matrix(V @ np.diag([1.0, 1.0, np.linalg.det(V @ Wt)]) @ Wt)
        return np.asarray(turn.apply(self.body.vertices - a) + b - self.body.vertices)

    def _fit_from(self, target: Array, start: Array) -> tuple[float, PoseFit]:
        moved = target - self.rest_points
        load = np.asarray(self._load_matrix @ moved)
        before = self._iteration_count
        u = self._statics.solve(start, load, np.empty((0, 3)))
        misses = np.linalg.norm(self.embedding.matrix @ u - moved, axis=1) / self.body.size
        cost = self._attached_body.energy(u) - float((load * u).sum())
        error = float(np.sqrt(self.weights @ misses**2))
        inverted = len(self.body.inverted(u))
        iterations = self._iteration_count - before - 1
        return cost, PoseFit(u, error, float(misses.max()), self.body.energy(u), iterations, inverted)

    def _count_iteration(self, share: float, message: str) -> bool | None:
        self._iteration_count += 1
        report_progress(self._progress, share, message.replace("pose", "fit"))
        return None

    def _require_no_rigid_motion(self) -> None:
        motions = self.body.compute_rigid_body_modes()
        if motions.shape[1] == 0:
            return
        held = motions.T @ (self._attached_body.spring_stiffness @ motions)
        if (
            np.linalg.eigvalsh(held).min()
            <= 1e-10 * self._attached_body.spring_stiffness.diagonal().max() / self.body.total_mass
        ):
            raise InputError(
                "a piece of this body can move or turn without moving the skin; fix some of its vertices, or give a "
                "skin with at least three points, not in line, in every piece"
            )


def _require_embedding(body: BodySolid, skin: Skin | Embedding) -> Embedding:
    embedding = skin.embedding if isinstance(skin, Skin) else skin
    if embedding is None:
        raise InputError("this skin has no embedding and follows nothing; give it one with embed(mesh, cage)")
    checks.require_instance(embedding, Embedding, "skin")
    tets = body.mesh.tets
    ours = embedding.vertex_count == body.vertex_count and embedding.tets.max(initial=-1) < len(tets)
    if len(embedding.tets) == 0:
        raise InputError("the skin has no points to fit")
    if not ours or not np.array_equal(tets[embedding.tets], embedding.corners):
        raise InputError("the skin is embedded in another mesh than the body's; use embed(skin_mesh, body.mesh)")
    return embedding


def _compute_point_weights(skin: Skin | Embedding, areas: ArrayLike | None, count: int) -> Array:
    """Weights of the skin's points (k,), adding up to one."""
    if areas is None:
        # a third of each triangle belongs to each of its vertices
        sizes = (
            _sum_at(skin.mesh.triangles, np.repeat(skin.mesh.areas / 3, 3), len(skin.mesh.vertices))
            if isinstance(skin, Skin)
            else np.ones(count)
        )
    else:
        sizes = checks.require_real_array(areas, "areas", (count,))
    if sizes.min() < 0 or sizes.sum() <= 0:
        raise InputError(f"areas[{int(np.argmin(sizes))}] is {sizes.min():.3g}; none may be negative, nor all zero")
    return np.asarray(sizes / sizes.sum())


def _assemble_spring_values(body: BodySolid, embedding: Embedding, stiffnesses: Array) -> Array:
    """Values of AᵀDA ⊗ I₃ in the sparsity pattern of the body, which has all pairs of corners of a tet."""
    pairs = stiffnesses[:, None, None] * embedding.weights[:, :, None] * embedding.weights[:, None, :]
    slots = body.pattern.block_offsets[embedding.tets].astype(np.int64)
    stride = body.pattern.row_strides[embedding.corners][:, :, None].astype(np.int64)
    data = np.zeros(body.pattern.nnz)
    for axis in range(3):
        data += _sum_at(slots + axis * (stride + 1), pairs, len(data))
    return data


def _sum_at(indices: IndexArray, values: Array, size: int) -> Array:
    """Sums of the values at each index (size,)."""
    return np.asarray(np.bincount(indices.ravel(), values.ravel(), minlength=size), dtype=np.float64)


def _check_points(deformed: MeshTri | ArrayLike, count: int, name: str) -> Array:
    points = deformed.vertices if isinstance(deformed, MeshTri) else deformed
    return checks.require_real_array(points, name, (count, 3))
