"""`cajole enrich NAME`: the built-in scenes in their materials, and options that they have no use for."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.scenes.enrich_scenes import list_enrich_scene_names, load_enrich_scene


def test_scene_agreement(cajole, tmp_path):
    """A scene in one of its materials is what the library makes of it; the picture has the scene's own size."""
    target, drawn = tmp_path / "box.npz", tmp_path / "box.png"
    told = cajole(
        "enrich", "box", "--material", "limp", "--frames", 2, "--dt", "1/60", "-o", target, "-o", drawn, "--json"
    ).json
    scene = load_enrich_scene("box")
    result = scene.solve("limp", frames=2, dt=1 / 60)
    np.testing.assert_array_equal(cj.read_animation(target).positions, result.animation.positions)
    assert (told["source"], told["regions"], told["vertices"]) == ("box", 8, 1538)
    assert told["steps"] == result.report.steps
    assert told["residual_sizes"] == result.report.residual
    assert drawn.stat().st_size > 10_000


def test_gravity_none_is_said_claim(cajole):
    """Without a word a scene has its own gravity, which its guide bears; with "none" there is none to bear."""
    words = ("enrich", "box", "--frames", 2, "--dt", "1/30", "--json")
    own, none = (cajole(*words, *more).json["gentleness_rms_weights"] for more in ((), ("--gravity", "none")))
    assert own > 0.1
    assert none < 0.1 * own


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("box", "--subdivide", 3), "--subdivide is the scene's own"),
        (("box", "--paint-on", "vertices"), "--paint-on is the scene's own"),
        (("bag", "--young", 1e4), "--young is the scene's own; leave it out, or give a file"),
        (("box", "--material", "steel"), "--material is 'steel', but must be one of"),
        (("walk.npz", "--material", "silk", "--subdivide", 2), "--material is for scenes"),
        (("dragon",), "'dragon' is no scene to enrich (" + ", ".join(list_enrich_scene_names()) + ") and no file"),
    ],
)
def test_what_cannot_be_said_bad_input(cajole, words, said):
    run = cajole("enrich", *words)
    assert run.code == 1
    assert said in " ".join(run.err.split())
