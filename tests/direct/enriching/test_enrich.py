"""`enrich` as a whole: it follows exactly, stands where its guide stands, says what it was told."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest
from enrich_cases import CLOTH, box, enriched_box, flat, rotation, shaken, still, twisted_box

from cajole import (
    Animation,
    BodyShell,
    Cancelled,
    InitialState,
    InputError,
    MaterialShell,
    MeshTri,
    SolveError,
    simulate,
)
from cajole.body import Plasticity
from cajole.direct.enriching import (
    EnrichResult,
    enrich,
    regions_clustered,
    regions_painted,
    regions_subdivided,
)
from cajole.mesh import grid_triangles


@pytest.mark.parametrize("fixed", [False, True])
def test_follows_at_every_step_identity(fixed: bool) -> None:
    """§4.3 without collisions: |g| is rounding, at each step, also where vertices are held."""
    fine = regions_subdivided(box(), 2)[0]
    floor = np.flatnonzero(fine.vertices[:, 2] == 0) if fixed else None
    cloth, regions = enriched_box(2, fixed=floor)
    guide = twisted_box(6)
    result = enrich(guide, cloth, regions, gravity=9.81)
    assert result.residual.shape == (6,)
    assert result.residual.max() <= 1e-12
    for frame in range(6):
        q = result.animation.frame(frame)
        assert regions.compute_distances(guide.frame(frame), q).max() <= 1e-12 * cloth.size
        if fixed:
            np.testing.assert_array_equal(q[cloth.fixed], fine.vertices[cloth.fixed])
    assert result.report.steps == result.report.newton_iterations == 5 * 8
    assert result.animation.velocities is not None
    # it is not simply the subdivided guide
    assert np.abs(result.animation.positions[-1] - regions.interpolation @ guide.frame(5)).max() > 0.01


def test_order_of_elimination_agreement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pymetis the shell follows as exactly, on the same way."""
    cloth, regions = enriched_box(2)
    guide = twisted_box(4)
    first = enrich(guide, cloth, regions, gravity=9.81)
    monkeypatch.setitem(sys.modules, "pymetis", None)
    second = enrich(guide, cloth, regions, gravity=9.81)
    assert second.residual.max() <= 1e-12
    np.testing.assert_allclose(second.animation.positions, first.animation.positions, rtol=0, atol=1e-6)


def test_rest_stays_identity() -> None:
    """A shell at rest on a guide at rest: flat, closed, clustered; nothing moves and nothing pulls."""
    sheet = still(grid_triangles(5, 4), 4)
    cloth, hats = enriched_box(2)
    for guide, body, regions in (
        (still(box(), 4), cloth, hats),
        (sheet, BodyShell(sheet.mesh, CLOTH), regions_clustered(sheet, 6)),
    ):
        result = enrich(guide, body, regions, dt=1 / 60)
        np.testing.assert_allclose(result.animation.positions[-1], body.vertices, atol=1e-13)
        assert result.report.gentleness.max() < 1e-6


def test_turned_worlds_identity(random: np.random.Generator) -> None:
    """The same scene turned and shifted as a whole gives the same motion, turned and shifted."""
    cloth, regions = enriched_box(1)
    guide = twisted_box(4)
    plain = enrich(guide, cloth, regions, dt=1 / 60, gravity=9.81).animation.positions
    R, shift = rotation(random), np.array([3.0, -2.0, 1.0])
    turned_guide = guide.moved(guide.positions @ R.T + shift)
    down = R @ (0.0, 0.0, -9.81)
    turned = enrich(turned_guide, cloth, regions, dt=1 / 60, gravity=down).animation.positions
    np.testing.assert_allclose(turned, plain @ R.T + shift, atol=1e-9)


def test_begins_as_fast_as_its_guide_identity(random: np.random.Generator) -> None:
    """The rest shape meets a guide that begins at rest as well as the guide's own surface does; rounding decided."""
    cloth, regions = enriched_box(1)
    assert regions.interpolation is not None
    for _ in range(8):
        R, shift = rotation(random), random.normal(size=3)
        guide = twisted_box(4)
        guide = guide.moved(guide.positions @ R.T + shift)
        velocities = enrich(guide, cloth, regions, frames=2, dt=1 / 60, gravity=0.0).animation.velocities
        assert velocities is not None
        want = regions.interpolation @ (guide.frame(1) - guide.frame(0)) / guide.dt
        np.testing.assert_allclose(velocities[0], want, atol=1e-12)


