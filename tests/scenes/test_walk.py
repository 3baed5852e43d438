"""A walk: feet take turns, land where they shall, and stand still until they are lifted again."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.scenes.keyframe_scenes import FOOT_UP_PHASE, GAIT_ORDER, build_dinosaur_walk_scene, find_soles

FRAMES = 25
UP = round(FOOT_UP_PHASE * (FRAMES - 1))


@pytest.fixture(scope="module")
def board():
    return build_dinosaur_walk_scene(frames=FRAMES)


@pytest.fixture(scope="module")
def walked(board):
    """Fewer modes than the film takes: the feet do the same."""
    return board.solve(modes=4, starts="pd")


@pytest.fixture(scope="module")
def feet(board):
    return find_soles(board.scene)


def swinging(board):
    return [GAIT_ORDER[i % 4] for i in range(len(board.steps))]


def test_keys_lift_and_land_one_foot_identity(board, feet):
    assert sum(len(step.keys) for step in board.steps) == 10
    at = dict.fromkeys(feet, 0.0)
    for number, (step, foot) in enumerate(zip(board.steps, swinging(board))):
        up, down = (step.keys[frame] for frame in (UP, FRAMES - 1))
        before, at[foot] = at[foot], at[foot] + (0.5 if number >= 2 else 0.25)
        assert np.allclose(up[feet[foot]].mean(axis=0), ((before + at[foot]) / 2, 0, 0.22))
        for name, sole in feet.items():
            assert np.allclose(down[sole], (at[name], 0, 0))
            assert (name == foot) != np.isin(sole, step.fixed).all()


def test_keys_keep_every_tet_identity(board):
    mesh = board.scene.mesh

    def volumes(x):
        return np.linalg.det(x[mesh.tets][:, 1:] - x[mesh.tets][:, :1])

    least = [(volumes(mesh.vertices + u) / volumes(mesh.vertices)).min() for s in board.steps for u in s.keys.values()]
    assert min(least) > 0.4


def test_standing_feet_stand_and_the_other_arrives_claim(board, walked, feet):
    motion = walked.animation.displacements
    assert len(motion) == 5 * (FRAMES - 1) + 1
    for number, (step, foot) in enumerate(zip(board.steps, swinging(board))):
        part = motion[number * (FRAMES - 1) :][:FRAMES]
        assert np.abs(part[:, step.fixed] - part[0, step.fixed]).max() < 1e-12
        swing = part[:, feet[foot]].mean(axis=1)
        assert swing[:, 2].max() > 0.2
        landed = step.keys[FRAMES - 1][feet[foot]].mean(axis=0)
        assert np.linalg.norm(swing[-1] - landed) < 0.03


def test_walk_joins_smoothly_identity(walked):
    """Velocities go over but for the landing foot's, and the animal gets ahead with every pair of steps."""
    assert max(walked.lost_velocity_shares) < 0.1
    assert all(shot.report.converged for shot in walked.shots)
    masses = walked.shots[0].model.body.vertex_masses
    ahead = walked.animation.displacements[:: FRAMES - 1, :, 0] @ masses / masses.sum()
    assert (np.diff(ahead) > 0.03).all()
    assert ahead[-1] > 0.4


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"steps": 0}, "steps is 0"),
        ({"frames": 3}, "frames is 3"),
        ({"stride": -1.0}, r"stride \(m\) is -1"),
        ({"lift": np.nan}, r"lift \(m\)"),
    ],
)
def test_walk_bad_input(options, words):
    with pytest.raises(cj.InputError, match=words):
        build_dinosaur_walk_scene(**options)
