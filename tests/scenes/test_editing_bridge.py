"""The bridge in a storm: it dips into the sea and strikes gulls, and eight moved vertices put that right."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.scenes import Scene
from cajole.scenes.edit_scenes import load_edit_scene
from cajole.scenes.edit_scenes.bridge import (
    CLEARANCE,
    SEA_HEIGHT,
    STORM_GUSTS,
    BridgeStormScene,
    StormGust,
    _find_clear_fraction,
    build_pulled_bridge_scene,
    build_storm_scene,
    load_damped_bridge,
    simulate_storm,
)
from cajole.scenes.edit_scenes.edit_scene import load_or_compute_positions
from cajole.scenes.edit_scenes.gulls import COLLISION_RADIUS, WINGSPAN, build_flock, compute_parabolic_path

# of the real storm only the dip is simulated here; the swaying of the masts is made of modes
DIPPED, MODES, FRAMES = 24, 40, 180


@pytest.fixture(scope="module")
def made() -> Scene:
    return load_damped_bridge()


@pytest.fixture(scope="module")
def body(made: Scene) -> cj.BodySolid:
    return made.body()


@pytest.fixture(scope="module")
def swaying(made: Scene, body: cj.BodySolid) -> BridgeStormScene:
    """A dip of 0.4 m about frame 21, and sways of 0.4 m about frames 96 and 155."""
    found = cj.modes(body, MODES)
    heave, sway = found.shape(1), found.shape(0)
    heave = 0.4 * heave / heave[made.parts["deck"], 2].max()
    sway = 0.4 * sway / sway[made.parts["towers"], 1].max()
    frames = np.arange(FRAMES)
    # as wide in time as half a swing of each is
    dip = np.exp(-(((frames - 21) / 4.8) ** 2))
    swing = np.exp(-(((frames - 96) / 6.0) ** 2)) + np.exp(-(((frames - 155) / 6.0) ** 2))
    return build_storm_scene(made, body, body.vertices - dip[:, None, None] * heave - swing[:, None, None] * sway)


def troubles(scene: BridgeStormScene, animation: cj.Animation) -> tuple[float, float]:
    """How deep the deck ever is in the sea, and how near the bridge ever comes to a gull [m]."""
    path = animation.positions
    return max(scene.compute_deck_depth(x) for x in path), min(
        scene.compute_gull_gap(x, frame) for frame, x in enumerate(path)
    )


def test_storm_dips_into_the_sea_claim(body, made):
    """At about frame 20 the deck is in the sea, and only then within the second; no tet is crushed."""
    path = simulate_storm(body, frames=DIPPED)
    deck = np.concatenate([made.parts["deck"], made.parts["girders"]])
    lowest = path[:, deck, 2].min(axis=1)
    assert 18 <= lowest.argmin() <= 22
    assert lowest.min() < SEA_HEIGHT - 0.1
    assert lowest[:15].min() > SEA_HEIGHT
    edges = path[lowest.argmin()][made.mesh.tets]
    volumes = np.linalg.det(edges[:, 1:] - edges[:, :1]) / 6
    assert (volumes / made.mesh.volumes).min() > 0.5


def test_moves_clear_the_sea_and_the_gulls_claim(swaying):
    """Figure 1: before, the deck is wet and both flocks are struck; eight vertices later nothing is touched."""
    deep, gap = troubles(swaying, swaying.animation)
    assert deep > 0.1
    assert gap < -0.1
    for group in swaying.flocks:
        assert (
            min(
                group.compute_gaps(x[swaying.surface_vertices], k).min()
                for k, x in enumerate(swaying.animation.positions)
            )
            < 0
        )
    assert sum(len(move.vertices) for move in swaying.drags) == 8
    editor = swaying.apply_drags(MODES)
    deep, gap = troubles(swaying, editor.animation())
    assert deep < 0
    assert gap > 0
    for move in swaying.drags:
        axis = "xyz".index(str(move.directions))
        there = editor.positions(move.frame)[move.vertices, axis]
        assert there == pytest.approx(move.positions[:, axis], abs=1e-3 * swaying.body.size)


def test_moves_follow_from_geometry_identity(swaying):
    """Were the whole bridge brought back as far as its moved vertices, it would be clear by exactly what is asked."""
    lift, *aways = swaying.drags
    rest = swaying.animation.mesh.vertices
    x = swaying.animation.positions[lift.frame]
    back = (lift.positions - x[lift.vertices])[0, 2] / (rest - x)[lift.vertices[0], 2]
    assert swaying.compute_deck_depth(x + back * (rest - x)) == pytest.approx(-CLEARANCE, abs=2e-3)
    for move, group in zip(aways, swaying.flocks):
        x = swaying.animation.positions[move.frame]
        back = (move.positions - x[move.vertices])[0, 1] / (rest - x)[move.vertices[0], 1]
        gaps = group.compute_gaps((x + back * (rest - x))[swaying.surface_vertices], move.frame)
        assert gaps.min() == pytest.approx(CLEARANCE, abs=1e-9)


def test_way_back_identity():
    """A point beside a bird's middle that goes straight away leaves at the root of |r + s d| = R."""
    bird, point, rest = np.zeros((1, 3)), np.array([[0.0, 0.1, 0.0]]), np.array([[0.0, 1.1, 0.0]])
    assert _find_clear_fraction(point, rest, bird) == pytest.approx(COLLISION_RADIUS + CLEARANCE - 0.1)
    assert _find_clear_fraction(rest, rest, bird) == 0.0


