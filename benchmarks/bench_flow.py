"""Steered flows beside Tables 1 and 2 of Barbič and Popović 2008, and what Figures 2, 5 and 7 come to.

The paper's figures are wall times of a laptop of 2008 with two cores of 2.33 GHz; their ratio to ours is what a user
waits then and now, years of hardware included. The first run simulates both scenes in full, one or two minutes.
"""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
from protocol import Table, cpu_seconds

from cajole.direct import steer
from cajole.direct.steering import kernels as steering_kernels
from cajole.direct.steering.controller import FlowControllerRun
from cajole.direct.steering.cost import build_cost
from cajole.direct.steering.lqr import compute_gains
from cajole.direct.steering.pd import tune_flow_pd
from cajole.reduction import FlowShot
from cajole.scenes.flow_scenes import LeavesScene, SwirlScene, build_leaves_scene, build_swirl_scene

PAPER = "paper"
CALLS = 20_000
TAKES = 50
EFFORTS = (1e-1, 1e-3, 1e-4, 1e-6)
FINALS = (0.0, 1.0, 10.0)


def gains(table: Table, name: str, shot: FlowShot, paper: float) -> None:
    weights = build_cost(shot, steer(shot).cost_weights)
    for formulation in ("discrete", "continuous"):
        taken = cpu_seconds(partial(compute_gains, shot, weights, formulation), repeats=2)
        table.add(f"{name}: gains, T = {shot.step_count}, {formulation}", taken, peer=PAPER, peer_time=paper)


def steps(table: Table, scene: SwirlScene) -> None:
    """The full step, the reduced one with and without control, and the feedback alone."""
    flow, shot = scene.flow, scene.shot
    state = shot.model.lift(shot.states[30])
    table.add(
        "full step, 256 × 256", cpu_seconds(lambda: flow.step(state, 1.0), repeats=20), peer=PAPER, peer_time=78e-3
    )
    controller = scene.create_controller()
    w = np.zeros((shot.step_count, shot.model.size))
    free = cpu_seconds(partial(controller.run, w, controlled=False), repeats=10) / shot.step_count
    table.add("reduced step, r = 64, 3 particles", free, peer=PAPER, peer_time=3.0e-3)
    led = cpu_seconds(partial(controller.run, w), repeats=10) / shot.step_count
    table.add("the same with control", led, peer=PAPER, peer_time=3.07e-3)
    out, points = np.zeros(64), shot.particles[0] + 0.5
    place = controller.gains[0], points, shot.states[0] + 0.1, shot.particles[0], shot.states[0], out

    def many() -> None:
        for _ in range(CALLS):
            steering_kernels.compute_flow_feedback(*place)

    table.add("control alone, with the call from Python", cpu_seconds(many) / CALLS, peer=PAPER, peer_time=0.07e-3)


def figure_5(scene: SwirlScene) -> None:
    """Largest error of a particle in cells: uncontrolled and at several costs of control and of the end."""
    print("\nFigure 5, largest particle error in cells (at the end), effort spent: calm; kicked\n")
    controller = scene.create_controller()
    print(
        f"  uncontrolled: {_errors([controller.run(force, controlled=False) for force in (None, scene.build_kicks())])}"
    )
    for effort, final in product(EFFORTS, FINALS):
        controller = scene.create_controller(effort=effort, final=final)
        told = _errors([controller.run(force) for force in (None, scene.build_kicks())])
        print(f"  effort {effort:g}, final {final:g}: {told}", flush=True)


def _errors(runs: list[FlowControllerRun]) -> str:
    reports = [run.report for run in runs]
    return "; ".join(
        f"{told.max_error_cells:.3g} ({told.final_error_cells:.3g}), {told.effort:.3g}" for told in reports
    )


def figure_7(scene: SwirlScene) -> None:
    """The regulator beside P and PD at equal effort."""
    for effort in (1e-2, 1e-4):
        # a PD knows no end, so neither does what it is compared with
        found = tune_flow_pd(scene.create_controller(effort=effort, final=0.0), scene.build_kicks(), ratios=6)
        print(f"\nFigure 7, kicked, effort {effort:g}: {found}", flush=True)


def limits(scene: SwirlScene) -> None:
    """Which kicks are lost: the largest error at the end, and how many of three particles were lost."""
    print("\nKicks of one strength (m/s², two steps long) at the standard effort: speed given, worst, end, lost\n")
    controller = scene.create_controller()
    for strength in (0.3, 1.0, 2.0, 3.0, 4.0, 6.0):
        told = controller.run(scene.build_kicks(strength)).report
        speed = 2.0 * strength / scene.shot.max_speed
        off = f"{told.max_error_cells:.3g}, {told.final_error_cells:.3g}, {len(told.lost_particle_frames)}"
        print(f"  {strength:g}: {speed:.2g} x the flow's; {off}", flush=True)


def figure_2(scene: LeavesScene) -> None:
    """Takes of the S in noise."""
    controller, far, near, ways = scene.create_controller(), [], [], []
    for seed in range(TAKES):
        noise = scene.build_noise(seed)
        far.append(controller.run(noise, controlled=False).distances_in_cells.max())
        run = controller.run(noise)
        near.append(run.distances_in_cells.max())
        ways.append(run.states[100])
    apart = np.linalg.norm(np.array(ways)[:, None] - ways, axis=2) + np.diag(np.full(TAKES, np.inf))
    size = np.linalg.norm(scene.shot.states, axis=1).max()
    print(f"\nFigure 2, {TAKES} takes in noise: uncontrolled {min(far):.3g} cells off at least; controlled")
    print(f"{max(near):.3g} at most, {np.median(near):.3g} in the middle")
    print(f"the two most alike differ by {100 * apart.min() / size:.3g} % of the flow")


def main() -> None:
    swirling, written = build_swirl_scene(), build_leaves_scene()
    table = Table("Steered flows")
    table.start()
    steps(table, swirling)
    gains(table, "swirl, 3 particles", swirling.shot, 8.4)
    gains(table, "leaves, 1 particle", written.shot, 15.2)
    figure_5(swirling)
    limits(swirling)
    figure_2(written)
    figure_7(swirling)


if __name__ == "__main__":
    main()
