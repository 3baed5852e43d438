"""The messages that `keyframe` answers wrong input with."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from keyframe_cases import beam, poses, shot

import cajole as cj


def test_keys_outside_the_frames_bad_input() -> None:
    a, _ = poses()
    with pytest.raises(cj.InputError, match=r"frame 30, but there are only frames 0\.\.24"):
        shot(keys={30: a})
    with pytest.raises(cj.InputError, match="frame of a key is -1"):
        shot(keys={-1: a})


def test_two_keys_at_one_frame_bad_input() -> None:
    a, b = poses()
    with pytest.raises(cj.InputError, match="two keys stand at frame 10"):
        shot(keys=[(10, a), (10, b)])
    with pytest.raises(cj.InputError, match="two keys stand at frame 5"):
        shot(keys={5: a, 30: b}, loop=True, frames=25)


def test_pairs_are_keys_agreement() -> None:
    a, b = poses()
    assert shot(keys=[(20, b), (10, a)]).report.cost == shot().report.cost


@pytest.mark.parametrize("keys", [{}, [], 5, None, [1, 2], "ab"])
def test_keys_of_the_wrong_kind_bad_input(keys: Any) -> None:
    with pytest.raises(cj.InputError, match=r"keys must map frames to poses|frame of a key"):
        shot(keys=keys)


def test_key_only_at_the_start_bad_input() -> None:
    a, _ = poses()
    with pytest.raises(cj.InputError, match="only key stands at frame 0"):
        shot(keys={0: a})


def test_key_that_moves_fixed_vertices_bad_input() -> None:
    a, _ = poses()
    with pytest.raises(cj.InputError, match=r"key at frame 10 moves vertex \d+, which the body fixes"):
        shot(keys={10: a + 0.1})


@pytest.mark.parametrize("wrap", [lambda pose: pose, cj.Key], ids=["pose", "Key"])
def test_positions_for_a_key_bad_input(wrap: Any) -> None:
    """Positions are told from displacements wherever they stand, before anything else is found wrong with them."""
    a, _ = poses()
    for moved in (beam().vertices, beam().vertices + a, beam().vertices + 0.3 * a + [3.0, 0.0, 0.0]):
        with pytest.raises(cj.InputError, match=r"key at frame 10 looks like positions .* subtract body\.vertices"):
            shot(keys={10: wrap(moved)})
    assert shot(keys={10: 0 * a, 20: a}).report.converged


def test_animation_for_a_key_bad_input() -> None:
    whole = shot().animation
    with pytest.raises(cj.InputError, match=r"key at frame 10 is an animation; give one frame of it"):
        shot(keys={10: whole})
    assert shot(keys={10: whole.displacements[10]}).report.converged


def test_inverted_key_bad_input() -> None:
    body = beam()
    flipped = np.zeros((body.vertex_count, 3))
    flipped[body.free_vertices, 0] = -2 * body.vertices[body.free_vertices, 0]
    with pytest.raises(cj.InputError, match="inside out"):
        shot(keys={10: flipped})


def test_key_values_bad_input() -> None:
    a, _ = poses()
    hole = a.copy()
    hole[3, 1] = np.nan
    for key, words in (
        (hole, "must be finite"),
        (a[:-1], "has shape"),
        (cj.Key(a, vertices=[]), "names no vertices"),
        (cj.Key(a, vertices=[10**6]), "outside 0"),
        (cj.Key(a, vertices=beam().fixed), "names only vertices that the body fixes"),
        (cj.Key(a, weight=-1.0), "must be positive"),
    ):
        with pytest.raises(cj.InputError, match=words):
            shot(keys={10: key})


def test_keys_all_at_rest_bad_input() -> None:
    with pytest.raises(cj.InputError, match="rest shape"):
        shot(keys={10: np.zeros((beam().vertex_count, 3))})


def test_dependent_basis_bad_input() -> None:
    column = cj.modes(beam(), 1).shapes
    with pytest.raises(cj.InputError, match="combination of those before it"):
        shot(basis=np.hstack([column, 2 * column]))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"effort": 0.0}, "effort is 0.0"),
        ({"effort": np.nan}, "effort is nan"),
        ({"dt": -1.0}, "dt"),
        ({"modes": -1}, "modes is -1"),
        ({"optimiser": "adam"}, "optimiser is 'adam'"),
        ({"starts": "all"}, "starts is 'all'"),
        ({"start": "anywhere"}, "start is 'anywhere'"),
        ({"frames": 1}, "frames is 1"),
        ({"iterations": 0}, "iterations is 0"),
        ({"rank": 1.0}, "rank is 1.0"),
        ({"loop": True, "frames": None}, "a loop needs frames"),
        ({"loop": True, "start": cj.InitialState()}, "a loop finds its own start"),
        ({"loop": True, "optimiser": "cg"}, "need optimiser='newton'"),
    ],
)
def test_options_bad_input(options: dict[str, Any], words: str) -> None:
    with pytest.raises(cj.InputError, match=words):
        shot(**options)


def test_two_starts_bad_input() -> None:
    a, b = poses()
    with pytest.raises(cj.InputError, match="both start and a key at frame 0"):
        shot(keys={0: a, 10: b}, start=cj.InitialState(b))


def test_timestep_too_large_bad_input() -> None:
    a, _ = poses()
    fast = cj.InitialState(velocity=1e12 * a)
    with pytest.raises(cj.NotConverged, match="smaller dt"):
        shot(dt=1e9, start=fast)


def test_body_of_the_wrong_kind_bad_input() -> None:
    with pytest.raises(cj.InputError, match="body must be a Body"):
        cj.keyframe(None, {1: np.zeros((2, 3))})  # type: ignore[arg-type]


def test_modes_of_a_small_body_bad_input() -> None:
    """By default, all modes of a body that has fewer than ten; a number that is given must fit."""
    tet = cj.MeshTet([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])
    body, key = cj.BodySolid(tet, fixed=[0, 1, 2]), np.zeros((4, 3))
    key[3] = 0.1
    shot = cj.keyframe(body, {4: key}, 5)
    assert np.abs(shot.animation.positions[4] - tet.vertices - key).max() < 0.01
    with pytest.raises(cj.InputError, match=r"count \(of modes\) is 10, but must be between 1 and 3"):
        cj.keyframe(body, {4: key}, 5, modes=10)
    segment = cj.Segment({4: key}, 5, [0, 1, 2])
    moved = cj.keyframe_sequence(tet, cj.MaterialStVK(), [segment]).animation
    assert np.abs(moved.positions[4] - tet.vertices - key).max() < 0.01
    with pytest.raises(cj.InputError, match="between 1 and 3"):
        cj.keyframe_sequence(tet, cj.MaterialStVK(), [segment], modes=10)
