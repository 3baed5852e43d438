"""Enrich mode without a server: shells, regions by hand and found, the run and its frames, undo, what is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_desk import FakeDesk

import cajole as cj
from cajole.errors import Cancelled, InputError
from cajole.mesh import MeshTri, box_tets, grid_triangles
from cajole.scenes.enriching import Cloth, EnrichScene
from cajole.studio.content import Content
from cajole.studio.keeping import keep_motion, with_motion
from cajole.studio.modes.base import Saved
from cajole.studio.modes.enrich import EnrichMode
from cajole.studio.modes.enrich_running import options
from cajole.studio.opening import chances, open_scene
from cajole.studio.telling import meshes, project_message, zone_messages

FRAMES = 7


def cube() -> cj.Animation:
    """Eight vertices: the lid turns and sinks."""
    corners = np.array([(x, y, z) for z in (0, 1) for y in (0, 1) for x in (0, 1)], dtype=float)
    sides = [(0, 2, 1), (1, 2, 3), (4, 5, 6), (5, 7, 6), (0, 1, 4), (1, 5, 4), (2, 6, 3), (3, 6, 7), (0, 4, 2),
             (2, 4, 6), (1, 3, 5), (3, 7, 5)]  # fmt: skip
    positions = np.repeat(corners[None], FRAMES, axis=0)
    for frame, s in enumerate(np.linspace(0, 1, FRAMES)):
        c, d = np.cos(0.6 * s), np.sin(0.6 * s)
        turn = np.array([(c, d, 0), (-d, c, 0), (0, 0, 1 - 0.1 * s)])
        positions[frame, 4:] = (corners[4:] - (0.5, 0.5, 0)) @ turn + (0.5, 0.5, 0)
    return cj.Animation(cj.MeshTri(corners, sides), positions, fps=30, name="cube")


def content(animation: cj.Animation | None = None) -> Content:
    made = cube() if animation is None else animation
    return Content(made.name, made.mesh, None, made)


def paired() -> Content:
    """A sheet of nine vertices and one of 81 that is not its subdivision, joined by four painted quarters."""
    coarse, fine = grid_triangles(2, 2), grid_triangles(8, 8)
    meshes = [MeshTri(mesh.vertices, mesh.triangles[::-1]) for mesh in (coarse, fine)]
    quarters = [2 * (mesh.vertices[:, 0] > 0.4) + (mesh.vertices[:, 1] > 0.4) for mesh in meshes]
    guide = cj.Animation(meshes[0], np.repeat(coarse.vertices[None], 4, axis=0), fps=30, name="sheet")
    regions = cj.regions_painted(meshes[0], quarters[0], meshes[1], quarters[1])
    cloth = Cloth("cotton", (0.7, 0.1, 0.2), lambda: cj.BodyShell(meshes[1]))
    post = cj.MeshTri([[3, 0, 0], [4, 0, 0], [3, 1, 0]], [[0, 1, 2]])
    scene = EnrichScene("sheet", "Sheet", "A sheet.", guide, regions, {"cotton": cloth}, colliders=(post,))
    return replace(content(guide), enrich=scene)


@pytest.fixture
def desk() -> FakeDesk:
    return FakeDesk()


@pytest.fixture
def mode(desk: FakeDesk) -> EnrichMode:
    """The cube with a shell of 98 vertices, in few steps."""
    made = EnrichMode(desk, content())
    do(made, "shell", levels=2)
    do(made, "cloth", substeps=2)
    return made


def do(mode: EnrichMode, command: str, /, **values: object) -> dict[str, Any]:
    return dict(mode.commands[command]({"v": 1, "do": command, **values}) or {})


def plain(mode: EnrichMode) -> dict[str, Any]:
    """The state, as it would go over the wire."""
    return json.loads(json.dumps(mode.state(), allow_nan=False))


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


def test_a_stroke_is_one_step_of_undo_identity(mode: EnrichMode, desk: FakeDesk) -> None:
    before = mode.zones
    assert do(mode, "paint", on="guide", region=None, nodes=[0, 1]) == {"region": 8}
    assert desk.coloured == 1
    assert mode.zones.guide[[0, 1]].tolist() == [8, 8]
    state = plain(mode)
    assert state["undo"] == "new region"
    assert state["enrich"]["regions"]["kind"] == "paint"
    assert state["enrich"]["regions"]["problem"] is None
    # the shell's vertices around the painted ones went along, and lead the motion on the shell's own triangles
    assert (mode.zones.shell == 8).sum() > 2
    assert mode.zones.motion.n == 98
    do(mode, "undo")
    assert mode.zones is before
    do(mode, "redo")
    assert (mode.zones.guide == 8).sum() == 2
    with pytest.raises(InputError, match="nothing to take back"):
        do(mode, "redo")


def test_paint_on_the_shell_adds_and_erases(mode: EnrichMode) -> None:
    do(mode, "paint", on="shell", region=3, nodes=[0, 20, 21])
    assert mode.zones.shell[[0, 20, 21]].tolist() == [3, 3, 3]
    assert mode.zones.guide[0] == 3
    do(mode, "paint", on="shell", region=-1, nodes=[20])
    assert mode.zones.shell[20] == -1
    assert plain(mode)["enrich"]["regions"]["covered"] < 1
    do(mode, "region.remove", region=3)
    assert 3 not in mode.zones.numbers


def test_clusters_are_found_again_from_count_and_seed(mode: EnrichMode, desk: FakeDesk) -> None:
    do(mode, "regions", count=12)
    assert len(mode.zones.numbers) == 12
    assert "Finding regions" in desk.titles
    first = mode.zones.shell
    do(mode, "regions", kind="clusters", seed=3)
    assert len(mode.zones.numbers) == 12
    assert not np.array_equal(first, mode.zones.shell)
    do(mode, "regions", kind="hats")
    assert len(mode.zones.numbers) == 8


def test_regions_of_what_is_held_are_left_out_and_the_rest_is_followed(mode: EnrichMode) -> None:
    do(mode, "regions", count=24)
    do(mode, "cloth", frames=3)
    assert mode.dials.hold is True
    bottom = np.isin(mode.zones.numbers, mode.zones.shell[np.setdiff1d(np.arange(98), mode.sheet.still)], invert=True)
    assert bottom.any()
    do(mode, "enrich")
    assert mode.run is not None
    assert f"{24 - bottom.sum()} regions" in mode.run.about["report"]
    held = mode.sheet.still
    np.testing.assert_array_equal(mode.run.positions[-1][held], mode.sheet.mesh.vertices[held])
    do(mode, "paint", on="shell", region=-1, nodes=list(range(98)))
    across = mode.sheet.mesh.vertices[held, :2]
    inner = held[((across > 0.01) & (across < 0.99)).all(axis=1)]
    do(mode, "paint", on="shell", region=None, nodes=inner.tolist())
    with pytest.raises(InputError, match="every region is held"):
        do(mode, "enrich")


def test_another_shell_takes_its_paint_along(mode: EnrichMode, desk: FakeDesk) -> None:
    do(mode, "paint", on="guide", region=None, nodes=[4, 5, 6, 7])
    redrawn = desk.redrawn
    do(mode, "shell", levels=1)
    assert desk.redrawn == redrawn + 1
    assert mode.zones.zoning.kind == "paint"
    assert mode.zones.guide[[4, 5, 6, 7]].tolist() == [8, 8, 8, 8]
    do(mode, "shell", levels=0)
    assert "hats" not in plain(mode)["enrich"]["regions"]["kinds"]


def test_a_run_follows_its_guide_and_comes_frame_by_frame_claim(mode: EnrichMode, desk: FakeDesk) -> None:
    ready: list[int] = []
    changed = desk.changed

    def watch(label: str | None = None, *, motion: bool = True) -> None:
        changed(label, motion=motion)
        if mode.running is not None and mode.shown is not None:
            ready.append(mode.state()["ready"])

    desk.changed = watch  # type: ignore[method-assign]
    answer = do(mode, "enrich")
    assert ready == list(range(1, FRAMES))
    assert answer["frames"] == FRAMES
    assert answer["off"] < 1e-10
    state = plain(mode)
    assert [lane["id"] for lane in state["lanes"]] == ["gaps", "force"]
    assert max(state["lanes"][0]["curve"]) < 1e-10
    assert state["meter"]["peak"] > 0
    result = state["enrich"]["result"]
    assert "8 regions on 98 vertices" in result["report"]
    assert (result["stale"], result["cut"]) == (False, False)
    assert desk.of("notice")[-1]["tone"] == "ok"
    # the frames that were shown on the way are those of the result
    assert mode.run is not None
    assert mode.zones.regions is not None
    reference = cj.enrich(
        mode.zones.motion, cj.BodyShell(mode.sheet.mesh, cj.MaterialShell(2e4, 0.3, 2e-3, 300.0),
        fixed=mode.sheet.still, damping=(0.5, 1e-3)), mode.zones.regions, dt=1 / 60, gravity=9.80665,
    )  # fmt: skip
    np.testing.assert_allclose(mode.run.positions, reference.animation.positions, atol=1e-9)
    do(mode, "cloth", young=5e4)
    assert plain(mode)["enrich"]["result"]["stale"] is True
    do(mode, "undo")
    assert plain(mode)["enrich"]["result"]["stale"] is False


def stop_at(desk: FakeDesk, frame: int, *, cancel: bool = False) -> None:
    """Have the author stop, or cancel, once a frame is under way."""
    working = desk.working

    def begun(title: str, *, stoppable: bool = False) -> Any:
        working(title, stoppable=stoppable)

        def progress(fraction: float, text: str) -> bool:
            desk.stopped = not cancel and text.startswith(f"frame {frame} ")
            return not text.startswith(f"frame {frame} ")

        return progress

    desk.working = begun  # type: ignore[method-assign]


def test_stopping_keeps_the_frames_that_there_are(mode: EnrichMode, desk: FakeDesk) -> None:
    stop_at(desk, 4)
    assert do(mode, "enrich")["frames"] == 4
    state = plain(mode)
    assert state["ready"] == 4
    assert state["enrich"]["result"]["cut"] is True
    assert mode.animation().frames == 4
    assert mode.frame("result", 3) is not None
    assert mode.frame("result", 4) is None
    assert desk.of("notice")[-1]["title"] == f"Stopped after 4 of {FRAMES} frames"


def test_stopping_too_early_says_so(mode: EnrichMode, desk: FakeDesk) -> None:
    stop_at(desk, 1)
    with pytest.raises(Cancelled):
        do(mode, "enrich")
    assert desk.of("notice")[-1]["title"] == "Stopped before there was a motion"
    assert mode.run is None


def test_cancelling_keeps_what_was_there(mode: EnrichMode, desk: FakeDesk) -> None:
    do(mode, "enrich")
    before = mode.run
    stop_at(desk, 3, cancel=True)
    with pytest.raises(Cancelled):
        do(mode, "enrich")
    assert mode.run is before
    assert mode.running is None
    assert plain(mode)["ready"] == FRAMES


def test_the_shell_without_its_guide_is_shown_beside_it_agreement(mode: EnrichMode, desk: FakeDesk) -> None:
    do(mode, "cloth", frames=4, hold=False)
    do(mode, "enrich")
    led = mode.frame("result", 3)
    do(mode, "compare", **{"with": "free"})
    assert "Letting the shell go" in desk.titles
    free = mode.frame("result", 3)
    assert led is not None
    assert free is not None
    # it falls as nothing leads it: by g t²/2 and what its guide would have done besides
    assert (led - free)[:, 2].mean() > 0.02
    state = plain(mode)
    assert state["enrich"]["sight"] == "free"
    assert state["enrich"]["free"] == pytest.approx(max(state["lanes"][0]["curve"]), rel=1e-2)
    assert mode.animation().positions is not free
    many = len(desk.titles)
    do(mode, "compare", **{"with": "led"})
    do(mode, "compare", **{"with": "free"})
    assert len(desk.titles) == many
    do(mode, "cloth", young=3e4)
    assert plain(mode)["enrich"]["sight"] == "led"


def test_a_material_sets_its_numbers_and_wind_and_shapes_act(mode: EnrichMode) -> None:
    do(mode, "cloth", material="foil")
    assert (mode.dials.young, mode.dials.curvature) == (1e5, 0.8)
    do(mode, "cloth", wind=5.0, heading=90.0, gusts=1.0, collisions="none", frames=3)
    do(mode, "enrich")
    assert mode.run is not None
    calm = np.array(mode.run.positions[-1])
    assert mode.run.frames == 3
    do(mode, "cloth", wind=0.0, gusts=0.0)
    do(mode, "enrich")
    assert np.abs(mode.run.positions[-1] - calm).max() > 1e-5
    do(mode, "cloth", shape="accordion", wavelength=0.6, amplitude=0.02, along="z")
    do(mode, "enrich")
    assert mode.run.gaps.max() < 1e-10


def test_frames_beyond_the_guide_go_on(mode: EnrichMode) -> None:
    do(mode, "cloth", frames=FRAMES + 2)
    assert mode.frames == FRAMES + 2
    assert do(mode, "enrich")["frames"] == FRAMES + 2
    np.testing.assert_allclose(mode.now(FRAMES + 1), mode.guide.frame(FRAMES - 1))


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


def test_regions_that_cannot_be_are_kept_and_refused_at_the_run_bad_input(mode: EnrichMode) -> None:
    do(mode, "paint", on="shell", region=-1, nodes=list(range(98)))
    assert "no vertex belongs to a region" in plain(mode)["enrich"]["regions"]["problem"]
    with pytest.raises(InputError, match="no vertex belongs to a region"):
        do(mode, "enrich")
    do(mode, "undo")
    assert plain(mode)["enrich"]["regions"]["problem"] is None


def test_pairs_of_paint_need_both_sides_bad_input(desk: FakeDesk) -> None:
    mode = EnrichMode(desk, paired())
    assert plain(mode)["enrich"]["shell"]["levels"] is None
    assert mode.dials.collisions == "fast"
    do(mode, "paint", on="guide", region=None, nodes=[8], both=False)
    assert "empty on the shell" in plain(mode)["enrich"]["regions"]["problem"]
    with pytest.raises(InputError, match="region 4 is painted on the guide, but empty on the shell"):
        do(mode, "enrich")
    do(mode, "paint", on="shell", region=4, nodes=[79, 80], both=False)
    assert plain(mode)["enrich"]["regions"]["problem"] is None
    do(mode, "undo")
    do(mode, "undo")
    do(mode, "paint", on="guide", region=None, nodes=[8])
    assert plain(mode)["enrich"]["regions"]["problem"] is None


def test_a_start_that_crosses_itself_is_marked_bad_input(desk: FakeDesk) -> None:
    pytest.importorskip("ipctk")
    flat = grid_triangles(2, 2)
    second = MeshTri(flat.vertices[:, [2, 1, 0]] + (0.45, 0.0, -0.5), flat.triangles)
    both = MeshTri(np.vstack([flat.vertices, second.vertices]), np.vstack([flat.triangles, flat.triangles + 9]))
    apart = MeshTri(both.vertices + np.repeat([[0, 0, 0], [9, 0, 0]], 9, axis=0), both.triangles)
    still = cj.Animation(apart, np.repeat(both.vertices[None], 3, axis=0), fps=30, name="crossed")
    mode = EnrichMode(desk, content(still))
    do(mode, "shell", levels=1)
    do(mode, "cloth", collisions="fast", hold=False, substeps=1, gravity=0.0)
    with pytest.raises(InputError, match="pass through each other"):
        do(mode, "enrich")
    crossed = plain(mode)["enrich"]["crossed"]
    assert len(crossed["shell"]) >= 4
    assert set(crossed["guide"]) == {face // 4 for face in crossed["shell"]}
    do(mode, "cloth", collisions="none")
    assert plain(mode)["enrich"]["crossed"]["shell"] == []


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
