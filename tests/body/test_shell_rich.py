"""Shells with all they may have: materials and hinges of their own, another shape at rest, damping in parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from shell_cases import SHEETS, STUFF, finned_sheet, rich_shell, rough_sheet

import cajole as cj
from bodies import Array
from cajole.body import BodyShell, MaterialShell, ShellDamping, kernels_bending
from cajole.errors import InputError
from cajole.mesh import MeshTri, grid_triangles
from derivatives import check_derivative


@pytest.fixture(params=list(SHEETS))
def shell(request: pytest.FixtureRequest, random: np.random.Generator) -> BodyShell:
    """Rich, and yielded once."""
    body = rich_shell(SHEETS[request.param](), random)
    return body.yielded(0.06 * random.uniform(-1, 1, (body.vertex_count, 3)))


@pytest.fixture
def point(shell: BodyShell, random: np.random.Generator) -> tuple[Array, Array, Array]:
    u, v, w = random.uniform(-1, 1, (3, shell.vertex_count, 3))
    return 0.05 * u, 0.4 * v, 0.4 * w


def test_force_and_stiffness_derivative(shell, point):
    u, v, w = point
    check_derivative(shell.energy, (shell.force(u) * v).sum(), u, v)
    check_derivative(lambda x: shell.force(x).ravel(), shell.stiffness(u) @ v.ravel(), u, v)
    check_derivative(lambda x: shell.stiffness(x) @ w.ravel(), shell.stiffness_derivative(u, v) @ w.ravel(), u, v)


def test_damping_in_parts_derivative(shell, point):
    u, v, w = point
    check_derivative(lambda x: shell.damping_force(u, x).ravel(), shell.damping_matrix(u) @ w.ravel(), v, w)
    check_derivative(lambda x: shell.damping_force(x, v).ravel(), shell.damping_force_jacobian(u, v) @ w.ravel(), u, w)


def test_damping_parts_identity(random):
    """Mass, membrane and bending damp each for itself, and together as the pair does where both β are one."""
    mesh, u, v = rough_sheet(), *random.uniform(-0.05, 0.05, (2, 16, 3))
    only = [ShellDamping(mass=0.7), ShellDamping(membrane=0.02), ShellDamping(bending=0.02)]
    forces = [BodyShell(mesh, STUFF, damping=each).damping_force(u, v) for each in only]
    pair = BodyShell(mesh, STUFF, damping=(0.7, 0.02))
    assert all(abs(force).max() > 0 for force in forces)
    np.testing.assert_allclose(sum(forces), pair.damping_force(u, v), rtol=0, atol=1e-13 * abs(sum(forces)).max())
    assert pair.damping == ShellDamping(0.7, 0.02, 0.02)
    matrices = [BodyShell(mesh, STUFF, damping=each).damping_matrix(u) for each in only]
    assert (
        abs(sum(matrices[1:], matrices[0]) - pair.damping_matrix(u)).max() < 1e-13 * abs(pair.damping_matrix(u)).max()
    )
    bend, stretch = BodyShell(mesh, STUFF, bending_scale=0.0), BodyShell(mesh, STUFF)
    want = 0.02 * (bend.stiffness(u) @ v.ravel()).reshape(-1, 3)
    np.testing.assert_allclose(forces[1], want, rtol=0, atol=1e-12 * abs(want).max())
    want = 0.02 * ((stretch.stiffness(u) - bend.stiffness(u)) @ v.ravel()).reshape(-1, 3)
    np.testing.assert_allclose(forces[2], want, rtol=0, atol=1e-11 * abs(want).max())


@pytest.mark.parametrize("tangent", ["exact", "symmetric", "clamped"])
def test_rich_system_agreement(shell, point, tangent):
    u, v, _ = point
    out = np.full(shell.pattern.nnz, np.nan)
    force = shell.assemble_system(u, v, 37.0, 4.3, out, tangent=tangent)
    if tangent == "clamped":
        membrane = with_bending(shell, 0.0)
        both, one = shell.stiffness(u, clamped=True), membrane.stiffness(u, clamped=True)
        d = shell.damping
        want = (37.0 + 4.3 * d.mass) * shell.mass + (1 + 4.3 * d.membrane) * one + (1 + 4.3 * d.bending) * (both - one)
        whole = 37.0 * shell.mass + 4.3 * shell.damping_matrix(u, clamped=True) + both
        assert abs(whole - want).max() <= 1e-12 * abs(want).max()
    else:
        want = (
            37.0 * shell.mass + 4.3 * shell.damping_matrix(u) + shell.stiffness(u) + shell.damping_force_jacobian(u, v)
        )
    assert abs(shell.pattern.build_matrix(out) - want).max() <= 1e-12 * abs(want).max()
    np.testing.assert_array_equal(force, shell.total_force(u, v))
    parts = shell.force(u) + shell.damping_force(u, v)
    np.testing.assert_allclose(force, parts, rtol=0, atol=1e-12 * abs(parts).max())


def with_bending(body: BodyShell, factor: float) -> BodyShell:
    return BodyShell(body.mesh, body.material, undeformed=body.undeformed, bending_scale=factor)


def test_rich_clamped_positive_identity(shell, random):
    u, v = (
        random.uniform(-0.12, 0.12, (shell.vertex_count, 3)) - 0.2 * shell.vertices,
        random.normal(size=(shell.vertex_count, 3)),
    )
    exact = np.linalg.eigvalsh(shell.stiffness(u).toarray())
    assert exact[0] < -1e-3 * exact[-1], "the shape must be one where the exact stiffness is indefinite"
    out = np.empty(shell.pattern.nnz)
    shell.assemble_system(u, v, 0.0, 50.0, out, tangent="clamped")
    values = np.linalg.eigvalsh(shell.pattern.build_matrix(out).toarray())
    assert values[0] >= -1e-13 * values[-1]


def test_squares_agreement(shell, point):
    """The symmetric loop of the tangent is the general one with the same vectors on either side."""
    u, _, _ = point
    h, bending = shell.hinges, shell._bending_energy
    grads = bending.evaluate(shell.vertices + u).gradients
    one, two = np.zeros((2, shell.pattern.nnz))
    args = (h.groups, bending.factors, h.vertex_counts, h.local_vertices)
    kernels_bending.add_gram_blocks(*args, grads, *bending.assembly_map, 1.7, one)
    kernels_bending.add_product_blocks(*args, grads, grads, *bending.assembly_map, 1.7, two)
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-13 * abs(two).max())


# --- materials of their own


def test_many_materials_identity(random):
    """One material for all is that material for each."""
    mesh, u = rough_sheet(), random.uniform(-0.05, 0.05, (16, 3))
    one, each = BodyShell(mesh, STUFF), BodyShell(mesh, [STUFF] * len(mesh.triangles), bending_scale=np.ones(21))
    assert one.compute_content_hash() == each.compute_content_hash()
    assert one.energy(u) == each.energy(u)
    assert one.total_mass == each.total_mass


def test_two_sheets_agreement(random):
    """Two sheets in one body, each of its own material, are the two bodies."""
    mesh, other = rough_sheet(), MaterialShell(young=2e2, poisson=0.1, thickness=0.3, density=70.0)
    both = MeshTri(
        np.vstack([mesh.vertices, mesh.vertices + [5, 0, 0]]), np.vstack([mesh.triangles, mesh.triangles + 16])
    )
    count = len(mesh.triangles)
    body = BodyShell(both, [STUFF] * count + [other] * count)
    u = random.uniform(-0.05, 0.05, (32, 3))
    one, two = BodyShell(mesh, STUFF), BodyShell(mesh, other)
    assert body.energy(u) == pytest.approx(one.energy(u[:16]) + two.energy(u[16:]), rel=1e-12)
    np.testing.assert_allclose(body.vertex_masses, np.append(one.vertex_masses, two.vertex_masses), rtol=1e-13)


def test_bending_factor_identity(random):
    """A factor for all multiplies what bending stores; a hinge of factor zero turns for nothing."""
    mesh = grid_triangles(3, 3)
    u = np.zeros((16, 3))
    u[:, 2] = random.uniform(-0.02, 0.02, 16)
    base, none, triple = (BodyShell(mesh, STUFF, bending_scale=f) for f in (1.0, 0.0, 3.0))
    membrane = none.energy(u)
    assert triple.energy(u) - membrane == pytest.approx(3 * (base.energy(u) - membrane), rel=1e-12)
    pair = MeshTri([[0, 0, 0], [1, 0, 0], [0.5, 1, 0], [0.4, -0.9, 0]], [[0, 1, 2], [1, 0, 3]])
    fold = np.zeros((4, 3))
    fold[3] = [0.0, 0.9 * (1 - np.cos(1.0)), 0.9 * np.sin(1.0)]
    free, stiff = BodyShell(pair, STUFF, bending_scale=[0.0]), BodyShell(pair, STUFF)
    assert free.energy(fold) < 1e-25 < stiff.energy(fold)


# --- other shapes at rest


def test_shaped_identity(shell, random):
    """At its undeformed shape, wherever it is turned to, a shell is free of force, and mass stays the mesh's."""
    shape = shell.vertices + random.uniform(-0.05, 0.05, shell.vertices.shape)
    body = BodyShell(shell.mesh, shell.material, bending_scale=shell.bending_scale).with_undeformed_shape(shape)
    turn = Rotation.from_euler("xyz", (-75, 40, 160), degrees=True)
    scale = abs(body.stiffness().data).max() * body.size
    for x in (shape, turn.apply(shape) + [3, -2, 1]):
        assert abs(body.force(x - body.vertices)).max() < 1e-13 * scale
    assert abs(body.force(np.zeros_like(shape))).max() > 1e-6 * scale
    np.testing.assert_array_equal(body.mass_values, shell.mass_values)


