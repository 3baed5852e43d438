"""Shells: exact derivatives, invariants, theory of plates, and what they answer to wrong input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import cajole as cj
from bodies import Array
from cajole.body import BodyShell, MaterialShell
from cajole.errors import InputError, MeshError, SolveError
from cajole.mesh import MeshTri, box_tets, grid_triangles
from derivatives import check_derivative, regressed_order

STUFF = MaterialShell(young=1e3, poisson=0.3, thickness=0.1, density=200.0)


def rough_sheet() -> MeshTri:
    """A crumpled grid, so that no two triangles are alike and no rest angle is zero."""
    mesh = grid_triangles(3, 3)
    return MeshTri(mesh.vertices + np.random.default_rng(2).uniform(-0.08, 0.08, mesh.vertices.shape), mesh.triangles)


def finned_sheet() -> MeshTri:
    """With three triangles at one edge and four at another."""
    mesh = rough_sheet()
    fins = [[5, 6, 16], [9, 10, 17], [9, 10, 18]]
    points = [[0.3, 0.5, 0.5], [0.6, 0.4, 0.6], [0.7, 0.5, -0.5]]
    return MeshTri(np.vstack([mesh.vertices, points]), np.vstack([mesh.triangles, fins]))


def moebius_strip(count: int = 9) -> MeshTri:
    """A band with one side only."""
    turn = 2 * np.pi * np.arange(count) / count
    arms = np.stack([np.cos(turn / 2) * np.cos(turn), np.cos(turn / 2) * np.sin(turn), np.sin(turn / 2)], axis=1)
    rim = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    i, j = np.arange(count), (np.arange(count) + 1) % count
    low, high = np.where(j == 0, count + j, j), np.where(j == 0, j, count + j)
    triangles = np.concatenate([np.stack([i, low, count + i], 1), np.stack([low, high, count + i], 1)])
    return MeshTri(np.concatenate([rim - 0.4 * arms, rim + 0.4 * arms]), triangles)


SHEETS: dict[str, Callable[[], MeshTri]] = {"rough": rough_sheet, "finned": finned_sheet, "moebius": moebius_strip}


@pytest.fixture(params=list(SHEETS))
def shell(request: pytest.FixtureRequest) -> BodyShell:
    return BodyShell(SHEETS[request.param](), STUFF, fixed=[0, 4], damping=(0.7, 0.02))


@pytest.fixture
def point(shell: BodyShell, random: np.random.Generator) -> tuple[Array, Array, Array]:
    u, v, w = random.uniform(-1, 1, (3, shell.count, 3))
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
    check_derivative(lambda x: shell.stiffness(x) @ w.ravel(), shell.stiffness_change(u, v) @ w.ravel(), u, v)


def test_damping_derivative(shell, point):
    u, v, w = point
    check_derivative(lambda x: shell.damping_force(u, x).ravel(), shell.damping_matrix(u) @ w.ravel(), v, w)
    check_derivative(lambda x: shell.damping_force(x, v).ravel(), shell.damping_slope(u, v) @ w.ravel(), u, w)


def test_symmetry_identity(shell, point):
    u, v, _ = point
    for matrix in (shell.stiffness(u), shell.stiffness_change(u, v), shell.damping_matrix(u), shell.mass):
        assert abs(matrix - matrix.T).max() <= 1e-14 * abs(matrix).max()


@pytest.mark.parametrize("tangent", ["exact", "symmetric", "clamped"])
def test_system_agreement(shell, point, tangent):
    u, v, _ = point
    out = np.full(shell.pattern.entries, np.nan)
    force = shell.system(u, v, 37.0, 4.3, out, tangent=tangent)
    want = 37.0 * shell.mass + 4.3 * shell.damping_matrix(u) + shell.stiffness(u) + shell.damping_slope(u, v)
    if tangent == "clamped":
        share = 1 + 4.3 * shell.beta
        want = want - shell.damping_slope(u, v) + share * (shell.stiffness(u, clamped=True) - shell.stiffness(u))
    assert abs(shell.pattern.matrix(out) - want).max() <= 1e-13 * abs(want).max()
    np.testing.assert_allclose(force, shell.total_force(u, v), rtol=0, atol=0)
    parts = shell.force(u) + shell.damping_force(u, v)
    np.testing.assert_allclose(force, parts, rtol=0, atol=1e-12 * abs(parts).max())


def test_clamped_stiffness_positive_identity(shell, random):
    u = random.uniform(-0.12, 0.12, (shell.count, 3)) - 0.2 * shell.vertices
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
    rest = np.zeros((shell.count, 3))
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


def numpy_energy(body: BodyShell, u: Array) -> float:
    """The energy again, triangle by triangle: F by an inverse, angles by arccos of normals, curvatures as tensors."""
    mesh, stuff, X, x = body.mesh, body.material, body.vertices, body.vertices + u
    lam, mu = stuff.lame
    nu, D = stuff.poisson, stuff.bending
    corners = mesh.triangles
    neighbours: dict[tuple[int, int], list[int]] = {}
    for t, abc in enumerate(corners):
        for k in range(3):
            neighbours.setdefault(tuple(sorted((abc[k], abc[(k + 1) % 3]))), []).append(t)

    def other(t: int, k: int) -> int | None:
        both = neighbours[tuple(sorted((corners[t][k], corners[t][(k + 1) % 3])))]
        return next((each for each in both if each != t), None)

    def far(t: int, beyond: int) -> int:
        return next(v for v in corners[beyond] if v not in corners[t])

    def normal(points: Array, t: int) -> Array:
        a, b, c = points[corners[t]]
        return np.cross(b - a, c - a) / np.linalg.norm(np.cross(b - a, c - a))

    def angle(points: Array, t: int, k: int, beyond: int) -> float:
        """Positive where the neighbour rises above the triangle."""
        n, m = normal(points, t), normal(points, beyond)
        rises = (points[far(t, beyond)] - points[corners[t][k]]) @ n
        return float(np.sign(rises) * np.arccos(np.clip(n @ m, -1, 1)))

    def axes(t: int, k: int) -> tuple[Array, Array, float]:
        """Along an edge, into the triangle, and the edge's length."""
        edge = X[corners[t][(k + 1) % 3]] - X[corners[t][k]]
        length = float(np.linalg.norm(edge))
        return edge / length, np.cross(normal(X, t), edge / length), length

    def tensors(t: int) -> list[Array]:
        return [axes(t, k)[2] / (2 * mesh.areas[t]) * np.outer(axes(t, k)[1], axes(t, k)[1]) for k in range(3)]

    def stiffness(t: int) -> Array:
        parts = tensors(t)
        pairs = [[nu * np.trace(p) * np.trace(q) + (1 - nu) * (p * q).sum() for q in parts] for p in parts]
        return mesh.areas[t] * D * np.array(pairs)

    def freed(t: int, angles: Array) -> Array:
        """With the angles of least energy at edges without a neighbour."""
        free = np.array([other(t, k) is None for k in range(3)])
        C, out = stiffness(t), angles.copy()
        if free.any():
            out[free] = -np.linalg.solve(C[np.ix_(free, free)], C[np.ix_(free, ~free)] @ angles[~free])
        return out

    def plain(t: int) -> Array:
        beyond = [other(t, k) for k in range(3)]
        return np.array([0.0 if n is None else angle(x, t, k, n) - angle(X, t, k, n) for k, n in enumerate(beyond)])

    curvature = [sum(a * p for a, p in zip(freed(t, plain(t)), tensors(t))) for t in range(len(corners))]

    def components(t: int, k: int) -> Array:
        s, n, _ = axes(t, k)
        return np.array([s @ curvature[t] @ s, s @ curvature[t] @ n, n @ curvature[t] @ n])

    def share(t: int, k: int, beyond: int) -> float:
        """o of an edge as seen from triangle t."""
        s, _, l = axes(t, k)
        back = next(j for j in range(3) if other(beyond, j) == t)
        s1, s2 = ((X[v] - X[corners[t][k]]) @ s for v in (corners[t][(k + 2) % 3], far(t, beyond)))
        h1, h2 = 2 * mesh.areas[t] / l, 2 * mesh.areas[beyond] / l
        ss, sn, nn = 0.5 * (components(t, k) + components(beyond, back))
        bent = 0.5 * ss * (s1 * (s1 - l) / h1 - s2 * (s2 - l) / h2)
        return float(bent + sn * (s1 + s2 - l) + 0.5 * nn * (h1 - h2)) / 2

    total = 0.0
    for t, abc in enumerate(corners):
        e1 = axes(t, 0)[0]
        e2 = np.cross(normal(X, t), e1)
        flat = np.stack([(X[abc[1:]] - X[abc[0]]) @ e1, (X[abc[1:]] - X[abc[0]]) @ e2])
        F = (x[abc[1:]] - x[abc[0]]).T @ np.linalg.inv(flat)
        E = 0.5 * (F.T @ F - np.eye(2))
        total += mesh.areas[t] * (0.5 * lam * np.trace(E) ** 2 + mu * (E * E).sum())
        beyond = [other(t, k) for k in range(3)]
        shifts = np.array([0.0 if n is None else 2 * share(t, k, n) for k, n in enumerate(beyond)])
        seen = freed(t, plain(t) + shifts)
        total += 0.5 * seen @ stiffness(t) @ seen
    return total


