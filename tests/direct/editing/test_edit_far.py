"""Long ways and narrow ones: whole turns, one hand all the way, sheets that only bend, what cannot be reached."""

from __future__ import annotations

import numpy as np
import pytest
from edit_claims_cases import long_beam, swinging, tip, turned

import cajole as cj
from cajole.mesh import grid_triangles

TWIST_FRAME = 6


def still_beam() -> tuple[cj.BodySolid, cj.Animation, list[int]]:
    body = long_beam()
    x, y, z = body.mesh.vertices.T
    corners = np.flatnonzero((x == 3) & (np.abs(y) > 0.09) & (np.abs(z) > 0.09))
    return body, cj.Animation(body.mesh, np.tile(body.mesh.vertices, (12, 1, 1)), fps=30), corners.tolist()


def hanging_sheet() -> tuple[cj.BodyShell, cj.Animation, int]:
    flat = grid_triangles(8, 5, size=(1.6, 1.0))
    body = cj.BodyShell(flat, fixed=np.flatnonzero(flat.vertices[:, 0] < 0.25))
    motion = cj.Animation(flat, np.tile(flat.vertices, (30, 1, 1)), fps=30)
    return body, motion, tip(motion)


@pytest.mark.parametrize("by", ["hand", "drags"])
def test_two_turns_by_one_hand_claim(by: str) -> None:
    """Two turns in steps of 15°: one hand all the way lands as well as one drag after the other."""
    body, motion, corners = still_beam()
    editor, rest = cj.edit(motion, body, 200), body.mesh.vertices[corners]
    hand = editor.grab(corners, TWIST_FRAME) if by == "hand" else None
    for degrees in range(15, 721, 15):
        goal = rest @ turned((1, 0, 0), np.radians(degrees)).T
        landing = hand.move(goal) if hand is not None else editor.drag(corners, TWIST_FRAME, goal)
        if degrees % 90 == 0:
            assert np.abs(editor.positions(TWIST_FRAME)[corners] - goal).max() <= 1e-3 * 0.2 * np.sqrt(2)
            assert landing.reached


def test_bending_sheet_claim() -> None:
    """Modes that only bend a flat sheet still let it be dragged out of its plane."""
    body, motion, vertex = hanging_sheet()
    editor = cj.edit(motion, body, 30)
    goal = motion.positions[14][vertex] + [0, 0, 0.02]
    editor.drag(vertex, 14, goal, directions="z")
    assert abs(editor.positions(14)[vertex, 2] - 0.02) < 1e-5
    assert editor.drag(vertex, 14, goal).relative_error < 0.1


def test_linear_targets_bounded_claim() -> None:
    body, motion, vertex = hanging_sheet()
    editor = cj.edit(motion, body, 100)
    editor.drag(vertex, 14, motion.positions[14][vertex] + [0, 0, 0.2], directions="z")
    assert np.abs(editor.state.constraints[vertex, 14].linear_targets).max() < 10 * 0.2


def test_hard_tie_spares_others_claim() -> None:
    """Neighbours that are torn to another offset do not tear along what is held in other frames."""
    body, motion = swinging()
    vertex, editor = tip(motion), cj.edit(motion, body, 20)
    editor.drag(vertex, 12, motion.positions[12][vertex] + [0, 0.1, 0])
    editor.drag(vertex, 18, motion.positions[18][vertex] + [0, 0, 0.1])
    editor.tie(vertex, vertex - 1, 15, (0, 0.1, 0))
    assert max(editor.report.target_errors[vertex, frame] for frame in (12, 18)) < 0.02


def test_unreachable_drag_spares_others_claim() -> None:
    """What cannot be reached is missed itself; what is held in other frames lands all the same."""
    body, motion = swinging()
    vertex, editor = tip(motion), cj.edit(motion, body, 40)
    for frame, shift in ((10, [0, 0.1, 0]), (20, [0, 0, 0.1])):
        assert editor.drag(vertex, frame, motion.positions[frame][vertex] + shift).reached
    landing = editor.drag(vertex, 15, motion.positions[15][vertex] + [0, 2.5 * motion.mesh.size, 0])
    assert not landing.reached
    assert max(editor.report.target_errors[vertex, frame] for frame in (10, 20)) < 1e-3 * 0.1
    np.testing.assert_allclose(editor.constraints[vertex, 10], motion.positions[10][vertex] + [0, 0.1, 0])


