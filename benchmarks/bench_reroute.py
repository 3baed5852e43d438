"""Rerouting beside what Jeon and Choi 2007 describe; the paper gives no times, only that its runs were live.

Naive: gradients by differences, one window run for each force on a node and direction, timed as one run and multiplied.
`--goals 50` leads that many random goals on the falling cloth by all three methods and counts what is reached,
`--least` all goals of the skirt and of the heart by least force as well.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial

import numpy as np
from protocol import Table, cpu_seconds

import cajole as cj
from cajole.body import BodySprings
from cajole.direct.rerouting import METHODS, RerouteReport
from cajole.direct.rerouting.force_distribution import ForceDistribution, compute_default_reach
from cajole.direct.rerouting.goals import DEFAULT_ALPHA, build_goal_set
from cajole.direct.rerouting.least_force import ControlWindow
from cajole.direct.rerouting.pilot_simulation import PilotSimulation
from cajole.dynamics.implicit_stepper import ImplicitStepper, InitialState
from cajole.linalg import limit_blas_threads
from cajole.scenes.reroute_scenes import RerouteScene, load_reroute_scene
from cajole.scenes.reroute_scenes.cloth import DT, FORCE_LIMIT, build_cloth_springs, sample_goals, simulate_cloth_pilot

STEPS = 20
# how many times the effort of least force the others shall take at least
AIMED = {"pattern": 3.0, "paper": 9.0}
# an easy goal of the free corner, led over 19 frames
CORNER = cj.Goal(380, 44, (0.07, 0.08, -0.82))


def tube(rings: int, around: int) -> BodySprings:
    """An open tube with structural, shear and bending springs, its first ring held."""
    number = np.arange(rings * around).reshape(rings, around)
    angle, height = 2 * np.pi * np.arange(around) / around, np.arange(rings)[:, None] * 0.7 / rings
    places = np.stack(np.broadcast_arrays(0.25 * np.cos(angle), 0.25 * np.sin(angle), -height), axis=2).reshape(-1, 3)
    pairs = []
    for down, round_, stiffness in ((1, 0, 500), (0, 1, 500), (1, 1, 200), (1, -1, 200), (2, 0, 20), (0, 2, 20)):
        near, far = number[: rings - down], np.roll(number, -round_, axis=1)[down:]
        pairs.append(np.stack([near.ravel(), far.ravel(), np.full(near.size, stiffness)], axis=1))
    springs = np.concatenate(pairs)
    faces = np.array(
        [(a, b, c) for a, b, c in zip(number[:-1].ravel(), number[1:].ravel(), np.roll(number[:-1], -1, 1).ravel())]
    )
    return BodySprings(
        places, springs[:, :2], stiffness=springs[:, 2].astype(float), mass=5e-4, damping=0.05, clamp=0.02,
        fixed=number[0], mesh=cj.MeshTri(places, faces),
    )  # fmt: skip


def step_time(body: BodySprings) -> float:
    """CPU seconds of one BDF2 step."""
    weight, stepper = body.gravity(), ImplicitStepper(body, DT, "bdf2")
    begun = stepper.start(InitialState(), weight)

    def run() -> None:
        state = begun
        for _ in range(STEPS):
            state = stepper.step(state, weight)

    return cpu_seconds(run) / STEPS


def window_of(pilot: cj.Animation) -> ControlWindow:
    """The window of CORNER."""
    net = build_cloth_springs()
    stage = PilotSimulation(net, pilot)
    aims = build_goal_set(CORNER, net, stage.positions, DEFAULT_ALPHA)
    stage.reset_factor_cache(aims.last_frame - aims.first_frame)
    return ControlWindow(
        stage,
        aims,
        ForceDistribution.for_goals(net, aims, compute_default_reach(net)),
        stage.get_state(aims.first_frame),
    )


def gradient_rows(table: Table, pilot: cj.Animation) -> None:
    window = window_of(pilot)
    still = np.zeros((len(window.steps), 3))
    led = window.rollout(still)
    run = cpu_seconds(lambda: window.rollout(still))
    naive = run * still.size
    table.add(
        "exact slopes of a goal by every force in the window",
        cpu_seconds(lambda: window.compute_jacobian(led)),
        naive=naive,
    )


def driven_step(scene: RerouteScene) -> float:
    """CPU seconds of one step of a scene's pilot, with its limbs and contractions, at its most crowded frame."""
    stage = PilotSimulation(
        scene.net, scene.pilot, scene.reroute_options.get("rest_lengths"), scene.reroute_options.get("capsules")
    )
    first = scene.frames_shown[len(scene.frames_shown) // 2]
    frames = range(first, min(first + STEPS, stage.frames - 1))
    for frame in frames:
        stage.compute_external_force(frame + 1)  # what acts in a step is known to a simulation

    def run() -> None:
        for frame in frames:
            stage.step(stage.get_state(frame), frame + 1)

    return cpu_seconds(run) / len(frames)


def scene_rows(table: Table, name: str, methods: tuple[str, ...]) -> None:
    """A whole scene: a step of it, and all its goals by each of `methods`."""
    scene = load_reroute_scene(name)
    net, goals = scene.net, len(scene.goals)
    table.add(f"a step, {name} as it runs: {net.vertex_count} nodes, {len(net.edges)} springs", driven_step(scene))
    for method in methods:
        led_row(table, scene, f"{goals} goals of the {name} by {method}", method)


def led_row(table: Table, scene: RerouteScene, what: str, method: str) -> None:
    reports: list[RerouteReport] = []
    taken = cpu_seconds(lambda: reports.append(scene.solve(method).report), repeats=1, warm=False)
    report = reports[0]
    limit = f"{report.peak_force:.2g} of {report.limit:.2g} N"
    most = f"{report.reached_count} reached, {limit}, effort {report.effort:.3g} N² s"
    table.add(f"{what}: {most}", taken)


def told(name: str, values: list[float], form: str) -> str:
    return f"{name} {form.format(float(np.median(values)))} (median), {form.format(max(values))} (most)"


def count_goals(pilot: cj.Animation, count: int) -> None:
    """Random goals, one a run, by every method."""
    reports: dict[str, list[RerouteReport]] = {name: [] for name in METHODS}
    for goal in sample_goals(pilot, count):
        for name in METHODS:
            reports[name].append(cj.reroute(build_cloth_springs(), pilot, goal, name, limit=FORCE_LIMIT).report)
    print(f"\n{count} random goals on the cloth, D = 0.01 m, F_max = {FORCE_LIMIT} N\n")
    for name, found in reports.items():
        alike = [each.goals[0].similarity for each in found]
        parts = [
            f"{sum(each.reached_count for each in found)} reached",
            f"{told('effort', [each.effort for each in found], '{:.3g}')} N² s",
            f"{told('peak', [each.peak_force for each in found], '{:.3g}')} N",
            told("shape", [each.shape_distance for each in alike], "{:.2g}"),
            told("steps", [each.step_length_variation for each in alike], "{:.2g}"),
        ]
        print(f"- {name}: {'; '.join(parts)}")
        for each in found:
            if not each.reached_count:
                print(f"  - {each.goals[0]}")
    least = np.array([each.effort for each in reports["least-force"]])
    for name, aimed in AIMED.items():
        ratio = np.array([each.effort for each in reports[name]]) / least
        below = f"{int((ratio < aimed).sum())} below {aimed:g}"
        print(f"- {name} / least-force: {np.median(ratio):.3g} (median), {ratio.min():.3g} (least), {below}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--goals", type=int, default=0, help="how many random goals to count")
    parser.add_argument("--least", action="store_true", help="lead skirt and heart by least force, too: minutes")
    options = parser.parse_args()
    table = Table("reroute")
    table.start()
    nets: dict[str, Callable[[], BodySprings]] = {
        "cloth": build_cloth_springs,
        "tube like the skirt": partial(tube, 33, 60),
        "tube like the heart": partial(tube, 57, 60),
    }
    with limit_blas_threads():
        for name, make in nets.items():
            net = make()
            table.add(f"a step, {name}: {net.vertex_count} nodes, {len(net.edges)} springs", step_time(net))
        pilot = simulate_cloth_pilot()
        gradient_rows(table, pilot)
    for name in ("skirt", "heart"):
        scene_rows(table, name, METHODS[: 1 + options.least])
    for name in METHODS:
        run = partial(cj.reroute, build_cloth_springs(), pilot, CORNER, name, limit=FORCE_LIMIT)
        report = run().report
        what = f"one node of the cloth by {name}: effort {report.effort:.3g} N² s, {report.reached_count} reached"
        table.add(what, cpu_seconds(run, repeats=6))
    if options.goals:
        count_goals(pilot, options.goals)


if __name__ == "__main__":
    main()
