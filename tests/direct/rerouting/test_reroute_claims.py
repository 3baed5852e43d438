"""What Jeon and Choi 2007 state, and what was found to hold instead."""

from __future__ import annotations

import numpy as np
import pytest
from reroute_cases import DT, EDGE, MIDDLE, cloth, goal, missed, pilot, two_goals

import cajole as cj
from bodies import Array
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.scenes.reroute_scenes import load_reroute_scene
from derivatives import regressed_order


def stretched_end(steps: int, drag: float) -> Array:
    """The end of 0.2 s of a string that is tight throughout, so that none of it folds, plucked with growing force."""
    points = np.linspace(0, 1, 9)[:, None] * (1.0, 0, 0)
    edges = np.stack([np.arange(8), np.arange(1, 9)], axis=1)
    mesh = cj.MeshTri(points + np.array([(0, 0.1 * (i % 2), 0) for i in range(9)]), [(0, 1, 2)])
    body = cj.BodySprings(
        points, edges, stiffness=40, mass=0.02, fixed=[0, 8], rest_lengths=0.09, damping=drag, mesh=mesh
    )
    load = np.zeros_like(points)
    load[3] = (0.5, 1.0, 2.0)
    motion = cj.simulate(body, steps + 1, 0.2 / steps, force=lambda t: load * np.sin(8 * t), integrator="bdf2")
    return motion.positions[-1]


@pytest.mark.parametrize("drag", [0.0, 0.1, 0.5])
def test_second_order_in_time_order(drag: float) -> None:
    """III.A: the integrator is of second order, where springs are tight.

    Folds are clamped, or the matrix would not be positive definite: there it is of first order.
    """
    counts = np.array([64, 128, 256])
    best = stretched_end(4096, drag)
    errors = np.array([np.linalg.norm(stretched_end(int(count), drag) - best) for count in counts])
    assert abs(regressed_order(0.2 / counts, errors) - 2) < 0.25, f"errors {errors}"


@pytest.mark.parametrize("h", [1 / 60, 1 / 30, 1 / 15])
def test_large_steps_are_stable_claim(h: float) -> None:
    """III.A: "more stable and large time step can be used"; explicit steps of a hundredth of these explode."""
    body = cloth()
    motion = cj.simulate(body, 91, h, gravity=9.81, integrator="bdf2")
    lengths = np.linalg.norm(np.diff(motion.positions[:, body.edges], axis=2)[:, :, 0], axis=2)
    assert (lengths / body.rest_lengths).max() < 1.5
    weight = body.gravity()
    energies = [body.energy(q - body.vertices) - (weight * (q - body.vertices)).sum() for q in motion.positions[30:]]
    assert max(energies) <= 1e-9  # it began with none, and only loses


def test_force_as_printed_has_no_effect_claim() -> None:
    """Eq. (10) divides by Δt; with Δt² the node still goes astray, as steps are implicit; the compliance lands it."""
    stage = PilotSimulation(cloth(), pilot())
    past = stage.get_state(20)
    free = stage.step(past, 21)
    want = free.displacement[EDGE] + (0.005, 0.0, 0.005)
    m = cloth().masses[EDGE]
    outside = stage.compute_external_force(21) - cloth().total_force(past.displacement, past.velocity)
    explicit = past.displacement + DT * past.velocity + DT**2 * outside / cloth().masses[:, None]
    moved = {}
    for name, divisor in (("printed", DT), ("corrected", DT**2)):
        push = np.zeros((cloth().vertex_count, 3))
        push[EDGE] = m * (want - explicit[EDGE]) / divisor
        after = stage.step(past, 21, push)
        moved[name] = np.linalg.norm(after.displacement[EDGE] - free.displacement[EDGE]) / np.linalg.norm(
            want - free.displacement[EDGE]
        )
    assert moved["printed"] < 0.1
    assert abs(moved["corrected"] - 1) > 0.2
    led = cj.reroute(cloth(), pilot(), goal(EDGE, 21, (0.005, 0.0, 0.005), 1), reach=0.0)
    assert led.report.goals[0].error < 1e-9


@pytest.mark.parametrize("method", ["pattern", "least-force"])
def test_goals_at_once_do_not_spoil_each_other_claim(method: str) -> None:
    """IV: in overlapped ranges one after the other spoils the earlier goal; together all are met."""
    goals = two_goals()
    together = cj.reroute(cloth(), pilot(), goals, method)
    assert missed(together, goals).max() < 1e-5
    first = cj.reroute(cloth(), pilot(), goals[0], method)
    after = cj.reroute(cloth(), first.animation, goals[1], method)
    errors = missed(after, goals)
    assert errors[1] < 1e-5
    assert errors[0] > 0.01


def sharpness(motion: cj.Animation, frame: int, vertex: int) -> float:
    """How far a node of the grid stands out from the middle of its neighbours, in spacings."""
    side = round(motion.n**0.5)
    q = motion.positions[frame]
    around = (q[vertex - 1] + q[vertex + 1] + q[vertex - side] + q[vertex + side]) / 4
    return float(np.linalg.norm(q[vertex] - around)) * (side - 1)


@pytest.mark.parametrize("method", ["pattern", "least-force"])
def test_spread_forces_draw_no_spike_claim(method: str) -> None:
    """Figure 4: a force on the node alone draws the sheet to a spike, shared with neighbours it does not."""
    asked = goal(MIDDLE, 30, (0.0, 0.0, 0.12), 12)
    alone = cj.reroute(cloth(), pilot(), asked, method, reach=0.0)
    spread = cj.reroute(cloth(), pilot(), asked, method)
    assert missed(alone, [asked]).max() < 1e-4
    assert missed(spread, [asked]).max() < 1e-4
    spikes = [sharpness(result.animation, 30, MIDDLE) for result in (alone, spread)]
    assert spikes[1] < 0.5 * spikes[0], spikes
    assert spread.report.effort < 0.5 * alone.report.effort
    assert spread.report.peak_force < 0.5 * alone.report.peak_force


def test_effort_of_the_methods_claim() -> None:
    """On the falling cloth, least force takes at most a third of the pattern's effort and a ninth of the paper's.

    The pattern keeps the pilot's shape of both paths; least force reaches the goals and does not promise it.
    """
    report = load_reroute_scene("cloth").solve(compare=True).report
    effort = {name: other.effort for name, other in report.comparison.items()}
    assert effort["least-force"] <= effort["pattern"] / 3
    assert effort["least-force"] <= effort["paper"] / 9
    assert report.comparison["pattern"].max_shape_distance <= 0.1
    assert report.comparison["pattern"].reached_count == report.comparison["least-force"].reached_count == 2
