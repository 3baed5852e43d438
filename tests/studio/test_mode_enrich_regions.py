"""Regions of enrich mode: by hand and found, in step with the shell, undone, and refused where they cannot be."""

from __future__ import annotations

import numpy as np
import pytest
from enrich_mode_cases import paired
from fake_desk import FakeDesk
from mode_cases import do, plain

from cajole.errors import InputError
from cajole.studio.modes.enrich.mode import EnrichMode


def test_a_stroke_is_one_step_of_undo_identity(mode: EnrichMode, desk: FakeDesk) -> None:
    before = mode.region_labelling
    assert do(mode, "paint", on="guide", region=None, nodes=[0, 1]) == {"region": 8}
    assert desk.coloured == 1
    assert mode.region_labelling.guide_labels[[0, 1]].tolist() == [8, 8]
    state = plain(mode)
    assert state["undo"] == "new region"
    assert state["enrich"]["regions"]["kind"] == "paint"
    assert state["enrich"]["regions"]["problem"] is None
    # the shell's vertices around the painted ones went along, and lead the motion on the shell's own triangles
    assert (mode.region_labelling.shell_labels == 8).sum() > 2
    assert mode.region_labelling.guide_animation.n == 98
    do(mode, "undo")
    assert mode.region_labelling is before
    do(mode, "redo")
    assert (mode.region_labelling.guide_labels == 8).sum() == 2
    with pytest.raises(InputError, match="nothing to take back"):
        do(mode, "redo")


def test_paint_on_the_shell_adds_and_erases(mode: EnrichMode) -> None:
    do(mode, "paint", on="shell", region=3, nodes=[0, 20, 21])
    assert mode.region_labelling.shell_labels[[0, 20, 21]].tolist() == [3, 3, 3]
    assert mode.region_labelling.guide_labels[0] == 3
    do(mode, "paint", on="shell", region=-1, nodes=[20])
    assert mode.region_labelling.shell_labels[20] == -1
    assert plain(mode)["enrich"]["regions"]["covered"] < 1
    do(mode, "region.remove", region=3)
    assert 3 not in mode.region_labelling.region_numbers


def test_clusters_are_found_again_from_count_and_seed(mode: EnrichMode, desk: FakeDesk) -> None:
    do(mode, "regions", count=12)
    assert len(mode.region_labelling.region_numbers) == 12
    assert "Finding regions" in desk.titles
    first = mode.region_labelling.shell_labels
    do(mode, "regions", kind="clusters", seed=3)
    assert len(mode.region_labelling.region_numbers) == 12
    assert not np.array_equal(first, mode.region_labelling.shell_labels)
    do(mode, "regions", kind="hats")
    assert len(mode.region_labelling.region_numbers) == 8


def test_regions_of_what_is_held_are_left_out_and_the_rest_is_followed(mode: EnrichMode) -> None:
    do(mode, "regions", count=24)
    do(mode, "cloth", frames=3)
    assert mode.settings.hold is True
    bottom = np.isin(
        mode.region_labelling.region_numbers,
        mode.region_labelling.shell_labels[np.setdiff1d(np.arange(98), mode.shell_mesh.still_vertices)],
        invert=True,
    )
    assert bottom.any()
    do(mode, "enrich")
    assert mode.tracked_run is not None
    assert f"{24 - bottom.sum()} regions" in mode.tracked_run.summary.report
    held = mode.shell_mesh.still_vertices
    np.testing.assert_array_equal(mode.tracked_run.positions[-1][held], mode.shell_mesh.mesh.vertices[held])
    do(mode, "paint", on="shell", region=-1, nodes=list(range(98)))
    across = mode.shell_mesh.mesh.vertices[held, :2]
    inner = held[((across > 0.01) & (across < 0.99)).all(axis=1)]
    do(mode, "paint", on="shell", region=None, nodes=inner.tolist())
    with pytest.raises(InputError, match="every region is held"):
        do(mode, "enrich")


def test_another_shell_takes_its_paint_along(mode: EnrichMode, desk: FakeDesk) -> None:
    do(mode, "paint", on="guide", region=None, nodes=[4, 5, 6, 7])
    redrawn = desk.redrawn
    do(mode, "shell", levels=1)
    assert desk.redrawn == redrawn + 1
    assert mode.region_labelling.spec.kind == "paint"
    assert mode.region_labelling.guide_labels[[4, 5, 6, 7]].tolist() == [8, 8, 8, 8]
    do(mode, "shell", levels=0)
    assert "hats" not in plain(mode)["enrich"]["regions"]["kinds"]


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
    assert mode.settings.collisions == "fast"
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
