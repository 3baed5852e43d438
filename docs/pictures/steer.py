"""Make the plots and print the tables of docs/steer.md, on a dinosaur of 5,100 tets; some minutes.

python docs/pictures/steer.py
"""

from pathlib import Path

import numpy as np

import cajole as cj
from cajole.direct.steering.pd import PDComparison, build_pd_controller, tune_pd
from cajole.direct.steering.plots import plot_runs
from cajole.reduction import ReducedModel, extend_basis, compute_mass_pca
from cajole.reduction.bases import compute_mode_shapes
from cajole.scenes.builtin import (Scene)

HERE = Path(__file__).parent
STEPS, DT = 181, 1 / 60
OWN, BESIDE = 10, 20


class Shove:
    """A force (n, 3) [N] on 15 steps from step `first` on."""

    def __init__(self, force: np.ndarray, first: int):
        self.force, self.first = force, first

    def compute_reduced_force(self, model: ReducedModel, dt: float, first_frame: int, steps: int) -> np.ndarray:
        frame = np.arange(first_frame, first_frame + steps) - self.first
        return ((frame >= 0) & (frame < 15))[:, None] * model.project_force(self.force)


def on_head(scene: Scene, body: cj.BodySolid, weights: tuple[float, float, float]) -> np.ndarray:
    """A force on the head in body weights, (n, 3) [N]."""
    head, force = scene.parts["head"], np.zeros((body.vertex_count, 3))
    masses = body.vertex_masses[head]
    force[head] = np.outer(masses / masses.sum(), 9.81 * body.total_mass * np.array(weights))
    return force


def moving(scene: Scene, body: cj.BodySolid) -> cj.Reference:
    """The head is pulled aside for 0.3 s and swings; 30 coordinates."""
    pull = on_head(scene, body, (0, 0.15, 0.05))
    motion = cj.simulate(body, STEPS + 1, DT, force=lambda t: pull * (t <= 0.3))
    basis = compute_mass_pca(body, motion.displacements.reshape(STEPS + 1, -1).T, size=OWN)
    basis = extend_basis(body, basis, compute_mode_shapes(body, BESIDE), size=BESIDE)
    return cj.build_reference(cj.reduce(body, basis), motion)


def dials(reference: cj.Reference, shove: Shove) -> None:
    """What effort does, in numbers and in steer_effort.png."""
    runs = {"not controlled": cj.steer(reference).run(force=shove, controlled=False)}
    print(runs["not controlled"].report)
    for formulation in ("discrete", "continuous"):
        for effort in (1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0):
            run = cj.steer(reference, effort=effort, formulation=formulation).run(force=shove)
            if formulation == "discrete" and effort in (1e-2, 1.0, 10.0):
                runs[f"effort {effort:g}"] = run
            print(formulation, effort, run.report)
    plot_runs(runs, HERE / "steer_effort.png", title="a shove at 0.5 s")


def final(reference: cj.Reference, shove: Shove) -> None:
    """Final cost alone beside a tuned PD, in numbers and in steer_pd.png."""
    for effort in (1.0, 10.0, 100.0):
        controller = cj.steer(reference, tracking=0, final=1, effort=effort)
        found = {at: tune_pd(controller, shove, matched_quantity=at) for at in ("error", "effort")}
        for comparison in found.values():
            print(f"--- effort {effort:g}", comparison, sep="\n", flush=True)
        if effort == 10.0:
            beside(controller, found, shove)


def beside(controller: cj.Controller, found: dict[str, PDComparison], shove: Shove) -> None:
    """The curves of one comparison."""
    runs = {"not controlled": controller.run(force=shove, controlled=False), "steer": controller.run(force=shove)}
    for at, comparison in found.items():
        best = comparison.best
        runs[f"PD, equal {at}"] = build_pd_controller(controller.reference, best.kp, best.kd).run(force=shove)
    plot_runs(runs, HERE / "steer_pd.png", title="only the end counts")


if __name__ == "__main__":
    scene = cj.scene("dinosaur", tets=5000)
    body = scene.body()
    reference, force = moving(scene, body), on_head(scene, body, (0.05, -0.1, 0))
    print(reference)
    dials(reference, Shove(force, 31))
    final(reference, Shove(force, 1))
