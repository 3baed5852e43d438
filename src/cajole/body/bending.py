"""Bending of shells at hinges, the edges between triangles, with plasticity."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from cajole import checks
from cajole.arrays import Array, IndexArray
from cajole.body import kernels_bending as kernels
from cajole.body import kernels_membrane
from cajole.body.kernels_assembly import Int32Array
from cajole.body.material import ShellProperties
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTri
from cajole.mesh.repair import compute_triangle_qualities

NO_HINGE = -1


@dataclass(frozen=True, eq=False)
class Plasticity:
    """Plastic bending: an edge that is bent by more than `yield_curvature` from its rest angle keeps the excess.

    The curvature of an edge is Δκ = l Δθ/2A, l its length and A the area of both its triangles, undeformed. The excess
    |Δκ| - yield_curvature moves the rest angle, and the bending stiffness is multiplied by exp(hardening · excess):
    positive values harden folds, negative ones soften them. The number of steps of a motion does not change the result.
    (Bergou 2007, section 4, whose rest angle as printed keeps the wrong part of the excess.)
    On regular meshes a cylinder of radius R has Δκ = 1/2R at the edges along its axis.
    yield_curvature [1/m], hardening [m]: numbers, or one per hinge of the body (in the order of
    `body.hinges.vertices`); use a large yield_curvature for an edge that must not yield.
    """

    yield_curvature: float | ArrayLike
    hardening: float | ArrayLike = 0.0

    def __post_init__(self) -> None:
        if checks.count_axes(self.yield_curvature) == 0:
            checks.require_positive(self.yield_curvature, "yield_curvature (1/m)", allow_zero=True)  # type: ignore[arg-type]
        if checks.count_axes(self.hardening) == 0:
            checks.require_real_number(self.hardening, "hardening (m)")

    def expand_to_hinges(self, count: int) -> tuple[Array, Array]:
        """yield_curvature and hardening of each of `count` hinges."""
        most = expand_per_hinge(self.yield_curvature, "yield_curvature (1/m)", count, nonnegative=True)
        return most, expand_per_hinge(self.hardening, "hardening (m)", count)


def expand_per_hinge(value: float | ArrayLike, name: str, count: int, *, nonnegative: bool = False) -> Array:
    """Expand one number, or one per hinge, to (count,). Raises InputError for forbidden negative ones."""
    if checks.count_axes(value) == 0:
        values = np.full(count, checks.require_real_number(value, name))
    else:
        values = checks.require_real_array(value, f"{name} of each hinge", (count,)).copy()
    if nonnegative and (values < 0).any():
        i = int(np.argmax(values < 0))
        raise InputError(f"{name}[{i}] is {values[i]}, but must be at least zero")
    return values


@dataclass(frozen=True, eq=False)
class Hinges:
    """Hinges of a shell, in groups whose angles φ determine the curvature of one triangle.

    vertices (h, 4): a, b of the edge and the opposite c, d. groups (g, k): hinges of each triangle, then one group per
    hinge at a nonmanifold edge, -1 for none. elements (g, k + 3): vertices of each group; the first vertex_counts (g,)
    are used. local_vertices (g, k, 4): indices of the vertices of each hinge in the element of the group.
    group_of_hinge (h, 2): a group of each hinge and its index there. factors (g, 3, k) [√(N m)]: the energy of a group
    is |factors φ|²/2. k, at most 9, is as small as the mesh allows: 3 for regular meshes.
    """

    vertices: IndexArray
    groups: IndexArray
    elements: IndexArray
    vertex_counts: IndexArray
    local_vertices: IndexArray
    group_of_hinge: IndexArray
    factors: Array

    @cached_property
    def groups_by_hinge(self) -> tuple[IndexArray, IndexArray]:
        """starts (h + 1,) and entries (·, 2): from starts[i] on, the groups of hinge i and its index in each."""
        where = np.argwhere(self.groups >= 0)
        held = self.groups[self.groups >= 0]
        starts = np.concatenate([[0], np.cumsum(np.bincount(held, minlength=len(self.vertices)))])
        return starts, np.ascontiguousarray(where[np.argsort(held, kind="stable")])


def build_hinges(mesh: MeshTri, properties: ShellProperties) -> Hinges:
    """Build the hinges of `mesh`: one per edge of two triangles, one per adjacent pair around edges with more."""
    crowded, stiffness = _find_nonmanifold_hinges(mesh, properties.bending_stiffness)
    factors, groups, elements = _build_triangle_groups(mesh, properties)
    vertices = np.vstack([mesh.hinges, crowded]).astype(np.int64)
    alone = np.full((len(crowded), groups.shape[1]), NO_HINGE)
    alone[:, 0] = len(mesh.hinges) + np.arange(len(crowded))
    single = np.zeros((len(crowded), *factors.shape[1:]))
    single[:, 0, 0] = np.sqrt(stiffness)
    groups, factors = np.vstack([groups, alone]), np.concatenate([factors, single])
    elements = np.vstack([elements, np.hstack([crowded] * 3)]).astype(np.int64)
    homes = np.zeros((len(vertices), 2), dtype=np.int64)
    at = np.argwhere(groups[:, :3] >= 0)
    homes[groups[:, :3][groups[:, :3] >= 0]] = at
    sizes = 6 + (groups[:, 3:] >= 0).sum(axis=1)
    # used columns are first; unused ones are removed, because the loops are limited by memory
    width = int(sizes.max())
    groups, elements = groups[:, : width - 3].copy(), elements[:, :width].copy()
    factors = np.ascontiguousarray(factors[:, :, : width - 3])
    return Hinges(vertices, groups, elements, sizes, _find_local_vertices(vertices, groups, elements), homes, factors)


def _build_triangle_groups(mesh: MeshTri, properties: ShellProperties) -> tuple[Array, IndexArray, IndexArray]:
    """Build factors (m, 3, 9), hinges (m, 9) and vertices (m, 12) of every triangle.

    The first three hinges are its own; then come two of each neighbour, at the edges after the common one.
    Hinges of neighbours that add nothing, which are all in regular meshes, are removed with the vertices opposite them.
    """
    count, half = len(mesh.triangles), mesh.half_edges
    one, two = half.twin_pairs.T
    hinge = np.full(3 * count, NO_HINGE)
    mate = np.full(3 * count, NO_HINGE)
    side = np.ones(3 * count)
    sign = np.ones(3 * count)
    hinge[one] = hinge[two] = np.arange(len(one))
    mate[one], mate[two] = two, one
    side[two] = -1.0
    # on nonorientable surfaces some neighbours see the angle with the opposite sign
    sign[two[~half.consistent_mask]] = -1.0
    C, hinged = _compute_plate_stiffness(mesh, properties), (hinge >= 0).reshape(-1, 3)
    _require_no_slivers(mesh, C)
    # S (m, 3, 3): angles at all edges from those with a hinge; the others by least energy, C_bb ψ_b = -C_bf ψ_f
    S = hinged[:, :, None] * np.eye(3)
    for pattern in np.unique(hinged, axis=0):
        if not pattern.all() and pattern.any():
            rows = np.flatnonzero((hinged == pattern).all(axis=1))
            b, f = np.flatnonzero(~pattern), np.flatnonzero(pattern)
            S[np.ix_(rows, b, f)] = -np.linalg.solve(C[np.ix_(rows, b, b)], C[np.ix_(rows, b, f)])
    own = sign.reshape(-1, 3)
    moved = _compute_angle_shifts(mesh, S * own[:, None, :], sign)
    Z = np.zeros((count, 3, 9))
    Z[:, [0, 1, 2], [0, 1, 2]] = own
    Z[:, :, :3] += (own * side.reshape(-1, 3))[:, :, None] * moved
    groups, elements = _collect_neighbour_hinges(mesh, hinge, mate)
    for edge in range(3):
        rows = np.flatnonzero(hinged[:, edge])
        other, there = np.divmod(mate.reshape(-1, 3)[rows, edge], 3)
        share = (own * side.reshape(-1, 3))[rows, edge, None] * moved[other, there]
        for step, column in ((0, edge), (1, 3 + 2 * edge), (2, 4 + 2 * edge)):
            Z[rows, edge, column] += share[np.arange(len(rows)), (there + step) % 3]
    factors = np.swapaxes(np.linalg.cholesky(C), 1, 2) @ (S @ Z)
    factors[np.broadcast_to((groups < 0)[:, None, :], factors.shape)] = 0.0
    weight = np.abs(factors).max(axis=1)
    # smaller factors are rounding
    idle = weight[:, 3:] <= 1e-10 * weight.max(axis=1, keepdims=True)
    order = np.argsort(idle, axis=1, kind="stable")
    idle = np.take_along_axis(idle, order, axis=1)
    groups[:, 3:] = np.where(idle, NO_HINGE, np.take_along_axis(groups[:, 3:], order, axis=1))
    elements[:, 6:] = np.where(idle, elements[:, :1], np.take_along_axis(elements[:, 6:], order, axis=1))
    moved = np.take_along_axis(factors[:, :, 3:], order[:, None, :], axis=2)
    factors[:, :, 3:] = np.where(idle[:, None, :], 0.0, moved)
    return factors, groups, elements


def _compute_angle_shifts(mesh: MeshTri, angle_map: Array, sign: Array) -> Array:
    """(m, 3, 3) contribution of each triangle's Λ to 2o at each of its edges; zero at the boundary.

    angle_map (m, 3, 3): ψ of the triangle's edges from the angles of its hinges.
    """
    x = mesh.vertices[mesh.triangles]
    e = np.roll(x, -1, axis=1) - x
    l = np.linalg.norm(e, axis=2)
    along = e / l[:, :, None]
    inward = np.cross(mesh.normals[:, None, :], along)
    s, n = np.einsum("mir,mjr->mji", inward, along), np.einsum("mir,mjr->mji", inward, inward)
    weights = (l / (2.0 * mesh.areas[:, None]))[:, None, :]
    # Λ along and across edge j, by the angle at edge i
    curved = np.stack([weights * s * s, weights * s * n, weights * n * n], axis=2) @ angle_map[:, None]
    turned = sign.reshape(-1, 3)
    curved[:, :, [0, 2]] *= turned[:, :, None, None]
    # by how much κ_ss, κ_sn and κ_nn shift the share of the first side of a half-edge's hinge
    half = mesh.half_edges
    one, two = half.twin_pairs.T
    a, b = mesh.vertices[half.ends[one]].transpose(1, 0, 2)
    l = np.linalg.norm(b - a, axis=1)
    feet, heights = [], []
    for side in (one, two):
        arm = mesh.vertices[half.opposite_vertices[side]] - a
        feet.append(np.einsum("kr,kr->k", arm, b - a) / l)
        heights.append(2.0 * mesh.areas[side // 3] / l)
    (s1, s2), (h1, h2) = feet, heights
    offsets = np.zeros((len(half.ends), 3))
    offsets[one] = offsets[two] = np.column_stack(
        [(s1 * (s1 - l) / h1 - s2 * (s2 - l) / h2) / 4.0, (s1 + s2 - l) / 2.0, (h1 - h2) / 4.0]
    )
    return np.asarray(np.einsum("mjk,mjki->mji", offsets.reshape(-1, 3, 3), curved))


def _collect_neighbour_hinges(
    mesh: MeshTri, hinge: IndexArray, opposite_half_edge: IndexArray
) -> tuple[IndexArray, IndexArray]:
    """Hinges (m, 9) and vertices (m, 12) of each triangle and its neighbours; missing ones are the first corner."""
    triangles, mates = mesh.triangles, opposite_half_edge.reshape(-1, 3)
    groups = np.full((len(triangles), 9), NO_HINGE)
    groups[:, :3] = hinge.reshape(-1, 3)
    elements = np.repeat(triangles[:, :1], 12, axis=1)
    elements[:, :3] = triangles
    far = mesh.half_edges.opposite_vertices
    for edge in range(3):
        rows = np.flatnonzero(mates[:, edge] >= 0)
        elements[rows, 3 + edge] = far[mates[rows, edge]]
        other, there = np.divmod(mates[rows, edge], 3)
        for step in (1, 2):
            next_edge = 3 * other + (there + step) % 3
            groups[rows, 2 + 2 * edge + step] = hinge[next_edge]
            beyond = opposite_half_edge[next_edge]
            elements[rows, 5 + 2 * edge + step] = np.where(beyond >= 0, far[beyond], elements[rows, 0])
    return groups, elements


def _compute_plate_stiffness(mesh: MeshTri, properties: ShellProperties) -> Array:
    """Stiffness C (m, 3, 3) of triangles with three hinges; edge i runs from corner i to the next."""
    x = mesh.vertices[mesh.triangles]
    e = np.roll(x, -1, axis=1) - x
    l = np.linalg.norm(e, axis=2)
    lengths = l[:, :, None] * l[:, None, :]
    cosines = np.einsum("mir,mjr->mij", e, e) / lengths
    nu = properties.poisson[:, None, None]
    C = (properties.bending_stiffness / (4.0 * mesh.areas))[:, None, None] * lengths * (nu + (1.0 - nu) * cosines**2)
    return np.asarray(C)


def _require_no_slivers(mesh: MeshTri, C: Array) -> None:
    """Raise InputError for triangles so thin that C (m, 3, 3) is singular to rounding."""
    roots = np.sqrt(np.einsum("mii->mi", C))
    # Below this eigenvalue of C, scaled to a unit diagonal, rounding alone can make C indefinite. Three collinear
    # vertices have 10 (height/base)⁴ and reach it at a quality of 7e-5; needles have (width/length)², at 3e-8.
    least = 16 * np.finfo(float).eps
    thin = np.flatnonzero(np.linalg.eigvalsh(C / (roots[:, :, None] * roots[:, None, :]))[:, 0] <= least)
    if len(thin) == 0:
        return
    qualities = compute_triangle_qualities(mesh.vertices, mesh.triangles[thin])
    worst = int(np.argmin(qualities))
    listed = ", ".join(map(str, thin[:10])) + (", ..." if len(thin) > 10 else "")
    raise InputError(
        f"triangles[{thin[worst]}] (vertices {mesh.triangles[thin[worst]].tolist()}) is too thin to bend: its quality, "
        f"area over longest edge squared, is {qualities[worst]:.2g} (0.43 is equilateral), so that its bending "
        f"stiffness is singular in double precision ({len(thin)} such: {listed}); remove slivers: "
        "mesh, numbers = cajole.mesh.remove_slivers(mesh)"
    )


def _find_local_vertices(hinges: IndexArray, groups: IndexArray, elements: IndexArray) -> IndexArray:
    """(g, k, 4) index in its element of every vertex of a group's hinges; zero without a hinge."""
    wanted = hinges[np.maximum(groups, 0)] if len(hinges) else np.zeros((*groups.shape, 4), dtype=np.int64)
    places = (elements[:, None, None, :] == wanted[..., None]).argmax(axis=3)
    return np.where(groups[..., None] >= 0, places, 0)


