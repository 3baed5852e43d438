"""Keyframing beside Table 1 of Barbič, da Silva and Popović 2009.

The paper's figures are wall seconds of a Mac Pro with 8 cores of 2.8 GHz, on its own meshes, keys and effort; ours are
scenes of like size. Their ratio is what a user waits then and now, years of hardware included, not a race of two codes;
the naive way is measured here in the same run. An optimisation ends when its cost is within 1e-6 of where the same run
stops, from zero control; each row says how that minimum compares with the best of three starts. The paper does not say
where its own runs ended. Run with --full for the paper's optimiser on the same problems, and for the bridge with all of
its springs; with --bridge or --sessions for those rows alone.
"""

from __future__ import annotations

import runpy
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from protocol import Table, cpu_seconds
from scipy.spatial import cKDTree

import cajole as cj
from cajole.direct import Shot
from cajole.direct.keyframing.newton import Iterate
from cajole.mesh import box_tets
from cajole.reduction import build_keyframe_basis
from cajole.reduction.reduced_solid import build_polynomial
from cajole.scenes.keyframe_scenes import (
    KeyframeScene,
    build_dinosaur_step_scene,
    build_elephant_greeting_scene,
    build_fish_swim_scene,
    build_flower_figure_eight_scene,
)

MATERIAL = cj.MaterialStVK(young=1e6, poisson=0.4, density=1e3)
PAPER = "paper"
GAP = 1e-6
# tets on which the naive polynomial is timed; its cost is proportional to their number
SAMPLED = 100
BRIDGE = Path(__file__).resolve().parents[1] / "examples" / "06_bridge_springs.py"
# a part of each scene that a hand pulls at
HANDLES = {"beam": "beam", "bridge": "deck", "dinosaur": "head", "tee": "arms", "flower": "bloom", "fish": "tail",
           "elephant": "trunk"}  # fmt: skip
# how far linear elasticity would carry the handle, in body sizes, and in how many moves of the hand
REACH, MOVES = 0.1, 20


def clamped_box(nx: int, ny: int, nz: int) -> cj.BodySolid:
    mesh = box_tets(nx, ny, nz, size=(0.1 * nx, 0.1 * ny, 0.1 * nz))
    return cj.BodySolid(mesh, MATERIAL, fixed=np.flatnonzero(mesh.vertices[:, 0] == 0), damping=(0.1, 0.01))


