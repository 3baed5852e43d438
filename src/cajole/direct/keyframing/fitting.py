"""`fit_pose`: poses of a body that follow a triangle mesh deformed elsewhere (§4.2, Barbič 2009).

A fit is an equilibrium: springs of no rest length pull the skin's points to where they are wanted, against the body's
own elasticity. So the solver of static poses does the work.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.spatial.transform import Rotation

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import BodySolid
from cajole.dynamics.statics import Statics
from cajole.errors import InputError, NotConverged
from cajole.mesh import Embedding, MeshTri, Skin
from cajole.mesh.base import point_tree
from cajole.progress import Progress, report

# Below this share of the strongest, the pull against a rigid motion is rounding: the skin does not hold it.
UNHELD = 1e-10


@dataclass(frozen=True, eq=False)
class Fit:
    """A pose fitted to a skin.

    displacement: (n, 3) [m]; error, worst: how far the skin is off, root mean square over its area and at most, in body
    sizes; energy: of the pose [J]; iterations: of Newton; inverted: how many tets are inside
    out; more than a few make it no key (see `keyframe`).
    """

    displacement: Array
    error: float
    worst: float
    energy: float
    iterations: int
    inverted: int

    def __repr__(self) -> str:
        return f"Fit(off by {100 * self.error:.3g} % of the size, {self.inverted} tets inside out)"

    def __str__(self) -> str:
        off = f"off by {100 * self.error:.3g} % of the size ({100 * self.worst:.3g} % at most)"
        bad = f", {self.inverted} tets inside out" if self.inverted else ""
        return f"fit: {off}, strain energy {self.energy:.3g} J, {self.iterations} iterations{bad}"


def fit_pose(
    body: BodySolid,
    skin: Skin | Embedding,
    deformed: MeshTri | ArrayLike,
    *,
    weight: float = 1e-4,
    areas: ArrayLike | None = None,
    start: ArrayLike | None = None,
    progress: Progress | None = None,
) -> Fit:
    """The pose u that minimises ½ Σ aᵢ |Aᵢu - ūᵢ|²/L² + β W(u)/W₀ (eq. (5) with the norm squared), by Newton.

    deformed: (k, 3) [m], where the skin's vertices are wanted; ū is that less where they rest.
    weight: β, dimensionless: W₀ = Σ Vμ is shear modulus times volume, L the body's size, and the areas aᵢ add up to
        one, so a strain of ε everywhere is worth an error of about ε√(2β) sizes, on any scale and in any material.
    areas: (k,) of the skin's vertices; those of its mesh for a Skin, all alike for an Embedding.
    start: (n, 3); else each vertex moves as the skin vertex nearest to it at rest. Where this ends with tets inside
        out, the rigid motion nearest to the skin's is tried as well, and the better of the two is kept.
    Raises InputError for a skin of another mesh or one that leaves a piece free to drift, NotConverged.
    """
    fitting = _Fitting(body, skin, weight, areas, progress)
    first = None if start is None else body.checked(start, "start")
    return fitting.fit(_points(deformed, fitting.count, "deformed"), first)


def fit_poses(
    body: BodySolid,
    skin: Skin | Embedding,
    sequence: Sequence[MeshTri | ArrayLike] | ArrayLike,
    *,
    weight: float = 1e-4,
    areas: ArrayLike | None = None,
    progress: Progress | None = None,
) -> tuple[Fit, ...]:
    """`fit_pose` for each of a sequence of deformed skins (frames, k, 3) [m], started from the one before."""
    fitting = _Fitting(body, skin, weight, areas, None)
    if checks.depth(sequence) == 0 or len(sequence) == 0:  # type: ignore[arg-type]
        raise InputError("the sequence is empty: give the deformed skins (frames, k, 3), one at least")
    wanted = [_points(one, fitting.count, f"sequence[{i}]") for i, one in enumerate(sequence)]  # type: ignore[arg-type]
    fits: list[Fit] = []
    for index, points in enumerate(wanted):
        fits.append(fitting.fit(points, fits[-1].displacement if fits else None))
        report(progress, (index + 1) / len(wanted), f"pose {index + 1} of {len(wanted)} fitted")
    return tuple(fits)


class _Attached(BodySolid):
    """`body` with ½ uᵀSu added to its energy, S = s AᵀDA: every skin point pulled back to where it rests."""

    def __init__(self, body: BodySolid, embedding: Embedding, shares: Array, strength: float):
        vars(self).update(vars(body))  # the same solid; nothing of it is computed twice
        self._solid = body
        self._pulls = _pull_values(body, embedding, strength * shares)
        self.pull = self.pattern.matrix(self._pulls)

    def energy(self, displacement: ArrayLike) -> float:
        u = self.checked(displacement).ravel()
        return self._solid.energy(displacement) + 0.5 * float(u @ (self.pull @ u))

    def force(self, displacement: ArrayLike) -> Array:
        u = self.checked(displacement)
        return self._solid.force(u) + (self.pull @ u.ravel()).reshape(-1, 3)

    def stiffness(self, displacement: ArrayLike | None = None) -> sp.csr_array:
        return self.pattern.matrix(self._solid.stiffness(displacement).data + self._pulls)

    def drifting_motions(self, held: IndexArray) -> Array:
        """None: the skin holds every piece."""
        return np.empty((3 * self.count, 0))


class _Fitting:
    """One body and skin, and as many deformed skins as wanted: matrices and symbolic factorisation are shared."""

    def __init__(
        self, body: BodySolid, skin: Skin | Embedding, weight: float, areas: ArrayLike | None, progress: Progress | None
    ):
        checks.require_instance(body, BodySolid, "body")
        self.body, self.embedding = body, _embedding(body, skin)
        self.count = len(self.embedding.weights)
        self.shares = _shares(skin, areas, self.count)
        _, _, volumes, _, mu = body.elastic
        # eq. (5) times W₀/β, so that energies stay in joules
        strength = float(volumes @ mu) / (checks.moderate(weight, "weight") * body.size**2)
        self._pull = strength * (sp.diags_array(self.shares) @ self.embedding.matrix).T
        self.rest = self.embedding.apply(body.vertices)
        self._attached = _Attached(body, self.embedding, self.shares, strength)
        self._require_held()
        self._calls, self._progress = 0, progress
        none = np.empty(0, dtype=np.int64)
        self._statics = Statics(self._attached, none, np.zeros((body.count, 3)), progress=self._count)

    def fit(self, wanted: Array, start: Array | None) -> Fit:
        """The fit to points (k, 3), the first without inverted tets of those that the starts lead to, or the best."""
        found: list[tuple[float, Fit]] = []
        failure: NotConverged | None = None
        for first in self._starts(wanted, start):
            try:
                found.append(self._fit_from(wanted, first))
            except NotConverged as reason:
                failure = reason
                continue
            if found[-1][1].inverted == 0:
                return found[-1][1]
        if failure is not None and not found:
            raise NotConverged(f"the skin cannot be fitted: {failure}; or raise weight (beta)")
        return min(found, key=lambda one: (one[1].inverted > 0, one[0]))[1]

    def _starts(self, wanted: Array, start: Array | None) -> Iterator[Array]:
        if start is not None:
            yield _still(self.body, start)
        moved = wanted - self.rest
        nearest = point_tree(self.rest).query(self.body.vertices)[1]
        yield _still(self.body, moved[nearest])
        yield _still(self.body, self._rigid(wanted))

    def _rigid(self, wanted: Array) -> Array:
        """The rigid motion (n, 3) that brings the resting skin nearest to `wanted`."""
        a, b = self.shares @ self.rest, self.shares @ wanted
        V, _, Wt = np.linalg.svd((wanted - b).T @ (self.shares[:, None] * (self.rest - a)))
        turn = Rotation.from_matrix(V @ np.diag([1.0, 1.0, np.linalg.det(V @ Wt)]) @ Wt)
        return turn.apply(self.body.vertices - a) + b - self.body.vertices

    def _fit_from(self, wanted: Array, start: Array) -> tuple[float, Fit]:
        moved = wanted - self.rest
        load = np.asarray(self._pull @ moved)
        before = self._calls
        u = self._statics.solve(start, load, np.empty((0, 3)))
        misses = np.linalg.norm(self.embedding.matrix @ u - moved, axis=1) / self.body.size
        cost = self._attached.energy(u) - float((load * u).sum())
        error = float(np.sqrt(self.shares @ misses**2))
        inverted = len(self.body.inverted(u))
        iterations = self._calls - before - 1
        return cost, Fit(u, error, float(misses.max()), self.body.energy(u), iterations, inverted)

    def _count(self, share: float, message: str) -> bool | None:
        self._calls += 1
        report(self._progress, share, message.replace("pose", "fit"))
        return None

    def _require_held(self) -> None:
        motions = self.body.rigid_motions()
        if motions.shape[1] == 0:
            return
        held = motions.T @ (self._attached.pull @ motions)
        if np.linalg.eigvalsh(held).min() <= UNHELD * self._attached.pull.diagonal().max() / self.body.total_mass:
            raise InputError(
                "a piece of this body can move or turn without moving the skin; fix some of its vertices, or give a "
                "skin with at least three points, not in line, in every piece"
            )


def _embedding(body: BodySolid, skin: Skin | Embedding) -> Embedding:
    embedding = skin.embedding if isinstance(skin, Skin) else skin
    if embedding is None:
        raise InputError("this skin has no embedding and follows nothing; give it one with embed(mesh, cage)")
    checks.require_instance(embedding, Embedding, "skin")
    tets = body.mesh.tets
    ours = embedding.vertex_count == body.count and embedding.tets.max(initial=-1) < len(tets)
    if len(embedding.tets) == 0:
        raise InputError("the skin has no points to fit")
    if not ours or not np.array_equal(tets[embedding.tets], embedding.corners):
        raise InputError("the skin is embedded in another mesh than the body's; use embed(skin_mesh, body.mesh)")
    return embedding


def _shares(skin: Skin | Embedding, areas: ArrayLike | None, count: int) -> Array:
    """Weights of the skin's points (k,), adding up to one."""
    if areas is None:
        sizes = _vertex_areas(skin.mesh) if isinstance(skin, Skin) else np.ones(count)
    else:
        sizes = checks.real_array(areas, "areas", (count,))
    if sizes.min() < 0 or sizes.sum() <= 0:
        raise InputError(f"areas[{int(np.argmin(sizes))}] is {sizes.min():.3g}; none may be negative, nor all zero")
    return sizes / sizes.sum()