def test_energy_agreement(random):
    body = BodyShell(rough_sheet(), MaterialShell(1e3, 0.3, 0.2, 1.0))
    u = random.uniform(-0.06, 0.06, (body.count, 3))
    assert body.energy(u) == pytest.approx(numpy_energy(body, u), rel=1e-10)


def test_membrane_patch_reference(random):
    """Uniform plane stress on an irregular sheet: exact stretch, uniform stress, no force inside."""
    mesh = rough_sheet()
    flat = MeshTri(mesh.vertices * [1, 1, 0], mesh.triangles)
    body = BodyShell(flat, MaterialShell(1e5, 0.25, 1e-2, 1.0))
    inner = np.setdiff1d(np.arange(body.count), np.unique(flat.boundary_edges))
    x, stretch = body.vertices, 1e-6
    u = np.column_stack([stretch * x[:, 0], -0.25 * stretch * x[:, 1], 0 * x[:, 0]])
    force = body.force(u)
    assert abs(force[inner]).max() < 1e-9 * abs(force).max()
    # pulled by E t ε across every cut, and by nothing sideways
    assert body.energy(u) == pytest.approx(0.5 * 1e5 * 1e-2 * stretch**2 * flat.area, rel=1e-5)
    assert abs(force[:, 1]).max() < 1e-5 * abs(force[:, 0]).max()


