"""Static equilibrium: balance, pins, large deformation, free bodies, and loads nothing can balance."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import cajole as cj
from bodies import Array, beam_body, rough_box, spring_edges
from cajole.linalg import Factor
from cajole.mesh import box_tets, read_veg

Numbers = Callable[[str], dict[str, Any]]


def imbalance(body: cj.BodySolid | cj.BodySprings, u: Array, load: Array, held: list[int] | None = None) -> float:
    """The largest force left on vertices that may move, relative to the forces at work."""
    free = np.setdiff1d(body.free_vertices, held or [])
    force = body.force(u)
    return float(np.linalg.norm((force - load)[free]) / max(np.linalg.norm(force), np.linalg.norm(load)))


def end_load(body: cj.BodySolid, force: Array) -> Array:
    """`force` as a uniform traction on the far end: each vertex carries a third of its triangles."""
    return face_load(body, body.vertices[:, 0].max(), force)


def face_load(body: cj.BodySolid, x: float, force: Array) -> Array:
    corners = body.mesh.surface.triangles
    corners = corners[(body.vertices[corners, 0] == x).all(axis=1)]
    p, q, r = body.vertices[corners].transpose(1, 0, 2)
    areas = np.linalg.norm(np.cross(q - p, r - p), axis=1)
    shares = np.zeros(body.vertex_count)
    np.add.at(shares, corners, areas[:, None])
    return np.outer(shares / shares.sum(), force)


def truss() -> cj.BodySprings:
    mesh = rough_box((3, 2, 2))
    return cj.BodySprings(mesh.vertices, spring_edges(mesh), stiffness=300.0, mass=0.2, fixed=[0, 1, 2, 4], mesh=mesh)


def vega_beam(vega: Path, numbers: dict[str, Any]) -> cj.BodySolid:
    stuff = cj.MaterialStVK(numbers["E_element0"], numbers["nu_element0"], numbers["density_element0"])
    return cj.BodySolid(read_veg(vega / numbers["model"]).mesh, stuff, fixed=numbers["fixed_vertices_0based"])


@pytest.mark.parametrize("name", ["beam3_tet.json", "simpleBridge_tet.json"])
def test_linear_static_reference(name: str, vega: Path, vega_numbers: Numbers) -> None:
    numbers = vega_numbers(name)
    body = vega_beam(vega, numbers)
    dofs, u = body.free_dofs, np.zeros(3 * body.vertex_count)
    factor = Factor(sp.csr_array(body.stiffness()[dofs][:, dofs]))
    u[dofs] = factor.solve(body.gravity((0, -9.81, 0)).ravel()[dofs])
    assert np.linalg.norm(u) == pytest.approx(numbers["linear_static_gravity_u_norm"], rel=1e-7)
    want = np.array(numbers.get("linear_static_gravity_u", numbers["linear_static_gravity_u_first12"]))
    np.testing.assert_allclose(u[: len(want)], want, rtol=0, atol=1e-7 * abs(u).max())


def test_nonlinear_static_reference(vega: Path, vega_numbers: Numbers) -> None:
    numbers = vega_numbers("beam3_tet.json")
    body = vega_beam(vega, numbers)
    u = cj.pose(body, gravity=(0, -0.981, 0))
    want = np.array(numbers["nonlinear_static_0.1gravity_u"])
    np.testing.assert_allclose(u.ravel(), want, rtol=0, atol=1e-7 * abs(want).max())


def test_equilibrium_identity() -> None:
    """At equilibrium forces balance, and the total energy is lower than at the start."""
    body = beam_body((6, 2, 2))
    load = end_load(body, np.array([0, 30.0, -80.0]))
    u = cj.pose(body, load)
    assert imbalance(body, u, load) < 1e-9
    assert body.energy(u) - (load * u).sum() < 0
    assert not u[body.fixed].any()
    reaction = body.force(u)[body.fixed].sum(axis=0)
    np.testing.assert_allclose(reaction, [0, -30, 80], rtol=0, atol=1e-6)


def test_energy_falls_identity() -> None:
    """Every equilibrium reached is a minimum: small changes of it raise the total energy."""
    body = beam_body((4, 2, 2))
    load = end_load(body, np.array([0, 0, -200.0]))
    u = cj.pose(body, load)
    best = body.energy(u) - (load * u).sum()
    random = np.random.default_rng(0)
    for _ in range(10):
        other = u + 1e-3 * random.normal(size=u.shape)
        other[body.fixed] = 0
        assert body.energy(other) - (load * other).sum() > best


def test_loads_forms_agreement() -> None:
    body = beam_body((3, 1, 1))
    load = np.zeros((body.vertex_count, 3))
    load[-1], load[5] = (0, 5, -40), (2, 0, 3)
    spelled = cj.pose(body, {body.vertex_count - 1: (0, 5, -40), np.int64(5): [2, 0, 3]})  # type: ignore[dict-item]
    np.testing.assert_allclose(spelled, cj.pose(body, load), atol=1e-12)
    weight = body.gravity((0, 0, -3.0))
    np.testing.assert_allclose(cj.pose(body, load, gravity=(0, 0, -3.0)), cj.pose(body, load + weight), atol=1e-12)


def test_stacked_loads_agreement() -> None:
    body = beam_body((4, 1, 1))
    load = end_load(body, np.array([0, 0, -60.0]))
    stack = np.stack([0.3 * load, load, -load])
    both = cj.pose(body, stack)
    assert both.shape == (3, body.vertex_count, 3)
    for u, case in zip(both, stack):
        np.testing.assert_allclose(u, cj.pose(body, case), rtol=0, atol=1e-8 * abs(u).max())


def test_warm_start_agreement() -> None:
    body = beam_body((4, 1, 1))
    load = end_load(body, np.array([0, 20.0, -60.0]))
    cold = cj.pose(body, load)
    warm = cj.pose(body, load, start=cj.pose(body, 0.7 * load))
    np.testing.assert_allclose(warm, cold, rtol=0, atol=1e-8 * abs(cold).max())
    np.testing.assert_allclose(cj.pose(body, load, start=cold), cold, rtol=0, atol=1e-9 * abs(cold).max())


def test_pins_identity() -> None:
    """Pinned vertices are exactly where they were asked to be; the others balance."""
    body = beam_body((5, 2, 2))
    last = body.vertex_count - 1
    pins = {last: (-0.1, 0.2, 0.15), last - 4: (-0.1, 0.15, 0.1)}
    u = cj.pose(body, pins=pins)
    for vertex, target in pins.items():
        assert tuple(u[vertex]) == target
    assert imbalance(body, u, np.zeros_like(u), list(pins)) < 1e-8


def test_large_deformation_identity() -> None:
    """A soft beam pulled aside by most of its length, by a load and by pins."""
    body = beam_body((12, 2, 2), side=0.1, young=1e5)
    load = end_load(body, np.array([0, 0, -30.0]))
    u = cj.pose(body, load)
    assert imbalance(body, u, load) < 1e-8
    assert u[:, 2].min() < -0.7
    tip = np.flatnonzero(body.vertices[:, 0] == 1.0)
    pins = {int(i): (-0.6, 0.0, 0.75) for i in tip}
    with pytest.warns(cj.InversionWarning):
        bent = cj.pose(body, pins=pins)
    np.testing.assert_array_equal(bent[tip], np.tile([-0.6, 0.0, 0.75], (len(tip), 1)))
    assert imbalance(body, bent, np.zeros_like(bent), list(pins)) < 1e-8


def test_springs_identity() -> None:
    body = truss()
    load = np.zeros((body.vertex_count, 3))
    load[-1] = (5.0, -3.0, 8.0)
    u = cj.pose(body, load)
    assert imbalance(body, u, load) < 1e-8
    pinned = cj.pose(body, pins={body.vertex_count - 1: (0.2, 0.1, 0.0)})
    assert tuple(pinned[-1]) == (0.2, 0.1, 0.0)
    assert imbalance(body, pinned, np.zeros_like(u), [body.vertex_count - 1]) < 1e-8


def stretched(body: cj.BodySolid, force: float) -> Array:
    """Opposite pulls on both ends."""
    return end_load(body, np.array([force, 0, 0])) + face_load(body, 0.0, np.array([-force, 0, 0]))


def test_free_body_identity() -> None:
    """Balanced loads stretch a body that nothing holds, and its centre of mass stays."""
    body = beam_body((4, 2, 2), held=False, poisson=0.0)
    load = stretched(body, 400.0)
    u = cj.pose(body, load)
    assert imbalance(body, u, load) < 1e-7
    np.testing.assert_allclose(body.vertex_masses @ u, 0, atol=1e-9 * body.total_mass * abs(u).max())
    # ε of the rod: force/area = E e (1 + ε) with the strain e = ε + ε²/2 of St. Venant-Kirchhoff
    stretch = u[-1, 0] - u[0, 0]
    assert 1e6 * (stretch + stretch**2 / 2) * (1 + stretch) == pytest.approx(400 / 0.04, rel=1e-7)


def test_free_body_skew_load_identity() -> None:
    """Loads that balance at rest but not symmetrically still end in a true equilibrium."""
    body = beam_body((4, 2, 2), held=False)
    random = np.random.default_rng(0)
    R = body.compute_rigid_body_modes()
    load = random.normal(size=3 * body.vertex_count)
    span, _ = np.linalg.qr(R)
    load = 40 * (load - span @ (span.T @ load)).reshape(-1, 3)
    u = cj.pose(body, load)
    assert abs(u).max() > 1e-3
    assert imbalance(body, u, load) < 1e-7


def test_pinned_free_body_identity() -> None:
    """One pin moves a body that nothing else holds, without deforming it."""
    body = beam_body((2, 1, 1), held=False)
    u = cj.pose(body, pins={0: (0.1, 0.0, 0.0)})
    assert tuple(u[0]) == (0.1, 0.0, 0.0)
    assert abs(body.force(u)).max() < 1e-6 * abs(body.stiffness().data).max()


@pytest.mark.parametrize("poisson", [0.0, 0.3, 0.4])
@pytest.mark.parametrize("corner", [0, 11])
def test_hanging_solid_identity(poisson: float, corner: int) -> None:
    """A body held at one vertex turns until its centre of mass hangs below it, in true equilibrium."""
    body = cj.BodySolid(box_tets(2, 1, 1), cj.MaterialStVK(1e6, poisson, 1e3), fixed=[corner])
    u = cj.pose(body, gravity=(0, 0, -9.81))
    assert imbalance(body, u, body.gravity()) < 1e-7
    # the weight of each vertex is what hangs, so its centre is below the nail
    centre = body.vertex_masses @ (body.vertices + u) / body.total_mass
    np.testing.assert_allclose(centre[:2], body.vertices[corner, :2], atol=1e-5)


def test_hanging_cloth_identity(cloth: Callable[..., cj.BodySprings]) -> None:
    sheet = cloth(4)
    hung = cj.pose(sheet, gravity=(0, 0, -9.81))
    assert imbalance(sheet, hung, sheet.gravity()) < 1e-7
    assert (sheet.vertices + hung)[:, 2].mean() < -0.4


def test_unbalanced_bad_input() -> None:
    body = beam_body((2, 1, 1), held=False)
    push = np.zeros((body.vertex_count, 3))
    push[3] = (0, 0, 7.0)
    with pytest.raises(cj.LoadError, match=r"do not balance: .*net force is \(0, 0, 7\) N.*fix or pin some vertices"):
        cj.pose(body, push)
    torque = np.zeros((body.vertex_count, 3))
    torque[0], torque[-1] = (0, 0, 5.0), (0, 0, -5.0)
    with pytest.raises(cj.LoadError, match=r"do not balance.*(turn|torque)"):
        cj.pose(body, torque)


def test_hopeless_bad_input() -> None:
    """A load no solid can bear is refused in words, never answered with the rest shape or NaN."""
    body = cj.BodySolid(box_tets(2, 1, 1), fixed=[0, 1, 2, 3])
    with pytest.raises((cj.SolveError, cj.InputError)):
        cj.pose(body, {11: (1e200, 0, 0)})


def test_cancel_bad_input() -> None:
    with pytest.raises(cj.Cancelled, match="pose"):
        cj.pose(beam_body((2, 1, 1)), gravity=(0, 0, -9.81), progress=lambda *_: False)


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "pin-fixed": ({"pins": {0: (0, 0, 0)}}, "vertex 0 is pinned but also fixed in the body"),
    "pin-all": ({"pins": dict.fromkeys(range(4, 12), (0, 0, 0))}, "every vertex is fixed or pinned.*leave one free"),
    "pin-range": ({"pins": {99: (0, 0, 0)}}, r"vertices of pins\[0\] is 99, outside 0..11"),
    "pin-shape": ({"pins": {5: (0, 0)}}, r"pins\[5\] has shape \(2,\), but \(3,\) is needed"),
    "pin-nan": ({"pins": {5: (0, np.nan, 0)}}, r"pins\[5\]\[1\] is nan"),
    "load-range": ({"loads": {-1: (0, 0, 1)}}, r"vertices of loads\[0\] is -1"),
    "load-name": ({"loads": {"tip": (0, 0, 1)}}, "vertices of loads must be whole numbers"),
    "load-shape": ({"loads": np.zeros((3, 3))}, r"loads has shape \(3, 3\), but \(12, 3\) is needed"),
    "load-stack": ({"loads": np.zeros((2, 5, 3))}, r"loads has shape \(2, 5, 3\), but \(any, 12, 3\)"),
    "load-nan": ({"loads": np.full((12, 3), np.inf)}, r"loads\[0, 0\] is inf"),
    "start": ({"start": np.zeros((5, 3))}, r"start has shape \(5, 3\)"),
    "start-nan": ({"start": np.full((12, 3), np.nan)}, r"start\[0, 0\] is nan"),
    "gravity": ({"gravity": (9.81,)}, r"gravity has shape .* but \(3,\) is needed"),
}


@pytest.mark.parametrize("case", list(CASES))
def test_pose_bad_input(case: str) -> None:
    options, message = CASES[case]
    with pytest.raises(cj.InputError, match=message):
        cj.pose(cj.BodySolid(box_tets(2, 1, 1), fixed=[0, 1, 2, 3]), **options)
