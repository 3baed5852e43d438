"""Runs of enrich mode: frames as they come, stopping, the shell without its guide, air and shapes, crossed starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from enrich_mode_cases import FRAMES, content
from fake_desk import FakeDesk
from mode_cases import do, plain

import cajole as cj
from cajole.errors import Cancelled, InputError
from cajole.mesh import MeshTri, grid_triangles
from cajole.studio.modes.enrich.mode import EnrichMode


def test_a_run_follows_its_guide_and_comes_frame_by_frame_claim(mode: EnrichMode, desk: FakeDesk) -> None:
    ready: list[int] = []
    changed = desk.record_change

    def watch(label: str | None = None, *, frames_changed: bool = True) -> None:
        changed(label, frames_changed=frames_changed)
        if mode.running_job is not None and mode.shown_run is not None:
            ready.append(plain(mode)["ready"])

    desk.record_change = watch  # type: ignore[method-assign]
    do(mode, "enrich")
    assert ready == list(range(1, FRAMES))
    state = plain(mode)
    assert state["enrich"]["result"]["frames"] == FRAMES
    assert state["enrich"]["result"]["off"] < 1e-10
    assert [lane["id"] for lane in state["lanes"]] == ["gaps", "force"]
    assert max(state["lanes"][0]["curve"]) < 1e-10
    assert state["meter"]["peak"] > 0
    result = state["enrich"]["result"]
    assert "8 regions on 98 vertices" in result["report"]
    assert (result["stale"], result["cut"]) == (False, False)
    assert desk.of("notice")[-1]["tone"] == "ok"
    # the frames that were shown on the way are those of the result
    assert mode.tracked_run is not None
    assert mode.region_labelling.regions is not None
    reference = cj.enrich(
        mode.region_labelling.guide_animation,
        cj.BodyShell(
            mode.shell_mesh.mesh,
            cj.MaterialShell(2e4, 0.3, 2e-3, 300.0),
            fixed=mode.shell_mesh.still_vertices,
            damping=(0.5, 1e-3),
        ),
        mode.region_labelling.regions,
        dt=1 / 60,
        gravity=9.80665,
    )
    np.testing.assert_allclose(mode.tracked_run.positions, reference.animation.positions, atol=1e-9)
    do(mode, "cloth", young=5e4)
    assert plain(mode)["enrich"]["result"]["stale"] is True
    do(mode, "undo")
    assert plain(mode)["enrich"]["result"]["stale"] is False


def stop_at(desk: FakeDesk, frame: int, *, cancel: bool = False) -> None:
    """Have the author stop, or cancel, once a frame is under way."""
    working = desk.begin_job

    def begun(title: str, *, stoppable: bool = False) -> Any:
        working(title, stoppable=stoppable)

        def progress(fraction: float, text: str) -> bool:
            desk.has_stop_request = not cancel and text.startswith(f"frame {frame} ")
            return not text.startswith(f"frame {frame} ")

        return progress

    desk.begin_job = begun  # type: ignore[method-assign]


def test_stopping_keeps_the_frames_that_there_are(mode: EnrichMode, desk: FakeDesk) -> None:
    stop_at(desk, 4)
    do(mode, "enrich")
    state = plain(mode)
    assert state["enrich"]["result"]["frames"] == 4
    assert state["ready"] == 4
    assert state["enrich"]["result"]["cut"] is True
    assert mode.export_animation().frames == 4
    assert mode.compute_stream_vertices("result", 3) is not None
    assert mode.compute_stream_vertices("result", 4) is None
    assert desk.of("notice")[-1]["title"] == f"Stopped after 4 of {FRAMES} frames"


def test_stopping_too_early_says_so(mode: EnrichMode, desk: FakeDesk) -> None:
    stop_at(desk, 1)
    with pytest.raises(Cancelled):
        do(mode, "enrich")
    assert desk.of("notice")[-1]["title"] == "Stopped before there was a motion"
    assert mode.tracked_run is None


def test_cancelling_keeps_what_was_there(mode: EnrichMode, desk: FakeDesk) -> None:
    do(mode, "enrich")
    before = mode.tracked_run
    stop_at(desk, 3, cancel=True)
    with pytest.raises(Cancelled):
        do(mode, "enrich")
    assert mode.tracked_run is before
    assert mode.running_job is None
    assert plain(mode)["ready"] == FRAMES


def test_the_shell_without_its_guide_is_shown_beside_it_agreement(mode: EnrichMode, desk: FakeDesk) -> None:
    do(mode, "cloth", frames=4, hold=False)
    do(mode, "enrich")
    led = mode.compute_stream_vertices("result", 3)
    do(mode, "compare", **{"with": "free"})
    assert "Letting the shell go" in desk.titles
    free = mode.compute_stream_vertices("result", 3)
    assert led is not None
    assert free is not None
    # it falls as nothing leads it: by g t²/2 and what its guide would have done besides
    assert (led - free)[:, 2].mean() > 0.02
    state = plain(mode)
    assert state["enrich"]["sight"] == "free"
    assert state["enrich"]["free"] == pytest.approx(max(state["lanes"][0]["curve"]), rel=1e-2)
    assert mode.export_animation().positions is not free
    many = len(desk.titles)
    do(mode, "compare", **{"with": "led"})
    do(mode, "compare", **{"with": "free"})
    assert len(desk.titles) == many
    do(mode, "cloth", young=3e4)
    assert plain(mode)["enrich"]["sight"] == "led"


def test_a_material_sets_its_numbers_and_wind_and_shapes_act(mode: EnrichMode) -> None:
    do(mode, "cloth", material="foil")
    assert (mode.settings.young, mode.settings.curvature) == (1e5, 0.8)
    do(mode, "cloth", wind=5.0, heading=90.0, gusts=1.0, collisions="none", frames=3)
    do(mode, "enrich")
    assert mode.tracked_run is not None
    calm = np.array(mode.tracked_run.positions[-1])
    assert mode.tracked_run.frames == 3
    do(mode, "cloth", wind=0.0, gusts=0.0)
    do(mode, "enrich")
    assert np.abs(mode.tracked_run.positions[-1] - calm).max() > 1e-5
    do(mode, "cloth", shape="accordion", wavelength=0.6, amplitude=0.02, along="z")
    do(mode, "enrich")
    assert mode.tracked_run.tracking_errors.max() < 1e-10


def test_frames_beyond_the_guide_go_on(mode: EnrichMode) -> None:
    do(mode, "cloth", frames=FRAMES + 2)
    assert mode.frames == FRAMES + 2
    do(mode, "enrich")
    assert plain(mode)["enrich"]["result"]["frames"] == FRAMES + 2
    np.testing.assert_allclose(mode.compute_live_vertices(FRAMES + 1), mode.guide.frame(FRAMES - 1))


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
