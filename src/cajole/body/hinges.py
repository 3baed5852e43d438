"""The hinges of a triangle mesh: who bends against whom, and how stiffly.

A triangle feels the curvature Λ = Σ φ_i l_i/(2A) n_i n_iᵀ of the angles φ_i = θ_i - θ̄_i at its edges, l_i long with
normals n_i in its plane, half of each angle being its own. Kirchhoff's plate gives it the energy
    A D/2 [ν tr(Λ)² + (1-ν) Λ:Λ] = φᵀC φ/2,   C_ij = D/(4A) [ν l_i l_j + (1-ν) (e_i·e_j)²/(l_i l_j)].
On meshes where every two neighbours form a parallelogram Λ is exact for quadratic shapes, and frequencies converge to
those of the plate; on irregular ones they come out a few per cent high, and where diagonals alternate twisting is up to
2/(1-ν) times too stiff. (The plain hinge energy k φ²/2 knows no Poisson's ratio and is no closer on any of these.)
An edge without a second triangle carries no moment: its angle is the one of least energy, and C is what is left of it.
Where more than two triangles share an edge, each bends against the next one around it with D l²/(A_1 + A_2), and all of
them are free of moment there otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cajole.body.material import MaterialShell
from cajole.mesh import MeshTri
from cajole.mesh.topology import HalfEdges

Array = NDArray[np.float64]
Index = NDArray[np.int64]

NONE = -1


@dataclass(frozen=True, eq=False)
class Hinges:
    """vertices (h, 4): a, b of the edge and c, d across it; groups (g, 3): the hinges of each triangle, then single
    ones of crowded edges, -1 for none; elements (g, 6): vertices of each group; places (g, 3, 4): where the vertices
    of its hinges stand there; homes (h, 2): a group of each hinge and its number in it; stiffness (g, 3, 3): C [N m].
    """

    vertices: Index
    groups: Index
    elements: Index
    places: Index
    homes: Index
    stiffness: Array


def hinges_of(mesh: MeshTri, material: MaterialShell) -> Hinges:
    """The hinges of `mesh`: one per edge of two triangles, one per pair of neighbours around edges of more."""
    half = HalfEdges(mesh.triangles, len(mesh.vertices))
    opposite = np.roll(mesh.triangles, -2, axis=1).reshape(-1)
    one, two = half.pairs.T
    pairs = np.column_stack([half.ends[one], opposite[one], opposite[two]])
    at_edges = np.full(len(half.ends), NONE)
    at_edges[one] = at_edges[two] = np.arange(len(pairs))
    seen = np.ones(len(half.ends))
    # on surfaces that cannot be oriented, some neighbours see the same angle from the other side
    seen[two[~half.agree]] = -1.0
    crowded, stiffness = _crowded(mesh, half, opposite, material.bending)
    groups, signs = at_edges.reshape(-1, 3), seen.reshape(-1, 3)
    C = _condensed(_plate(mesh, material), groups >= 0) * signs[:, :, None] * signs[:, None, :]
    vertices = np.vstack([pairs, crowded]).astype(np.int64)
    alone = np.full((len(crowded), 3), NONE)
    alone[:, 0] = len(pairs) + np.arange(len(crowded))
    single = np.zeros((len(crowded), 3, 3))
    single[:, 0, 0] = stiffness
    all_groups = np.vstack([groups, alone])
    elements = np.vstack([_patches(mesh, vertices, groups), np.hstack([crowded, crowded[:, :2]])]).astype(np.int64)
    homes = np.zeros((len(vertices), 2), dtype=np.int64)
    at = np.argwhere(all_groups >= 0)
    homes[all_groups[all_groups >= 0]] = at
    return Hinges(
        vertices, all_groups, elements, _places(vertices, all_groups, elements), homes, np.concatenate([C, single])
    )


def _plate(mesh: MeshTri, material: MaterialShell) -> Array:
    """C (m, 3, 3) of triangles with three hinges; edge i runs from corner i to the next."""
    x = mesh.vertices[mesh.triangles]
    e = np.roll(x, -1, axis=1) - x
    l = np.linalg.norm(e, axis=2)
    lengths = l[:, :, None] * l[:, None, :]
    cosines = np.einsum("mir,mjr->mij", e, e) / lengths
    nu = material.poisson
    C = material.bending / (4.0 * mesh.areas)[:, None, None] * lengths * (nu + (1.0 - nu) * cosines**2)
    return np.asarray(C)


def _condensed(C: Array, hinged: NDArray[np.bool_]) -> Array:
    """C with the angles at edges without a hinge eliminated: C - C_f,b C_bb⁻¹ C_b,f, and zero in their rows."""
    out = C.copy()
    for edge in range(3):
        rows = np.flatnonzero(~hinged[:, edge])
        column = out[rows, :, edge]
        out[rows] -= column[:, :, None] * column[:, None, :] / column[:, edge, None, None]
        # what is left there is rounding; the next elimination must find its own pivot untouched by it
        out[rows, edge, :] = out[rows, :, edge] = 0.0
    return out


def _patches(mesh: MeshTri, hinges: Index, groups: Index) -> Index:
    """(m, 6) corners of each triangle and the vertices across its edges, the first corner where there is none."""
    across = np.repeat(mesh.triangles[:, :1], 3, axis=1)
    for edge in range(3):
        rows = np.flatnonzero(groups[:, edge] >= 0)
        mine = mesh.triangles[rows, (edge + 2) % 3]
        _, _, c, d = hinges[groups[rows, edge]].T
        across[rows, edge] = np.where(c == mine, d, c)
    return np.hstack([mesh.triangles, across])


def _places(hinges: Index, groups: Index, elements: Index) -> Index:
    """(g, 3, 4) the place in its element of every vertex of a group's hinges; zero where there is no hinge."""
    wanted = hinges[np.maximum(groups, 0)] if len(hinges) else np.zeros((*groups.shape, 4), dtype=np.int64)
    places = (elements[:, None, None, :] == wanted[..., None]).argmax(axis=3)
    return np.where(groups[..., None] >= 0, places, 0)


def _crowded(mesh: MeshTri, half: HalfEdges, opposite: Index, bending: float) -> tuple[Index, Array]:
    """Hinges (k, 4) between triangles next to each other around edges of more than two, and their stiffness [N m]."""
    found, stiffness = [], []
    for first, count in zip(half.first[half.count > 2], half.count[half.count > 2]):
        halves = half.order[first : first + count]
        a, b = half.ends[halves[0]]
        halves = halves[np.argsort(_turns(mesh.vertices, a, b, opposite[halves]), kind="stable")]
        square = float(((mesh.vertices[b] - mesh.vertices[a]) ** 2).sum())
        for one, two in zip(halves, np.roll(halves, -1)):
            found.append((a, b, opposite[one], opposite[two]))
            stiffness.append(bending * square / float(mesh.areas[one // 3] + mesh.areas[two // 3]))
    return np.array(found, dtype=np.int64).reshape(-1, 4), np.array(stiffness)


def _turns(vertices: Array, a: int, b: int, wings: Index) -> Array:
    """The angle of each wing's vertex about the axis from a to b, from the first one on."""
    axis = vertices[b] - vertices[a]
    axis = axis / np.linalg.norm(axis)
    arms = vertices[wings] - vertices[a]
    arms = arms - np.outer(arms @ axis, axis)
    side = np.cross(axis, arms[0])
    across, along = arms @ side / np.linalg.norm(side), arms @ arms[0] / np.linalg.norm(arms[0])
    return np.asarray(np.arctan2(across, along) % (2.0 * np.pi))
