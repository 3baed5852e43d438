"""Assembly, one implicit step, modes and a whole simulation: ours, the naive way and VegaFEM.

VegaFEM's figures were taken on a machine of this kind (public fork dyollb/VegaFEM, MKL PARDISO, one thread): 57 ms for
force and stiffness of 32k tets, 57 ms for a whole step of the 12.8k-tet bridge with one Newton iteration, 0.46 s for 30
modes of that bridge. Run with --full for 1000 modes and the naive eigenvalues, which take minutes.
"""

from __future__ import annotations

import sys
import time

import naive
import numpy as np
from protocol import DATA, Table, cpu_seconds

import cajole as cj
from cajole.dynamics.simulation import ImplicitStepper, InitialState
from cajole.mesh import box_tets, read_veg

MATERIAL = cj.MaterialStVK(young=1e6, poisson=0.4, density=1e3)
VEGA_BRIDGE = DATA / "vega" / "simpleBridge-ic_128_0.15_.1.veg"


def clamped_box(nx: int, ny: int, nz: int) -> cj.BodySolid:
    mesh = box_tets(nx, ny, nz, size=(0.1 * nx, 0.1 * ny, 0.1 * nz))
    return cj.BodySolid(mesh, MATERIAL, fixed=np.flatnonzero(mesh.vertices[:, 0] == 0))


def vega_bridge() -> cj.BodySolid | None:
    if not VEGA_BRIDGE.exists():
        print("(the VegaFEM bridge is not beside this checkout: its rows are left out)", file=sys.stderr)
        return None
    mesh = read_veg(VEGA_BRIDGE).mesh
    x = mesh.vertices[:, 0]
    margin = 0.02 * np.ptp(x)
    fixed = np.flatnonzero((x <= x.min() + margin) | (x >= x.max() - margin))
    return cj.BodySolid(mesh, cj.MaterialStVK(young=1e7, poisson=0.45, density=1e3), fixed=fixed)


def wave(body: cj.BodySolid, size: float) -> np.ndarray:
    u = size * np.sin(np.arange(3.0 * body.vertex_count)).reshape(-1, 3)
    u[body.fixed] = 0.0
    return u


def assembly(table: Table) -> None:
    body = clamped_box(76, 10, 7)
    u, data = wave(body, 1e-3), np.zeros(body.pattern.nnz)
    ours = cpu_seconds(lambda: body.add_stiffness_and_force(u, data), repeats=20)
    plain = cpu_seconds(lambda: naive.force_stiffness(body.mesh, MATERIAL, u), repeats=2)
    table.add(
        f"force and stiffness into CSR, {len(body.mesh.tets)} tets", ours, naive=plain, peer="VegaFEM", peer_time=0.057
    )
    both = cpu_seconds(lambda: body.assemble_system(u, u, 1.0, 1.0, data), repeats=20)
    table.add("the same without damping, mass added", both)


def step_seconds(body: cj.BodySolid, h: float) -> float:
    """Least CPU seconds per Newton iteration over a few whole Newmark steps under gravity."""
    load = body.gravity((0.0, 0.0, -1.0))
    stepper = ImplicitStepper(body, h, "newmark")
    past = stepper.step(stepper.start(InitialState(), load), load)
    best = float("inf")
    for _ in range(6):
        before, start = stepper.iterations, time.process_time()
        past = stepper.step(past, load)
        best = min(best, (time.process_time() - start) / (stepper.iterations - before))
    return best


def steps(table: Table, bridge: cj.BodySolid | None) -> None:
    body = clamped_box(100, 9, 8)
    ours = step_seconds(body, 1 / 30)
    plain = cpu_seconds(
        lambda: naive.newmark_iteration(body, MATERIAL, wave(body, 1e-3), 1 / 30), repeats=1, warm=False
    )
    table.add(f"Newmark, per Newton iteration, all included, {len(body.free_dofs)} dofs", ours, naive=plain)
    if bridge is not None:
        table.add(
            "the same, VegaFEM's bridge, 12,827 tets", step_seconds(bridge, 1 / 30), peer="VegaFEM", peer_time=0.057
        )


def eigenvalues(table: Table, bridge: cj.BodySolid | None, full: bool) -> None:
    if bridge is not None:
        ours = cpu_seconds(lambda: cj.modes(bridge, 30, cache=False), repeats=20)
        plain = cpu_seconds(lambda: naive.modes(bridge, 30), repeats=1, warm=False)
        table.add("30 modes, VegaFEM's bridge", ours, naive=plain, peer="VegaFEM", peer_time=0.46)
    body = clamped_box(100, 9, 8)
    ours = cpu_seconds(lambda: cj.modes(body, 200, cache=False), repeats=2, warm=False)
    plain = cpu_seconds(lambda: naive.modes(body, 200), repeats=1, warm=False) if full else None
    table.add(f"200 modes, {len(body.free_dofs)} dofs, counted by inertia", ours, naive=plain)
    if full:
        table.add(
            "1000 modes, the same",
            cpu_seconds(lambda: cj.modes(body, 1000, cache=False), repeats=1, warm=False),
        )


def creature(table: Table) -> None:
    dinosaur = cj.scene("dinosaur").body()
    push = np.zeros((dinosaur.vertex_count, 3))
    push[int(np.argmax(dinosaur.vertices[:, 2]))] = (0.0, 0.02 * 9.81 * dinosaur.total_mass, 0.0)
    work = lambda: cj.simulate(dinosaur, 60, 1 / 60, force=lambda t: push if t < 0.2 else 0 * push)  # noqa: E731
    seconds = cpu_seconds(work, repeats=1)
    table.add(f"dinosaur, {len(dinosaur.mesh.tets)} tets, per frame of 1/60 s, converged", seconds / 59)


def main() -> None:
    table = Table("Foundation")
    table.start()
    bridge = vega_bridge()
    assembly(table)
    steps(table, bridge)
    eigenvalues(table, bridge, "--full" in sys.argv)
    creature(table)


if __name__ == "__main__":
    main()