def test_shaped_agreement(shell, point, random):
    """`shaped` is the body made so, as positions or as a mesh, and back is the body it was."""
    u, _, _ = point
    shape = shell.vertices + random.uniform(-0.05, 0.05, shell.vertices.shape)
    plain = BodyShell(shell.mesh, shell.material)
    made = BodyShell(shell.mesh, shell.material, undeformed=shape)
    for other in (plain.with_undeformed_shape(shape), plain.with_undeformed_shape(shell.mesh.moved(shape))):
        assert other.compute_content_hash() == made.compute_content_hash()
        np.testing.assert_array_equal(other.force(u), made.force(u))
        assert other.pattern is plain.pattern
    back = plain.with_undeformed_shape(shape).with_undeformed_shape(plain.mesh)
    np.testing.assert_array_equal(back.force(u), plain.force(u))
    # what has yielded stays
    assert shell.plastic_angles.any()
    np.testing.assert_array_equal(shell.with_undeformed_shape(shape).plastic_angles, shell.plastic_angles)
    np.testing.assert_array_equal(shell.with_undeformed_shape(shell.undeformed).rest_angles, shell.rest_angles)


def test_caller_keeps_shape_identity():
    """What is done to the array afterwards does not reach the body."""
    mesh = rough_sheet()
    shape = mesh.vertices * [1.1, 1.0, 1.0]
    body = BodyShell(mesh, STUFF, undeformed=shape)
    before = body.compute_content_hash()
    shape[:] = 0.0
    assert body.compute_content_hash() == before
    with pytest.raises(ValueError, match="read-only"):
        body.undeformed[0, 0] = 1.0


