"""Order of accuracy in time, and how energy behaves over long runs."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pytest

import cajole as cj
from bodies import Array, beam_body
from derivatives import regressed_order

DURATION = 0.2


def swinging() -> tuple[cj.BodySolid, cj.InitialState]:
    """A soft beam let go from a shape bent far enough to be nonlinear, smooth in time."""
    body = beam_body((4, 1, 1), side=0.25, young=2e4, damping=(0.5, 0.002))
    x = body.vertices[:, 0]
    u = np.zeros((body.vertex_count, 3))
    u[:, 2] = 0.25 * x**2
    u[:, 0] = -0.05 * x**3
    return body, cj.InitialState(u)


def end_of(steps: int, integrator: str) -> Array:
    body, start = swinging()
    run = cj.simulate(body, steps + 1, DURATION / steps, start=start, gravity=(0, 0, -3.0), integrator=integrator)
    return run.positions[-1]


def ramped(steps: int, integrator: str) -> Array:
    """The end of a motion from rest under a weight that grows from nothing."""
    body, _ = swinging()
    weight = body.gravity((0, 0, -30.0))
    run = cj.simulate(body, steps + 1, 0.4 / steps, force=lambda t: (t / 0.4) ** 2 * weight, integrator=integrator)
    return run.positions[-1]


@functools.cache
def finest(motion: Callable[[int, str], Array]) -> Array:
    """The end of `motion` with steps so small that their error does not count."""
    return motion(1024, "newmark")


@pytest.mark.parametrize(("integrator", "order", "counts"), [
    ("newmark", 2, (32, 64, 128)),
    ("bdf2", 2, (48, 96, 192)),
    ("euler", 1, (64, 128, 256)),
])  # fmt: skip
def test_time_step_order(integrator: str, order: int, counts: tuple[int, ...]) -> None:
    best = finest(end_of)
    errors = np.array([np.linalg.norm(end_of(count, integrator) - best) for count in counts])
    found = regressed_order(DURATION / np.array(counts), errors)
    assert abs(found - order) < 0.3, f"errors {errors}"


@pytest.mark.parametrize(("integrator", "order"), [("newmark", 2), ("bdf2", 2), ("euler", 1)])
def test_time_step_from_rest_order(integrator: str, order: int) -> None:
    counts = np.array([32, 64, 128])
    best = finest(ramped)
    errors = np.array([np.linalg.norm(ramped(count, integrator) - best) for count in counts])
    assert abs(regressed_order(1 / counts, errors) - order) < 0.2, f"errors {errors}"


def energies(body: cj.BodySolid, run: cj.Animation) -> Array:
    velocities = np.asarray(run.velocities)
    kinetic = [0.5 * v.ravel() @ (body.mass @ v.ravel()) for v in velocities]
    return np.array(kinetic) + [body.energy(x - body.vertices) for x in run.positions]


def test_energy_of_newmark_order() -> None:
    """Without damping the energy of average acceleration wavers with the square of the step and does not drift."""
    body, start = swinging()
    body = cj.BodySolid(body.mesh, cj.MaterialStVK(2e4, 0.3, 1e3), fixed=body.fixed)
    steps, spread = np.array([0.008, 0.004, 0.002]), []
    for h in steps:
        energy = energies(body, cj.simulate(body, round(0.8 / h) + 1, h, start=start))
        spread.append(np.ptp(energy) / energy[0])
    assert spread[-1] < 0.02
    assert regressed_order(steps, np.array(spread)) > 1.5


@pytest.mark.parametrize("integrator", ["bdf2", "euler"])
def test_energy_falls_identity(integrator: str) -> None:
    """The damped integrators never gain energy without external work."""
    body, start = swinging()
    energy = energies(body, cj.simulate(body, 120, 0.005, start=start, integrator=integrator))
    assert energy[-1] < 0.6 * energy[0]
    assert np.diff(energy).max() < (0 if integrator == "euler" else 1e-2) * energy[0]
