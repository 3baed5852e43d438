"""`cajole demo`: the registry, the workers, the page, and one real item at a small size."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cajole.animation.glb_size import glb_options
from cajole.cli.gallery import command, files, items, pool
from cajole.cli.gallery.page import page
from cajole.errors import SolveError
from cajole.scenes import scene_names
from cajole.scenes.editing import edit_scene_names


def entry(name, folder, **changes):
    (folder / f"{name}.jpg").write_bytes(b"still")
    (folder / f"{name}.webp").write_bytes(b"loop")
    return {
        "name": name, "title": name.title(), "verb": "simulate", "story": "It <moves> & rests.", "vertices": 8,
        "tets": 5, "frames": 3, "fps": 2.0, "seconds": 0.5, "frequencies_Hz": [1.0, 2.0],
        "largest_displacement_m": 0.2, "largest_displacement_sizes": 0.1, "largest_energy_J": 3.0,
        "reach_m": [0.0, 0.2, 0.1], "background": [0.5, 0.5, 0.5], "glb": f"{name}.glb", "still": f"{name}.jpg",
        "loop": f"{name}.webp", "glb_bytes": 1234567, **changes,
    }  # fmt: skip


def test_every_item_is_a_scene_or_a_shot_identity():
    assert set(items.ITEMS) - {"flower-eight"} <= {*scene_names(), *edit_scene_names()}
    assert set(command.SLOWEST_FIRST) == set(items.ITEMS)


def test_page_is_self_contained_identity(tmp_path):
    text = page([entry("one", tmp_path), entry("two", tmp_path)], tmp_path, 61.0)
    links = re.findall(r'(?:src|srcset|href)="([^"]*)"', text)
    assert {link for link in links if not link.startswith("data:")} == {"one.glb", "one.jpg", "two.glb", "two.jpg"}
    assert "http" not in text
    assert "It &lt;moves&gt; &amp; rests." in text
    assert "prefers-color-scheme: dark" in text
    assert text.count("<article") == 2


def test_force_fades_in_and_out_identity():
    force = items._during(0.4, np.ones((2, 3)))
    assert force(0.0).max() == 0.0
    assert force(0.2) == pytest.approx(1.0)
    assert force(0.4).max() == pytest.approx(0.0, abs=1e-12)
    assert force(3.0).max() == 0.0


@pytest.fixture(scope="module")
def fish():
    """The fish of the demo, coarse and short."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(items, "FRAMES", 9)
        made = items.scene
        patch.setattr(items, "scene", lambda name, progress=None: made(name, tets=900))
        yield items.ITEMS["fish"](None)


def test_item_swings_at_the_frequency_asked_identity(fish):
    from cajole.dynamics import modes

    assert fish.frequencies == pytest.approx(modes(fish.body, 3).frequencies, rel=1e-6)
    assert fish.frequencies[0] == pytest.approx(1.0)


def test_kick_leaves_the_fish_in_the_picture_identity(fish):
    masses = fish.body.vertex_masses[:, None]
    centre = (masses * fish.animation.positions).sum(axis=1) / fish.body.total_mass
    assert np.ptp(centre, axis=0).max() < 1e-6 * fish.body.size
    assert fish.animation.largest_displacement > 0.02 * fish.body.size


def test_files_and_numbers_agreement(fish, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "STILL", (48, 32))
    monkeypatch.setattr(files, "LOOP", (48, 32))
    monkeypatch.setattr(files, "SAMPLES", 1)
    monkeypatch.setitem(items.ITEMS, "fish", lambda progress: fish)
    told = files.produce("fish", tmp_path, lambda fraction, text: None)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fish.glb", "fish.jpg", "fish.webp"]
    assert told["glb_bytes"] == (tmp_path / "fish.glb").stat().st_size < 15_000_000
    assert told["largest_displacement_m"] == pytest.approx(fish.animation.largest_displacement)
    assert len(told["reach_m"]) == told["frames"] == 9


def test_glb_gives_up_normals_before_keys_identity(fish):
    n = len(fish.animation.skin.mesh.vertices)
    small, large = (glb_options(fish.animation, size) for size in (5 * 24 * n, 20 * 24 * n))
    assert small == {"normals": False, "max_targets": 8}
    assert large == {"normals": True, "max_targets": 18}


def test_unknown_scene_bad_input(cajole, tmp_path):
    answer = cajole("demo", "--scene", "dragon", "--output", tmp_path / "demo")
    assert answer.code == 1
    assert "--scene is 'dragon', but must be one of" in answer.err
    assert list(tmp_path.iterdir()) == []


def test_failing_item_leaves_nothing_bad_input(cajole, tmp_path, monkeypatch):
    def fails(names, folder, workers, told):
        (folder / "half.glb").write_bytes(b"half")
        raise SolveError("fish: no luck")

    monkeypatch.setattr(pool, "make_all", fails)
    answer = cajole("demo", "--output", tmp_path / "demo", "--json")
    assert answer.code == 1
    assert answer.json["error"]["message"] == "fish: no luck"
    assert list(tmp_path.iterdir()) == []


def test_pool_reports_what_failed_bad_input(tmp_path):
    with pytest.raises(SolveError, match="dragon"):
        pool.make_all(["dragon"], tmp_path, 1, lambda name, fraction, text: None)


def test_command_writes_page_and_report_identity(cajole, tmp_path, monkeypatch):
    def makes(names, folder, workers, told):
        return {name: entry(name, folder) for name in names}

    monkeypatch.setattr(pool, "make_all", makes)
    told = cajole("demo", "--scene", "fish", "--scene", "twist", "--output", tmp_path / "demo", "--json").json
    assert [item["name"] for item in told["items"]] == ["twist", "fish"]
    assert (tmp_path / "demo" / "index.html").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["demo"]
