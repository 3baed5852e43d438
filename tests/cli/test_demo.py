"""`cajole demo`: the registry, the workers, the page, and one real item at a small size."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cajole.animation import read_animation
from cajole.animation.glb import choose_glb_options
from cajole.cli import demo
from cajole.cli.gallery import card, cards, worker_pool
from cajole.cli.gallery.page import render_page
from cajole.errors import SolveError
from cajole.scenes import flow_scenes, scene_names
from cajole.scenes.edit_scenes import list_edit_scene_names
from cajole.scenes.enrich_scenes import list_enrich_scene_names
from cajole.scenes.reroute_scenes import list_reroute_scene_names


def entry(name, folder, **changes):
    (folder / f"{name}.jpg").write_bytes(b"still")
    (folder / f"{name}.webp").write_bytes(b"loop")
    return {
        "name": name, "title": name.title(), "verb": "simulate", "story": "It <moves> & rests.",
        "command": f"cajole demo --scene {name}", "frames": 3, "fps": 2.0, "seconds": 0.5, "numbers": {"tets": 5},
        "facts": {"body": "8 vertices, 5 tets", "moves up to": "0.20 m"}, "curves": [[0.0, 0.2, 0.1]],
        "told": "how far it is", "background": [0.5, 0.5, 0.5], "file": f"{name}.glb", "still": f"{name}.jpg",
        "loop": f"{name}.webp", "file_bytes": 1234567, **changes,
    }  # fmt: skip


def test_every_item_is_a_scene_or_a_shot_identity():
    led = {
        *list_edit_scene_names(),
        *list_enrich_scene_names(),
        *list_reroute_scene_names(),
        *flow_scenes.FLOW_SCENE_DESCRIPTIONS,
    }
    assert set(cards.CARD_BUILDERS) - {"flower-eight"} <= {*scene_names(), *led}
    assert set(demo.BUILD_ORDER) == set(cards.CARD_BUILDERS)


def test_page_is_self_contained_identity(tmp_path):
    text = render_page([entry("one", tmp_path), entry("two", tmp_path)], tmp_path, 61.0)
    links = re.findall(r'(?:src|srcset|href)="([^"]*)"', text)
    assert {link for link in links if not link.startswith("data:")} == {"one.glb", "one.jpg", "two.glb", "two.jpg"}
    assert "http" not in text
    assert "It &lt;moves&gt; &amp; rests." in text
    assert "prefers-color-scheme: dark" in text
    assert text.count("<article") == 2
    assert "<code>cajole demo --scene one</code>" in text


def test_two_curves_have_one_scale_identity(tmp_path):
    text = render_page([entry("one", tmp_path, curves=[[0.0, 4.0], [0.0, 1.0]])], tmp_path, 1.0)
    free, led = re.findall(r'<path d="M0.0 42.0 L240.0 ([0-9.]+)"/>', text)
    assert (float(free), float(led)) == (2.0, 32.0)


def test_force_fades_in_and_out_identity():
    force = cards._build_force_pulse(0.4, np.ones((2, 3)))
    assert force(0.0).max() == 0.0
    assert force(0.2) == pytest.approx(1.0)
    assert force(0.4).max() == pytest.approx(0.0, abs=1e-12)
    assert force(3.0).max() == 0.0


@pytest.fixture(scope="module")
def fish():
    """The fish of the demo, coarse and short."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cards, "FRAMES", 9)
        made = cards.scene
        patch.setattr(cards, "scene", lambda name, progress=None: made(name, tets=900))
        yield cards.CARD_BUILDERS["fish"](None)


def test_item_swings_at_the_frequency_asked_identity(fish):
    from cajole.dynamics import modes

    stage = cards._TunedScene.create("fish", 1.0, None)
    assert stage.frequencies == pytest.approx(modes(stage.body, 3).frequencies, rel=1e-6)
    assert fish.numbers["frequencies_Hz"][0] == pytest.approx(1.0)


def test_kick_leaves_the_fish_in_the_picture_identity(fish):
    body, moved = cards._TunedScene.create("fish", 1.0, None).body, fish.media.animation
    centre = (body.vertex_masses[:, None] * moved.positions).sum(axis=1) / body.total_mass
    assert np.ptp(centre, axis=0).max() < 1e-6 * body.size
    assert moved.largest_displacement > 0.02 * body.size


@pytest.fixture
def small(monkeypatch):
    """Pictures of a few pixels."""
    monkeypatch.setattr(card, "STILL_SIZE", (48, 32))
    monkeypatch.setattr(card, "LOOP_SIZE", (48, 32))
    monkeypatch.setattr(card, "SAMPLES_PER_PIXEL", 1)


