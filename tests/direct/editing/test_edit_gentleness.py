"""What an edit adds to the forces, how far it reaches in time, and edits without a warp."""

from __future__ import annotations

import numpy as np
import pytest
from edit_claims_cases import swinging, tip

import cajole as cj
from cajole.body import EARTH_GRAVITY

FRAME = 14


@pytest.fixture(scope="module")
def beam() -> tuple[cj.BodySolid, cj.Animation, int]:
    body, motion = swinging()
    return body, motion, tip(motion)


def test_gentleness_agreement(beam: tuple[cj.BodySolid, cj.Animation, int]) -> None:
    """The same forces as M ü + D u̇ + K u of the linear change on all vertices, in the norm of M⁻¹."""
    body, motion, vertex = beam
    editor = cj.edit(motion, body, 20, damping=(0.3, 0.002))
    editor.drag(vertex, FRAME, motion.positions[FRAME][vertex] + [0, 0, 0.05])
    z, h, lam = editor.compute_reduced_coordinates(), editor.settings.h, editor.model.eigenvalues
    acceleration = (z[2:] - 2 * z[1:-1] + z[:-2]) / h**2
    w = acceleration + (0.3 + 0.002 * lam) * (z[2:] - z[1:-1]) / h + lam * z[1:-1]
    expected = np.linalg.norm(w, axis=1) / (np.sqrt(body.total_mass) * EARTH_GRAVITY)
    np.testing.assert_allclose(editor.gentleness()[1:-1], expected, rtol=1e-8, atol=1e-8 * expected.max())
    assert editor.report.gentleness.max() == pytest.approx(expected.max(), rel=1e-8)
    assert "added force" in str(editor.report)


@pytest.mark.parametrize("ends", ["fixed", "free"])
def test_gentleness_scales_with_drag_identity(beam: tuple[cj.BodySolid, cj.Animation, int], ends: str) -> None:
    body, motion, vertex = beam
    found = []
    for far in (1e-4, 2e-4):
        editor = cj.edit(motion, body, 20, ends=ends, warp="none")
        assert not editor.gentleness().any()
        editor.drag(vertex, FRAME, motion.positions[FRAME][vertex] + [0, far, 0])
        found.append(editor.gentleness())
    np.testing.assert_allclose(found[1], 2 * found[0], rtol=1e-6, atol=1e-12)


def test_reach_is_how_the_vertex_follows_agreement(beam: tuple[cj.BodySolid, cj.Animation, int]) -> None:
    body, motion, vertex = beam
    editor = cj.edit(motion, body, 20, warp="none")
    reach = editor.compute_temporal_influence(vertex, FRAME)
    assert reach[FRAME] == 1.0
    assert not reach[:2].any()
    rows = editor.model.compute_constraint_rows(vertex)
    traces = [
        np.trace((rows * editor._constraint_system.spacetime.compute_response(FRAME)[t]) @ rows.T)
        for t in range(motion.frames)
    ]
    np.testing.assert_allclose(reach, np.array(traces) / traces[FRAME], rtol=1e-9, atol=1e-12)


def test_unwarped_change_is_linear_identity(beam: tuple[cj.BodySolid, cj.Animation, int]) -> None:
    """Without a warp the vertex lands at once, and the whole frame moves by the modes alone."""
    body, motion, vertex = beam
    editor = cj.edit(motion, body, 20, warp="none")
    goal = motion.positions[FRAME][vertex] + [0, 0, 0.3]
    landing = editor.drag(vertex, FRAME, goal)
    assert landing.reached
    np.testing.assert_allclose(editor.positions(FRAME)[vertex], goal, atol=1e-9)
    moved = editor.model.compute_linear_displacements(editor.compute_reduced_coordinates()[[FRAME]].T)[0]
    np.testing.assert_allclose(editor.positions(FRAME), motion.positions[FRAME] + moved, atol=1e-12)


def test_unwarped_edit_comes_back_from_file(beam: tuple[cj.BodySolid, cj.Animation, int], tmp_path) -> None:
    body, motion, vertex = beam
    editor = cj.edit(motion, body, 20, warp="none")
    editor.drag(vertex, FRAME, motion.positions[FRAME][vertex] + [0, 0, 0.1])
    cj.save_edit(editor, tmp_path / "edit.json")
    again = cj.load_edit(tmp_path / "edit.json", motion, body)
    np.testing.assert_allclose(again.positions(FRAME), editor.positions(FRAME), atol=1e-12)
