"""What must hold exactly for every body, whatever its shape."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from bodies import Array, rough_box, springs_many
from cajole.body import Body, BodySolid, BodySprings, MaterialStVK, list_vertex_dofs
from cajole.mesh import MeshTet, box_tets


def moved(body: Body, u: Array, turn: Rotation, shift: Array) -> Array:
    """The displacement that also turns and shifts the deformed body."""
    return turn.apply(body.vertices + u) + shift - body.vertices


@pytest.mark.parametrize("angles", [(20, 0, 0), (-75, 40, 160), (180, 0, 0)])
def test_rigid_motion_identity(solid: BodySolid, angles: tuple[float, float, float]) -> None:
    """No energy and no force under finite rotations and translations of the rest shape."""
    u = moved(
        solid,
        np.zeros((solid.vertex_count, 3)),
        Rotation.from_euler("xyz", angles, degrees=True),
        np.array([3, -2, 1.0]),
    )
    scale = abs(solid.stiffness().data).max() * solid.size
    assert abs(solid.force(u)).max() < 1e-13 * scale
    assert 0 <= solid.energy(u) < 1e-25 * scale * solid.size


def test_objectivity_identity(body: Body, random: np.random.Generator) -> None:
    """A further rotation keeps the energy and turns force, damping force and stiffness with it."""
    u, v = random.uniform(-0.08, 0.08, (2, body.vertex_count, 3))
    turn = Rotation.from_euler("zyx", (70, -30, 110), degrees=True)
    turned = moved(body, u, turn, np.array([0.4, 2.0, -1.0]))
    assert body.energy(turned) == pytest.approx(body.energy(u), rel=1e-11)
    force, drag = body.force(u), body.damping_force(u, v)
    np.testing.assert_allclose(body.force(turned), turn.apply(force), rtol=0, atol=1e-10 * abs(force).max())
    np.testing.assert_allclose(
        body.damping_force(turned, turn.apply(v)), turn.apply(drag), rtol=0, atol=1e-10 * max(abs(drag).max(), 1e-9)
    )
    whole = np.kron(np.eye(body.vertex_count), turn.as_matrix())
    want = whole @ body.stiffness(u).toarray() @ whole.T
    np.testing.assert_allclose(body.stiffness(turned).toarray(), want, rtol=0, atol=1e-10 * abs(want).max())


def test_no_drag_in_rigid_motion_identity(net: BodySprings, random: np.random.Generator) -> None:
    """Springs damp stretching only: a spinning, drifting body feels none of it."""
    u = random.uniform(-0.1, 0.1, (net.vertex_count, 3))
    spin = np.cross([0.3, -1.0, 2.0], net.vertices + u) + [1.0, 0.5, -3.0]
    assert abs(net.damping_force(u, spin)).max() < 1e-13


def test_forces_sum_to_zero_identity(body: Body, random: np.random.Generator) -> None:
    u = random.uniform(-0.1, 0.1, (body.vertex_count, 3))
    force = body.force(u)
    assert abs(force.sum(axis=0)).max() < 1e-13 * abs(force).sum()
    assert abs(np.cross(body.vertices + u, force).sum(axis=0)).max() < 1e-13 * abs(force).sum()


def test_each_tet_sums_to_zero_identity(random: np.random.Generator) -> None:
    mesh = rough_box()
    for tet in mesh.tets[:20]:
        one = BodySolid(MeshTet(mesh.vertices[tet], [[0, 1, 2, 3]]), MaterialStVK(1e5, 0.35, 1e3))
        force = one.force(random.uniform(-0.1, 0.1, (4, 3)))
        assert abs(force.sum(axis=0)).max() <= 4 * np.finfo(float).eps * abs(force).sum()


def test_energy_positive_and_rest_identity(body: Body, random: np.random.Generator) -> None:
    assert body.energy(random.uniform(-0.1, 0.1, (body.vertex_count, 3))) > 0
    if isinstance(body, BodySolid):
        rest = np.zeros((body.vertex_count, 3))
        assert body.energy(rest) == 0
        assert not body.force(rest).any()


def test_mass_identity(body: Body) -> None:
    if isinstance(body, BodySolid):
        assert body.total_mass == pytest.approx((body.densities * body.mesh.volumes).sum(), rel=1e-13)
        assert body.mass.trace() == pytest.approx(3 * 0.4 * body.total_mass, rel=1e-13)
    elif isinstance(body, BodySprings):
        np.testing.assert_allclose(body.mass.diagonal(), np.repeat(body.masses, 3), rtol=1e-15)
        assert body.mass.nnz == 3 * body.vertex_count
    np.testing.assert_allclose(
        body.mass @ np.tile([0, 0, 1.0], body.vertex_count), np.kron(body.vertex_masses, [0, 0, 1]), rtol=1e-12
    )
    weight = body.gravity()
    np.testing.assert_allclose(weight.sum(axis=0), [0, 0, -9.81 * body.total_mass], rtol=1e-12)
    assert np.linalg.eigvalsh(body.mass.toarray())[0] > 0


def test_spread_identity(body: Body) -> None:
    """A force in weights adds up to so many newtons, and gives all of its vertices one acceleration."""
    some = body.free_vertices[::2]
    load = body.distribute_force(some, (0.5, 0.0, -2.0))
    np.testing.assert_allclose(load.sum(axis=0), body.weight * np.array([0.5, 0.0, -2.0]), rtol=1e-12)
    rates = load[some] / body.vertex_masses[some, None]
    np.testing.assert_allclose(rates, np.broadcast_to(rates[0], rates.shape), rtol=1e-12)
    assert not np.delete(load, some, axis=0).any()
    np.testing.assert_allclose(
        body.distribute_force(np.arange(body.vertex_count), (0, 0, -1)), body.gravity(), rtol=1e-12
    )


def test_free_and_fixed_identity(body: Body) -> None:
    assert len(body.free_vertices) + len(body.fixed) == body.vertex_count
    assert not np.intersect1d(body.free_vertices, body.fixed).size
    np.testing.assert_array_equal(body.free_dofs, list_vertex_dofs(body.free_vertices))
    np.testing.assert_array_equal(list_vertex_dofs(np.array([0, 4])), [0, 1, 2, 12, 13, 14])


def two_pieces() -> MeshTet:
    near = box_tets(2, 1, 1)
    vertices = np.vstack([near.vertices, near.vertices + [5.0, 1.0, 0.0]])
    return MeshTet(vertices, np.vstack([near.tets, near.tets + len(near.vertices)]))


RIGID = {
    "free": (box_tets(2, 1, 1), [], 6),
    "one": (box_tets(2, 1, 1), [3], 3),
    "two": (box_tets(2, 1, 1), [3, 7], 1),
    "three-in-line": (box_tets(2, 1, 1), [0, 4, 8], 1),
    "three": (box_tets(2, 1, 1), [0, 1, 2], 0),
    "pieces": (two_pieces(), [], 12),
    "pieces-one-held": (two_pieces(), [0, 1, 2], 6),
    "pieces-one-each": (two_pieces(), [0, 12], 6),
}


@pytest.mark.parametrize("case", list(RIGID))
def test_rigid_motions_identity(case: str) -> None:
    mesh, fixed, count = RIGID[case]
    body = BodySolid(mesh, MaterialStVK(1e5, 0.3, 700.0), fixed=fixed or None)
    R = body.compute_rigid_body_modes()
    assert R.shape == (3 * body.vertex_count, count)
    np.testing.assert_allclose(R.T @ (body.mass @ R), np.eye(count), atol=1e-12)
    stiffness = body.stiffness()
    assert abs(stiffness @ R).max(initial=0) < 1e-12 * abs(stiffness.data).max() * abs(R).max(initial=1)
    assert abs(R[list_vertex_dofs(body.fixed)]).max(initial=0) < 1e-12 * abs(R).max(initial=1)


def test_rigid_motions_far_away_identity() -> None:
    """A body far from the origin and a millimetre small has the same six."""
    mesh = box_tets(2, 1, 1, size=(2e-3, 1e-3, 1e-3), origin=(1e3, -2e3, 5e2))
    body = BodySolid(mesh)
    R = body.compute_rigid_body_modes()
    assert R.shape[1] == 6
    assert abs(R.T @ (body.mass @ R) - np.eye(6)).max() < 1e-8


def test_two_masses_on_a_line_identity() -> None:
    """Two masses and a spring: five motions, since turning about the line moves nothing."""
    pair = BodySprings([[0, 0, 0], [1, 0, 0]], [[0, 1]])
    assert pair.compute_rigid_body_modes().shape == (6, 5)


def test_content_identity() -> None:
    """Equal bodies share their hash; whatever decides the physics changes it."""
    mesh, stuff = box_tets(1, 1, 1), MaterialStVK(1e5, 0.3, 1e3)
    base = BodySolid(mesh, stuff, fixed=[0, 1]).compute_content_hash()
    assert base == BodySolid(box_tets(1, 1, 1), [stuff] * 6, fixed=[1, 0]).compute_content_hash()
    others = [
        BodySolid(mesh, stuff, fixed=[0, 2]),
        BodySolid(mesh, stuff),
        BodySolid(mesh, stuff, fixed=[0, 1], damping=(0.1, 0)),
        BodySolid(mesh, stuff, fixed=[0, 1], damping=(0, 0.1)),
        BodySolid(mesh, MaterialStVK(1e5 * (1 + 1e-15 * 4), 0.3, 1e3), fixed=[0, 1]),
        BodySolid(mesh, MaterialStVK(1e5, 0.3, 1001), fixed=[0, 1]),
        BodySolid(box_tets(1, 1, 1, size=(1, 1, 1.001)), stuff, fixed=[0, 1]),
    ]
    assert len({base, *(other.compute_content_hash() for other in others)}) == len(others) + 1
    assert (
        springs_many(0.0).compute_content_hash()
        != springs_many(0.1).compute_content_hash()
        == springs_many(0.1).compute_content_hash()
    )


def test_pattern_is_shared_and_sealed_identity(body: Body) -> None:
    """Matrices share their index arrays, so changing them in place must fail instead of spoiling the others."""
    stiffness = body.stiffness()
    with pytest.raises(ValueError, match="read-only"):
        stiffness.indices[0] = 5
    again = body.stiffness()
    assert (abs(again - stiffness)).max() == 0


def test_cloth_springs_identity() -> None:
    """Counts of structural, shear and bending springs of a 3 x 2 sheet, each once."""
    sheet = BodySprings.cloth(3, 2, size=(3.0, 2.0), stiffness=(4.0, 3.0, 2.0, 1.0), mass=0.1)
    assert len(np.unique(np.sort(sheet.edges, axis=1), axis=0)) == len(sheet.edges)
    found = {float(k): int((sheet.spring_stiffness == k).sum()) for k in (4, 3, 2, 1)}
    assert found == {4.0: 3 * 3 + 4 * 2, 3.0: 2 * 3 * 2, 2.0: 2 * 3 + 4 * 1, 1.0: 2 * 2 * 1}
    lengths = {4.0: 1.0, 3.0: np.sqrt(2), 2.0: 2.0, 1.0: np.sqrt(8)}
    for k, length in lengths.items():
        np.testing.assert_allclose(sheet.rest_lengths[sheet.spring_stiffness == k], length)


def test_triangles_closed_by_springs_identity() -> None:
    """Four masses joined pairwise show their four triangles; a mesh given is shown instead."""
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
    edges = [[1, 0], [0, 2], [3, 0], [1, 2], [3, 1], [2, 3]]
    shown = BodySprings(points, edges).get_display_mesh()
    assert sorted(map(sorted, shown.triangles.tolist())) == [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]  # type: ignore[union-attr]
    assert isinstance(springs_many().get_display_mesh(), MeshTet)