def lattice(nx: int, ny: int, size: tuple[float, float], origin: tuple[float, float, float] = (0, 0, 0)) -> MeshTri:
    """A grid whose diagonals all run alike."""
    i, j = np.indices((nx, ny)).reshape(2, -1)
    a = i * (ny + 1) + j
    b, c, d = a + ny + 1, a + ny + 2, a + 1
    triangles = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return MeshTri(grid_triangles(nx, ny, size=size, origin=origin).vertices, triangles)


def supported_errors(mesh: MeshTri, poisson: float) -> float:
    """Largest error of four frequencies of a unit plate: f = π/2 √(D/ρt) (i² + j²) on four supports (Kirchhoff)."""
    stuff = MaterialShell(2e9, poisson, 0.01, 1e3)
    theory = 0.5 * np.pi * np.sqrt(stuff.bending / 10.0) * np.array([2, 5, 5, 8])
    body = BodyShell(mesh, stuff, fixed=np.unique(mesh.boundary_edges))
    return float(abs(cj.modes(body, 4, cache=False).frequencies / theory - 1).max())


@pytest.mark.parametrize("poisson", [0.0, 0.3])
@pytest.mark.parametrize("alternating", [False, True])
def test_supported_plate_order(poisson, alternating):
    """Second order, whichever way the diagonals run."""
    sizes = np.array([12, 24, 48])
    grids = [grid_triangles(n, n) if alternating else lattice(n, n, (1.0, 1.0)) for n in sizes]
    errors = np.array([supported_errors(mesh, poisson) for mesh in grids])
    assert errors[-1] < 0.01
    assert regressed_order(1 / sizes, errors) > 1.7


