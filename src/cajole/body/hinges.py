"""The hinges of a triangle mesh: who bends against whom, and how stiffly.

A triangle feels the curvature Λ = Σ ψ_i l_i/(2A) n_i n_iᵀ, n_i the normals in its plane of its edges, l_i long, and ψ_i
twice its own share of the angle φ_i = θ_i - θ̄_i there. Kirchhoff's plate gives it the energy
    A D/2 [ν tr(Λ)² + (1-ν) Λ:Λ] = ψᵀC ψ/2,   C_ij = D/(4A) [ν l_i l_j + (1-ν) (e_i·e_j)²/(l_i l_j)].
Of a surface with curvature κ the two sides of an edge of length l have the shares φ/2 ± o, where s_1, s_2 and h_1, h_2
are the feet and heights of their far corners above it, and κ_ss, κ_sn, κ_nn are along and across it:
    o = [κ_ss (s_1(s_1-l)/h_1 - s_2(s_2-l)/h_2)/2 + κ_sn (s_1+s_2-l) + κ_nn (h_1-h_2)/2]/2.
So ψ = φ where two neighbours form a parallelogram, as in regular meshes. Elsewhere o is found from the mean of both
triangles' Λ, itself with ψ = φ: angles of neighbours' edges come in. Without it plates would be several per cent too
stiff on irregular meshes, and where diagonals alternate by a quarter (twisting 2/(1-ν) times). Both shares of an edge
add up to its angle whatever o is, so that nothing is bent for nothing.
An edge without a second triangle carries no moment: its angle is the one of least energy.
Where more than two triangles share an edge, each bends against the next one around it with D l²/(A_1 + A_2), D the mean
of both, and all of them are free of moment there otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import Array, IndexArray
from cajole.body.material import Sheets
from cajole.errors import InputError
from cajole.mesh import MeshTri
from cajole.mesh.repair import triangle_qualities

NONE = -1
# shares of a triangle's factors below this are rounding
IDLE = 1e-10
# The least eigenvalue of C scaled to a unit diagonal below which its rounding alone, a few machine epsilons, can make
# it indefinite. Three vertices in line have 10 (height/base)⁴, so they reach it at a quality of 7e-5; needles have
# (width/length)², and reach it at 3e-8.
SINGULAR = 16 * np.finfo(float).eps
# how many slivers a message lists
LISTED = 10


@dataclass(frozen=True, eq=False)
class Hinges:
    """vertices (h, 4): a, b of the edge and c, d across it; groups (g, k): the hinges that each triangle's curvature
    comes from, then single ones of crowded edges, -1 for none; elements (g, k + 3): vertices of each group, of which
    sizes (g,) come first; places (g, k, 4): where the vertices of its hinges stand there; homes (h, 2): a group of each
    hinge and its number in it; factors (g, 3, k) [√(N m)]: the energy of a group is |factors φ|²/2. k, at most 9, is
    as small as the mesh allows: 3 in regular ones.
    """

    vertices: IndexArray
    groups: IndexArray
    elements: IndexArray
    sizes: IndexArray
    places: IndexArray
    homes: IndexArray
    factors: Array

    @cached_property
    def owners(self) -> tuple[IndexArray, IndexArray]:
        """starts (h + 1,) and (·, 2): from starts[i] on, the groups that hold hinge i, and its number in each."""
        where = np.argwhere(self.groups >= 0)
        held = self.groups[self.groups >= 0]
        starts = np.concatenate([[0], np.cumsum(np.bincount(held, minlength=len(self.vertices)))])
        return starts, np.ascontiguousarray(where[np.argsort(held, kind="stable")])


def hinges_of(mesh: MeshTri, sheets: Sheets) -> Hinges:
    """The hinges of `mesh`: one per edge of two triangles, one per pair of neighbours around edges of more."""
    crowded, stiffness = _crowded(mesh, sheets.bending)
    factors, groups, elements = _triangle_groups(mesh, sheets)
    vertices = np.vstack([mesh.hinges, crowded]).astype(np.int64)
    alone = np.full((len(crowded), groups.shape[1]), NONE)
    alone[:, 0] = len(mesh.hinges) + np.arange(len(crowded))
    single = np.zeros((len(crowded), *factors.shape[1:]))
    single[:, 0, 0] = np.sqrt(stiffness)
    groups, factors = np.vstack([groups, alone]), np.concatenate([factors, single])
    elements = np.vstack([elements, np.hstack([crowded] * 3)]).astype(np.int64)
    homes = np.zeros((len(vertices), 2), dtype=np.int64)
    at = np.argwhere(groups[:, :3] >= 0)
    homes[groups[:, :3][groups[:, :3] >= 0]] = at
    sizes = 6 + (groups[:, 3:] >= 0).sum(axis=1)
    # those used stand first, so the columns that nobody uses can go: loops over memory are what costs
    width = int(sizes.max())
    groups, elements = groups[:, : width - 3].copy(), elements[:, :width].copy()
    factors = np.ascontiguousarray(factors[:, :, : width - 3])
    return Hinges(vertices, groups, elements, sizes, _places(vertices, groups, elements), homes, factors)


def _triangle_groups(mesh: MeshTri, sheets: Sheets) -> tuple[Array, IndexArray, IndexArray]:
    """Factors (m, 3, 9), hinges (m, 9) and vertices (m, 12) of every triangle.

    The first three hinges are its own; then come two of each neighbour, those of its edges after the common one.
    """
    count, half = len(mesh.triangles), mesh.half_edges
    one, two = half.pairs.T
    hinge, mate, side, sign = np.full(3 * count, NONE), np.full(3 * count, NONE), np.ones(3 * count), np.ones(3 * count)
    hinge[one] = hinge[two] = np.arange(len(one))
    mate[one], mate[two] = two, one
    side[two] = -1.0
    # on surfaces that cannot be oriented, some neighbours see the same angle from the other side
    sign[two[~half.agree]] = -1.0
    C, hinged = _plate(mesh, sheets), (hinge >= 0).reshape(-1, 3)
    _refuse_slivers(mesh, C)
    S = _completed(C, hinged)
    own = sign.reshape(-1, 3)
    moved = _shifts(mesh, S * own[:, None, :], sign)
    Z = np.zeros((count, 3, 9))
    Z[:, [0, 1, 2], [0, 1, 2]] = own
    Z[:, :, :3] += (own * side.reshape(-1, 3))[:, :, None] * moved
    groups, elements = _wide(mesh, hinge, mate)
    for edge in range(3):
        rows = np.flatnonzero(hinged[:, edge])
        other, there = np.divmod(mate.reshape(-1, 3)[rows, edge], 3)
        share = (own * side.reshape(-1, 3))[rows, edge, None] * moved[other, there]
        for step, column in ((0, edge), (1, 3 + 2 * edge), (2, 4 + 2 * edge)):
            Z[rows, edge, column] += share[np.arange(len(rows)), (there + step) % 3]
    factors = np.swapaxes(np.linalg.cholesky(C), 1, 2) @ (S @ Z)
    factors[np.broadcast_to((groups < 0)[:, None, :], factors.shape)] = 0.0
    return _without_idle(factors, groups, elements)


def _without_idle(factors: Array, groups: IndexArray, elements: IndexArray) -> tuple[Array, IndexArray, IndexArray]:
    """Leave out hinges of neighbours that add nothing, as all do in regular meshes, and put the others first.

    The vertex beyond each of them goes with it: matrices stay as narrow as they can be.
    """
    weight = np.abs(factors).max(axis=1)
    idle = weight[:, 3:] <= IDLE * weight.max(axis=1, keepdims=True)
    order = np.argsort(idle, axis=1, kind="stable")
    idle = np.take_along_axis(idle, order, axis=1)
    groups[:, 3:] = np.where(idle, NONE, np.take_along_axis(groups[:, 3:], order, axis=1))
    elements[:, 6:] = np.where(idle, elements[:, :1], np.take_along_axis(elements[:, 6:], order, axis=1))
    moved = np.take_along_axis(factors[:, :, 3:], order[:, None, :], axis=2)
    factors[:, :, 3:] = np.where(idle[:, None, :], 0.0, moved)
    return factors, groups, elements


def _completed(C: Array, hinged: NDArray[np.bool_]) -> Array:
    """S (m, 3, 3): angles at all edges from those with a hinge; the others by least energy, C_bb ψ_b = -C_bf ψ_f."""
    S = hinged[:, :, None] * np.eye(3)
    for pattern in np.unique(hinged, axis=0):
        if pattern.all() or not pattern.any():
            continue
        rows = np.flatnonzero((hinged == pattern).all(axis=1))
        b, f = np.flatnonzero(~pattern), np.flatnonzero(pattern)
        S[np.ix_(rows, b, f)] = -np.linalg.solve(C[np.ix_(rows, b, b)], C[np.ix_(rows, b, f)])
    return S


def _shifts(mesh: MeshTri, seen: Array, sign: Array) -> Array:
    """(m, 3, 3) what each triangle's Λ, of its own angles, adds to 2o at each of its edges; zero at the rim.

    seen (m, 3, 3): ψ of the triangle's edges from the angles of its hinges.
    """
    x = mesh.vertices[mesh.triangles]
    e = np.roll(x, -1, axis=1) - x
    l = np.linalg.norm(e, axis=2)
    along = e / l[:, :, None]
    inward = np.cross(mesh.normals[:, None, :], along)
    s, n = np.einsum("mir,mjr->mji", inward, along), np.einsum("mir,mjr->mji", inward, inward)
    weights = (l / (2.0 * mesh.areas[:, None]))[:, None, :]
    # Λ along and across edge j, by the angle at edge i
    curved = np.stack([weights * s * s, weights * s * n, weights * n * n], axis=2) @ seen[:, None]
    turned = sign.reshape(-1, 3)
    curved[:, :, [0, 2]] *= turned[:, :, None, None]
    return np.asarray(np.einsum("mjk,mjki->mji", _offsets(mesh).reshape(-1, 3, 3), curved))


def _offsets(mesh: MeshTri) -> Array:
    """(3m, 3) by how much κ_ss, κ_sn and κ_nn shift the share of the first side of a half-edge's hinge."""
    half = mesh.half_edges
    one, two = half.pairs.T
    a, b = mesh.vertices[half.ends[one]].transpose(1, 0, 2)
    l = np.linalg.norm(b - a, axis=1)
    feet, heights = [], []
    for side in (one, two):
        arm = mesh.vertices[half.opposite[side]] - a
        foot = np.einsum("kr,kr->k", arm, b - a) / l
        feet.append(foot)
        heights.append(2.0 * mesh.areas[side // 3] / l)
    (s1, s2), (h1, h2) = feet, heights
    shift = np.column_stack([(s1 * (s1 - l) / h1 - s2 * (s2 - l) / h2) / 4.0, (s1 + s2 - l) / 2.0, (h1 - h2) / 4.0])
    out = np.zeros((len(half.ends), 3))
    out[one] = out[two] = shift
    return out


def _wide(mesh: MeshTri, hinge: IndexArray, mate: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Hinges (m, 9) and vertices (m, 12) of each triangle and its neighbours; the first corner where there is none."""
    triangles, mates = mesh.triangles, mate.reshape(-1, 3)
    groups = np.full((len(triangles), 9), NONE)
    groups[:, :3] = hinge.reshape(-1, 3)
    elements = np.repeat(triangles[:, :1], 12, axis=1)
    elements[:, :3] = triangles
    far = mesh.half_edges.opposite
    for edge in range(3):
        rows = np.flatnonzero(mates[:, edge] >= 0)
        elements[rows, 3 + edge] = far[mates[rows, edge]]
        other, there = np.divmod(mates[rows, edge], 3)
        for step in (1, 2):
            next_edge = 3 * other + (there + step) % 3
            groups[rows, 2 + 2 * edge + step] = hinge[next_edge]
            beyond = mate[next_edge]
            elements[rows, 5 + 2 * edge + step] = np.where(beyond >= 0, far[beyond], elements[rows, 0])
    return groups, elements


def _plate(mesh: MeshTri, sheets: Sheets) -> Array:
    """C (m, 3, 3) of triangles with three hinges; edge i runs from corner i to the next."""
    x = mesh.vertices[mesh.triangles]
    e = np.roll(x, -1, axis=1) - x
    l = np.linalg.norm(e, axis=2)
    lengths = l[:, :, None] * l[:, None, :]
    cosines = np.einsum("mir,mjr->mij", e, e) / lengths
    nu = sheets.poisson[:, None, None]
    C = (sheets.bending / (4.0 * mesh.areas))[:, None, None] * lengths * (nu + (1.0 - nu) * cosines**2)
    return np.asarray(C)


def _refuse_slivers(mesh: MeshTri, C: Array) -> None:
    """Raise InputError for triangles so thin that C (m, 3, 3) is singular to rounding."""
    roots = np.sqrt(np.einsum("mii->mi", C))
    thin = np.flatnonzero(np.linalg.eigvalsh(C / (roots[:, :, None] * roots[:, None, :]))[:, 0] <= SINGULAR)
    if len(thin) == 0:
        return
    qualities = triangle_qualities(mesh.vertices, mesh.triangles[thin])
    worst = int(np.argmin(qualities))
    listed = ", ".join(map(str, thin[:LISTED])) + (", ..." if len(thin) > LISTED else "")
    raise InputError(
        f"triangles[{thin[worst]}] (vertices {mesh.triangles[thin[worst]].tolist()}) is too thin to bend: its quality, "
        f"area over longest edge squared, is {qualities[worst]:.2g} (0.43 is equilateral), so that its bending "
        f"stiffness is singular in double precision ({len(thin)} such: {listed}); remove slivers: "
        "mesh, numbers = cajole.mesh.remove_slivers(mesh)"
    )


def _places(hinges: IndexArray, groups: IndexArray, elements: IndexArray) -> IndexArray:
    """(g, k, 4) the place in its element of every vertex of a group's hinges; zero where there is no hinge."""
    wanted = hinges[np.maximum(groups, 0)] if len(hinges) else np.zeros((*groups.shape, 4), dtype=np.int64)
    places = (elements[:, None, None, :] == wanted[..., None]).argmax(axis=3)
    return np.where(groups[..., None] >= 0, places, 0)


def _crowded(mesh: MeshTri, bending: Array) -> tuple[IndexArray, Array]:
    """Hinges (k, 4) between triangles next to each other around edges of more than two, and their stiffness [N m]."""
    half, opposite = mesh.half_edges, mesh.half_edges.opposite
    found, stiffness = [], []
    for first, count in zip(half.first[half.count > 2], half.count[half.count > 2]):
        halves = half.order[first : first + count]
        a, b = half.ends[halves[0]]
        halves = halves[np.argsort(_turns(mesh.vertices, a, b, opposite[halves]), kind="stable")]
        square = float(((mesh.vertices[b] - mesh.vertices[a]) ** 2).sum())
        for one, two in zip(halves, np.roll(halves, -1)):
            found.append((a, b, opposite[one], opposite[two]))
            sides = [one // 3, two // 3]
            stiffness.append(float(bending[sides].mean()) * square / float(mesh.areas[sides].sum()))
    return np.array(found, dtype=np.int64).reshape(-1, 4), np.array(stiffness)


def _turns(vertices: Array, a: int, b: int, wings: IndexArray) -> Array:
    """The angle of each wing's vertex about the axis from a to b, from the first one on."""
    axis = vertices[b] - vertices[a]
    axis = axis / np.linalg.norm(axis)
    arms = vertices[wings] - vertices[a]
    arms = arms - np.outer(arms @ axis, axis)
    side = np.cross(axis, arms[0])
    across, along = arms @ side / np.linalg.norm(side), arms @ arms[0] / np.linalg.norm(arms[0])
    return np.asarray(np.arctan2(across, along) % (2.0 * np.pi))