def _vertex_areas(mesh: MeshTri) -> Array:
    """A third of each triangle goes to each of its vertices (k,)."""
    return _added(mesh.triangles, np.repeat(mesh.areas / 3, 3), len(mesh.vertices))


def _pull_values(body: BodySolid, embedding: Embedding, strengths: Array) -> Array:
    """AᵀDA ⊗ I₃ on the body's pattern: the four corners of one tet are already joined there."""
    pairs = strengths[:, None, None] * embedding.weights[:, :, None] * embedding.weights[:, None, :]
    slots = body.pattern.slots[embedding.tets].astype(np.int64)
    stride = body.pattern.stride[embedding.corners][:, :, None].astype(np.int64)
    data = np.zeros(body.pattern.entries)
    for axis in range(3):
        data += _added(slots + axis * (stride + 1), pairs, len(data))
    return data


def _added(places: IndexArray, values: Array, size: int) -> Array:
    """Sum of the values at each place (size,)."""
    return np.asarray(np.bincount(places.ravel(), values.ravel(), minlength=size), dtype=np.float64)


def _points(deformed: MeshTri | ArrayLike, count: int, name: str) -> Array:
    points = deformed.vertices if isinstance(deformed, MeshTri) else deformed
    return checks.real_array(points, name, (count, 3))


def _still(body: BodySolid, u: Array) -> Array:
    out = u.copy()
    out[body.fixed] = 0.0
    return out
