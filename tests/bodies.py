"""Sample bodies and meshes for the tests, each made anew."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cajole.body import Body, BodySolid, BodySprings, MaterialStVK
from cajole.mesh import MeshTet, box_tets

Array = NDArray[np.float64]


def rough_box(cells: tuple[int, int, int] = (2, 2, 1), *, seed: int = 3) -> MeshTet:
    """A box of tets with every vertex moved a little, so that no two tets are alike."""
    mesh = box_tets(*cells, size=(0.9, 0.7, 0.5))
    shift = np.random.default_rng(seed).uniform(-0.04, 0.04, mesh.vertices.shape)
    return MeshTet(mesh.vertices + shift, mesh.tets)


def solid_one() -> BodySolid:
    return BodySolid(rough_box(), MaterialStVK(young=2e4, poisson=0.3, density=900.0), fixed=[0, 5])


def many_materials(count: int) -> list[MaterialStVK]:
    draw = np.random.default_rng(5).uniform(size=(count, 3))
    return [MaterialStVK(1e4 * (1 + 9 * a), -0.2 + 0.65 * b, 500 * (1 + c)) for a, b, c in draw]


def solid_many() -> BodySolid:
    """A material for each tet, and both kinds of damping."""
    mesh = rough_box()
    return BodySolid(mesh, many_materials(len(mesh.tets)), damping=(0.7, 0.02))


def spring_edges(mesh: MeshTet) -> NDArray[np.int64]:
    pairs = np.vstack([mesh.tets[:, [a, b]] for a in range(4) for b in range(a)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def springs_many(clamp: float = 0.05) -> BodySprings:
    """Springs with their own stiffness, damping and rest length each, some stretched at rest and some pressed."""
    mesh = rough_box()
    edges = spring_edges(mesh)
    draw = np.random.default_rng(11).uniform(size=(len(edges), 3))
    lengths = np.linalg.norm(mesh.vertices[edges[:, 0]] - mesh.vertices[edges[:, 1]], axis=1)
    return BodySprings(
        mesh.vertices,
        edges,
        stiffness=50 + 400 * draw[:, 0],
        mass=np.random.default_rng(12).uniform(0.1, 0.5, len(mesh.vertices)),
        fixed=[2],
        damping=0.5 + draw[:, 1],
        rest_lengths=lengths * (0.8 + 0.4 * draw[:, 2]),
        clamp=clamp,
        mesh=mesh,
    )


def beam_body(
    cells: tuple[int, int, int] = (8, 2, 2),
    *,
    length: float = 1.0,
    side: float = 0.2,
    young: float = 1e6,
    poisson: float = 0.3,
    damping: tuple[float, float] = (0.0, 0.0),
    held: bool = True,
) -> BodySolid:
    """A beam along x, held at x = 0."""
    mesh = box_tets(*cells, size=(length, side, side))
    fixed = np.flatnonzero(mesh.vertices[:, 0] == 0) if held else None
    return BodySolid(mesh, MaterialStVK(young, poisson, 1e3), fixed=fixed, damping=damping)


BODIES: dict[str, Callable[[], Body]] = {"solid": solid_one, "solid-many": solid_many, "springs": springs_many}


def check_step_in_one_pass(body: BodySprings, u: Array, ahead: Array, v: Array) -> None:
    """What a step of springs takes in one pass is what matrices and forces give one by one."""
    values = np.full(body.pattern.nnz, np.nan)
    forces = body.assemble_linear_step(u, ahead, v, 7.0, 3.0, values)
    want = 7.0 * body.mass + body.stiffness(u, clamped=True) + 3.0 * body.damping_matrix(ahead)
    got = body.pattern.build_matrix(values).toarray()
    np.testing.assert_allclose(got, want.toarray(), rtol=0, atol=1e-13 * abs(got).max())
    felt = body.force(u) + body.damping_force(ahead, v)
    np.testing.assert_allclose(forces, felt, rtol=0, atol=1e-13 * abs(forces).max())