def test_irregular_plate_reference(random):
    """Vertices moved by up to a quarter of a cell: still within two per cent."""
    mesh = lattice(16, 16, (1.0, 1.0))
    inner = np.setdiff1d(np.arange(len(mesh.vertices)), mesh.boundary_edges)
    vertices = mesh.vertices.copy()
    vertices[inner, :2] += random.uniform(-0.25, 0.25, (len(inner), 2)) / 16
    assert supported_errors(MeshTri(vertices, mesh.triangles), 0.3) < 0.02


def test_regular_meshes_stay_narrow_identity():
    """Where neighbours form parallelograms nothing but own hinges counts; where diagonals alternate, some others do."""
    assert (BodyShell(lattice(4, 4, (1.0, 1.0)), STUFF).hinges.sizes == 6).all()
    sizes = BodyShell(grid_triangles(4, 4), STUFF).hinges.sizes
    assert sizes.max() > 6
    assert sizes.max() < 12


def test_cantilever_reference():
    """A narrow strip clamped by two rows vibrates as Euler's beam, which starts half a row behind the clamp."""
    length, nx = 1.0, 24
    step = length / nx
    mesh = lattice(nx + 1, 2, (length + step, 0.05), (-step, 0, 0))
    body = BodyShell(mesh, MaterialShell(2e9, 0.3, 0.01, 1e3), fixed=np.flatnonzero(mesh.vertices[:, 0] < 1e-9))
    bent = cj.modes(body, 2, cache=False).frequencies
    beam = np.array([1.8751, 4.6941]) ** 2 / (2 * np.pi * (length + step / 2) ** 2) * np.sqrt(2e9 * 1e-4 / 12 / 1e3)
    np.testing.assert_allclose(bent, beam, rtol=0.02)


def test_rolled_up_reference():
    """A strip rolled to a cylinder without stretching costs D/2 κ² per area, until it is nearly closed."""
    mesh = lattice(60, 2, (1.0, 0.05))
    body = BodyShell(mesh, MaterialShell(1e6, 0.0, 1e-3, 1.0))
    curvature = 5.0
    # chords as long as the cells, so that only bending costs
    cell = 1.0 / 60
    radius = 0.5 * cell / np.sin(0.5 * curvature * cell)
    turn = curvature * mesh.vertices[:, 0]
    rolled = np.column_stack([radius * np.sin(turn), mesh.vertices[:, 1], radius * (1 - np.cos(turn))])
    # half a cell at either end is flat
    area = mesh.area * (1 - cell)
    want = 0.5 * body.material.bending * curvature**2 * area
    assert body.energy(rolled - mesh.vertices) == pytest.approx(want, rel=0.01)


def test_sagging_sheet_agreement():
    """`pose` finds how a sheet hangs from its corners; nothing is left over, and it is lower than before."""
    mesh = grid_triangles(8, 8)
    body = BodyShell(mesh, MaterialShell(1e5, 0.3, 5e-3, 300.0), fixed=[0, 8, 72, 80])
    u = cj.pose(body, gravity=(0, 0, -9.81))
    residual = (body.force(u) - body.gravity())[body.free]
    assert abs(residual).max() < 1e-8 * abs(body.gravity()).max()
    assert -0.6 < u[40, 2] < -0.02


