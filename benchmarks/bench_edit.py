"""Editing beside Table 1 and Figures 5 and 7 of Barbič, Sin and Grinspun 2012.

The paper's figures are wall times of a six-core Core i7-980X on its own meshes; ours are scenes of like size, on one
thread. Naive: the sparse system of eq. (5), modes and frames and constraints together, factorised as it stands for the
Green's functions of all constraints (the paper's "standard method"); the dense factorisation is timed at a tenth of the
modes and scaled by the cube of the size, since at full size it would need 18 GB. The first run makes the scenes and
their modes, some minutes. `--full` adds the creature on the stairs and the thousand modes of the bridge.
"""

from __future__ import annotations

import argparse
from functools import partial

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from protocol import Table, cpu_seconds
from scipy.sparse.linalg import splu

from cajole.direct import Editor
from cajole.direct.editing.edit_model import EditModel
from cajole.direct.editing.linear_constraints import LinearConstraints
from cajole.direct.editing.spacetime import EditSettings, SpacetimeEnergy, build_forward_stencil
from cajole.scenes.edit_scenes import EditScene, load_edit_scene

PAPER = "paper"
FPS = 30.0
BETA = 1e-3
# vertices of the comparison in Figure 5
VERTICES = 20
# Share of the largest entry to which the naive Green's functions must equal ours.
AGREED = 1e-6


def spread(subject: EditModel, frames: int, count: int, seed: int = 3) -> list[tuple[int, np.ndarray]]:
    """Frames and weights (3, r) of vertices anywhere in space and time."""
    random = np.random.default_rng(seed)
    vertices = random.choice(subject.moving_vertices, count, replace=False)
    at = random.integers(4, frames - 4, count)
    return [(int(frame), subject.compute_constraint_rows(int(vertex))) for vertex, frame in zip(vertices, at)]


def filled(spacetime: SpacetimeEnergy, places: list[tuple[int, np.ndarray]]) -> LinearConstraints:
    rows = LinearConstraints(spacetime)
    for frame, weights in places:
        rows.add(frame, weights, np.full(3, 0.01))
    return rows


def one_more(rows: LinearConstraints, frame: int, weights: np.ndarray) -> float:
    """Seconds to add a vertex, its response not known yet, and solve for the multipliers; it is removed again."""
    keep = np.arange(len(rows) + 3) < len(rows)

    def add() -> None:
        rows.spacetime.clear_cache()
        rows.add(frame, weights, np.full(3, 0.01))
        rows.solve_multipliers()

    def prepare() -> None:
        if len(rows) == len(keep):
            rows.keep_rows(keep)

    return cpu_seconds(add, before=prepare, repeats=20)