def _find_nonmanifold_hinges(mesh: MeshTri, bending: Array) -> tuple[IndexArray, Array]:
    """Hinges (k, 4) between adjacent triangles around edges of more than two, and their stiffness [N m]."""
    half, opposite = mesh.half_edges, mesh.half_edges.opposite_vertices
    found, stiffness = [], []
    for first, count in zip(half.edge_starts[half.edge_valences > 2], half.edge_valences[half.edge_valences > 2]):
        halves = half.sort_order[first : first + count]
        a, b = half.ends[halves[0]]
        halves = halves[np.argsort(_compute_wing_angles(mesh.vertices, a, b, opposite[halves]), kind="stable")]
        square = float(((mesh.vertices[b] - mesh.vertices[a]) ** 2).sum())
        for one, two in zip(halves, np.roll(halves, -1)):
            found.append((a, b, opposite[one], opposite[two]))
            sides = [one // 3, two // 3]
            stiffness.append(float(bending[sides].mean()) * square / float(mesh.areas[sides].sum()))
    return np.array(found, dtype=np.int64).reshape(-1, 4), np.array(stiffness)


def _compute_wing_angles(vertices: Array, a: int, b: int, wings: IndexArray) -> Array:
    """Angle of each opposite vertex about the axis from a to b, relative to the first."""
    axis = vertices[b] - vertices[a]
    axis = axis / np.linalg.norm(axis)
    arms = vertices[wings] - vertices[a]
    arms = arms - np.outer(arms @ axis, axis)
    side = np.cross(axis, arms[0])
    across, along = arms @ side / np.linalg.norm(side), arms @ arms[0] / np.linalg.norm(arms[0])
    return np.asarray(np.arctan2(across, along) % (2.0 * np.pi))


class BendingState(NamedTuple):
    """Positions (n, 3), and of every hinge ∇θ (h, 4, 3) and the moment (h,) [N m]."""

    positions: Array
    gradients: Array
    moments: Array


@dataclass(frozen=True, eq=False)
class BendingEnergy:
    """Bending energy of hinges (h,); angles in [rad], plastic_angles a part of rest_angles.

    stiffness_scale: factor of the stiffness that the triangles define. factors (g, 3, k): those of the groups, times
    its root. assembly_map: elements, block offsets and row strides of the matrices.
    """

    hinges: Hinges
    assembly_map: tuple[Int32Array, Int32Array, Int32Array]
    stiffness_scale: Array
    rest_angles: Array
    plastic_angles: Array
    factors: Array

    @classmethod
    def from_hinges(
        cls, hinges: Hinges, assembly_map: tuple[Int32Array, Int32Array, Int32Array], scale: Array, undeformed: Array
    ) -> BendingEnergy:
        none = np.zeros(len(hinges.vertices))
        factors = _scale_factors(hinges, scale)
        return cls(hinges, assembly_map, scale, none, none, factors).with_undeformed_shape(undeformed)

    def with_undeformed_shape(self, undeformed: Array) -> BendingEnergy:
        """Return the energy with the angles of another shape (n, 3) at rest, plus the plastic angles."""
        angles = np.empty_like(self.rest_angles)
        kernels.compute_elastic_angles(undeformed, self.hinges.vertices, np.zeros_like(angles), angles)
        return replace(self, rest_angles=wrap_angles(angles + self.plastic_angles))

    def yielded(self, angles: Array, undeformed: Array, yield_curvature: Array, hardening: Array) -> BendingEnergy:
        """Return the energy after the plastic update at angles φ (h,) from rest; yield_curvature [1/m], hardening [m].

        Raises SolveError if hardening leaves the range in which double precision resolves the other stiffnesses.
        """
        widths, slip = np.empty_like(angles), np.zeros_like(angles)
        kernels_membrane.compute_hinge_widths(undeformed, self.hinges.vertices, widths)
        limit = yield_curvature * widths
        # [rad] smaller excess is rounding: a second update at the same shape must not change anything
        tolerance = 1e-12
        if (np.abs(angles) > limit + tolerance).any():
            strained = np.einsum("gki,gi->gk", self.factors, np.append(angles, 0.0)[self.hinges.groups])
            kernels_membrane.compute_plastic_slip(
                angles, limit, tolerance, *self.hinges.groups_by_hinge, self.factors, strained, slip
            )
        if not slip.any():
            return self
        rest, plastic = wrap_angles(self.rest_angles + slip), self.plastic_angles + slip
        flowed = replace(self, rest_angles=rest, plastic_angles=plastic)
        if not hardening.any():
            return flowed
        with np.errstate(over="ignore", under="ignore"):
            factors = np.exp(hardening * np.abs(slip) / widths)
            after = self.stiffness_scale * factors
        wrong = (self.stiffness_scale > 0) & ~((after < 1e12) & (after > 1e-12))
        if wrong.any():
            i = int(np.argmax(wrong))
            raise SolveError(
                f"hinge {i} would bend {after[i]:.3g} times as stiffly as at first after yielding; bring its hardening "
                f"nearer to zero, or raise yield_curvature"
            )
        return replace(flowed, stiffness_scale=after, factors=_scale_factors(self.hinges, after))

    def compute_elastic_angles(self, positions: Array) -> Array:
        """φ = θ - θ̄ (h,) at `positions` (n, 3), in (-π, π]."""
        out = np.empty_like(self.rest_angles)
        kernels.compute_elastic_angles(positions, self.hinges.vertices, self.rest_angles, out)
        return out

    # --- energy and its derivatives; `add` methods add to their last argument

    def energy(self, positions: Array) -> float:
        """[J]"""
        phi = self.compute_elastic_angles(positions)
        return float(kernels.compute_moments(self.hinges.groups, self.factors, phi, np.empty_like(phi)))

    def evaluate(self, positions: Array) -> BendingState:
        phi = np.empty_like(self.rest_angles)
        m = np.empty_like(self.rest_angles)
        grads = np.empty((len(self.rest_angles), 4, 3))
        kernels.compute_angles_and_gradients(positions, self.hinges.vertices, self.rest_angles, phi, grads)
        kernels.compute_moments(self.hinges.groups, self.factors, phi, m)
        return BendingState(positions, grads, m)

    def add_force(self, state: BendingState, out: Array) -> None:
        kernels.add_moment_forces(self.hinges.vertices, state.gradients, state.moments, out)

    def add_force_differential(self, state: BendingState, v: Array, scale: float, out: Array) -> None:
        """out += scale K v."""
        turned, dm = self._differentiate_along(state, v)
        kernels.add_moment_forces(self.hinges.vertices, state.gradients, scale * dm, out)
        kernels.add_moment_forces(self.hinges.vertices, turned, scale * state.moments, out)

    def add_stiffness(self, state: BendingState, scale: float, data: Array, *, clamped: bool) -> None:
        """data += scale K; clamped: without the moments, which is positive semidefinite."""
        h, rest = self.hinges, (*self.assembly_map, scale, data)
        kernels.add_gram_blocks(h.groups, self.factors, h.vertex_counts, h.local_vertices, state.gradients, *rest)
        if not clamped:
            homes = h.vertices, h.group_of_hinge
            kernels.add_angle_hessians(state.positions, *homes, state.moments, h.local_vertices, *rest)

    def add_stiffness_derivative(self, state: BendingState, v: Array, scale: float, data: Array) -> None:
        """data += scale dK along v."""
        h, (x, grads, m), rest = self.hinges, state, (*self.assembly_map, scale, data)
        turned, dm = self._differentiate_along(state, v)
        # (B dg)ᵀ(B g) + (B g)ᵀ(B dg) is twice the symmetric part that `add_product_blocks` adds
        products = h.groups, self.factors, h.vertex_counts, h.local_vertices, turned, grads
        kernels.add_product_blocks(*products, *self.assembly_map, 2.0 * scale, data)
        homes = h.vertices, h.group_of_hinge
        kernels.add_angle_hessians(x, *homes, dm, h.local_vertices, *rest)
        kernels.add_angle_hessian_derivatives(x, v, *homes, m, h.local_vertices, *rest)

    def _differentiate_along(self, state: BendingState, v: Array) -> tuple[Array, Array]:
        """Derivatives of ∇θ (h, 4, 3) and of the moments (h,) along v."""
        turned = np.empty_like(state.gradients)
        rate = np.empty_like(self.rest_angles)
        dm = np.empty_like(self.rest_angles)
        kernels.compute_gradient_derivatives(state.positions, v, self.hinges.vertices, turned)
        kernels.compute_angle_rates(v, self.hinges.vertices, state.gradients, rate)
        kernels.compute_moments(self.hinges.groups, self.factors, rate, dm)
        return turned, dm


def _scale_factors(hinges: Hinges, stiffness: Array) -> Array:
    """Factors of the groups (g, 3, k) times the root of the stiffness scale of each hinge."""
    roots = np.append(np.sqrt(stiffness), 0.0)[hinges.groups]
    return np.ascontiguousarray(hinges.factors * roots[:, None, :])


def wrap_angles(angles: Array) -> Array:
    """Reduce angles [rad] to [-π, π]."""
    return np.where(np.abs(angles) > np.pi, angles - 2.0 * np.pi * np.round(angles / (2.0 * np.pi)), angles)
