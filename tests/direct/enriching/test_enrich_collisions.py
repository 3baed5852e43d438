"""Shells that would pass through themselves or something else, and do not."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from enrich_cases import CLOTH, enriched_box, still, twisted_box
from enrich_collision_cases import DAMPED, ball, fall, rising, sheet, tilted, two_sheets, world_of

from cajole import Animation, BodyShell, Ground, MeshTri
from cajole.direct.enriching import enrich, regions_subdivided
from cajole.errors import InputError, MissingExtra, NotConverged, SolveError

pytest.importorskip("ipctk")

KINDS = ("fast", "exact")


def _crushed(kind, frames=13):
    """The box of §5.2, 85 % crushed and turned by 69 degrees."""
    guide = twisted_box(frames, turn=1.2, squash=0.85, fps=60.0)
    cloth, regions = enriched_box(2)
    return enrich(guide, cloth, regions, dt=1 / 60, collisions=kind)


def test_without_collisions_the_crushed_box_passes_through_itself():
    result = _crushed(None)
    world = world_of(enriched_box(2)[0].mesh)
    assert any(world.has_intersections(frame) for frame in result.animation.positions)
    assert result.report.collisions is None


def test_a_crushed_box_stays_free_of_intersections_fast_claim():
    """Every frame, and averages within 1 % after the response."""
    result = _crushed("fast")
    world = world_of(enriched_box(2)[0].mesh)
    assert not any(world.has_intersections(frame) for frame in result.animation.positions)
    told = result.report.collisions
    assert told.intersections == 0
    assert told.contacts > 10
    assert result.report.residual <= 0.01
    assert "0 frames with intersections" in str(result.report)


def test_a_second_run_with_the_same_regions_is_the_first_one_again(monkeypatch):
    """Bit for bit, on one thread: contacts double any difference in a few steps."""
    monkeypatch.setenv("CAJOLE_THREADS", "1")
    guide = twisted_box(8, turn=1.2, squash=0.85, fps=60.0)
    cloth, regions = enriched_box(2)
    one, two = (enrich(guide, cloth, regions, dt=1 / 60, collisions="fast", friction=0.3) for _ in range(2))
    assert one.report.collisions.contacts > 10
    assert np.array_equal(one.animation.positions, two.animation.positions)


def test_a_crushed_box_meets_its_averages_to_rounding_exact_claim():
    result = _crushed("exact")
    world = world_of(enriched_box(2)[0].mesh)
    assert not any(world.has_intersections(frame) for frame in result.animation.positions)
    assert result.report.collisions.intersections == 0
    assert result.report.collisions.contacts > 0
    assert result.residual.max() <= 1e-10


@pytest.mark.parametrize("kind", KINDS)
def test_two_sheets_pressed_together_stay_apart(kind):
    """Forces push the sheets through each other where nothing stops them."""
    coarse = two_sheets(2, 0.15)
    fine, regions = regions_subdivided(coarse, 1)
    cloth = BodyShell(fine, CLOTH, damping=DAMPED)
    upper = fine.vertices[:, 2] > 0.1
    press = np.where(upper, -1.0, 1.0)[:, None] * np.array([0.0, 0.0, 1.0]) * cloth.vertex_masses[:, None]
    middle = np.exp(-20.0 * (fine.vertices[:, :2] ** 2).sum(axis=1))[:, None]

    def forces(t, x, v):
        return 300.0 * middle * press

    kept = list(regions.names)[:4]  # the corners are led, the middle is free
    led = regions.without([name for name in regions.names if name not in kept])
    passed = enrich(still(coarse, 6, 60.0), cloth, led, dt=1 / 60, forces=forces).animation.positions
    world = world_of(fine)
    assert any(world.has_intersections(frame) for frame in passed)
    result = enrich(still(coarse, 6, 60.0), cloth, led, dt=1 / 60, forces=forces, collisions=kind)
    assert not any(world.has_intersections(frame) for frame in result.animation.positions)
    x = result.animation.positions
    assert (x[:, upper, 2].mean(axis=1) > x[:, ~upper, 2].mean(axis=1)).all()
    assert result.report.collisions.contacts > 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_sheet_falls_on_a_ball_and_rests(kind):
    body = BodyShell(sheet(6, 0.8, height=0.53), CLOTH, damping=(4.0, 1e-2))
    ended = fall(body, kind, ball(), 40, friction=0.8)
    assert ended.report.intersections == 0
    assert ended.report.contacts > 0
    away = np.linalg.norm(ended.positions[-1], axis=1)
    assert away.min() > 0.45  # on the ball of flat triangles, not in it
    drop = 0.53 - ended.positions[-1, :, 2].mean()
    assert 0.02 < drop < 0.5
    assert np.abs(ended.velocities[-1]).max() < 0.3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("degrees", "slides"), [(15.0, False), (35.0, True)])
def test_friction_holds_on_a_slope_up_to_its_angle(kind, degrees, slides):
    """Friction 0.45 holds up to 24 degrees; beyond, a sheet slides as Coulomb says."""
    mesh, downhill, normal = tilted(sheet(2, 0.3), degrees)
    width = world_of(mesh).contact_distance
    body = BodyShell(MeshTri(mesh.vertices + width * normal, mesh.triangles), CLOTH, damping=(0.0, 1e-2))
    steps, h = 20, 1 / 60
    ended = fall(body, kind, Ground(plane=((0.0, 0.0, 0.0), normal)), steps, h=h, friction=0.45)
    along = ((ended.positions - ended.positions[0]) @ downhill).mean(axis=1)
    if slides:
        # contacts settle in the first steps
        speeds = np.diff(along) / h
        a = np.radians(degrees)
        slide = 9.81 * (np.sin(a) - 0.45 * np.cos(a))
        assert (speeds[-1] - speeds[9]) / (10 * h) == pytest.approx(slide, rel=0.1)
    else:
        assert abs(along[-1]) < 0.004


@pytest.mark.parametrize("kind", KINDS)
def test_a_collider_that_moves_takes_the_shell_with_it(kind):
    body = BodyShell(sheet(4, 0.6, height=0.54), CLOTH, damping=DAMPED)
    ended = fall(body, kind, rising(ball(), 0.4), 12, friction=0.5)
    assert ended.report.intersections == 0
    assert ended.positions[-1, :, 2].max() > 0.85


def test_the_start_must_be_free_of_intersections_bad_input():
    cloth, regions = enriched_box(1)
    with pytest.raises(InputError, match=r"triangles \d+ and \d+.*start="):
        enrich(twisted_box(2), cloth, regions, collisions="fast", colliders=ball(0.3, (0.5, 0.5, 1.0)))
    for height in (0.5, 0.0, -1e-15):  # what stands on the ground is above it by rounding alone
        with pytest.raises(InputError, match=r"starts on or below the ground.*start="):
            enrich(twisted_box(2), cloth, regions, collisions="fast", colliders=Ground(height))
    # another start helps
    lifted = np.tile([0.0, 0.0, 2.0], (cloth.vertex_count, 1))
    guide = twisted_box(2)
    guide = Animation(guide.mesh, guide.positions + (0, 0, 2.0), guide.fps)
    result = enrich(guide, cloth, regions, collisions="fast", colliders=ball(0.3, (0.5, 0.5, 1.0)), start=lifted)
    assert result.report.collisions.intersections == 0


def test_a_guide_that_leaves_no_room_stops_with_the_frame_bad_input():
    """Two sheets that are told to change places."""
    coarse = two_sheets(1, 0.2)
    fine, regions = regions_subdivided(coarse, 1)
    way = np.where(coarse.vertices[:, 2] > 0.1, -0.4, 0.0)[:, None] * np.array([0.0, 0.0, 1.0])
    guide = Animation(coarse, coarse.vertices + np.linspace(0, 1, 5)[:, None, None] * way, 30.0)
    with pytest.raises(NotConverged, match=r"frame \d+ .*no room.*use a smaller dt"):
        enrich(guide, BodyShell(fine, CLOTH), regions, dt=1 / 30, collisions="exact")
    stuck = enrich(guide, BodyShell(fine, CLOTH), regions, dt=1 / 30, collisions="fast")
    assert stuck.report.collisions.intersections == 0
    assert stuck.report.residual > 0.05


def test_a_collider_cannot_go_through_what_is_fixed_bad_input():
    mesh = sheet(3, 0.6, height=0.54)
    body = BodyShell(mesh, CLOTH, fixed=np.arange(15))
    with pytest.raises(SolveError, match="a collider moves on where the shell cannot give way"):
        fall(body, "fast", rising(ball(), 0.4), 12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"collisions": "slow"}, "collisions is 'slow', but must be one of 'fast', 'exact'"),
        ({"collisions": 5}, "collisions is 5, but must be one of"),
        ({"collisions": "fast", "friction": -0.1}, "friction is -0.1, but must be at least zero"),
        ({"collisions": "fast", "distance": 0.0}, r"distance \(m\) is 0.0, but must be positive"),
        ({"collisions": "fast", "distance": 1e-9}, "below .* give a larger distance"),
        (
            {"collisions": "fast", "distance": 10.0},
            r"distance \(m\) is 10, but the mean edge of the shell is .* give less",
        ),
        ({"collisions": "fast", "colliders": "ball"}, r"colliders\[0\] must be a MeshTri.*not str"),
        ({"colliders": Ground(-1.0)}, "collisions='fast'"),
    ],
)
def test_settings_of_collisions_bad_input(settings, message):
    cloth, regions = enriched_box(1)
    with pytest.raises(InputError, match=message):
        enrich(twisted_box(2), cloth, regions, **settings)


def test_without_the_package_collisions_say_how_to_get_it_bad_input(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipctk", None)
    cloth, regions = enriched_box(1)
    with pytest.raises(MissingExtra, match=r"pip install 'cajole\[contact\]'"):
        enrich(twisted_box(2), cloth, regions, collisions="fast")
