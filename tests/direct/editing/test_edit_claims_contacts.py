"""Contacts outlast every edit: sliding ones stay in their plane, sticking ones in place, in every frame (§5)."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from edit_claims_cases import Array, flying, swinging, tip, waving
from numpy.typing import NDArray

import cajole as cj
from bodies import beam_body

SLANTED = np.array([0.0, 0.6, 0.8])
WARPS = ["composition", "additive"]


def contacts(
    kind: str, frames: range, vertices: NDArray[np.int64], normals: Array, others: NDArray[np.int64] | None = None
) -> cj.Contacts:
    """The same vertices in contact in all these frames."""
    frame, vertex = np.repeat(frames, len(vertices)), np.tile(vertices, len(frames))
    other = None if others is None else np.tile(others, len(frames))
    normal = np.broadcast_to(normals, (len(frame), 3))
    return cj.Contacts(frame, vertex, normal, np.full(len(frame), kind), other)  # type: ignore[arg-type]


def broken(kept: cj.Contacts, editor: cj.Editor) -> float:
    """The farthest that the edit moves a contact against its normal, or at all where it sticks, in body sizes."""
    change = editor.animation().positions - editor.input.positions
    moved = change[kept.frame, kept.vertex]
    moved = moved - np.where((kept.other >= 0)[:, None], change[kept.frame, kept.other], 0.0)
    along = np.where(kept.kind == "sliding", np.abs((moved * kept.normal).sum(axis=1)), np.linalg.norm(moved, axis=1))
    return float(along.max()) / editor.input.mesh.size


def below() -> NDArray[np.int64]:
    x = swinging()[0].vertices
    return np.flatnonzero((x[:, 2] == 0) & (x[:, 0] > 0.5) & (x[:, 0] < 1.3))


def made(case: str) -> cj.Contacts:
    frames = range(8, 20)
    if case == "sticking":
        return contacts("sticking", frames, below()[:3], SLANTED)
    if case == "self":
        return contacts("sliding", frames, below()[:4], SLANTED, below()[:4] + 2)
    if case == "self-sticking":
        return contacts("sticking", frames, below()[:2], SLANTED, below()[:2] + 2)
    return contacts("sliding", frames, below(), SLANTED)


@pytest.mark.parametrize("cluster", [12, 500, None])
@pytest.mark.parametrize("warp", WARPS)
@pytest.mark.parametrize("case", ["sliding", "sticking", "self", "self-sticking"])
def test_kept_claim(case: str, warp: str, cluster: int | None) -> None:
    """Every contact of every frame, not only those that stand for a patch, to 1e-10 of the size."""
    body, motion = swinging()
    kept = made(case)
    editor = cj.edit(motion, body, 60, contacts=kept, cluster=cluster, warp=warp)
    goal = motion.positions[14][tip(motion)] + [0.0, 0.1, 0.1]
    landing = editor.drag(tip(motion), 14, goal)
    assert broken(kept, editor) <= 1e-10
    assert editor.report.contacts == len(kept)
    if cluster != 12:
        assert landing.reached
        np.testing.assert_allclose(editor.positions(14)[tip(motion)], goal, atol=1e-3 * 0.15)
    without = cj.edit(motion, body, 60, warp=warp)
    without.drag(tip(motion), 14, goal)
    assert broken(kept, without) > 1e-4


@pytest.mark.parametrize("cluster", [12, 500, None])
def test_zero_edit_with_contacts_identity(cluster: int | None) -> None:
    body, motion = swinging()
    editor = cj.edit(motion, body, 60, contacts=made("sliding"), cluster=cluster)
    np.testing.assert_array_equal(editor.animation().positions, motion.positions)
    editor.drag(tip(motion), 14, motion.positions[14][tip(motion)] + [0.0, 0.05, 0.0])
    editor.tune(h=0.1)
    assert broken(made("sliding"), editor) <= 1e-10
    editor.undo()
    editor.undo()
    np.testing.assert_array_equal(editor.animation().positions, motion.positions)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("cluster", [12, 500, None])
def test_flying_turned_normals_claim(cluster: int | None, whole: bool) -> None:
    """A tumbling body with normals of its own at every contact: planes are the world's, not the body's."""
    body, motion = flying()
    normals = np.random.default_rng(2).normal(size=(20, 3))
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    kept = contacts("sliding", range(10, 15), np.array([3, 20, 33, 41]), normals)
    editor = cj.edit(motion, body, 60, contacts=kept, cluster=cluster, whole=whole)
    goal = motion.positions[12][tip(motion)] + [0.0, 0.1, 0.05]
    assert editor.drag(tip(motion), 12, goal).reached
    assert broken(kept, editor) <= 1e-10
    np.testing.assert_allclose(editor.positions(12)[tip(motion)], goal, atol=1e-3 * 0.12)


def test_sheet_claim() -> None:
    body, motion = waving()
    kept = contacts("sliding", range(8, 20), np.array([20, 21, 22]), SLANTED)
    editor = cj.edit(motion, body, 60, contacts=kept)
    assert editor.drag(tip(motion), 14, motion.positions[14][tip(motion)] + [0.0, 0.0, 0.1]).reached
    assert broken(kept, editor) <= 1e-10


@cache
def sliding_home() -> tuple[cj.BodySolid, cj.Animation]:
    """A free beam that comes down and slides along the ground."""
    body = beam_body((8, 2, 2), length=1.6, held=False)
    places = [body.vertices + [t, 0.0, max(0.0, 0.3 - 1.2 * t)] for t in np.linspace(0, 1, 30)]
    return body, cj.Animation(body.mesh, np.stack(places), fps=30)


@pytest.mark.parametrize("cluster", [12, 500, None])
def test_found_on_the_ground_claim(cluster: int | None) -> None:
    """Figure 6: contacts found in the motion keep the edit out of the ground, which it enters without them."""
    body, motion = sliding_home()
    found = cj.find_contacts(motion, "ground")
    assert len(found) > 500
    goal = motion.positions[20][tip(motion)] + [0.0, 0.1, 0.05]
    editor = cj.edit(motion, body, 60, contacts=found, cluster=cluster, ends="free")
    assert editor.drag(tip(motion), 20, goal).reached
    assert broken(found, editor) <= 1e-10
    assert editor.animation().positions[20, :, 2].min() >= -1e-10
    without = cj.edit(motion, body, 60, ends="free")
    without.drag(tip(motion), 20, goal)
    assert without.animation().positions[20, :, 2].min() < -0.01


def test_animation_brings_its_contacts() -> None:
    """Contacts of the animation are kept without being handed in, and the edited animation still has them."""
    body, motion = swinging()
    kept = made("sticking")
    touching = cj.Animation(motion.mesh, motion.positions, fps=motion.fps, contacts=kept)
    editor = cj.edit(touching, body, 60)
    editor.drag(tip(motion), 14, motion.positions[14][tip(motion)] + [0.0, 0.1, 0.1])
    assert broken(kept, editor) <= 1e-10
    assert editor.animation().contacts is kept
    baked = editor.baked()
    baked.drag(tip(motion), 16, baked.positions(16)[tip(motion)] + [0.0, 0.05, 0.0])
    assert broken(kept, baked) <= 1e-10


def test_sticking_vertex_is_not_dragged_bad_input() -> None:
    """What sticks cannot be dragged in that frame: it stays, and this is told."""
    body, motion = swinging()
    kept = made("sticking")
    editor = cj.edit(motion, body, 60, contacts=kept, cluster=None)
    vertex = int(kept.vertex[0])
    landing = editor.drag(vertex, 14, motion.positions[14][vertex] + [0.0, 0.1, 0.0])
    assert not landing.reached
    assert broken(kept, editor) <= 1e-10
    assert (vertex, 14) in editor.report.redundant