def test_folds_that_stay_identity() -> None:
    """A shell with plasticity keeps creases of a twist: they are in the shell that is handed back, not in the given."""
    guide = twisted_box(6, turn=1.5, squash=0.4)
    fine, regions = regions_subdivided(box(), 1)
    board = MaterialShell(young=2e4, thickness=0.03, density=20.0)
    plain, soft = (BodyShell(fine, board, damping=(0.5, 1e-3), plasticity=p) for p in (None, Plasticity(0.5)))
    result = enrich(guide, soft, regions, dt=1 / 60)
    assert result.residual.max() < 1e-12
    assert np.abs(result.cloth.plastic_angles).max() > 0.1
    assert not soft.plastic_angles.any()
    elastic = enrich(guide, plain, regions, dt=1 / 60)
    assert elastic.cloth is plain
    assert np.abs(result.animation.positions[-1] - elastic.animation.positions[-1]).max() > 1e-3


def test_undeformed_shape_of_time_identity() -> None:
    """A sheet that wants to be wider and narrower again breathes so, about the one mean that is held."""
    mesh = grid_triangles(4, 4)
    whole = np.zeros(len(mesh.triangles), dtype=int)
    regions = regions_painted(mesh, whole, mesh, whole)
    cloth = BodyShell(mesh, CLOTH, damping=(20.0, 1e-3))
    middle = mesh.vertices.mean(axis=0)

    def breathing(t: float) -> np.ndarray:
        return middle + (1 + 0.2 * np.sin(np.pi * t) ** 2) * (mesh.vertices - middle)

    guide = still(mesh, 21, fps=20.0)
    result = enrich(guide, cloth, regions, dt=1 / 80, undeformed=breathing)
    width = np.ptp(result.animation.positions[:, :, 0], axis=1)
    assert width[10] == pytest.approx(1.2, abs=0.02)
    assert width[20] == pytest.approx(1.0, abs=0.02)
    assert result.residual.max() < 1e-12
    wide = enrich(guide, cloth, regions, dt=1 / 80, undeformed=breathing(0.5)).animation.positions[-1]
    assert np.ptp(wide[:, 0]) == pytest.approx(1.2, abs=1e-3)
    with pytest.raises(InputError, match=r"undeformed has shape \(3, 3\)"):
        enrich(guide, cloth, regions, undeformed=lambda t: np.eye(3))


def test_gentleness_of_weight_reference() -> None:
    """A sheet carried by one region against its weight: evenly, by one weight; nothing else happens."""
    mesh = grid_triangles(3, 3)
    guide = still(mesh, 4)
    hats = regions_subdivided(mesh, 0)[1]
    result = enrich(guide, BodyShell(mesh, CLOTH), hats, gravity=9.81)
    np.testing.assert_allclose(result.report.gentleness[1:], 1.0, rtol=1e-6)
    np.testing.assert_allclose(result.animation.positions[-1], mesh.vertices, atol=1e-10)
    assert "1 weights (rms), 1 at most" in str(result.report)


def painted_halves() -> tuple[Animation, BodyShell, EnrichResult]:
    """A shell of another mesh, elsewhere and of another size, led by two painted halves."""
    coarse = grid_triangles(2, 2)
    fine = grid_triangles(6, 5, size=(1.03, 0.9), origin=(4.0, 0.0, 0.0))
    centres = [mesh.vertices[mesh.triangles].mean(axis=1)[:, 0] for mesh in (coarse, fine)]
    halves = [(x > x.mean()).astype(int) for x in centres]
    regions = regions_painted(coarse, halves[0], fine, halves[1])
    guide = shaken(coarse)
    cloth = BodyShell(fine, CLOTH, damping=(0.5, 1e-3))
    return guide, cloth, enrich(guide, cloth, regions, dt=1 / 120)


def test_start_is_brought_to_the_guide_identity() -> None:
    guide, cloth, result = painted_halves()
    assert result.residual.max() < 1e-12
    first = result.animation.frame(0)
    # moved there as a whole, and deformed only as far as the two means ask
    assert np.abs(first.mean(axis=0) - guide.frame(0).mean(axis=0)).max() < 0.1
    assert cloth.energy(first - cloth.vertices) < 0.05
    assert "the start was moved by up to" in result.report.notes[0]
    assert result.report.notes[0] in str(result.report)