def test_pulled_mast_swings_before_and_after_claim():
    """Figure 2: one mast is pulled at frame 60; it swings before and after, and the other mast swings along."""
    scene = build_pulled_bridge_scene()
    (move,) = scene.drags
    editor = scene.apply_drags(MODES)
    rest = scene.animation.mesh.vertices
    top = int(move.vertices[0])
    swing = np.array([editor.positions(frame)[top, 1] - rest[top, 1] for frame in range(scene.animation.frames)])
    assert swing[move.frame] == pytest.approx(-0.75, abs=2e-3)
    assert swing[20 : move.frame].max() > 0.2
    assert swing[move.frame : 100].max() > 0.2
    other = (rest[:, 0] > 0) & (rest[:, 2] > 2.7)
    assert np.abs(editor.positions(100) - rest)[other, 1].max() > 0.1
    assert np.array_equal(editor.positions(1), rest)


def test_gust_identity():
    gust = StormGust("heave", 1.0, 2.0, 1.0, 3.0)
    assert gust(1.0) == gust(2.0) == gust(0.3) == 0.0
    assert gust(1.25) == pytest.approx(1.5)
    assert {each.pattern for each in STORM_GUSTS} == {"heave", "sway", "roll", "yaw", "wave"}


def test_gulls_stay_within_reach_identity():
    """A flock follows its path, beats its wings, and no part of a bird is farther from its middle than its reach."""
    path = compute_parabolic_path(
        np.array([1.0, 2.0, 3.0]), 30, np.array([4.0, 1.0, 0.0]), np.array([0.0, -2.0, 1.0]), frames=60, fps=30
    )
    assert path[30] == pytest.approx([1.0, 2.0, 3.0])
    assert (path[31] - path[29]) * 15 == pytest.approx([4.0, 1.0, 0.0])
    birds = build_flock(path, fps=30, on_left=False, seed=0, name="birds")
    assert birds.centres[:, 0] == pytest.approx(path)
    assert birds.animation.skin is not None
    count = birds.centres.shape[1]
    apart = birds.animation.positions.reshape(60, count, -1, 3) - birds.centres[:, :, None]
    assert np.linalg.norm(apart, axis=3).max() < COLLISION_RADIUS
    tips = apart[:, 0, :, 2].max(axis=1)
    assert np.ptp(tips) > 0.1 * WINGSPAN
    assert birds.compute_gaps(path[5:6], 5)[0, 0] == pytest.approx(-COLLISION_RADIUS)


def test_positions_are_kept_identity(own_cache):
    """What is read back is what was made, bit for bit, and another key is another motion."""
    calls = []

    def make():
        calls.append(1)
        return np.full((2, 3, 3), np.pi)

    first, again, other = (load_or_compute_positions(make, key) for key in ("a", "a", "b"))
    assert np.array_equal(first, again)
    assert first.dtype == np.float64
    assert len(calls) == 2
    assert np.array_equal(first, other)


def test_storm_can_be_stopped():
    with pytest.raises(cj.Cancelled):
        load_edit_scene("bridge", progress=lambda fraction, text: fraction < 0.12)


def test_storm_bad_input(made, body):
    still = np.broadcast_to(body.vertices, (FRAMES, *body.vertices.shape))
    with pytest.raises(cj.InputError, match="stays dry"):
        build_storm_scene(made, body, still)
    with pytest.raises(cj.InputError, match="gulls come until"):
        build_storm_scene(made, body, still[:5])
