"""Storyboards: their keys are shapes that a body can rest in, at the frames they say."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.scenes.keyframe_scenes import (
    FOOT_SIDES,
    build_dinosaur_step_scene,
    build_fish_swim_scene,
    build_flower_figure_eight_scene,
    find_soles,
)


def least_volume(board):
    """The smallest volume of any tet in any key, as a share of its rest volume."""
    tets, rest = board.scene.mesh.tets, board.scene.mesh.vertices

    def volumes(x):
        return np.linalg.det(x[tets][:, 1:] - x[tets][:, :1])

    return min((volumes(rest + u) / volumes(rest)).min() for u in board.keys.values())


def test_fish_floats_between_its_keys_identity():
    board = build_fish_swim_scene(tets=900)
    assert list(board.keys) == [42, 84, 126, 168, 210]
    assert least_volume(board) > 0.4
    for u in board.keys.values():
        held = board.body.force(u)
        scale = np.abs(held).sum()
        assert np.abs(held.sum(axis=0)).max() < 1e-6 * scale
        assert np.abs(np.cross(board.body.vertices + u, held).sum(axis=0)).max() < 1e-6 * scale


def test_fish_bends_both_ways_claim():
    board = build_fish_swim_scene(tets=900)
    x = board.body.vertices[:, 0]
    tail, nose, middle = x < -0.9, x > 0.45, np.abs(x) < 0.2
    # against the middle, so that turning as a whole does not count
    arch = [(u[tail, 1].mean() + u[nose, 1].mean()) / 2 - u[middle, 1].mean() for u in board.keys.values()]
    assert arch[0] * arch[2] < 0
    assert min(abs(arch[0]), abs(arch[2])) > 0.02
    assert arch[0] == pytest.approx(arch[4])


def test_flower_draws_an_eight_claim():
    board = build_flower_figure_eight_scene()
    place = np.array([u[board.scene.parts["bloom disc"]].mean(axis=0) for u in board.keys.values()])
    assert list(board.keys)[-1] == board.frames - 1 == 300
    assert not any(board.keys[frame].any() for frame in (150, 300))
    assert (place[:3, 0] > 0.2).all()
    assert (place[4:7, 0] < -0.2).all()
    assert (np.sign(place[[0, 2, 4, 6], 1]) == [1, -1, 1, -1]).all()
    assert least_volume(board) > 0.4


@pytest.mark.parametrize("foot", FOOT_SIDES)
def test_step_lifts_one_foot_and_lands_it_ahead_claim(foot):
    board = build_dinosaur_step_scene(foot, stride=0.3, lift=0.2)
    swing = find_soles(cj.scene("dinosaur"))[foot]
    lifted, landed = (board.keys[frame][swing] for frame in (60, 120))
    assert lifted[:, 2].mean() == pytest.approx(0.2)
    assert np.allclose(landed, (0.3, 0, 0))
    assert not any(u[board.body.fixed].any() for u in board.keys.values())
    assert least_volume(board) > 0.4


def test_soles_are_the_held_vertices_identity():
    dinosaur = cj.scene("dinosaur")
    parts = find_soles(dinosaur)
    assert np.array_equal(np.sort(np.concatenate(list(parts.values()))), dinosaur.fixed)


def test_unknown_foot_bad_input():
    with pytest.raises(cj.InputError, match="foot"):
        build_dinosaur_step_scene("middle left")
