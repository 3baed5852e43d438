"""The Animation and its Contacts: what they hold, cut, resample, and refuse."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from animation_cases import FPS, FRAMES, painted_skin
from hypothesis import given
from hypothesis import strategies as st

from cajole.animation import Animation, Contacts, frame_blocks
from cajole.errors import Cancelled, InputError
from cajole.mesh import box_tets, grid_triangles
from cajole.progress import build_subprogress, report_progress


def test_counts_and_times_identity(tets: Animation) -> None:
    assert (tets.frames, tets.n) == (FRAMES, len(tets.mesh.vertices))
    assert tets.duration == pytest.approx((FRAMES - 1) / FPS)
    np.testing.assert_allclose(np.diff(tets.times), 1 / FPS)
    assert repr(tets) == f"Animation('jelly', {FRAMES} frames of {tets.n} vertices at 24 frames/s)"


def test_displacements_bounds_identity(tets: Animation) -> None:
    np.testing.assert_allclose(tets.mesh.vertices + tets.displacements, tets.positions, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(tets.bounds, [tets.positions.min(axis=(0, 1)), tets.positions.max(axis=(0, 1))])
    assert tets.largest_displacement == pytest.approx(np.linalg.norm(tets.displacements, axis=2).max())


def test_is_frozen_identity(tets: Animation) -> None:
    with pytest.raises(FrozenInstanceError):
        tets.fps = 30.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        tets.positions[0, 0, 0] = 1.0
    own = tets.frame(2)
    own[:] = 0.0  # a frame is the caller's own
    assert tets.positions[2].any()


def test_replaced_frames_are_not_read_again_identity(full: Animation, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(part: np.ndarray, name: str, first: int) -> None:
        raise AssertionError(f"{name} is looked at again")

    with monkeypatch.context() as patch:
        patch.setattr(frame_blocks, "_require_finite", refused)
        other = replace(replace(full, name="other", skin=None), fps=30.0)
        with pytest.raises(AssertionError, match="positions is looked at again"):
            replace(full, positions=full.positions.copy())
    assert other.positions is full.positions
    assert other.velocities is full.velocities


def test_replaced_bad_input(full: Animation) -> None:
    """What is new is checked, and what is not must still fit."""
    broken = full.positions.copy()
    broken[3, 2, 1] = np.nan
    with pytest.raises(InputError, match="positions is nan at frame 3, vertex 2, coordinate y"):
        replace(full, positions=broken)
    with pytest.raises(InputError, match="velocities is nan at frame 3"):
        replace(full, velocities=broken)
    with pytest.raises(InputError, match="positions moves 27 vertices, but the mesh has 8"):
        replace(full, mesh=box_tets(1, 1, 1))
    with pytest.raises(InputError, match=r"velocities has shape \(7, 27, 3\), but \(2, 27, 3\) is needed"):
        replace(full, positions=full.positions[:2], contacts=None)


def test_frames_as_items_identity(tets: Animation) -> None:
    assert len(tets) == FRAMES
    assert tets.dt == 1 / FPS
    np.testing.assert_array_equal(tets[2], tets.positions[2])
    np.testing.assert_array_equal(tets[-1], tets.positions[FRAMES - 1])
    np.testing.assert_array_equal(list(tets), tets.positions)
    tets[2][:] = 0.0
    assert tets.positions[2].any()


def test_items_bad_input(tets: Animation) -> None:
    for frame in (FRAMES, -FRAMES - 1):
        with pytest.raises(InputError, match=rf"frame is {frame}, but must be between -{FRAMES} and {FRAMES - 1}"):
            tets[frame]
    with pytest.raises(InputError, match=r"one frame.*use animation\.trimmed\(start, stop\)"):
        tets[1:3]  # type: ignore[index]


def test_blocks_cover_everything_once_identity(monkeypatch: pytest.MonkeyPatch, tets: Animation) -> None:
    monkeypatch.setattr(frame_blocks, "BLOCK_BYTES", 24 * tets.n * 3)
    covered = [k for block in frame_blocks.iter_frame_blocks(FRAMES, tets.n) for k in range(block.start, block.stop)]
    assert covered == list(range(FRAMES))
    again = Animation(tets.mesh, tets.positions)
    np.testing.assert_array_equal(again.bounds, tets.bounds)
    assert again.largest_displacement == tets.largest_displacement


def test_bad_values_are_found_in_any_block_bad_input(monkeypatch: pytest.MonkeyPatch, tets: Animation) -> None:
    monkeypatch.setattr(frame_blocks, "BLOCK_BYTES", 24 * tets.n * 2)
    for frame in range(FRAMES):
        positions = np.array(tets.positions)
        positions[frame, 3, 1] = np.nan
        with pytest.raises(InputError, match=f"positions is nan at frame {frame}, vertex 3, coordinate y"):
            Animation(tets.mesh, positions)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
def test_values_without_bounds_bad_input(tets: Animation, value: float) -> None:
    velocities = np.zeros_like(tets.positions)
    velocities[1, 2, 0] = value
    with pytest.raises(InputError, match=r"velocities is .* at frame 1, vertex 2, coordinate x"):
        replace(tets, velocities=velocities)


def test_wrong_shapes_bad_input(tets: Animation) -> None:
    n = tets.n
    with pytest.raises(InputError, match=f"moves {n - 1} vertices, but the mesh has {n}"):
        Animation(tets.mesh, tets.positions[:, 1:])
    with pytest.raises(InputError, match="needed"):
        Animation(tets.mesh, tets.positions[0])
    with pytest.raises(InputError, match="no frames"):
        Animation(tets.mesh, np.zeros((0, n, 3)))
    with pytest.raises(InputError, match="real numbers"):
        Animation(tets.mesh, tets.positions.astype(complex))
    with pytest.raises(InputError, match="velocities has shape"):
        replace(tets, velocities=tets.positions[:-1])
    for name, value in (
        ("mesh", "mesh.veg"),
        ("contacts", [1]),
        ("skin", tets.mesh),
        ("name", ""),
        ("start_frame", 0.5),
    ):
        with pytest.raises(InputError, match=name):
            replace(tets, **{name: value})


@pytest.mark.parametrize("fps", [0, -1, np.nan, np.inf, "fast"])
def test_rate_bad_input(tets: Animation, fps: float) -> None:
    with pytest.raises(InputError, match="fps"):
        Animation(tets.mesh, tets.positions, fps)
    with pytest.raises(InputError, match="fps"):
        tets.resampled(fps)


def test_frame_and_trim_bad_input(tets: Animation) -> None:
    for call in (lambda: tets.frame(FRAMES), lambda: tets.frame(-1), lambda: tets.frame(1.5)):  # type: ignore[arg-type]
        with pytest.raises(InputError, match="frame"):
            call()
    with pytest.raises(InputError, match="stop is 2, but must be between 3"):
        tets.trimmed(2, 2)
    with pytest.raises(InputError, match="would make"):
        tets.resampled(1e12)


def test_single_precision_is_widened_unless_large_identity(monkeypatch: pytest.MonkeyPatch, tets: Animation) -> None:
    single = tets.positions.astype(np.float32)
    assert Animation(tets.mesh, single).positions.dtype == np.float64
    monkeypatch.setattr(frame_blocks, "MAX_DOUBLE_PRECISION_BYTES", single.nbytes)
    assert Animation(tets.mesh, single).positions.dtype == np.float32


def test_trimmed_identity(full: Animation) -> None:
    part = full.trimmed(1, 5)
    np.testing.assert_array_equal(part.positions, full.positions[1:5])
    assert part.velocities is not None
    assert full.velocities is not None
    np.testing.assert_array_equal(part.velocities, full.velocities[1:5])
    assert part.contacts is not None
    assert part.contacts.frame.tolist() == [0, 3]
    assert part.start_frame == full.start_frame + 1
    assert np.shares_memory(part.positions, full.positions)
    assert full.trimmed(2).contacts.frame.tolist() == [2]  # type: ignore[union-attr]


def test_resampled_keeps_shared_frames_identity(full: Animation) -> None:
    double = full.resampled(2 * FPS)
    assert double.frames == 2 * FRAMES - 1
    np.testing.assert_array_equal(double.positions[::2], full.positions)
    np.testing.assert_allclose(double.positions[1::2], (full.positions[1:] + full.positions[:-1]) / 2, atol=1e-15)
    assert double.contacts is not None
    assert double.contacts.frame.tolist() == [2, 8]
    np.testing.assert_allclose(double.resampled(FPS).positions, full.positions, rtol=0, atol=1e-15)


@given(fps=st.floats(1, 500), other=st.floats(1, 500))
def test_resampled_is_exact_for_even_motion_identity(fps: float, other: float) -> None:
    mesh = grid_triangles(1, 1)
    speed = np.array([0.3, -0.2, 0.5])
    times = np.arange(6) / fps
    animation = Animation(mesh, mesh.vertices + times[:, None, None] * speed, fps)
    again = animation.resampled(other)
    assert again.duration <= animation.duration + 1e-9
    assert again.duration > animation.duration - 1 / other - 1e-9
    expected = mesh.vertices + again.times[:, None, None] * speed
    np.testing.assert_allclose(again.positions, expected, rtol=0, atol=1e-7)


def test_moved_drops_what_no_longer_fits_identity(full: Animation) -> None:
    moved = full.moved(full.positions[:3] + 1)
    np.testing.assert_array_equal(moved.positions, full.positions[:3] + 1)
    assert moved.velocities is None
    assert moved.contacts is None
    assert (moved.skin, moved.fps, moved.name) == (full.skin, full.fps, full.name)


def test_skinned_follows_affine_motion_identity(full: Animation) -> None:
    matrix = np.array([[1.0, 0.2, 0.0], [0.1, 0.9, 0.3], [0.0, -0.2, 1.1]])
    skin = full.skin
    assert skin is not None
    shown = full.moved((full.mesh.vertices @ matrix + 2.0)[None]).skinned()
    np.testing.assert_allclose(shown.positions[0], skin.mesh.vertices @ matrix + 2.0, rtol=0, atol=1e-12)
    assert shown.mesh is skin.mesh
    assert shown.skin is not None
    np.testing.assert_array_equal(shown.skin.colors, skin.colors)
    np.testing.assert_array_equal(shown.skinned().positions, shown.positions)


def test_skin_bad_input(tets: Animation) -> None:
    with pytest.raises(InputError, match="has no skin"):
        tets.skinned()
    other = box_tets(3, 1, 1)
    with pytest.raises(InputError, match=f"16 vertices, but the animation's mesh has {tets.n}"):
        replace(tets, skin=painted_skin(other))
    with pytest.raises(InputError, match="not embedded"):
        replace(tets, skin=replace(painted_skin(tets.mesh), embedding=None))


def test_contacts_identity(full: Animation) -> None:
    contacts = full.contacts
    assert contacts is not None
    assert len(contacts) == 2
    assert contacts.at(4).vertex.tolist() == [5]
    assert len(contacts.at(0)) == 0
    assert Contacts([0], [1], [[0, 0, 1]], ["sliding"]).other.tolist() == [-1]
    nothing = Contacts([], [], np.zeros((0, 3)), [])
    assert len(nothing) == 0
    assert repr(nothing) == "Contacts(none)"
    assert repr(contacts) == "Contacts(2 in frames 1..4: 1 sliding, 1 sticking, 1 of the body with itself)"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normal": [[0, 0, 2]]}, r"normal\[0\] has length 2"),
        ({"normal": [[0, np.nan, 1]]}, "normal.* finite"),
        ({"kind": ["rolling"]}, r"kind\[0\] is 'rolling'"),
        ({"vertex": [0, 1]}, "vertex has shape"),
        ({"frame": [0.5]}, "frame must be whole"),
        ({"other": [-2]}, "other must be vertex indices"),
        ({"other": [0, 1]}, "other has shape"),
        ({"kind": ["sliding", "sliding"]}, "kind has shape"),
    ],
)
def test_contacts_bad_input(change: dict, message: str) -> None:
    columns = {"frame": [0], "vertex": [1], "normal": [[0, 0, 1]], "kind": ["sliding"], "other": [-1]} | change
    with pytest.raises(InputError, match=message):
        Contacts(**columns)


@pytest.mark.parametrize(
    ("row", "message"),
    [((99, 0, -1), r"contacts.frame\[0\] is 99"), ((0, 999, -1), r"contacts.vertex"), ((0, 0, 999), "contacts.other")],
)
def test_contacts_outside_the_animation_bad_input(tets: Animation, row: tuple, message: str) -> None:
    frame, vertex, other = row
    with pytest.raises(InputError, match=message):
        replace(tets, contacts=Contacts([frame], [vertex], [[0, 0, 1]], ["sliding"], [other]))


def test_report_calls_and_cancels_identity() -> None:
    heard = []
    report_progress(lambda fraction, text: heard.append((fraction, text)), 1.5, "work")
    report_progress(None, 0.5, "work")
    assert heard == [(1.0, "work")]
    with pytest.raises(Cancelled, match=r"stopped at 50% \(work\)"):
        report_progress(lambda fraction, text: False, 0.5, "work")


def test_portion_is_a_part_of_the_whole_identity() -> None:
    heard = []
    part = build_subprogress(lambda fraction, text: heard.append(fraction), 0.5, 0.75)
    for fraction in (0.0, 0.5, 1.0):
        report_progress(part, fraction, "work")
    assert heard == [0.5, 0.625, 0.75]
    assert build_subprogress(None, 0.0, 1.0) is None
    with pytest.raises(Cancelled):
        report_progress(build_subprogress(lambda fraction, text: False, 0.0, 0.5), 0.5, "work")
