"""Bodies on obstacles: penalty forces, friction, their derivatives, and where bodies come to rest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import cajole as cj
from bodies import Array
from cajole.dynamics import Ground, Obstacle, ObstacleMesh
from cajole.dynamics.implicit_stepper import ImplicitStepOptions, ImplicitStepper
from cajole.dynamics.obstacles import DEFAULT_CONTACT_SHARE, DEFAULT_PENETRATION, ObstacleContact, build_contacts
from cajole.mesh import MeshTri, box_tets, grid_triangles
from derivatives import check_derivative

G = (0.0, 0.0, -9.81)


def block(*, young: float = 1e7, damping: tuple[float, float] = (0.0, 1e-3)) -> cj.BodySolid:
    """1 x 1 x 0.4 m on the ground z = 0."""
    material = cj.MaterialStVK(young=young, poisson=0.3, density=1000.0)
    return cj.BodySolid(box_tets(3, 3, 2, size=(1, 1, 0.4)), material, damping=damping)


def bottom_area(body: cj.BodySolid) -> float:
    """The area that the vertices of the lower face stand for: a third of every triangle at them."""
    surface = body.mesh.surface
    low = np.flatnonzero(body.vertices[:, 2] == 0)
    return float((np.isin(surface.triangles, low) * surface.areas[:, None]).sum() / 3)


def own(touch: ObstacleContact) -> Any:
    """The vertices that touch."""
    return touch.points.corners[:, 0]


def slab(top: float = 0.0) -> MeshTri:
    return box_tets(3, 3, 1, size=(30, 30, 5), origin=(-15, -15, top - 5)).surface


# --- where bodies rest


@pytest.mark.parametrize("integrator", ["euler", "bdf2"])
def test_rest_at_the_depth_that_carries_the_weight_reference(integrator: str) -> None:
    """Σ κ A depth = m g, and the default κ is what the docstring says."""
    body = block(young=1e8, damping=(8.0, 1e-3))
    fall = np.tile([0, 0, 0.05], (body.vertex_count, 1))
    run = cj.simulate(body, 90, 1 / 30, gravity=G, start=fall, obstacles=[Ground()], integrator=integrator, substeps=2)
    weight, area = 9.81 * body.total_mass, body.mesh.surface.area
    stiffness = weight / (DEFAULT_CONTACT_SHARE * area * DEFAULT_PENETRATION * body.size)
    low = body.vertices[:, 2] == 0
    (touch,) = build_contacts(body, Ground())
    depth = touch.compute_penetration_depths(run.positions[-1] - body.vertices)
    assert stiffness * float(touch.areas @ depth) == pytest.approx(weight, rel=1e-4)
    analytic = weight / (stiffness * bottom_area(body))
    # the elastic block presses its rim and its middle differently
    assert depth[low[own(touch)]].mean() == pytest.approx(analytic, rel=0.05)
    assert abs(run.velocities[-1]).max() < 1e-3  # type: ignore[index]


@pytest.mark.parametrize("integrator", ["euler", "newmark"])
def test_given_stiffness_and_margin_reference(integrator: str) -> None:
    body = block(damping=(8.0, 1e-3))
    stiffness, margin = 4e5, 0.03
    start = np.tile([0, 0, margin], (body.vertex_count, 1))
    ground = Ground(stiffness=stiffness, margin=margin)
    run = cj.simulate(body, 60, 1 / 30, gravity=G, start=start, obstacles=ground, integrator=integrator, substeps=2)
    low = run.positions[-1][body.vertices[:, 2] == 0, 2].mean()
    depth = 9.81 * body.total_mass / (stiffness * bottom_area(body))
    assert low == pytest.approx(margin - depth, abs=0.05 * depth)


# --- friction


@pytest.mark.parametrize(("integrator", "substeps"), [("euler", 4), ("bdf2", 4), ("newmark", 4)])
def test_sliding_to_a_stop_reference(integrator: str, substeps: int) -> None:
    """v²/(2 μ g) after a push, whatever the integrator."""
    body, speed, friction = block(), 2.0, 0.3
    state = cj.InitialState(velocity=np.tile([speed, 0, 0], (body.vertex_count, 1)))
    run = cj.simulate(
        body, 75, 1 / 60, gravity=G, start=state, obstacles=Ground(friction=friction), integrator=integrator,
        substeps=substeps,
    )  # fmt: skip
    went = (run.positions[-1] - run.positions[0])[:, 0].mean()
    assert went == pytest.approx(speed**2 / (2 * friction * 9.81), rel=0.03)
    assert abs((run.positions[-1] - run.positions[-10])[:, 0]).max() < 1e-3
    contacts = run.contacts
    assert contacts is not None
    assert set(contacts.at(10).kind) == {"sliding"}
    assert set(contacts.at(74).kind) == {"sticking"}


def slope(angle: float) -> tuple[Array, tuple[float, float, float], tuple[float, float, float]]:
    """Gravity as a body on a slope of `angle` feels it, so that the slope itself can stay flat."""
    return 9.81 * np.array([np.sin(angle), 0, -np.cos(angle)]), (0, 0, 0), (0, 0, 1)


def test_slopes_hold_or_let_slide_reference() -> None:
    body, friction = block(), 0.5
    went = {}
    for angle in (np.arctan(0.4), np.arctan(0.8)):
        gravity, *plane = slope(angle)
        run = cj.simulate(
            body, 61, 1 / 60, gravity=gravity, obstacles=Ground(plane=plane, friction=friction), integrator="euler",
            substeps=2,
        )  # fmt: skip
        went[angle] = (run.positions[-1] - run.positions[0])[:, 0].mean()
    held, slid = went.values()
    assert 0 < held < 0.03  # a smoothed friction creeps
    expected = 0.5 * 9.81 * (np.sin(np.arctan(0.8)) - friction * np.cos(np.arctan(0.8)))
    assert slid == pytest.approx(expected, rel=0.05)


def test_no_friction_keeps_momentum_along_the_plane_identity() -> None:
    body = block(young=1e5)
    normal = np.array([0.6, 0, 0.8])
    state = cj.InitialState(velocity=np.tile([1.0, 0.5, -3.0], (body.vertex_count, 1)))
    ground = Ground(plane=((0, 0, -0.1), normal), friction=0.0)
    run = cj.simulate(body, 30, 1 / 60, start=state, obstacles=ground, integrator="bdf2", substeps=2)
    momentum = np.einsum("n,fnk->fk", body.vertex_masses, np.asarray(run.velocities))
    along = momentum - np.outer(momentum @ normal, normal)
    assert momentum[-1] @ normal > 0.2 * abs(momentum[0] @ normal), "it did not bounce"
    np.testing.assert_allclose(along, np.broadcast_to(along[0], along.shape), atol=1e-7 * abs(momentum[0]).max())


# --- the obstacle as a mesh


def test_mesh_agreement_with_the_ground() -> None:
    body = block(young=1e6)
    state = cj.InitialState(velocity=np.tile([1.5, 0, -1.0], (body.vertex_count, 1)))
    runs = [
        cj.simulate(body, 31, 1 / 60, gravity=G, start=state, obstacles=each, integrator="euler", substeps=2)
        for each in (Ground(-0.2), ObstacleMesh(slab(-0.2)))
    ]
    np.testing.assert_allclose(runs[0].positions, runs[1].positions, atol=1e-7)
    one, two = (run.contacts for run in runs)
    assert one is not None
    assert two is not None
    assert len(one) > 100
    np.testing.assert_array_equal(one.frame, two.frame)
    np.testing.assert_array_equal(one.vertex, two.vertex)
    np.testing.assert_allclose(one.normal, two.normal, atol=1e-12)


def test_carried_surface_agreement_with_the_own() -> None:
    """The own surface, carried by the tets at its vertices, is pushed as the vertices are."""
    body = block(young=1e6)
    state = cj.InitialState(velocity=np.tile([1.5, 0, -1.0], (body.vertex_count, 1)))
    runs = [
        cj.simulate(
            body, 16, 1 / 60, gravity=G, start=state, obstacles=Ground(-0.1), surface=each, integrator="euler",
            substeps=2,
        )
        for each in (None, body.mesh.surface)
    ]  # fmt: skip
    np.testing.assert_allclose(runs[0].positions, runs[1].positions, atol=1e-7)
    assert abs(runs[0].positions[-1, :, 2] - body.vertices[:, 2]).max() < 0.15, "it fell through"
    assert runs[1].contacts is None


def test_finer_surface_stays_outside() -> None:
    """A foot that sticks out of a coarse cage rests on the ground, not the cage."""
    body = block(young=1e7, damping=(8.0, 1e-3))
    feet = box_tets(2, 2, 1, size=(0.6, 0.6, 0.2), origin=(0.2, 0.2, -0.1)).surface
    start = np.tile([0, 0, 0.12], (body.vertex_count, 1))
    run = cj.simulate(
        body, 45, 1 / 30, gravity=G, start=start, obstacles=Ground(), surface=feet, integrator="euler", substeps=2
    )
    height = run.positions[-1][body.vertices[:, 2] == 0, 2]
    assert height.min() > 0.09
    assert height.max() < 0.101


def test_far_obstacles_change_nothing_identity() -> None:
    body = block(young=1e5)
    force = np.zeros((body.vertex_count, 3))
    force[0] = (0, 30, 40)
    free = cj.simulate(body, 12, 1 / 60, force=force)
    near = cj.simulate(body, 12, 1 / 60, force=force, obstacles=[Ground(-3), ObstacleMesh(slab(-4))])
    np.testing.assert_array_equal(free.positions, near.positions)
    assert near.contacts is not None
    assert len(near.contacts) == 0
    assert free.contacts is None


def test_a_ball_of_springs_is_held_as_well() -> None:
    mesh = box_tets(2, 2, 2, size=(0.5, 0.5, 0.5))
    edges = mesh.edges
    net = cj.BodySprings(mesh.vertices, edges, stiffness=4e4, mass=1.0, damping=40.0, mesh=mesh)
    run = cj.simulate(net, 60, 1 / 60, gravity=G, obstacles=Ground(), integrator="euler", substeps=2)
    assert run.positions[-1][:, 2].min() > -0.02 * net.size
    assert abs(run.positions[-1, :, 2].mean() - mesh.vertices[:, 2].mean()) < 0.1


@pytest.mark.parametrize("integrator", ["euler", "newmark", "bdf2"])
def test_drifting_without_any_force_identity(integrator: str) -> None:
    """Nothing but rounding is left of the forces, and that must not count as unsolved."""
    body, speed = block(), (1.0, 0.5, 3.0)
    state = cj.InitialState(velocity=np.tile(speed, (body.vertex_count, 1)))
    run = cj.simulate(body, 30, 1 / 60, start=state, obstacles=Ground(), integrator=integrator)
    straight = body.vertices + run.times[:, None, None] * np.array(speed)
    np.testing.assert_allclose(run.positions, straight, atol=1e-9)


def test_impacts_that_a_step_cannot_solve_are_taken_in_smaller_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    body = block(young=1e6)
    state = cj.InitialState(velocity=np.tile([0.5, 0, -2.0], (body.vertex_count, 1)))
    options: dict[str, Any] = {"gravity": G, "start": state, "obstacles": Ground(-0.05), "integrator": "bdf2"}
    refused = {"bdf2": 0, "euler": 0}
    solved = ImplicitStepper._solve_step

    def choosy(stepper: ImplicitStepper, past: Any, load: Array, integrator: str, h: float) -> Any:
        pressed = stepper.contacts[0].compute_penetration_depths(past.displacement).max() > 0
        if pressed and h > 1 / 60 / 10:
            refused[integrator] += 1
            raise cj.NotConverged("too hard")
        return solved(stepper, past, load, integrator, h)

    plain = cj.simulate(body, 7, 1 / 60, substeps=16, **options)
    monkeypatch.setattr(ImplicitStepper, "_solve_step", choosy)
    crept = cj.simulate(body, 7, 1 / 60, **options)
    assert min(refused.values()) > 0
    # Euler's small steps lose some of the bounce
    np.testing.assert_allclose(crept.positions, plain.positions, atol=0.06)
    assert crept.positions[-1, :, 2].min() > -0.06, "it fell through"
    monkeypatch.setattr(ImplicitStepper, "options", ImplicitStepOptions(impact_substeps=(2,)))
    with pytest.raises(cj.NotConverged, match=r"frame .* too hard"):
        cj.simulate(body, 7, 1 / 60, **options)


# --- derivatives


def touch_at(
    obstacle: Obstacle, shift: Any, *, seed: int = 1, surface: MeshTri | None = None
) -> tuple[cj.BodySolid, ObstacleContact, Array, Array]:
    """A body moved by `shift` and a little at random, so that some vertices are inside."""
    body = block()
    random = np.random.default_rng(seed)
    (touch,) = build_contacts(body, obstacle, surface)
    u = np.asarray(shift, dtype=float) + 0.004 * random.standard_normal((body.vertex_count, 3))
    return body, touch, u, random.standard_normal((body.vertex_count, 3))


POST = box_tets(1, 1, 1, size=(0.2, 0.2, 1), origin=(0.4, 0.4, -1.05)).surface
CASES = {
    "plane": (Ground(plane=((0.5, 0.5, 0.0), (0.2, 0.1, 1.0)), friction=0.4), (0, 0, -0.02)),
    "face": (ObstacleMesh(slab(), friction=0.4), (0, 0, -0.05)),
    # outside of edges and corners, within the margin
    "edges": (ObstacleMesh(POST, margin=0.5), (0, 0, 0)),
}  # fmt: skip


def pushed(touch: ObstacleContact, u: Array, v: Array) -> Array:
    out = np.zeros_like(u)
    touch.add_force(u, v, out)
    return out


def tangent(body: cj.BodySolid, touch: ObstacleContact, u: Array, v: Array, drag: float, *, exact: bool = True) -> Any:
    values = np.zeros(body.pattern.nnz)
    touch.add_stiffness(u, v, drag, values, exact=exact)
    return body.pattern.build_matrix(values)


@pytest.mark.parametrize("case", CASES)
def test_energy_force_derivative(case: str) -> None:
    obstacle, shift = CASES[case]
    _, touch, u, d = touch_at(obstacle, shift)
    d *= 1e-2
    if case != "edges":  # only vertices that stay inside: at the surface the force has a kink
        inside = np.zeros(len(u), dtype=bool)
        inside[own(touch)[touch.compute_penetration_depths(u) > 0.003]] = True
        d[~inside] = 0
    still = np.zeros_like(u)
    check_derivative(touch.energy, float((pushed(touch, u, still) * d).sum()), u, d)


@pytest.mark.parametrize("case", CASES)
def test_force_tangent_derivative(case: str) -> None:
    obstacle, shift = CASES[case]
    body, touch, u, d = touch_at(obstacle, shift)
    touch.begin_step(u)
    d *= 1e-2
    depth = touch.compute_penetration_depths(u)
    d[np.setdiff1d(np.arange(body.vertex_count), own(touch)[depth > 0.003])] = 0
    v = np.random.default_rng(4).standard_normal(u.shape)
    slope = (tangent(body, touch, u, v, 0.0) @ d.ravel()).reshape(-1, 3)
    check_derivative(lambda x: pushed(touch, x, v), slope, u, d)


@pytest.mark.parametrize("case", CASES)
def test_friction_and_damping_derivative(case: str) -> None:
    obstacle, shift = CASES[case]
    body, touch, u, d = touch_at(obstacle, shift)
    touch.begin_step(u)
    d *= 0.1
    v = 0.3 * np.random.default_rng(4).standard_normal(u.shape)
    v[:, 2] = -0.5 - np.abs(v[:, 2])  # approaching: at rest the damping has a kink
    slope = (tangent(body, touch, u, v, 1.0) - tangent(body, touch, u, v, 0.0)) @ d.ravel()
    check_derivative(lambda w: pushed(touch, u, w), slope.reshape(-1, 3), v, d)


def test_carried_force_tangent_derivative() -> None:
    lower = box_tets(5, 4, 1, size=(0.9, 0.9, 0.1), origin=(0.05, 0.05, -0.02)).surface
    body, touch, u, d = touch_at(Ground(friction=0.4), (0, 0, -0.12), surface=lower)
    touch.begin_step(u)
    d *= 1e-2
    v = 0.3 * np.random.default_rng(4).standard_normal(u.shape) - [0, 0, 2.0]
    drag = 5.0
    slope = (tangent(body, touch, u, v, drag) @ d.ravel()).reshape(-1, 3)
    check_derivative(lambda x: pushed(touch, u + x, v + drag * x), slope, np.zeros_like(u), d)


def test_tangent_is_symmetric_and_without_slipping_positive_identity() -> None:
    body, touch, u, v = touch_at(*CASES["edges"])
    touch.begin_step(u)
    exact, safe = (tangent(body, touch, u, v, 3.0, exact=each).toarray() for each in (True, False))
    assert abs(exact - exact.T).max() <= 1e-12 * abs(exact).max()
    assert np.linalg.eigvalsh(safe).min() >= -1e-12 * abs(safe).max()
    assert np.linalg.eigvalsh(exact).min() < -1e-3 * abs(exact).max(), "no edge slips, so the case tests nothing"


def test_friction_opposes_motion_and_is_bounded_identity() -> None:
    _, touch, u, _ = touch_at(Ground(friction=0.4), (0, 0, -0.01))
    touch.begin_step(u)
    v = np.zeros_like(u)
    normal = pushed(touch, u, v)[:, 2]
    v[:, 0] = 1.0
    grip = pushed(touch, u, v)[:, 0]
    pressed = normal < 0
    assert pressed.sum() > 5
    np.testing.assert_allclose(grip[pressed], -0.4 * normal[pressed], rtol=1e-4)
    assert (grip[~pressed] == 0).all()


# --- what is refused


def test_deep_start_bad_input() -> None:
    body = block()
    with pytest.raises(cj.InputError, match=r"starts 0.3 m inside obstacles\[1\] \(a Ground\).*start outside"):
        cj.simulate(body, 2, obstacles=[Ground(-1), Ground(0.3)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Ground(friction=-1), "friction is -1"),
        (lambda: Ground(stiffness=0), r"stiffness \(Pa/m\) is 0"),
        (lambda: Ground(margin=np.nan), "margin is nan"),
        (lambda: Ground("low"), r"height \(m\) must be a number"),  # type: ignore[arg-type]
        (lambda: Ground(plane=((0, 0, 0), (0, 0, 0))), "normal is zero"),
        (lambda: ObstacleMesh(grid_triangles(2, 2)), "has no inside"),
        (lambda: ObstacleMesh(3), "mesh must be a MeshTri"),  # type: ignore[arg-type]
        (lambda: cj.simulate(block(), 2, obstacles=Ground(), surface=3), "surface must be a MeshTri"),  # type: ignore[arg-type]
        (lambda: cj.simulate(block(), 2, obstacles=[slab()]), r"obstacles\[0\] must be a Obstacle"),  # type: ignore[list-item]
    ],
)
def test_bad_input(make: Any, message: str) -> None:
    with pytest.raises(cj.InputError, match=message):
        make()