def test_stretched_rest_reference():
    """A sheet undeformed at 10 % less length stores what stretching it by a ninth stores."""
    mesh = grid_triangles(4, 4)
    body = BodyShell(mesh, STUFF, undeformed=mesh.vertices * [0.9, 1.0, 1.0])
    lam, mu = STUFF.membrane_lame
    strain = 0.5 * (1 / 0.9**2 - 1)
    assert body.energy(np.zeros((25, 3))) == pytest.approx(0.9 * (0.5 * lam + mu) * strain**2, rel=1e-12)


def test_simulate_towards_shape_claim():
    """A flat strip that is undeformed in folds folds, and comes to rest with most of them."""
    mesh = grid_triangles(6, 2, size=(0.6, 0.2))
    shape = np.array(mesh.vertices)
    column = np.round(shape[:, 0] / 0.1).astype(int)
    shape[:, 2] = 0.03 * (column % 2)
    body = BodyShell(mesh, MaterialShell(1e5, 0.3, 0.01, 300.0), undeformed=shape, damping=(5.0, 0.01))
    start = np.zeros((body.vertex_count, 3))
    start[:, 2] = 0.01 * (shape[:, 2] - 0.015)
    motion = cj.simulate(body, 40, dt=1 / 100, start=start, force=None)
    end = motion.positions[-1]
    assert body.energy(end - body.vertices) < 0.1 * body.energy(start)
    assert np.ptp(end[:, 2]) > 0.015