@pytest.mark.parametrize("far", [1e3, 1e200])
def test_far_away_bad_input(far: float) -> None:
    body, motion = swinging()
    with pytest.raises(cj.InputError, match="times the size of the body; check its units"):
        cj.edit(motion, body, 20).drag(tip(motion), 12, [far, 0, 0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"damping": (1.0,)}, "damping must be the pair"),
        ({"damping": 0.1}, "damping must be the pair"),
        ({"damping": (1e300, 0)}, "damping is"),
        ({"h": 1e200}, "larger than any motion needs"),
        ({"smoothness": -1}, "smoothness"),
        ({"window": 7}, "window must be a pair"),
    ],
)
def test_settings_bad_input(settings: dict[str, object], message: str) -> None:
    body, motion = swinging()
    editor = cj.edit(motion, body, 20)
    with pytest.raises(cj.InputError, match=message):
        editor.tune(**settings)
    with pytest.raises(cj.InputError, match=message):
        cj.edit(motion, body, 20, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("settings", [{"damping": np.array([0.1, 0.1])}, {"window": [5, 20]}])
def test_settings_of_arrays_identity(settings: dict[str, object]) -> None:
    body, motion = swinging()
    editor = cj.edit(motion, body, 20)
    editor.tune(**settings)
    assert hash(editor.settings) is not None
    assert editor.undo()


@pytest.mark.parametrize(
    "values",
    [
        {"vertex": [[1], [1, 2]]},
        {"position": [[0, 0], [0]]},
        {"position": [1j, 0, 0]},
        {"directions": [["a", "b", "c"]]},
        {"directions": [[1, 0, 0], [1, 0]]},
    ],
)
def test_ragged_bad_input(values: dict[str, object]) -> None:
    body, motion = swinging()
    given: dict[str, object] = {"vertex": tip(motion), "position": (0, 0, 0), **values}
    with pytest.raises(cj.InputError):
        cj.edit(motion, body, 20).drag(frame=10, **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("vertex", ["a", None, 3.5])
def test_release_bad_input(vertex: object) -> None:
    body, motion = swinging()
    with pytest.raises(cj.InputError, match="must be a whole number"):
        cj.edit(motion, body, 20).release(vertex, 10)  # type: ignore[arg-type]


def test_rough_moves_land_at_the_drop_claim() -> None:
    """A hand that moves roughly stays within a few looks a move, and leaves what a patient one leaves."""
    body, motion = swinging()
    vertex, frame = tip(motion), 14
    goal = motion.positions[frame][vertex] + np.array([0.0, 0.1, 0.25])
    ends, looks = [], []
    for rough in (False, True):
        editor = cj.edit(motion, body, 40)
        hand = editor.grab(vertex, frame)
        for share in np.linspace(0.1, 1.0, 10):
            landing = hand.move(motion.positions[frame][vertex] * (1 - share) + goal * share, approximate=rough)
            looks.append(len(landing.error_history))
        assert hand.commit().reached
        ends.append(editor.positions(frame)[vertex])
    assert max(looks[10:]) <= 5
    np.testing.assert_allclose(ends[1], ends[0], atol=1e-3 * np.linalg.norm(goal - motion.positions[frame][vertex]))


def test_rough_move_out_of_reach_is_bounded_claim() -> None:
    """Far beyond what the body reaches, moves stay cheap and nothing runs away."""
    body, motion = swinging()
    vertex, frame = tip(motion), 14
    editor = cj.edit(motion, body, 40)
    with editor.grab(vertex, frame) as hand:
        for far in np.linspace(0.2, 3.0, 8):
            landing = hand.move(motion.positions[frame][vertex] + [far * body.size, 0.0, 0.0], approximate=True)
            assert len(landing.error_history) <= 5
    assert np.abs(editor.positions(frame) - motion.positions[frame]).max() < 10 * body.size
