"""Simulation in time: forces in every form, starts, cancelling, and what a step that cannot be solved says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cajole as cj
from bodies import Array, beam_body, solid_many
from cajole.mesh import box_tets, read_veg
from derivatives import regressed_order

Numbers = Callable[[str], dict[str, Any]]
INTEGRATORS = ("newmark", "bdf2", "euler")


def displacements(animation: cj.Animation, body: cj.BodySolid | cj.BodySprings) -> Array:
    return animation.positions - body.vertices


def test_newmark_reference(vega: Path, vega_numbers: Numbers) -> None:
    """VegaFEM's ImplicitNewmarkSparse with up to 20 Newton iterations a step, from rest with zero acceleration.

    Its maxiter1 numbers stop after one Newton iteration; Cajole solves each step to convergence, so they differ in
    the fourth digit by design and are not compared.
    """
    numbers = vega_numbers("beam3_tet.json")
    stuff = cj.MaterialStVK(numbers["E_element0"], numbers["nu_element0"], numbers["density_element0"])
    mesh = read_veg(vega / "beam3_tet.veg").mesh
    body = cj.BodySolid(mesh, stuff, fixed=numbers["fixed_vertices_0based"], damping=(0.0, 0.01))
    still = cj.InitialState(acceleration=np.zeros((body.vertex_count, 3)))
    u = displacements(cj.simulate(body, 21, 1e-3, gravity=(0, -9.81, 0), start=still), body)[1:]
    np.testing.assert_allclose(
        np.linalg.norm(u.reshape(20, -1), axis=1), numbers["full_newmark_qnorm_20steps_maxiter20"], rtol=1e-6
    )
    np.testing.assert_allclose(u[:, 0, 1], numbers["full_newmark_vertex0_y_20steps_maxiter20"], rtol=1e-6)
    final = np.array(numbers["full_newmark_q_final_maxiter20"])
    np.testing.assert_allclose(u[-1].ravel(), final, rtol=0, atol=1e-6 * abs(final).max())


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_force_forms_agreement(integrator: str) -> None:
    """A constant, a function and a row for each frame mean the same."""
    body = beam_body((3, 1, 1))
    force = np.zeros((body.vertex_count, 3))
    force[-1] = (0, 1.0, -3.0)
    forms: list[Any] = [force, lambda t: force, np.broadcast_to(force, (9, body.vertex_count, 3)), force.tolist()]
    runs = [cj.simulate(body, 9, 0.01, force=form, integrator=integrator).positions for form in forms]
    for other in runs[1:]:
        np.testing.assert_array_equal(runs[0], other)


def test_force_in_time_agreement() -> None:
    """Row k of (frames, n, 3) acts on the way into frame k, as a function of time at frame k does."""
    body = beam_body((2, 1, 1))
    pull = np.zeros((body.vertex_count, 3))
    pull[-1, 2] = 5.0
    rows = np.array([np.sin(0.02 * k * 30) * pull for k in range(12)])
    by_row = cj.simulate(body, 12, 0.02, force=rows).positions
    by_time = cj.simulate(body, 12, 0.02, force=lambda t: np.sin(30 * t) * pull).positions
    np.testing.assert_allclose(by_row, by_time, rtol=0, atol=1e-12)


def test_gravity_adds_to_force_agreement() -> None:
    body = beam_body((2, 1, 1))
    pull = np.zeros((body.vertex_count, 3))
    pull[-1, 1] = 5.0
    one = cj.simulate(body, 6, 0.02, force=pull, gravity=(0, 0, -9.81)).positions
    two = cj.simulate(body, 6, 0.02, force=pull + body.gravity((0, 0, -9.81))).positions
    np.testing.assert_allclose(one, two, rtol=0, atol=1e-13)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_substeps_agreement(integrator: str) -> None:
    """Four substeps a frame are every fourth frame of a run with a quarter of the step."""
    body = beam_body((2, 1, 1), damping=(0.1, 0.001))
    coarse = cj.simulate(body, 5, 0.02, gravity=(0, 0, -9.81), integrator=integrator, substeps=4)
    fine = cj.simulate(body, 17, 0.005, gravity=(0, 0, -9.81), integrator=integrator)
    np.testing.assert_allclose(coarse.positions, fine.positions[::4], rtol=0, atol=1e-12)
    assert coarse.fps == pytest.approx(50)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_start_and_fixed_identity(integrator: str) -> None:
    """Frame 0 is the start; fixed vertices never move; a body at rest without force stays."""
    body = beam_body((3, 1, 1))
    random = np.random.default_rng(0)
    u, v = 0.01 * random.normal(size=(2, body.vertex_count, 3))
    u[body.fixed] = v[body.fixed] = 0
    run = cj.simulate(body, 8, 0.01, start=cj.InitialState(u, v), gravity=(0, 0, -5), integrator=integrator)
    np.testing.assert_array_equal(run.positions[0], body.vertices + u)
    assert np.isfinite(run.positions).all()
    np.testing.assert_array_equal(run.positions[:, body.fixed], np.tile(body.vertices[body.fixed], (8, 1, 1)))
    only_u = cj.simulate(body, 4, 0.01, start=u, integrator=integrator).positions
    np.testing.assert_array_equal(
        only_u, cj.simulate(body, 4, 0.01, start=cj.InitialState(u), integrator=integrator).positions
    )
    rest = cj.simulate(body, 4, 0.01, integrator=integrator).positions
    np.testing.assert_array_equal(rest, np.tile(body.vertices, (4, 1, 1)))
    assert cj.simulate(body, 1, 0.01, integrator=integrator).positions.shape == (1, body.vertex_count, 3)


@pytest.mark.parametrize("make", [lambda: beam_body((4, 1, 1), held=False), lambda: solid_many()])
def test_momentum_identity(make: Callable[[], cj.BodySolid]) -> None:
    """A free body without external force or αM drag keeps its momentum in every step."""
    body = make()
    body = cj.BodySolid(body.mesh, cj.MaterialStVK(2e4, 0.3, 900.0), damping=(0.0, body.beta))
    random = np.random.default_rng(2)
    u, v = random.normal(size=(2, body.vertex_count, 3)) * np.array([0.02, 0.5])[:, None, None]
    run = cj.simulate(body, 30, 0.005, start=cj.InitialState(u, v + [0.3, -0.2, 0.1]))
    assert run.velocities is not None
    momentum = np.einsum("i,fij->fj", body.vertex_masses, np.asarray(run.velocities))
    assert np.linalg.norm(np.diff(momentum, axis=0), axis=1).max() < 1e-10 * np.linalg.norm(momentum[0])


def test_angular_momentum_order() -> None:
    """Average acceleration keeps angular momentum only up to its own second order in the step."""
    body = beam_body((3, 1, 1), held=False, young=1e5)
    u = np.zeros((body.vertex_count, 3))
    v = np.cross([0.0, 3.0, 1.0], body.vertices - 0.5) + 0.4 * np.sin(5 * body.vertices)
    drifts, steps = [], np.array([4e-3, 2e-3, 1e-3])
    for h in steps:
        run = cj.simulate(body, round(0.16 / h) + 1, h, start=cj.InitialState(u, v))
        momenta = (body.mass @ np.asarray(run.velocities).reshape(len(run.positions), -1).T).T.reshape(
            run.positions.shape
        )
        spin = np.cross(run.positions, momenta).sum(axis=1)
        drifts.append(np.linalg.norm(spin - spin[0], axis=1).max() / np.linalg.norm(spin[0]))
    assert drifts[-1] < 1e-4
    assert 1.7 < regressed_order(steps, np.array(drifts)) < 2.3


def uneven_net(sheet: cj.BodySprings, clamp: float) -> cj.BodySprings:
    """The sheet with its own stiffness, damping and mass everywhere."""
    random, count = np.random.default_rng(4), len(sheet.edges)
    return cj.BodySprings(
        sheet.vertices,
        sheet.edges,
        stiffness=random.uniform(20, 90, count),
        mass=random.uniform(0.01, 0.05, sheet.vertex_count),
        damping=random.uniform(0.01, 0.1, count),
        fixed=sheet.fixed,
        clamp=clamp,
        mesh=sheet.mesh,
    )


def assembled(body: cj.BodySprings, blocks: Array) -> Array:
    """Blocks (m, 3, 3) of the springs as a dense graph Laplacian."""
    i, j = body.edges.T
    dense = np.zeros((body.vertex_count, body.vertex_count, 3, 3))
    for rows, columns, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
        np.add.at(dense, (rows, columns), sign * blocks)
    return dense.transpose(0, 2, 1, 3).reshape(3 * body.vertex_count, -1)


def transcribed_step(
    body: cj.BodySprings, q: Array, before: Array, v: Array, v_before: Array, pull: Array, h: float
) -> Array:
    """Eq. (5) of Jeon and Choi 2007, dense: A δ = b with A = M + 4/9 h² K + 2/3 h D, returning q + δ.

    D stands at 2q - before, not at q, which makes it of second order.
    """
    x = q[body.edges[:, 0]] - q[body.edges[:, 1]]
    length = np.linalg.norm(x, axis=1)
    n, g = x / length[:, None], 1 - body.rest_lengths / length
    soft = 0.5 * (g + np.sqrt(g * g + body.clamp**2))
    N = np.einsum("si,sj->sij", n, n)
    K = assembled(body, body.spring_stiffness[:, None, None] * (soft[:, None, None] * (np.eye(3) - N) + N))
    to = (2 * q - before)[body.edges[:, 0]] - (2 * q - before)[body.edges[:, 1]]
    there = to / np.linalg.norm(to, axis=1)[:, None]
    D = assembled(body, body.spring_damping[:, None, None] * np.einsum("si,sj->sij", there, there))
    force = pull.copy()
    np.add.at(force, body.edges[:, 0], -(body.spring_stiffness * g)[:, None] * x)
    np.add.at(force, body.edges[:, 1], (body.spring_stiffness * g)[:, None] * x)
    M, dl = np.repeat(body.masses, 3), (q - before).ravel()
    A = np.diag(M) + 4 / 9 * h * h * K + 2 / 3 * h * D
    b = M * (dl / 3 + h / 9 * (8 * v - 2 * v_before).ravel()) + 4 / 9 * h * h * force.ravel() + 2 / 9 * h * D @ dl
    delta, free = np.zeros(3 * body.vertex_count), body.free_dofs
    delta[free] = np.linalg.solve(A[np.ix_(free, free)], b[free])
    return q + delta.reshape(-1, 3)


@pytest.mark.parametrize("clamp", [0.0, 0.02])
def test_bdf2_agreement(cloth: Callable[..., cj.BodySprings], clamp: float) -> None:
    """Each frame follows from the run's own two frames before it by the paper's equation."""
    body, h = uneven_net(cloth(3), clamp), 1 / 60
    random = np.random.default_rng(6)
    u, v = random.normal(size=(2, body.vertex_count, 3)) * np.array([0.02, 0.3])[:, None, None]
    u[body.fixed] = v[body.fixed] = 0
    gravity = np.array([0, 1.0, -9.81])
    run = cj.simulate(body, 25, h, gravity=gravity, start=cj.InitialState(u, v), integrator="bdf2")
    q, w = run.positions, np.asarray(run.velocities)
    for k in range(1, 24):
        want = transcribed_step(body, q[k], q[k - 1], w[k], w[k - 1], body.masses[:, None] * gravity, h)
        np.testing.assert_allclose(q[k + 1], want, rtol=0, atol=1e-11)
        np.testing.assert_allclose(w[k + 1], (1.5 * q[k + 1] - 2 * q[k] + 0.5 * q[k - 1]) / h, rtol=0, atol=1e-9)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_cloth_falls_identity(cloth: Callable[..., cj.BodySprings], integrator: str) -> None:
    """A damped sheet held at two corners swings down and comes near to hanging."""
    body = cloth(6)
    run = cj.simulate(body, 90, 1 / 60, gravity=(0, 0, -9.81), integrator=integrator)
    assert np.isfinite(run.positions).all()
    assert run.positions[-1, :, 2].mean() < -0.2
    assert abs(run.positions[:, body.fixed] - body.vertices[body.fixed]).max() == 0


def test_pose_is_a_resting_simulation_agreement() -> None:
    """Two routes to one shape: strongly damped motion comes to rest where `pose` says."""
    body = beam_body((3, 1, 1), damping=(20.0, 0.02))
    u = cj.pose(body, gravity=(0, 0, -9.81))
    run = cj.simulate(body, 120, 0.05, gravity=(0, 0, -9.81), integrator="euler")
    np.testing.assert_allclose(displacements(run, body)[-1], u, rtol=0, atol=1e-5 * abs(u).max())


def test_progress_identity() -> None:
    seen: list[float] = []
    cj.simulate(beam_body((1, 1, 1)), 5, 0.01, progress=lambda share, text: seen.append(share))
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


def test_cancel_bad_input() -> None:
    calls: list[float] = []

    def stop(share: float, text: str) -> bool:
        calls.append(share)
        return len(calls) < 3

    with pytest.raises(cj.Cancelled, match="frame 3 of 99"):
        cj.simulate(beam_body((1, 1, 1)), 100, 0.01, progress=stop)
    assert len(calls) == 3


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_absurd_force_bad_input(integrator: str) -> None:
    """Forces beyond all numbers end in an error that names the frame: never NaN, never the rest shape."""
    body = cj.BodySolid(box_tets(2, 1, 1), fixed=[0, 1, 2, 3])
    force = np.zeros((6, 12, 3))
    force[2:] = 1e250
    with pytest.raises(cj.SolveError, match="frame 2 "):
        cj.simulate(body, 6, 0.1, force=force, integrator=integrator)


def test_not_converged_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    from cajole.dynamics.implicit_stepper import ImplicitStepOptions, ImplicitStepper

    monkeypatch.setattr(ImplicitStepper, "options", ImplicitStepOptions(max_iterations=2))
    body = beam_body((3, 1, 1), young=1e4)
    force = np.zeros((5, body.vertex_count, 3))
    force[3:, -1] = (0, 0, 2e3)
    with pytest.raises(cj.NotConverged, match=r"frame 3 \(t = 0.3 s\): .*smaller dt"):
        cj.simulate(body, 5, 0.1, force=force)


def bad_velocity() -> cj.InitialState:
    v = np.zeros((12, 3))
    v[2, 1] = 1.0
    return cj.InitialState(velocity=v)


def late_nan(t: float) -> Array:
    force = np.zeros((12, 3))
    force[4, 2] = np.nan if t > 0.025 else 1.0
    return force


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "dt-zero": ({"dt": 0}, r"dt \(s\) is 0.0, but must be positive"),
    "dt-nan": ({"dt": float("nan")}, r"dt \(s\) is nan"),
    "dt-negative": ({"dt": -0.1}, r"dt \(s\) is -0.1"),
    "frames": ({"frames": 0}, "frames is 0, but must be at least 1"),
    "frames-real": ({"frames": 2.5}, "frames must be a whole number, not 2.5"),
    "substeps": ({"substeps": 0}, "substeps is 0"),
    "integrator": ({"integrator": "verlet"}, "integrator is 'verlet', but must be one of 'newmark', 'bdf2', 'euler'"),
    "force-shape": ({"force": np.zeros((5, 3))}, r"force has shape \(5, 3\), but \(12, 3\) is needed"),
    "force-frames": ({"force": np.zeros((3, 12, 3))}, r"force has shape \(3, 12, 3\), but \(6, 12, 3\)"),
    "force-nan": ({"force": np.full((12, 3), np.nan)}, r"force\[0, 0\] is nan"),
    "force-time": ({"force": late_nan}, r"force\(0.03\)\[4, 2\] is nan"),
    "force-time-shape": ({"force": lambda t: np.zeros(3)}, r"force\(0\) has shape \(3,\)"),
    "gravity": ({"gravity": (0, 0)}, r"gravity has shape \(2,\)"),
    "start-shape": ({"start": np.zeros((3, 3))}, r"start displacement has shape \(3, 3\)"),
    "start-nan": ({"start": np.full((12, 3), np.nan)}, r"start displacement\[0, 0\] is nan"),
    "start-velocity": ({"start": bad_velocity()}, "fixed vertex 2"),
    "start-acceleration": ({"start": cj.InitialState(acceleration=np.ones((12, 3)))}, "fixed vertex 0"),
    "body": ({"body": box_tets(2, 1, 1)}, "body"),
}


@pytest.mark.parametrize("case", list(CASES))
def test_simulate_bad_input(case: str) -> None:
    options, message = CASES[case]
    body = cj.BodySolid(box_tets(2, 1, 1), fixed=[0, 1, 2, 3])
    given: dict[str, Any] = {"body": body, "frames": 6, "dt": 0.01}
    with pytest.raises(cj.InputError, match=message):
        cj.simulate(**(given | options))
