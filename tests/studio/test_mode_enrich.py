"""Enrich mode without a server: its shell, its numbers, what is drawn, kept, and handed on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from enrich_mode_cases import content
from fake_desk import FakeDesk
from mode_cases import do, plain

import cajole as cj
from cajole.errors import InputError
from cajole.mesh import box_tets
from cajole.studio.keeping import keep_motion, with_motion
from cajole.studio.modes.base import Saved
from cajole.studio.modes.enrich import EnrichMode
from cajole.studio.modes.enrich_running import options
from cajole.studio.opening import chances, open_scene
from cajole.studio.telling import meshes, project_message, zone_messages


def test_a_guide_becomes_a_shell_of_enough_triangles(desk: FakeDesk) -> None:
    mode = EnrichMode(desk, content())
    part = plain(mode)["enrich"]
    assert part["shell"]["levels"] == 4
    assert part["shell"]["triangles"] == 12 * 4**4
    assert part["regions"]["kind"] == "hats"
    assert part["regions"]["count"] == 8
    # what never moves is held: all vertices of the bottom
    assert part["shell"]["still"] == 17 * 17
    np.testing.assert_allclose(mode.now(3), mode.guide.frame(3))
    laid = mode.frame("result", 3)
    assert laid is not None
    np.testing.assert_allclose(laid[:8], mode.guide.frame(3), atol=1e-12)


def test_what_is_drawn_is_the_shell_beside_its_guide_identity(mode: EnrichMode) -> None:
    drawn = mode.drawn
    told = project_message("id", "cube", mode.content, drawn)
    assert (told["vertices"], told["guide"], told["suggestion"]) == (98, 8, None)
    assert told["modes"]["edit"]["possible"] is True
    kinds = [int(np.frombuffer(data[:32], "<u4")[1]) for data in meshes(drawn)]
    extras = [int(np.frombuffer(data[:32], "<u4")[7]) for data in meshes(drawn)]
    assert list(zip(kinds, extras)) == [(1, 0), (2, 0), (3, 0), (1, 1)]
    shell, guide = zone_messages(mode)
    assert np.frombuffer(shell[32:], "<i4").tolist() == mode.zones.shell.tolist()
    assert np.frombuffer(guide[32:], "<i4").tolist() == list(range(8))


def test_what_is_kept_goes_on_identity(mode: EnrichMode) -> None:
    do(mode, "regions", count=6, seed=2)
    do(mode, "paint", on="shell", region=None, nodes=[30, 31, 32])
    do(mode, "cloth", young=3e4, wind=2.0)
    do(mode, "enrich")
    kept = mode.saved()
    document = json.loads(json.dumps(kept.document, allow_nan=False))
    again = EnrichMode(FakeDesk(), mode.content, Saved(document, kept.arrays))
    assert again.dials == mode.dials
    assert again.sheet.levels == 2
    np.testing.assert_array_equal(again.zones.shell, mode.zones.shell)
    assert again.run is not None
    assert mode.run is not None
    np.testing.assert_array_equal(again.run.positions, mode.run.positions)
    first, second = plain(mode), plain(again)
    assert {**second, "undo": None} == {**first, "undo": None}


def test_the_result_goes_to_edit_and_comes_from_tets(mode: EnrichMode, desk: FakeDesk, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no shell yet"):
        mode.result()
    do(mode, "enrich")
    handed = mode.result()
    assert chances(handed)["edit"].possible
    assert handed.animation is not None
    assert (handed.animation.n, handed.animation.name) == (98, "cube")
    # the same after the project was closed: the motion that was kept tells what the shell is
    again = with_motion(mode.content, keep_motion(tmp_path, handed))
    assert again.animation is not None
    np.testing.assert_array_equal(again.animation.positions, handed.animation.positions)
    for each in (handed, again):
        assert isinstance(each.body, cj.BodyShell)
        np.testing.assert_array_equal(each.body.fixed, mode.sheet.still)
    block = box_tets(1, 1, 1)
    solid = cj.Animation(block, np.stack([block.vertices, block.vertices + 0.1]), fps=10)
    assert EnrichMode(desk, content(solid)).guide.n == 8


@pytest.mark.parametrize(
    ("command", "values", "said"),
    [
        ("paint", {"on": "guide", "region": 99, "nodes": [0]}, "no region 99"),
        ("paint", {"on": "lid", "region": 0, "nodes": [0]}, "on of paint"),
        ("paint", {"on": "guide", "region": 0, "nodes": [8]}, "nodes of paint"),
        ("paint", {"on": "guide", "region": 0, "nodes": []}, "nodes of paint"),
        ("region.remove", {"region": 50}, "no region 50"),
        ("regions", {"count": 0}, "count of regions"),
        ("regions", {"kind": "scene"}, "without regions of its own"),
        ("shell", {"levels": 9}, "levels of shell"),
        ("shell", {"levels": None}, "no mesh of its own"),
        ("cloth", {"young": -1}, "young of cloth"),
        ("cloth", {"material": "steel"}, "material of cloth"),
        ("cloth", {"shape": "accordion", "wavelength": 0.01}, "wavelength"),
        ("cloth", {"shape": "own"}, "no shape of its own"),
        ("cloth", {"collisions": "some"}, "collisions of cloth"),
        ("cloth", {"substeps": 0}, "substeps of cloth"),
        ("cloth", {"own": 1}, "own of cloth"),
    ],
)
def test_values_are_checked_bad_input(mode: EnrichMode, command: str, values: dict[str, Any], said: str) -> None:
    before = mode.moment()
    with pytest.raises(InputError, match=said):
        do(mode, command, **values)
    assert (mode.sheet, mode.zones, mode.dials, mode.run) == (before.sheet, before.zones, before.dials, before.run)


@pytest.mark.parametrize("name", ["box", "bag"])
def test_scenes_open_with_their_own_regions_and_materials(desk: FakeDesk, name: str) -> None:
    opened = open_scene(name, "enrich")
    mode = EnrichMode(desk, opened)
    scene = opened.enrich
    assert scene is not None
    assert len(mode.zones.numbers) == len(scene.regions)
    assert [each["name"] for each in plain(mode)["enrich"]["materials"]] == list(scene.materials)
    for material in scene.materials:
        do(mode, "cloth", material=material)
        shell = scene.materials[material].shell
        made = mode.shell()
        assert made.total_mass == pytest.approx(shell.total_mass)
        np.testing.assert_allclose(made.undeformed, shell.undeformed)
        np.testing.assert_array_equal(made.fixed, shell.fixed)
    assert mode.dials.collisions == "none"
    do(mode, "cloth", collisions="fast")
    assert options(mode)["colliders"] == scene.colliders
    assert mode.guide.dt / mode.dials.substeps == pytest.approx(scene.settings["dt"])