def test_start_is_where_the_paint_says_identity() -> None:
    """The same square on both sides, painted as if turned by half a turn: the shell starts turned, not crumpled."""
    mesh = grid_triangles(4, 4)
    quarter = 2 * (mesh.vertices[:, 0] > 0.5) + (mesh.vertices[:, 1] > 0.5)
    turned = quarter[::-1]
    cloth = BodyShell(mesh, CLOTH)
    result = enrich(still(mesh, 2), cloth, regions_painted(mesh, quarter, mesh, turned))
    np.testing.assert_allclose(result.animation.frame(0), (1, 1, 0) - mesh.vertices * (1, 1, 0), atol=1e-12)
    assert result.report.notes == ()


def test_given_start_identity() -> None:
    """A start on the guide is taken as it is; what is left out comes from the guide."""
    cloth, regions = enriched_box(1)
    guide = still(box(), 3)
    wobble = np.zeros((cloth.vertex_count, 3))
    wobble[-1] = (0.0, 0.0, 0.4)
    result = enrich(guide, cloth, regions, start=InitialState(velocity=wobble))
    np.testing.assert_array_equal(result.animation.velocities[0], wobble)
    np.testing.assert_array_equal(result.animation.positions[0], cloth.vertices)
    assert np.abs(result.animation.positions[1] - cloth.vertices).max() > 1e-4
    lone = enrich(still(box(), 1), cloth, regions)
    assert len(lone.animation) == 1
    assert lone.report.steps == 0
    assert "0 Newton iterations" in str(lone.report)


