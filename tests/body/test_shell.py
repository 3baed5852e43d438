"""Shells: exact derivatives, invariants, and what they answer to wrong input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from shell_cases import SHEETS, STUFF, finned_sheet, moebius_strip, rough_sheet

import cajole as cj
from bodies import Array
from cajole.body import BodyShell, MaterialShell
from cajole.errors import InputError, MeshError, SolveError
from cajole.mesh import MeshTri, box_tets
from derivatives import check_derivative


@pytest.fixture(params=list(SHEETS))
def shell(request: pytest.FixtureRequest) -> BodyShell:
    return BodyShell(SHEETS[request.param](), STUFF, fixed=[0, 4], damping=(0.7, 0.02))


@pytest.fixture
def point(shell: BodyShell, random: np.random.Generator) -> tuple[Array, Array, Array]:
    u, v, w = random.uniform(-1, 1, (3, shell.vertex_count, 3))
    return 0.05 * u, 0.4 * v, 0.4 * w


def test_energy_force_derivative(shell, point):
    u, v, _ = point
    check_derivative(shell.energy, (shell.force(u) * v).sum(), u, v)


def test_force_stiffness_derivative(shell, point):
    u, v, _ = point
    check_derivative(lambda x: shell.force(x).ravel(), shell.stiffness(u) @ v.ravel(), u, v)
    rest = np.zeros_like(u)
    check_derivative(lambda x: shell.force(x).ravel(), shell.stiffness() @ v.ravel(), rest, v)


def test_stiffness_change_derivative(shell, point):
    u, v, w = point
    check_derivative(lambda x: shell.stiffness(x) @ w.ravel(), shell.stiffness_derivative(u, v) @ w.ravel(), u, v)


def test_damping_derivative(shell, point):
    u, v, w = point
    check_derivative(lambda x: shell.damping_force(u, x).ravel(), shell.damping_matrix(u) @ w.ravel(), v, w)
    check_derivative(lambda x: shell.damping_force(x, v).ravel(), shell.damping_force_jacobian(u, v) @ w.ravel(), u, w)


def test_symmetry_identity(shell, point):
    u, v, _ = point
    for matrix in (shell.stiffness(u), shell.stiffness_derivative(u, v), shell.damping_matrix(u), shell.mass):
        assert abs(matrix - matrix.T).max() <= 1e-14 * abs(matrix).max()


@pytest.mark.parametrize("tangent", ["exact", "symmetric", "clamped"])
def test_system_agreement(shell, point, tangent):
    u, v, _ = point
    out = np.full(shell.pattern.nnz, np.nan)
    force = shell.assemble_system(u, v, 37.0, 4.3, out, tangent=tangent)
    want = 37.0 * shell.mass + 4.3 * shell.damping_matrix(u) + shell.stiffness(u) + shell.damping_force_jacobian(u, v)
    if tangent == "clamped":
        share = 1 + 4.3 * shell.beta
        want = (
            want - shell.damping_force_jacobian(u, v) + share * (shell.stiffness(u, clamped=True) - shell.stiffness(u))
        )
    assert abs(shell.pattern.build_matrix(out) - want).max() <= 1e-13 * abs(want).max()
    np.testing.assert_allclose(force, shell.total_force(u, v), rtol=0, atol=0)
    parts = shell.force(u) + shell.damping_force(u, v)
    np.testing.assert_allclose(force, parts, rtol=0, atol=1e-12 * abs(parts).max())


def test_clamped_stiffness_positive_identity(shell, random):
    u = random.uniform(-0.12, 0.12, (shell.vertex_count, 3)) - 0.2 * shell.vertices
    exact = np.linalg.eigvalsh(shell.stiffness(u).toarray())
    clamped = np.linalg.eigvalsh(shell.stiffness(u, clamped=True).toarray())
    assert exact[0] < -1e-3 * exact[-1], "the shape must be one where the exact stiffness is indefinite"
    assert clamped[0] >= -1e-13 * clamped[-1]


def test_clamp_exact_at_rest_identity(shell):
    assert abs(shell.stiffness(clamped=True) - shell.stiffness()).max() == 0


@pytest.mark.parametrize("angles", [(20, 0, 0), (-75, 40, 160), (180, 0, 0)])
def test_rigid_motion_identity(shell, angles):
    turn = Rotation.from_euler("xyz", angles, degrees=True)
    u = turn.apply(shell.vertices.copy()) + [3, -2, 1] - shell.vertices
    scale = abs(shell.stiffness().data).max() * shell.size
    assert abs(shell.force(u)).max() < 1e-13 * scale
    assert 0 <= shell.energy(u) < 1e-25 * scale * shell.size


def test_objectivity_identity(shell, point):
    u, v, _ = point
    turn = Rotation.from_euler("zyx", (70, -30, 110), degrees=True)
    turned = turn.apply(shell.vertices + u) + [0.4, 2.0, -1.0] - shell.vertices
    assert shell.energy(turned) == pytest.approx(shell.energy(u), rel=1e-11)
    for one, two in (
        (shell.force(u), shell.force(turned)),
        (shell.damping_force(u, v), shell.damping_force(turned, turn.apply(v))),
    ):
        np.testing.assert_allclose(two, turn.apply(one), rtol=0, atol=1e-10 * abs(one).max())


def test_forces_balance_identity(shell, point):
    u, _, _ = point
    force = shell.force(u)
    assert abs(force.sum(axis=0)).max() < 1e-13 * abs(force).sum()
    assert abs(np.cross(shell.vertices + u, force).sum(axis=0)).max() < 1e-13 * abs(force).sum()


def test_rest_identity(shell, point):
    rest = np.zeros((shell.vertex_count, 3))
    assert shell.energy(rest) == 0
    assert not shell.force(rest).any()
    assert shell.energy(point[0]) > 0
    free = BodyShell(shell.mesh, STUFF)
    values = np.linalg.eigvalsh(free.stiffness().toarray())
    assert abs(values[:6]).max() < 1e-12 * values[-1]
    assert values[6] > 1e-7 * values[-1], "nothing but rigid motions is free"


def test_mass_identity(shell):
    assert shell.total_mass == pytest.approx(STUFF.density * STUFF.thickness * shell.mesh.area, rel=1e-13)
    assert np.linalg.eigvalsh(shell.mass.toarray())[0] > 0


def test_orientation_identity(random):
    """Where a surface cannot be oriented, it does not matter which way its triangles run."""
    mesh = moebius_strip()
    chosen = random.permutation(len(mesh.triangles))[:7]
    turned = mesh.triangles.copy()
    turned[chosen] = turned[chosen][:, [0, 2, 1]]
    one, two = BodyShell(mesh, STUFF), BodyShell(MeshTri(mesh.vertices, turned), STUFF)
    assert not np.array_equal(one.mesh.triangles, two.mesh.triangles)
    u = random.uniform(-0.05, 0.05, (one.vertex_count, 3))
    assert one.energy(u) == pytest.approx(two.energy(u), rel=1e-12)
    force = one.force(u)
    np.testing.assert_allclose(two.force(u), force, rtol=0, atol=1e-12 * abs(force).max())


def test_folded_double_identity():
    """Two sheets laid on each other along an edge: the angle there is half a turn, and nothing jumps about it."""
    mesh = MeshTri([[0, 0, 0], [1, 0, 0], [0.5, 1, 0], [0.4, 0.9, 0]], [[0, 1, 2], [1, 0, 3]])
    body = BodyShell(mesh, STUFF)
    assert abs(body.rest_angles[0]) == pytest.approx(np.pi)
    u = np.zeros((4, 3))
    u[3, 2] = 1e-4
    assert body.energy(u) == pytest.approx(body.energy(-u), rel=1e-6)
    assert 0 < body.energy(u) < 1e-6


def test_crowded_edge_identity():
    """Three sheets at an edge bend pairwise: three hinges there, one at every other inner edge, none at the rim."""
    mesh = finned_sheet()
    plain = BodyShell(rough_sheet(), STUFF).hinges
    finned = BodyShell(mesh, STUFF).hinges
    # two inner edges of two triangles became one of three and one of four
    assert len(finned.vertices) == len(plain.vertices) - 2 + 3 + 4
    assert len(finned.groups) == len(mesh.triangles) + 7


def test_content_identity():
    mesh = rough_sheet()
    base = BodyShell(mesh, STUFF, fixed=[0, 1]).compute_content_hash()
    assert base == BodyShell(rough_sheet(), STUFF, fixed=[1, 0]).compute_content_hash()
    others = [
        BodyShell(mesh, STUFF),
        BodyShell(mesh, STUFF, fixed=[0, 1], damping=(0.1, 0)),
        BodyShell(mesh, STUFF, fixed=[0, 1], damping=(0, 0.1)),
        BodyShell(mesh, MaterialShell(1e3, 0.3, 0.1001, 200.0), fixed=[0, 1]),
        BodyShell(finned_sheet(), STUFF, fixed=[0, 1]),
    ]
    assert len({base, *(other.compute_content_hash() for other in others)}) == len(others) + 1


BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "thickness": (lambda: MaterialShell(thickness=0.0), r"thickness \(m\) is 0.0, but must be positive"),
    "thickness-nan": (lambda: MaterialShell(thickness=float("nan")), "thickness .* is nan"),
    "young": (lambda: MaterialShell(young=-1.0), "young .* is -1.0, but must be positive"),
    "density": (lambda: MaterialShell(density=0.0), "density .* must be positive"),
    "poisson": (lambda: MaterialShell(poisson=0.51), "poisson is 0.51, but must be above -1 and at most 0.5"),
    "poisson-low": (lambda: MaterialShell(poisson=-1.0), "poisson is -1.0"),
    "tets": (lambda: BodyShell(box_tets(1, 1, 1)), "a shell needs a MeshTri, not MeshTet"),  # type: ignore[arg-type]
    "material": (lambda: BodyShell(rough_sheet(), cj.MaterialStVK()), "material must be a MaterialShell"),  # type: ignore[arg-type]
    "unused": (
        lambda: BodyShell(MeshTri([[0, 0, 0], [1, 0, 0], [0, 1, 0], [5, 5, 5]], [[0, 1, 2]])),
        "vertex 3 belongs to no triangle.*remove",
    ),
    "fixed": (lambda: BodyShell(rough_sheet(), fixed=[99]), r"fixed\[0\] is 99, outside"),
    "damping": (lambda: BodyShell(rough_sheet(), damping=(0.1, -1)), r"damping beta \(s\) is -1.0"),
    "damping-number": (lambda: BodyShell(rough_sheet(), damping=0.1), "pair"),  # type: ignore[arg-type]
    "flat": (lambda: MeshTri([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]), "has no area"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_shell_bad_input(case):
    call, message = BAD[case]
    with pytest.raises((InputError, MeshError), match=message):
        call()


def test_displacement_bad_input(shell):
    bad = np.zeros((shell.vertex_count, 3))
    bad[7, 1] = np.nan
    for question in (shell.energy, shell.force, shell.stiffness, shell.damping_matrix):
        with pytest.raises(InputError, match=r"displacement\[7, 1\] is nan"):
            question(bad)
    with pytest.raises(InputError, match=r"direction\[7, 1\] is nan"):
        shell.stiffness_derivative(0 * np.nan_to_num(bad), bad)
    huge = 1e160 * np.random.default_rng(0).normal(size=(shell.vertex_count, 3))
    for question in (shell.energy, shell.force):
        with pytest.raises(SolveError, match="overflow"):
            question(huge)


def test_collapsed_triangle_bad_input():
    shell = BodyShell(rough_sheet(), STUFF)
    with pytest.raises(SolveError, match=r"triangle 0 has lost its area.*move its vertices apart"):
        shell.force(-shell.vertices)


def test_one_triangle_identity():
    """Without a hinge there is only a membrane."""
    shell = BodyShell(MeshTri([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]), STUFF)
    u = np.array([[0, 0, 0], [0.1, 0, 0], [0, 0, 0]])
    lam, mu = STUFF.membrane_lame
    strain = 0.1 + 0.5 * 0.1**2
    assert shell.energy(u) == pytest.approx(0.5 * (0.5 * lam + mu) * strain**2)
    check_derivative(
        lambda x: shell.force(x).ravel(), shell.stiffness(u) @ np.arange(9.0), u, np.arange(9.0).reshape(3, 3)
    )