def test_files_and_numbers_agreement(fish, tmp_path, monkeypatch, small):
    monkeypatch.setitem(cards.CARD_BUILDERS, "fish", lambda progress: fish)
    told = cards.write_card_files("fish", tmp_path, lambda fraction, text: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fish.glb", "fish.jpg", "fish.webp"]
    assert told["file_bytes"] == (tmp_path / "fish.glb").stat().st_size < 15_000_000
    assert told["numbers"]["largest_displacement_m"] == pytest.approx(fish.media.animation.largest_displacement)
    assert len(told["curves"][0]) == told["frames"] == 9


def test_box_follows_its_guide_claim(tmp_path, monkeypatch, small):
    """A shell beside its guide: as wide as two, the means met to rounding, and folds that the guide has not."""
    monkeypatch.setattr(cards, "BOX_FRAMES", 9)
    monkeypatch.setattr(cards, "BOX_STILL_FRAME", 8)
    told = cards.write_card_files("box", tmp_path, lambda fraction, text: None)
    assert told["numbers"]["off_guide_sizes"] < 1e-12
    (depth,) = told["curves"]
    assert depth[0] < 1e-12
    assert told["numbers"]["deepest_fold_m"] == max(depth) > 1e-6
    assert "8 vertices turn a lid" in told["story"]
    assert read_animation(tmp_path / "box.glb").n == told["numbers"]["vertices"]
    assert _hues(tmp_path / "box.jpg") == ["yellow", "other"]


def test_cloth_reaches_its_goals_claim(small):
    card = cards.build_cloth_card(None)
    assert card.numbers["reached"] == card.numbers["goals"] == 2
    (away,) = card.curves
    assert away[0] == 0.0
    assert away[card.numbers["last_frame"]] >= 0.99 * card.numbers["farthest_m"]


def test_smoke_keeps_to_its_paths_claim(tmp_path, monkeypatch, small):
    monkeypatch.setattr(cards, "SWIRL_OPTIONS", {"cells": 32, "size": 16, "runs": 4})
    told = cards.write_card_files("swirl", tmp_path, lambda fraction, text: None)
    free, led = told["curves"]
    assert max(led) < 0.5 * max(free)
    with np.load(tmp_path / "swirl.npz", allow_pickle=False) as take:
        assert take["particles"].shape == (told["frames"], 3, 2)


def _hues(path):
    """Of each half of a picture, what its strongest colours are."""
    from PIL import Image

    pixels = np.asarray(Image.open(path), dtype=float)
    halves = np.array_split(pixels, 2, axis=1)
    strong = [half[np.ptp(half, axis=2) > 80].mean(axis=0) for half in halves]
    return ["yellow" if red > blue + 80 and green > blue + 80 else "other" for red, green, blue in strong]


def test_glb_gives_up_normals_before_keys_identity(fish):
    n = len(fish.media.animation.skin.mesh.vertices)
    few, many = (choose_glb_options(fish.media.animation, size) for size in (5 * 24 * n, 20 * 24 * n))
    assert few == {"normals": False, "max_targets": 8}
    assert many == {"normals": True, "max_targets": 18}


def test_unknown_scene_bad_input(cajole, tmp_path):
    answer = cajole("demo", "--scene", "dragon", "--output", tmp_path / "demo")
    assert answer.code == 1
    assert "--scene is 'dragon', but must be one of" in answer.err
    assert list(tmp_path.iterdir()) == []


def test_failing_item_leaves_nothing_bad_input(cajole, tmp_path, monkeypatch):
    def fails(names, folder, workers, told):
        (folder / "half.glb").write_bytes(b"half")
        raise SolveError("fish: no luck")

    monkeypatch.setattr(worker_pool, "build_cards", fails)
    answer = cajole("demo", "--output", tmp_path / "demo", "--json")
    assert answer.code == 1
    assert answer.json["error"]["message"] == "fish: no luck"
    assert list(tmp_path.iterdir()) == []


def test_pool_reports_what_failed_bad_input(tmp_path):
    with pytest.raises(SolveError, match="dragon"):
        worker_pool.build_cards(["dragon"], tmp_path, 1, lambda name, fraction, text: None)


def test_command_writes_page_and_report_identity(cajole, tmp_path, monkeypatch):
    def makes(names, folder, workers, told):
        return {name: entry(name, folder) for name in names}

    monkeypatch.setattr(worker_pool, "build_cards", makes)
    told = cajole("demo", "--scene", "fish", "--scene", "twist", "--output", tmp_path / "demo", "--json").json
    assert [item["name"] for item in told["items"]] == ["twist", "fish"]
    assert (tmp_path / "demo" / "index.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]