def test_plate_deflection_reference():
    """Under its own weight a plate on four supports sinks by 0.00406 q a⁴/D in its middle (Timoshenko)."""
    mesh = lattice(16, 16, (1.0, 1.0))
    body = BodyShell(mesh, MaterialShell(2e9, 0.3, 0.01, 1.0), fixed=np.unique(mesh.boundary_edges))
    u = cj.pose(body, gravity=(0, 0, -9.81))
    want = 0.00406 * 1.0 * 0.01 * 9.81 / body.material.bending
    assert -u[mesh.nearest((0.5, 0.5, 0.0)), 2] == pytest.approx(want, rel=0.02)


def test_swinging_sheet_identity():
    """Simulated with no damping, a hanging sheet keeps its energy to the order of the integrator."""
    mesh = grid_triangles(4, 4)
    body = BodyShell(mesh, MaterialShell(5e3, 0.3, 1e-2, 200.0), fixed=[0, 4])
    film = cj.simulate(body, 25, 1 / 100, gravity=(0, 0, -9.81))
    v = np.asarray(film.velocities)
    energies = [
        body.energy(x) + 0.5 * w.ravel() @ (body.mass @ w.ravel()) - float((body.gravity() * x).sum())
        for x, w in zip(film.displacements, v)
    ]
    assert np.ptp(energies) < 0.02 * max(0.5 * w.ravel() @ (body.mass @ w.ravel()) for w in v)


def test_orientation_identity(random):
    """Where a surface cannot be oriented, it does not matter which way its triangles run."""
    mesh = moebius_strip()
    chosen = random.permutation(len(mesh.triangles))[:7]
    turned = mesh.triangles.copy()
    turned[chosen] = turned[chosen][:, [0, 2, 1]]
    one, two = BodyShell(mesh, STUFF), BodyShell(MeshTri(mesh.vertices, turned), STUFF)
    assert not np.array_equal(one.mesh.triangles, two.mesh.triangles)
    u = random.uniform(-0.05, 0.05, (one.count, 3))
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
    base = BodyShell(mesh, STUFF, fixed=[0, 1]).content()
    assert base == BodyShell(rough_sheet(), STUFF, fixed=[1, 0]).content()
    others = [
        BodyShell(mesh, STUFF),
        BodyShell(mesh, STUFF, fixed=[0, 1], damping=(0.1, 0)),
        BodyShell(mesh, STUFF, fixed=[0, 1], damping=(0, 0.1)),
        BodyShell(mesh, MaterialShell(1e3, 0.3, 0.1001, 200.0), fixed=[0, 1]),
        BodyShell(finned_sheet(), STUFF, fixed=[0, 1]),
    ]
    assert len({base, *(other.content() for other in others)}) == len(others) + 1


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
    bad = np.zeros((shell.count, 3))
    bad[7, 1] = np.nan
    for question in (shell.energy, shell.force, shell.stiffness, shell.damping_matrix):
        with pytest.raises(InputError, match=r"displacement\[7, 1\] is nan"):
            question(bad)
    with pytest.raises(InputError, match=r"direction\[7, 1\] is nan"):
        shell.stiffness_change(0 * np.nan_to_num(bad), bad)
    huge = 1e160 * np.random.default_rng(0).normal(size=(shell.count, 3))
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
    lam, mu = STUFF.lame
    strain = 0.1 + 0.5 * 0.1**2
    assert shell.energy(u) == pytest.approx(0.5 * (0.5 * lam + mu) * strain**2)
    check_derivative(
        lambda x: shell.force(x).ravel(), shell.stiffness(u) @ np.arange(9.0), u, np.arange(9.0).reshape(3, 3)
    )