def test_rich_content_identity():
    mesh = finned_sheet()
    many = [STUFF] * (len(mesh.triangles) - 1) + [MaterialShell(1e3, 0.3, 0.1, 201.0)]
    count = len(BodyShell(mesh, STUFF).hinges.vertices)
    bodies = [
        BodyShell(mesh, STUFF),
        BodyShell(mesh, many),
        BodyShell(mesh, STUFF, damping=ShellDamping(membrane=0.1)),
        BodyShell(mesh, STUFF, damping=ShellDamping(bending=0.1)),
        BodyShell(mesh, STUFF, undeformed=mesh.vertices * 1.01),
        BodyShell(mesh, STUFF, bending_scale=2.0),
        BodyShell(mesh, STUFF, bending_scale=np.linspace(1, 2, count)),
        BodyShell(mesh, STUFF, plasticity=cj.body.Plasticity(1.0)),
        BodyShell(mesh, STUFF, plasticity=cj.body.Plasticity(1.0, 0.1)),
    ]
    assert len({body.compute_content_hash() for body in bodies}) == len(bodies)


def test_repr_names_thicknesses_identity():
    mesh = rough_sheet()
    many = [STUFF] * 17 + [MaterialShell(1e3, 0.3, 0.2, 200.0)]
    assert "0.1 m thick" in repr(BodyShell(mesh, STUFF))
    assert "0.1 to 0.2 m thick" in repr(BodyShell(mesh, many))


SHEET = rough_sheet()
OTHER = MeshTri(SHEET.vertices, SHEET.triangles[::-1])
FLAT = SHEET.vertices * [1, 1, 1]
FLAT[SHEET.triangles[4]] = FLAT[SHEET.triangles[4][0]]
BAD: dict[str, tuple[Callable[[], Any], str]] = {
    "few": (lambda: BodyShell(SHEET, [STUFF] * 3), "3 materials for 18 triangles; give one material, or one for each"),
    "kind": (lambda: BodyShell(SHEET, [STUFF] * 17 + [1.0]), r"material\[17\] must be a MaterialShell, not float"),  # type: ignore[list-item]
    "bending": (lambda: BodyShell(SHEET, bending_scale=-1.0), r"bending_scale\[0\] is -1.0, but must be at least zero"),
    "bending-nan": (lambda: BodyShell(SHEET, bending_scale=[np.nan] * 21), r"bending_scale of each hinge\[0\] is nan"),
    "bending-few": (
        lambda: BodyShell(SHEET, bending_scale=[1.0, 2.0]),
        r"bending_scale of each hinge has shape \(2,\), but \(21,\)",
    ),
    "shape": (lambda: BodyShell(SHEET, undeformed=np.zeros((3, 3))), r"undeformed has shape \(3, 3\), but \(16, 3\)"),
    "shape-nan": (
        lambda: BodyShell(SHEET).with_undeformed_shape(np.full((16, 3), np.nan)),
        r"undeformed\[0, 0\] is nan",
    ),
    "shape-mesh": (lambda: BodyShell(SHEET, undeformed=OTHER), "undeformed mesh has other triangles"),
    "shape-flat": (
        lambda: BodyShell(SHEET).with_undeformed_shape(FLAT),
        r"triangle \d+ of the undeformed shape has no area; move",
    ),
    "damping": (lambda: ShellDamping(membrane=-0.1), r"damping membrane \(s\) is -0.1, but must be at least zero"),
    "damping-nan": (lambda: ShellDamping(bending=float("nan")), r"damping bending \(s\) is nan"),
    "plasticity": (lambda: BodyShell(SHEET, plasticity=0.5), "plasticity must be a Plasticity, not float"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", list(BAD))
def test_rich_bad_input(case):
    call, message = BAD[case]
    with pytest.raises(InputError, match=message):
        call()
