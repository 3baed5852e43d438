"""Edits over time: richer than splines (Figure 9), wider with larger timesteps (Figure 8), bounded at a free end."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np
import pytest
from edit_claims_cases import Array, tip
from scipy.interpolate import CubicHermiteSpline

import cajole as cj
from bodies import beam_body

FRAMES, FPS, KEYS = 121, 30, 30
# Keys once a second carry nothing above half a hertz; three times that is clearly beyond them [Hz].
BEYOND = 1.5


@cache
def still() -> tuple[cj.BodySolid, cj.Animation]:
    """A soft beam, its slowest swing 4.5 s, that stands still for 4 s: all that moves is the edit."""
    body = beam_body((10, 2, 2), length=2.0, young=3e5, damping=(0.05, 0.0005))
    return body, cj.Animation(body.mesh, np.tile(body.vertices, (FRAMES, 1, 1)), fps=FPS)


def middle(body: cj.BodySolid) -> int:
    return int(np.argmin(np.linalg.norm(body.vertices - [1.0, 0.2, 0.2], axis=1)))


@cache
def height(energy: str) -> Array:
    """The change (T,) of the tip's height by three dragged vertices, as in Figure 9."""
    body, motion = still()
    editor = cj.edit(motion, body, 50, energy=energy)
    for vertex, frame, shift in ((tip(motion), 30, 0.2), (tip(motion), 75, -0.1), (middle(body), 90, 0.03)):
        editor.drag(vertex, frame, body.vertices[vertex] + [0.0, 0.0, shift])
    return editor.animation().positions[:, tip(motion), 2] - body.vertices[tip(motion), 2]


def catmull_rom(values: Array) -> Array:
    """The spline through every 30th value, its tangents from the keys beside, at all frames."""
    time = np.arange(len(values))
    keys = time[::KEYS]
    slopes = np.gradient(values[keys], KEYS)
    return CubicHermiteSpline(keys, values[keys], slopes)(time)


def content(values: Array) -> float:
    """The share of the power of a signal, in a Hann window, above BEYOND."""
    power = np.abs(np.fft.rfft(np.hanning(len(values)) * (values - values.mean()))) ** 2
    return float(power[np.fft.rfftfreq(len(values), 1 / FPS) > BEYOND].sum() / power.sum())


def test_richer_than_splines_claim() -> None:
    """Through the same keys, the edit has over 100 times the share of fast motion that the spline has (here 220)."""
    ours = height("forces")
    spline = catmull_rom(ours)
    np.testing.assert_allclose(spline[::KEYS], ours[::KEYS], atol=1e-14)
    assert content(ours) > 100 * content(spline)


def test_smooth_energy_oscillates_less_claim() -> None:
    """The smooth energy, eq. (10), takes the swinging out: fewer turns, less fast motion, the same places."""
    forces, smooth = height("forces"), height("smooth")
    turns = [int((np.diff(np.sign(np.diff(values))) != 0).sum()) for values in (forces, smooth)]
    assert turns[1] <= 6 < turns[0]
    assert content(smooth) < 0.05 * content(forces)
    np.testing.assert_allclose(smooth[[30, 75]], forces[[30, 75]], atol=1e-3 * 0.2)


@pytest.mark.parametrize("modes", [10, 50, 100, 200, None])
def test_free_end_bounded_claim(modes: int | None) -> None:
    """A drag in the middle, without any damping, modes far beyond h²λ = 4: nothing grows towards the free end."""
    body, motion = still()
    modes = len(body.free_dofs) if modes is None else modes
    editor = cj.edit(motion, body, modes, ends="free", damping=(0.0, 0.0))
    if modes >= 50:
        assert editor.model.eigenvalues[-1] / FPS**2 > 40.0
    assert editor.drag(tip(motion), 60, body.vertices[tip(motion)] + [0.0, 0.0, 0.3]).reached
    linear = np.abs(editor.compute_reduced_coordinates() @ editor.model.mode_shapes.T)
    out = np.linalg.norm(editor.animation().positions - motion.positions, axis=2)
    assert linear.max() <= 2 * 0.3
    assert out.max() <= 2 * 0.3
    assert out[-1].max() > 0.01


@pytest.mark.parametrize("energy", ["forces", "smooth"])
def test_fixed_end_identity(energy: str) -> None:
    """The first and last two frames are the input's, so that place and speed go over into what is before and after."""
    body, motion = still()
    editor = cj.edit(motion, body, 100, energy=energy)
    editor.drag(tip(motion), FRAMES - 3, body.vertices[tip(motion)] + [0.0, 0.0, 0.1])
    out = editor.animation().positions
    np.testing.assert_array_equal(out[[0, 1, -2, -1]], motion.positions[[0, 1, -2, -1]])
    assert (out[-3] != motion.positions[-3]).any()


def test_larger_timestep_more_global_claim() -> None:
    """The body's mean change in the dragged frame grows with h; it at least doubles from 1/480 s to 1/30 s."""
    body, motion = still()
    vertex = middle(body)
    spread = []
    for h in (1 / 480, 1 / 240, 1 / 120, 1 / 60, 1 / 30):
        editor = cj.edit(motion, body, 100, h=h)
        editor.drag(vertex, 60, body.vertices[vertex] + [0.0, 0.0, 0.05])
        change = np.linalg.norm(editor.positions(60) - body.vertices, axis=1)
        assert change[vertex] == pytest.approx(0.05, rel=1e-3)
        spread.append(change.mean() / 0.05)
    assert all(wider > narrower for narrower, wider in pairwise(spread))
    assert spread[-1] > 2 * spread[0]


def test_earlier_and_later_claim() -> None:
    """Figure 2: one vertex at one frame moves the body before and after, and other parts of it; no frame is a copy."""
    body, motion = still()
    editor = cj.edit(motion, body, 100)
    editor.drag(tip(motion), 60, body.vertices[tip(motion)] + [0.0, 0.0, 0.2])
    change = np.linalg.norm(editor.animation().positions - motion.positions, axis=2)
    assert (change[2:-2, middle(body)] > 0).all()
    assert change[30].max() > 0.005
    assert change[90].max() > 0.005