def removed(rows: LinearConstraints) -> float:
    """Seconds to remove the vertex that was added in the middle of all, and solve."""
    frame, weights = int(rows.frames[0]), rows.rows[:3].copy()
    middle = 3 * (len(rows) // 6)
    keep = np.ones(len(rows), dtype=bool)
    keep[middle : middle + 3] = False

    def prepare() -> None:
        if len(rows) < len(keep):
            rows.add(frame + 1, weights[::-1], np.full(3, 0.01))

    def remove() -> None:
        rows.keep_rows(keep)
        rows.solve_multipliers()

    return cpu_seconds(remove, before=prepare, repeats=20)


def system(spacetime: SpacetimeEnergy, rows: LinearConstraints, lam: np.ndarray, h: float) -> sp.csc_array:
    """The matrix of eq. (5) on the frames that may change: frames slowest, then modes, then constraints."""
    n, r, c = spacetime.last_frame - spacetime.first_frame + 1, spacetime.mode_count, len(rows)
    a0, a1, a2 = build_forward_stencil(lam, h, BETA * lam)
    bands = {0: a0**2 + a1**2 + a2**2, 1: a0 * a1 + a1 * a2, 2: a0 * a2}
    H = sum(sp.kron(sp.eye_array(n, k=k), sp.diags_array(bands[abs(k)])) for k in (-2, -1, 0, 1, 2))
    columns = ((rows.frames - spacetime.first_frame)[:, None] * r + np.arange(r)).ravel()
    C = sp.csr_array((rows.rows.ravel(), (np.repeat(np.arange(c), r), columns)), shape=(c, n * r))
    return sp.csc_array(sp.block_array([[H, C.T], [C, None]]))


def standard(matrix: sp.csc_array, constraints: int) -> np.ndarray:
    """Green's functions of all constraints by factorising eq. (5) as it is."""
    right = np.zeros((matrix.shape[0], constraints))
    right[-constraints:] = np.eye(constraints)
    return splu(matrix, permc_spec="COLAMD").solve(right)


def dense_seconds(matrix: sp.csc_array, full: int) -> float:
    whole = matrix.toarray()
    seconds = cpu_seconds(lambda: scipy.linalg.lu_factor(whole, check_finite=False), repeats=1)
    return seconds * (full / len(whole)) ** 3


def figure_5(table: Table, subject: EditModel, frames: int = 240, modes: int = 200) -> None:
    """All constraints from nothing, and one more, beside the standard method."""
    lam = subject.eigenvalues[:modes]
    spacetime = SpacetimeEnergy(lam, frames, EditSettings(1 / FPS, (0.0, BETA)))
    places = [(frame, np.ascontiguousarray(weights[:, :modes])) for frame, weights in spread(subject, frames, VERTICES)]
    rows = filled(spacetime, places)
    matrix = system(spacetime, rows, lam, 1 / FPS)
    greens = standard(matrix, len(rows))[: -len(rows)]
    ours = np.stack(
        [rows.solve_all_frames(mu)[2:-2].ravel() for mu in rows.solve_multipliers(np.eye(len(rows))).T], axis=1
    )
    off = np.abs(greens - ours).max() / np.abs(ours).max()
    if off > AGREED:
        raise SystemExit(f"the standard method and ours differ by {off:.1e} of the largest entry")
    naive = cpu_seconds(partial(standard, matrix, len(rows)), repeats=1)
    tenth = modes // 10
    few = SpacetimeEnergy(lam[:tenth], frames, EditSettings(1 / FPS, (0.0, BETA)))
    small = filled(few, [(frame, np.ascontiguousarray(weights[:, :tenth])) for frame, weights in places[:2]])
    dense = dense_seconds(system(few, small, lam[:tenth], 1 / FPS), matrix.shape[0])

    def from_nothing() -> None:
        spacetime.clear_cache()
        filled(spacetime, places).solve_multipliers()

    what = f"eq. (5), r = {modes}, T = {frames}, {VERTICES} vertices"
    ours = cpu_seconds(from_nothing)
    table.add(f"{what} from nothing (naive: dense LU, of {tenth} modes, scaled)", ours, naive=dense)
    table.add(f"{what} from nothing (naive: sparse LU)", ours, naive=naive, peer=PAPER, peer_time=0.1)
    extra = spread(subject, frames, 1, seed=9)[0]
    more = one_more(rows, extra[0], np.ascontiguousarray(extra[1][:, :modes]))
    table.add(f"{what}, one more (naive: sparse LU again)", more, naive=naive, peer=PAPER, peer_time=0.1)


def sweeps(table: Table, subject: EditModel, frames: int, modes: tuple[int, ...]) -> None:
    """Figure 5, bottom: time under more modes."""
    for r in modes:
        if r <= len(subject.eigenvalues):
            spacetime = SpacetimeEnergy(subject.eigenvalues[:r], frames, EditSettings(1 / FPS, (0.0, BETA)))
            places = [(i, np.ascontiguousarray(w[:, :r])) for i, w in spread(subject, frames, VERTICES)]

            def from_nothing(spacetime: SpacetimeEnergy = spacetime, places: list = places) -> None:
                spacetime.clear_cache()
                filled(spacetime, places).solve_multipliers()

            table.add(f"Figure 5: {VERTICES} vertices from nothing, r = {r}, T = {frames}", cpu_seconds(from_nothing))


def changes(table: Table, subject: EditModel, frames: int, paper: float) -> None:
    """A hundred vertices, and one more or less; then all frames."""
    r = len(subject.eigenvalues)
    spacetime = SpacetimeEnergy(subject.eigenvalues, frames, EditSettings(1 / FPS, (0.0, BETA)))
    rows = filled(spacetime, spread(subject, frames, 100))
    extra = spread(subject, frames, 1, seed=9)[0]
    what = f"r = {r}, T = {frames}"
    table.add(f"add a vertex to 100, {what}", one_more(rows, *extra), peer=PAPER, peer_time=paper)
    table.add(f"remove one of 100, {what}", removed(rows), peer=PAPER, peer_time=paper)
    mu = rows.solve_multipliers()
    table.add(f"coordinates of all frames, {what}", cpu_seconds(lambda: rows.solve_all_frames(mu)))


def contacts(table: Table, subject: EditModel, frames: int, counts: tuple[int, ...]) -> None:
    """Figure 7: contacts that slide, at random, and one vertex."""
    random = np.random.default_rng(5)
    for count in counts:
        spacetime = SpacetimeEnergy(subject.eigenvalues, frames, EditSettings(1 / FPS, (0.0, BETA)))
        rows, normals = LinearConstraints(spacetime), random.standard_normal((count, 3))
        places = spread(subject, frames, count)
        for (frame, weights), normal in zip(places, normals / np.linalg.norm(normals, axis=1, keepdims=True)):
            rows.add(frame, normal[None] @ weights, np.zeros(1))
        seconds = one_more(rows, *spread(subject, frames, 1, seed=9)[0])
        table.add(f"Figure 7: add a vertex to {count} contacts, r = {spacetime.mode_count}, T = {frames}", seconds)


def moves(table: Table, scene: EditScene, editor: Editor, paper: float) -> None:
    """A mouse that drags a vertex of the scene's first move, with all its other drags in place."""
    first, rest = scene.drags[0], scene.drags[1:]
    for move in rest:
        move.apply(editor)
    vertex, frame, goal = int(first.vertices[0]), first.frame, first.positions[0]
    grabbing = cpu_seconds(lambda: editor.grab(vertex, frame).cancel())
    hand = editor.grab(vertex, frame)
    start, steps, at = editor.positions(frame)[vertex], 20, [0]

    def move() -> None:
        at[0] += 1
        hand.move(start + (goal - start) * (at[0] % steps + 1) / steps)
        hand.positions()

    move()
    seconds = cpu_seconds(move, repeats=3 * steps)
    hand.cancel()
    where = f"{scene.name}, r = {len(editor.model.eigenvalues)}"
    table.add(f"{where}: grab a vertex", grabbing)
    table.add(
        f"{where}: one mouse move, landed and warped, the quickest of {3 * steps}", seconds, peer=PAPER, peer_time=paper
    )


def frame_rows(table: Table, name: str, subject: EditModel, paper: tuple[float, float]) -> None:
    """What one frame costs: from coordinates to the warped shape, and taking an input frame apart."""
    middle = subject.animation.frames // 2
    z = np.random.default_rng(1).standard_normal((len(subject.eigenvalues), 1)) / (1.0 + subject.eigenvalues[:, None])
    change = subject.compute_linear_displacements(z)[0]
    change *= 0.05 * subject.size / np.abs(change).max()
    frame, positions = subject.decompose_frame(middle), subject.get_input_positions(middle)
    what = f"{name}, {len(subject.warp.elements)} elements"
    table.add(
        f"{what}: linear change, p = U z",
        cpu_seconds(lambda: subject.compute_linear_displacements(z)),
        peer=PAPER,
        peer_time=paper[0],
    )
    table.add(f"{what}: warp", cpu_seconds(lambda: subject.warp.apply(frame, change)), peer=PAPER, peer_time=paper[1])
    table.add(f"{what}: take an input frame apart", cpu_seconds(lambda: subject.warp.decompose_frame(positions)))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--full", action="store_true", help="also the creature on the stairs and 1000 modes")
    full = options.parse_args().full
    table = Table("Edit")
    table.start()
    bridge = load_edit_scene("bridge")
    wide = bridge.create_editor(1000 if full else 500)
    figure_5(table, wide.model)
    sweeps(table, wide.model, 240, (50, 100, 200, 400, 1000))
    changes(table, wide.model, 240, 0.41)
    contacts(table, bridge.create_editor(500).model, 600, (0, 100, 410, 1000, 2000))
    frame_rows(table, "bridge", wide.model, (0.019, 0.028))
    moves(table, bridge, bridge.create_editor(500), 0.048)
    for name, paper in (("curtain", (0.0006, 0.008)), ("bird", (0.0006, 0.0038)), ("twist", (7.8e-5, 0.00046))):
        scene = load_edit_scene(name)
        frame_rows(table, name, scene.create_editor().model, paper)
    if full:
        stairs = load_edit_scene("stairs")
        editor = stairs.create_editor()
        changes(table, editor.model, 600, 0.82)
        frame_rows(table, "stairs", editor.model, (0.014, 0.057))
        moves(table, stairs, editor, 0.1)


if __name__ == "__main__":
    main()