def test_forces_and_response_identity() -> None:
    """Forces see time, places and speeds; a response has the last word, and the residual tells what it cost."""
    cloth, regions = enriched_box(1)
    guide = twisted_box(4)
    seen: list[float] = []

    def lift(t: float, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        seen.append(t)
        assert x.shape == v.shape == (cloth.vertex_count, 3)
        return -cloth.gravity()

    weightless = enrich(guide, cloth, regions, dt=1 / 60, gravity=9.81, forces=lift)
    plain = enrich(guide, cloth, regions, dt=1 / 60)
    np.testing.assert_allclose(weightless.animation.positions, plain.animation.positions, atol=1e-12)
    np.testing.assert_allclose(seen, np.arange(1, 7) / 60)

    def floor(before: np.ndarray, after: np.ndarray, h: float) -> np.ndarray:
        return np.maximum(after, (-np.inf, -np.inf, 0.05))

    stopped = enrich(guide, cloth, regions, dt=1 / 60, collisions=floor)
    assert stopped.animation.positions[1:, :, 2].min() >= 0.05
    assert stopped.residual[1:].min() > 1e-3


def test_enrich_bad_input() -> None:
    cloth, regions = enriched_box(1)
    guide = twisted_box(4)
    for arguments, options, message in (
        ((cloth, cloth, regions), {}, "guide must be an Animation, or have one, not BodyShell"),
        ((guide, guide, regions), {}, "cloth must be a BodyShell, not Animation"),
        ((guide, cloth, regions.fine_weights), {}, "regions must be a Regions"),
        ((still(flat(2)), cloth, regions), {}, "regions were made for another guide: of 8 vertices and 12 triangles"),
        ((guide, BodyShell(box()), regions), {}, "regions were made for another shell: of 26 vertices"),
        ((guide, cloth, regions), {"dt": 0.0}, r"dt \(s\) is 0.0"),
        ((guide, cloth, regions), {"newton": 0}, "newton is 0, but must be at least 1"),
        ((guide, cloth, regions), {"frames": 0}, "frames is 0"),
        ((guide, cloth, regions), {"forces": [3.0]}, r"forces\[0\] must be a function of \(t, positions, velocities\)"),
        ((guide, cloth, regions), {"forces": lambda t, x, v: x[:2]}, r"forces\[0\] at 0.00416667 s has shape \(2, 3\)"),
        ((guide, cloth, regions), {"collisions": lambda a, b, h: np.nan * a}, r"collisions\[0, 0\] is nan"),
        ((guide, cloth, regions), {"dt": 1e-9}, r"dt is 1e-09 s, .* steps for each frame .*; at most 10000 make sense"),
        ((guide, cloth, regions), {"forces": None}, "forces must be a function, or a list of them, not None"),
        ((guide, cloth, regions), {"tracked": "yes"}, "tracked must be True or False, not 'yes'"),
        ((guide, cloth, regions), {"collisions": np.zeros(3)}, "collisions is .* but must be one of 'fast', 'exact'"),
        ((guide, cloth, regions), {"start": np.zeros((3, 3))}, r"start displacement has shape \(3, 3\)"),
    ):
        with pytest.raises(InputError, match=message):
            enrich(*arguments, **options)  # type: ignore[arg-type]
    with pytest.raises(Cancelled, match="frame 1 of 3"):
        enrich(guide, cloth, regions, progress=lambda share, text: False)


def test_forces_cannot_write_into_the_shell_bad_input() -> None:
    """They are shown the shell itself; one that writes is stopped there, and the guide is not blamed for it."""
    cloth, regions = enriched_box(1)

    def writing(t: float, positions: np.ndarray, velocities: np.ndarray) -> np.ndarray:
        positions[:] = 0.0
        return positions

    with pytest.raises(ValueError, match="read-only"):
        enrich(twisted_box(3), cloth, regions, forces=writing)


def test_impossible_guides_bad_input() -> None:
    """A guide that tears the shell, or overflows it, stops with the frame and what to relax; never with a NaN."""
    cloth, regions = enriched_box(1)
    for far in (1e9, 1e40, 1e74):
        q = np.repeat(box().vertices[None], 4, axis=0)
        q[2:, 4:, 2] += far
        with pytest.raises(SolveError, match=r"^frame [123] \(t = .*(smaller dt|slower guide)"):
            enrich(Animation(box(), q, 30.0), cloth, regions)


def test_guide_that_collapses_bad_input() -> None:
    """Eight corners in one place: the averages are met all the same, with a crumpled shell, or the frame is named."""
    cloth, regions = enriched_box(1)
    q = np.repeat(box().vertices[None], 3, axis=0)
    q[1:] = 0.5
    result = enrich(Animation(box(), q, 30.0), cloth, regions)
    assert np.isfinite(result.animation.positions).all()
    assert result.residual.max() < 1e-10
    assert np.ptp(result.animation.positions[-1], axis=0).min() > 0.1


def test_crowded_edge_identity() -> None:
    """Three sheets on one edge, which is no manifold, follow their guide like any shell."""
    book = MeshTri([(0, 0, 0), (0, 1, 0), (1, 0, 0), (-1, 0, 0), (0, 0, 1)], [(0, 1, 2), (0, 1, 3), (0, 1, 4)])
    fine, regions = regions_subdivided(book, 2)
    cloth = BodyShell(fine, CLOTH, damping=(0.5, 1e-3))
    opening = book.vertices + np.linspace(0, 0.3, 5)[:, None, None] * (0, 0, 1) * (np.arange(5) > 1)[:, None]
    result = enrich(Animation(book, opening, 30.0), cloth, regions, dt=1 / 120)
    assert result.residual.max() < 1e-12
    assert any("more than two" in note for note in book.notes)


def test_untracked_starts_the_same_and_goes_its_own_way_agreement() -> None:
    """Without tracking it is the plain simulation of the shell from the same start, and nothing pulls."""
    cloth, regions = enriched_box(1)
    guide = twisted_box(5, turn=2.0)
    led, free = (enrich(guide, cloth, regions, dt=1 / 60, newton=60, tracked=tracked) for tracked in (True, False))
    np.testing.assert_array_equal(free.animation.positions[0], led.animation.positions[0])
    np.testing.assert_array_equal(free.animation.velocities[0], led.animation.velocities[0])
    start = InitialState(free.animation.positions[0] - cloth.vertices, free.animation.velocities[0])
    plain = simulate(cloth, 5, guide.dt, start=start, integrator="euler", substeps=2)
    np.testing.assert_allclose(free.animation.positions, plain.positions, atol=1e-8)
    assert free.report.gentleness.max() == 0.0
    assert free.report.regions == 0
    off = [regions.compute_distances(guide.frame(k), free.animation.frame(k)).max() / cloth.size for k in range(5)]
    assert free.residual.max() >= max(off) > 0.05 > 1e-10 > led.residual.max()


def test_carries_name_rate_and_first_frame_identity() -> None:
    cloth, regions = enriched_box(1)
    guide = replace(twisted_box(2, fps=24.0), name="crate", start_frame=101)
    made = enrich(guide, cloth, regions, dt=1 / 24).animation
    assert (made.name, made.start_frame, made.fps) == ("crate", 101, 24.0)