def naive_polynomial(body: cj.BodySolid, U: np.ndarray, sampled: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The tensors A, B, C of 2 W(z) = A z z + 2 B z z z + C z z z z over the first tets: a loop, and einsum in it."""
    r = U.shape[1]
    nodes = U.reshape(-1, 3, r)
    lam, mu = MATERIAL.lame
    A, B, C = np.zeros((r, r)), np.zeros((r, r, r)), np.zeros((r, r, r, r))
    for tet, g, volume in zip(body.mesh.tets[:sampled], body.mesh.shape_gradients, body.mesh.volumes):
        G = np.einsum("aik,aj->kij", nodes[tet], g)
        first = 0.5 * (G + G.transpose(0, 2, 1))
        second = 0.5 * np.einsum("kni,lnj->klij", G, G)
        stress1 = 2 * mu * first + lam * np.einsum("kii->k", first)[:, None, None] * np.eye(3)
        stress2 = 2 * mu * second + lam * np.einsum("klii->kl", second)[:, :, None, None] * np.eye(3)
        A += volume * np.einsum("kij,lij->kl", first, stress1)
        B += volume * np.einsum("kij,lmij->klm", first, stress2)
        C += volume * np.einsum("klij,mnij->klmn", second, stress2)
    return A, B, C


def require_same_polynomial() -> None:
    """The naive way must give the energy that ours gives, or its time means nothing."""
    body = clamped_box(6, 2, 2)
    model = cj.reduce(body, cj.modes(body, 6))
    z = np.sin(np.arange(6.0) + 1)
    A, B, C = naive_polynomial(body, model.basis, len(body.mesh.tets))
    naive = 0.5 * (z @ A @ z) + np.einsum("klm,k,l,m", B, z, z, z) + 0.5 * np.einsum("klmn,k,l,m,n", C, z, z, z, z)
    if not np.isclose(naive, model.energy(z), rtol=1e-9):
        raise SystemExit(f"the naive polynomial gives {naive}, ours {model.energy(z)}")


def tables(table: Table) -> None:
    require_same_polynomial()
    for size, r, paper in (((35, 5, 5), 25, 90.0), ((36, 10, 9), 16, 245.0)):
        body = clamped_box(*size)
        U, tets = cj.modes(body, r).shapes, len(body.mesh.tets)
        ours = cpu_seconds(partial(build_polynomial, body, U), repeats=3)
        plain = cpu_seconds(partial(naive_polynomial, body, U, SAMPLED), repeats=4) * tets / SAMPLED
        what = f"cubic polynomial, {tets} tets, r = {r} (naive: timed on {SAMPLED} tets, scaled)"
        table.add(what, ours, naive=plain, peer=PAPER, peer_time=paper)


def reduced_against_full(table: Table) -> None:
    """One force with its stiffness, and one converged implicit step, in the basis and on the mesh."""
    body = clamped_box(35, 5, 5)
    model = cj.reduce(body, cj.modes(body, 30))
    z = 0.1 * np.sin(np.arange(model.size) + 1.0)
    u, data = model.lift(z), np.zeros(body.pattern.nnz)
    ours = cpu_seconds(lambda: model.stiffness(z), repeats=200)
    full = cpu_seconds(lambda: body.add_stiffness_and_force(u, data), repeats=10)
    table.add(f"reduced force and stiffness, r = 30 (naive: on {len(body.mesh.tets)} tets)", ours, naive=full)
    model = cj.reduce(body, cj.modes(body, 24))
    W = 0.3 * np.sin(np.arange(120.0 * model.size)).reshape(120, -1)
    ours = cpu_seconds(lambda: model.rollout(W, 0.0272), repeats=5) / len(W)
    plain = cpu_seconds(lambda: cj.simulate(body, 13, 0.0272, gravity=(0, 0, -0.5)), repeats=1) / 12
    table.add("reduced step, r = 24, converged (naive: on the mesh; paper: forward pass / T)", ours, naive=plain,
              peer=PAPER, peer_time=0.036 / 120)  # fmt: skip


def few_against_all(table: Table) -> None:
    """A coarse beam in the basis of its keys, and in all of its coordinates."""
    body = clamped_box(4, 1, 1)
    tip = np.flatnonzero(body.vertices[:, 0] > 0.39)
    up, down = (cj.pose(body, {int(v): (0, 0, force) for v in tip}) for force in (10.0, -10.0))
    keyed = partial(cj.keyframe, body, {20: up, 40: down}, frames=41, starts="zero")
    few, full = partial(keyed, modes=6), partial(keyed, basis=np.eye(3 * body.vertex_count)[:, body.free_dofs])
    sizes = [shot().model.size for shot in (few, full)]
    what = f"a whole call, r = {sizes[0]} (naive: all {sizes[1]} coordinates of {len(body.mesh.tets)} tets)"
    table.add(what, cpu_seconds(few), naive=cpu_seconds(full, repeats=1, warm=False))


def optimised(board: KeyframeScene) -> tuple[float, Shot]:
    """CPU seconds until the cost is within GAP of the run's last, the first simulation included, least of two runs."""
    best, shot = float("inf"), None
    for _ in range(2):
        seen: list[tuple[float, float]] = []
        shot = board.solve(starts="zero", watch=partial(_noted, seen))
        last = min(cost for _, cost in seen)
        reached = next(at for at, cost in seen if cost <= last * (1 + GAP))
        best = min(best, reached - seen[0][0])
    # the callback first speaks after the simulation without control
    first = cpu_seconds(partial(shot.model.rollout, np.zeros_like(shot.controls), shot.dt), repeats=3)
    return best + first, shot


def _noted(seen: list[tuple[float, float]], iterate: Iterate) -> None:
    seen.append((time.process_time(), iterate.cost))


def shots(table: Table) -> None:
    boards: dict[str, tuple[Callable[[], KeyframeScene], float, float]] = {
        "creature step": (build_dinosaur_step_scene, 84.0, 5.5),
        "flower": (build_flower_figure_eight_scene, 140.0, 25.0),
        "fish": (build_fish_swim_scene, 345.0, 11.3),
        "elephant": (build_elephant_greeting_scene, 30.0, 30.0),
    }
    for name, (make, paper, paper_basis) in boards.items():
        board = make()
        poses = np.stack([np.zeros_like(board.body.vertices), *board.keys.values()])
        basis = cpu_seconds(partial(whole_basis, board, poses), repeats=2)
        seconds, shot = optimised(board)
        table.add(f"{name}: basis, its modes included, r = {shot.model.size}", basis, peer=PAPER, peer_time=paper_basis)
        table.add(f"{name}: optimised, {_facts(board, shot)}", seconds, peer=PAPER, peer_time=paper)
        if "--full" in sys.argv:
            first_order(table, name, board, shot.report.cost)


def whole_basis(board: KeyframeScene, poses: np.ndarray) -> None:
    """Modes, tangents and all of it orthonormal."""
    shapes = cj.modes(board.body, board.modes, cache=False).shapes
    build_keyframe_basis(board.body, poses, extras=shapes, extra_size=board.modes)


def _facts(board: KeyframeScene, shot: Shot) -> str:
    best = board.solve().report.cost
    return (
        f"{len(board.scene.mesh.tets)} tets, T = {board.frames - 1}, K = {len(board.keys)}, "
        f"{shot.report.iterations} iterations, keys within {max(shot.report.errors):.1e} of the size, cost "
        f"{shot.report.cost / best:.4f} of the best of three starts"
    )


def first_order(table: Table, name: str, board: KeyframeScene, best: float) -> None:
    """The paper's optimiser on the same problem, and how far it gets."""
    start = time.process_time()
    slow = board.solve(starts="zero", optimiser="cg", iterations=300)
    seconds = time.process_time() - start
    table.add(f"{name}: 300 iterations of conjugate gradients, {slow.report.cost / best:.3g} times that cost", seconds)


def bridge(table: Table) -> None:
    """The mass-spring bridge: a whole call, basis and cubature included, its keys and modes at hand."""
    made, scene = runpy.run_path(str(BRIDGE)), cj.scene("bridge")
    net = made["spring_body"](scene.mesh, scene.fixed)
    keys = dict(zip((50, 100, 149), made["poses"](net, scene.parts["deck"], push=100.0)))
    call = partial(cj.keyframe, net, keys, frames=150)
    few = call(cubature=600)
    seconds = cpu_seconds(partial(call, cubature=600), repeats=2, warm=False)
    facts = f"T = 149, K = 3, keys within {max(few.report.errors):.3e} of the size"
    what = f"bridge: a whole call, {few.model.report.springs} of {len(net.edges)} springs, {facts}"
    table.add(what, seconds, peer=PAPER, peer_time=3000.0)
    if "--full" in sys.argv:
        start = time.process_time()
        exact = call()
        seconds = time.process_time() - start
        what = f"the same with all springs, keys within {max(exact.report.errors):.3e}; {_apart(few, exact)}"
        table.add(what, seconds, peer=PAPER, peer_time=3000.0)


def _apart(few: Shot, exact: Shot) -> str:
    """How far a cubature's keys and motion are from those of all springs."""
    errors, wanted = np.array(few.report.errors), np.array(exact.report.errors)
    off, size = np.abs(errors - wanted), exact.model.body.size
    moved = np.abs(few.animation.positions - exact.animation.positions).max() / size
    largest = np.abs(exact.animation.displacements).max() / size
    return (
        f"key errors differ by {off.max():.1e} of the size, {100 * (off / wanted).max():.2g} % of themselves, "
        f"motions by {100 * moved / largest:.2g} % of the largest displacement"
    )


def sessions(table: Table) -> None:
    """A solve of PoseSession while a hand pulls at each scene: in small moves, and in one jump there and one beyond."""
    turn = np.linspace(0, 1, MOVES + 1)[1:]
    arc = np.stack([0.5 * np.sin(2 * np.pi * turn), 0.8 * turn, 0.6 * turn], axis=1)
    for name in HANDLES:
        session, handle, force = _held(name)
        load = session.add(handle, (0.0, 0.0, 0.0))
        small = [_solve_seconds(partial(session.change, load.load_id, force * pull)) for pull in arc]
        session.change(load.load_id, (0.0, 0.0, 0.0))
        large = [_solve_seconds(partial(session.change, load.load_id, sign * force * arc[-1])) for sign in (1, -1)]
        for what, times in ((f"in {MOVES} moves", small), ("in two jumps", large)):
            rate = f"{1 / np.mean(times):.3g} solves/s, slowest {1 / max(times):.3g}/s"
            table.add(f"session: {name} pulled {what}, {rate}", float(np.mean(times)))


def _held(name: str) -> tuple[cj.PoseSession, np.ndarray, float]:
    """A session, the twenty vertices of its handle and the force [N] that would carry them as far as REACH."""
    made = cj.scene(name)
    body, session = made.body(), cj.PoseSession(made.body())
    x, part = body.vertices, np.setdiff1d(made.parts[HANDLES[name]], body.fixed)
    still = x[body.fixed] if len(body.fixed) else x.mean(axis=0, keepdims=True)
    far = part[np.argmax(cKDTree(still).query(x[part])[0])]
    handle = part[cKDTree(x[part]).query(x[far], k=20)[1]]
    if len(body.fixed) == 0:
        # what nothing holds is held at its far end
        distance = np.linalg.norm(x - x[far], axis=1)
        session.pin(np.flatnonzero(distance > np.quantile(distance, 0.95)))
    little = 1e-6 * 9.81 * body.total_mass
    session.add(handle, little * np.array([0.0, 0.8, 0.6]))
    moved = float(np.linalg.norm(session.displacement[handle].mean(axis=0)))
    session.undo()
    return session, handle, little * REACH * body.size / moved


def _solve_seconds(solve: Callable[[], object]) -> float:
    start = time.process_time()
    solve()
    return time.process_time() - start


def main() -> None:
    table = Table("Keyframe")
    table.start()
    chosen = [part for flag, part in (("--bridge", bridge), ("--sessions", sessions)) if flag in sys.argv]
    for part in chosen or (tables, reduced_against_full, few_against_all, shots, bridge, sessions):
        part(table)


if __name__ == "__main__":
    main()
