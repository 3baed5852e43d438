"""Enrich mode without a server: its shell, its numbers, what is drawn, kept, and handed on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from enrich_mode_cases import content
from fake_desk import FakeDesk
from mode_cases import do, plain, plain_message

import cajole as cj
from cajole.errors import InputError
from cajole.mesh import box_tets
from cajole.studio.mode_registry import find_available_modes, open_scene
from cajole.studio.modes.base import ModeSnapshot
from cajole.studio.modes.enrich.mode import EnrichMode
from cajole.studio.project_saver import replace_motion, write_motion
from cajole.studio.view_model import build_project_message, encode_meshes, encode_region_labels


def test_a_guide_becomes_a_shell_of_enough_triangles(desk: FakeDesk) -> None:
    mode = EnrichMode(desk, content())
    part = plain(mode)["enrich"]
    assert part["shell"]["levels"] == 4
    assert part["shell"]["triangles"] == 12 * 4**4
    assert part["regions"]["kind"] == "hats"
    assert part["regions"]["count"] == 8
    # what never moves is held: all vertices of the bottom
    assert part["shell"]["still"] == 17 * 17
    np.testing.assert_allclose(mode.compute_live_vertices(3), mode.guide.frame(3))
    laid = mode.compute_stream_vertices("result", 3)
    assert laid is not None
    np.testing.assert_allclose(laid[:8], mode.guide.frame(3), atol=1e-12)


def test_what_is_drawn_is_the_shell_beside_its_guide_identity(mode: EnrichMode) -> None:
    drawn = mode.drawn_content
    told = plain_message(build_project_message("id", "cube", mode.content, drawn))
    assert (told["vertices"], told["guide"], told["suggestion"]) == (98, 8, None)
    assert told["modes"]["edit"]["possible"] is True
    kinds = [int(np.frombuffer(data[:32], "<u4")[1]) for data in encode_meshes(drawn)]
    extras = [int(np.frombuffer(data[:32], "<u4")[7]) for data in encode_meshes(drawn)]
    assert list(zip(kinds, extras)) == [(1, 0), (2, 0), (3, 0), (1, 1)]
    shell, guide = encode_region_labels(mode)
    assert np.frombuffer(shell[32:], "<i4").tolist() == mode.region_labelling.shell_labels.tolist()
    assert np.frombuffer(guide[32:], "<i4").tolist() == list(range(8))


def test_what_is_kept_goes_on_identity(mode: EnrichMode) -> None:
    do(mode, "regions", count=6, seed=2)
    do(mode, "paint", on="shell", region=None, nodes=[30, 31, 32])
    do(mode, "cloth", young=3e4, wind=2.0)
    do(mode, "enrich")
    kept = mode.create_snapshot()
    document = json.loads(json.dumps(kept.document, allow_nan=False))
    again = EnrichMode(FakeDesk(), mode.content, ModeSnapshot(document, kept.arrays))
    assert again.settings == mode.settings
    assert again.shell_mesh.levels == 2
    np.testing.assert_array_equal(again.region_labelling.shell_labels, mode.region_labelling.shell_labels)
    assert again.tracked_run is not None
    assert mode.tracked_run is not None
    np.testing.assert_array_equal(again.tracked_run.positions, mode.tracked_run.positions)
    first, second = plain(mode), plain(again)
    assert {**second, "undo": None} == {**first, "undo": None}


def test_the_result_goes_to_edit_and_comes_from_tets(mode: EnrichMode, desk: FakeDesk, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no shell yet"):
        mode.export_content()
    do(mode, "enrich")
    handed = mode.export_content()
    assert find_available_modes(handed)["edit"].possible
    assert handed.animation is not None
    assert (handed.animation.n, handed.animation.name) == (98, "cube")
    # the same after the project was closed: the motion that was kept tells what the shell is
    again = replace_motion(mode.content, write_motion(tmp_path, handed))
    assert again.animation is not None
    np.testing.assert_array_equal(again.animation.positions, handed.animation.positions)
    for each in (handed, again):
        assert isinstance(each.body, cj.BodyShell)
        np.testing.assert_array_equal(each.body.fixed, mode.shell_mesh.still_vertices)
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
    before = mode.capture_state()
    with pytest.raises(InputError, match=said):
        do(mode, command, **values)
    assert (mode.shell_mesh, mode.region_labelling, mode.settings, mode.tracked_run) == (
        before.shell_mesh,
        before.region_labelling,
        before.settings,
        before.run,
    )


@pytest.mark.parametrize("name", ["box", "bag"])
def test_scenes_open_with_their_own_regions_and_materials(desk: FakeDesk, name: str) -> None:
    opened = open_scene(name, "enrich")
    mode = EnrichMode(desk, opened)
    scene = opened.enrich_scene
    assert scene is not None
    assert len(mode.region_labelling.region_numbers) == len(scene.regions)
    assert [each["name"] for each in plain(mode)["enrich"]["materials"]] == list(scene.variants)
    for material in scene.variants:
        do(mode, "cloth", material=material)
        shell = scene.variants[material].shell
        made = mode.build_shell()
        assert made.total_mass == pytest.approx(shell.total_mass)
        np.testing.assert_allclose(made.undeformed, shell.undeformed)
        np.testing.assert_array_equal(made.fixed, shell.fixed)
    assert mode.settings.collisions == "none"
    do(mode, "cloth", collisions="fast")
    assert mode.build_enrich_options()["colliders"] == scene.colliders
    assert mode.guide.dt / mode.settings.substeps == pytest.approx(scene.enrich_options["dt"])
