"""Poses with tets inside out: `pose` warns with count and place, and `keyframe` takes keys with few of them."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest

import cajole as cj
from bodies import Array, beam_body
from cajole.body.solid import InversionReport, find_inverted_tets
from cajole.mesh import read_bou


def beam_of(vega: Path) -> cj.BodySolid:
    fixed = read_bou(vega / "beam3.bou")
    return cj.read_body(vega / "beam3_tet.veg", fixed=fixed, damping=(0.1, 0.003))


def squeezed(vega: Path) -> tuple[cj.BodySolid, int, Array]:
    """The foreign beam, its vertex 0, and a force of 50 weights on it that inverts three tets beside it."""
    body = beam_of(vega)
    return body, 0, np.array([-50 * body.weight, 0.0, 0.0])


def test_a_pose_with_inverted_tets_warns_of_count_and_place(vega: Path) -> None:
    body, vertex, force = squeezed(vega)
    with pytest.warns(cj.InversionWarning) as caught:
        u = cj.pose(body, loads={vertex: force})
    inverted = body.inverted(u)
    assert 0 < len(inverted) < 10
    found = find_inverted_tets(body, u)
    assert found is not None
    text = str(caught[0].message)
    assert f"{len(inverted)} of 450 tets are inside out" in text
    assert f"worst is tet {found.tets[0]} near ({', '.join(f'{x:.3g}' for x in found.centres[0])}) m" in text
    assert f"{found.volume_ratios[0]:.2g} of its volume" in text
    assert all(str(tet) in text for tet in inverted)
    assert "spread the loads" in text
    assert caught[0].filename == __file__
    assert issubclass(cj.InversionWarning, cj.CajoleWarning)


def test_volume_ratios_reference(vega: Path) -> None:
    body = beam_of(vega)
    np.testing.assert_allclose(body.compute_volume_ratios(0.5 * body.vertices), 1.5**3)
    np.testing.assert_allclose(body.compute_volume_ratios(body.vertices * [0, 0, -2]), -1.0)
    assert find_inverted_tets(body, np.zeros((body.vertex_count, 3))) is None
    assert find_inverted_tets(cj.BodySprings.cloth(1, 1), np.zeros((4, 3))) is None


def test_stacked_load_cases_name_theirs(vega: Path) -> None:
    body, vertex, force = squeezed(vega)
    loads = np.zeros((2, body.vertex_count, 3))
    loads[1, vertex] = force
    with pytest.warns(cj.InversionWarning, match="load case 1: "):
        cj.pose(body, loads)


def test_gentle_poses_are_silent_identity(vega: Path) -> None:
    body = beam_of(vega)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cj.pose(body, loads={0: (0.0, 0.0, -body.weight)})


def test_a_session_warns_when_a_key_is_captured(vega: Path) -> None:
    body, vertex, force = squeezed(vega)
    session = cj.PoseSession(body)
    session.add(vertex, force)
    with pytest.warns(cj.InversionWarning, match="tets are inside out"):
        session.capture()


def test_what_pose_gives_keyframe_takes_with_a_note(vega: Path) -> None:
    body, vertex, force = squeezed(vega)
    with pytest.warns(cj.InversionWarning):
        u = cj.pose(body, loads={vertex: force})
    shot = cj.keyframe(body, {20: u, 40: 0 * u}, frames=41, modes=5)
    (note,) = (text for text in shot.report.notes if "inside out" in text)
    assert note.startswith(f"the key at frame 20 has {len(body.inverted(u))} of 450 tets inside out")
    assert note in str(shot.report)
    assert shot.report.converged
    assert shot.report.errors[0] < 0.02
    begun = cj.keyframe(body, {0: u, 20: 0 * u}, frames=21, modes=5)
    assert any(text.startswith("the key at frame 0 has") for text in begun.report.notes)


def test_what_strong_loads_make_is_told_on_the_bridge(vega: Path) -> None:
    """A point load of ten weights on the foreign bridge inverts a few tets beside it: told, and still a key."""
    body = cj.read_body(vega / "simpleBridge-ic_128_0.15_.1.veg")
    ends = body.vertices[:, 0]
    low, high = ends.min(), ends.max()
    body = body.with_fixed_vertices((ends < low + 0.02 * (high - low)) | (ends > high - 0.02 * (high - low)))
    middle = int(np.argmin(np.linalg.norm(body.vertices - body.vertices.mean(axis=0), axis=1)))
    with pytest.warns(cj.InversionWarning, match=r"tets are inside out; the worst is tet \d+ near"):
        u = cj.pose(body, loads={middle: (0.0, -10 * body.weight, 0.0)})
    found = find_inverted_tets(body, u)
    assert found is not None
    assert found.volume_share < InversionReport.MAX_FEW


def test_a_key_with_many_inverted_tets_bad_input() -> None:
    body = beam_body((8, 2, 2), damping=(0.2, 0.01))
    half = np.zeros((body.vertex_count, 3))
    end = body.vertices[:, 0] > 0.7
    half[end, 0] = -2 * (body.vertices[end, 0] - 0.7)
    share = body.mesh.volumes[body.inverted(half)].sum() / body.mesh.volume
    assert InversionReport.MAX_FEW < share < 0.5
    with pytest.raises(cj.InputError, match=r"key at frame 10 .*inside out.*5 %.*spread the loads"):
        cj.keyframe(body, {10: half}, frames=11)


def test_a_mirrored_key_bad_input(vega: Path) -> None:
    """All of it is inside out: no pose of the material, so that softer loads are no remedy."""
    body = beam_of(vega).with_fixed_vertices(None)
    mirrored = body.vertices * [-2.0, 0.0, 0.0]
    with pytest.raises(cj.InputError, match=r"key at frame 10 .*450 of 450 tets.*mirrored.*axes.*body\.vertices"):
        cj.keyframe(body, {10: mirrored}, frames=11)
