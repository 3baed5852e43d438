"""Sequences whose segments hold different vertices, and the offset models that they move in."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from keyframe_cases import beam, poses, tip
from numpy.typing import NDArray

import cajole as cj
from cajole.body import BodySolid
from cajole.direct.keyframing.sequence import Segment, ShotSequence, keyframe_sequence
from cajole.reduction.reduced_solid import PACKED_SIZE, ReducedSolidOffset, move_fixed_vertices, reduce_with_offset
from derivatives import check_derivative

Array = NDArray[np.float64]

STRIDE = np.array([0.06, 0.0, 0.25])


def around(size: int = 5) -> ReducedSolidOffset:
    """The beam around its first pose, with the held end moved along, too."""
    basis = np.random.default_rng(2).standard_normal((3 * beam().vertex_count, size))
    basis.reshape(beam().vertex_count, 3, -1)[beam().fixed] = 0.0
    return reduce_with_offset(beam(), poses()[0] + STRIDE, basis)


@pytest.mark.parametrize("size", [5, PACKED_SIZE - 1, PACKED_SIZE])
def test_offset_model_is_the_projected_body_agreement(random: np.random.Generator, size: int) -> None:
    model = around(size)
    body, z = model.body, 3.0 * random.standard_normal(size)
    u = model.lift(z)
    U, v = model.basis, random.standard_normal(size)
    assert model.energy(z) == pytest.approx(body.energy(u), rel=1e-10)
    np.testing.assert_allclose(model.force(z), U.T @ body.force(u).ravel(), rtol=1e-8, atol=1e-6)
    K = U.T @ (body.stiffness(u) @ U)
    np.testing.assert_allclose(model.stiffness(z), K, atol=1e-9 * np.abs(K).max())
    H = U.T @ (body.stiffness_derivative(u, (U @ v).reshape(-1, 3)) @ U)
    np.testing.assert_allclose(model.stiffness_derivative(z, v), H, atol=1e-9 * np.abs(H).max())


def test_offset_energy_and_force_derivative(random: np.random.Generator) -> None:
    model = around()
    z, direction = random.standard_normal(5), 10.0 * random.standard_normal(5)
    check_derivative(model.energy, model.force(z) @ direction, z, direction)


def test_offset_projects_what_it_lifts_identity(random: np.random.Generator) -> None:
    model = around()
    z = random.standard_normal((3, 5))
    np.testing.assert_allclose(model.project(model.lift(z)), z, atol=1e-12)
    fixed = beam().fixed
    np.testing.assert_array_equal(model.lift(z)[:, fixed], np.broadcast_to(STRIDE, (3, len(fixed), 3)))


@pytest.mark.parametrize(("speed", "more"), [(1e-13, 0), (1e-3, 1)])
def test_velocity_counts_unless_it_is_rounding_identity(random: np.random.Generator, speed: float, more: int) -> None:
    """A start that moves adds a direction; what rounding leaves of rest adds none."""
    body, key = beam(), poses()[0]
    v = speed * random.standard_normal(key.shape)
    v[body.fixed] = 0.0
    sizes = [
        keyframe_sequence(
            body.mesh, cj.MaterialStVK(1e6, 0.3, 1e3), [Segment({6: key}, 7, body.fixed)],
            start=cj.InitialState(None, velocity), modes=2, starts="pd", iterations=1,
        ).shots[0].model.size
        for velocity in (0 * v, v)
    ]  # fmt: skip
    assert sizes[1] == sizes[0] + more


def test_moved_rest_shape_moves_alike_agreement(random: np.random.Generator) -> None:
    """Around a mere translation the physics is that of rest: the constant force vanishes."""
    basis = cj.modes(beam(), 4).shapes
    plain, moved = (
        cj.reduce(beam(), basis),
        reduce_with_offset(beam(), np.tile(STRIDE, (beam().vertex_count, 1)), basis),
    )
    W = 5.0 * random.standard_normal((10, 4))
    ours, theirs = moved.rollout(W, 0.02).coordinates, plain.rollout(W, 0.02).coordinates
    signs = np.sign(np.diag(plain.basis.T @ (beam().mass @ moved.basis)))
    np.testing.assert_allclose(ours * signs, theirs, atol=1e-8 * np.abs(theirs).max())


def test_settled_pose_moves_its_feet_and_little_else_identity() -> None:
    body, (a, _) = beam(), poses()
    turn = np.cross([0.0, 0.03, 0.0], body.vertices - [0.0, 0.1, 0.1])
    moved = move_fixed_vertices(body, a, a + turn)
    np.testing.assert_allclose(moved[body.fixed], (a + turn)[body.fixed], atol=1e-15)
    assert np.abs((moved - a)[tip(body)]).max() < 0.1 * np.abs(turn[tip(body)]).max()
    near = np.flatnonzero(np.isclose(body.vertices[:, 0], 0.25))
    assert np.abs((moved - a)[near]).max() > 0.1 * np.abs(turn[body.fixed]).max()
    np.testing.assert_array_equal(move_fixed_vertices(body, a, a), a)


@cache
def walked(steps: int = 4) -> ShotSequence:
    """An inchworm: the beam stretches its tip forward, holds it, and draws the other end after it."""
    body = beam()
    stretched = cj.pose(body, pins={int(v): tuple(STRIDE) for v in tip(body)})
    segments = []
    for i in range(steps):
        base = (i // 2) * STRIDE
        segments.append(Segment({10: base + stretched}, 11, body.fixed) if i % 2 == 0 else
                        Segment({10: np.tile(base + STRIDE, (body.vertex_count, 1))}, 11, tip(body)))  # fmt: skip
    return keyframe_sequence(
        body.mesh, cj.MaterialStVK(1e6, 0.3, 1e3), segments, damping=(2.0, 0.01), dt=0.03, effort=1e-3, modes=3
    )


def test_segments_join_in_position_and_velocity_identity() -> None:
    walk = walked()
    assert walk.animation.positions.shape[0] == 1 + 4 * 10
    for before, after, stopped in zip(walk.shots, walk.shots[1:], walk.lost_velocity_shares):
        ours, theirs = before.animation, after.animation
        np.testing.assert_allclose(theirs.positions[0], ours.positions[-1], atol=1e-13)
        assert ours.velocities is not None
        assert theirs.velocities is not None
        loose = after.model.body.free_vertices
        np.testing.assert_allclose(theirs.velocities[0][loose], ours.velocities[-1][loose], atol=1e-9)
        assert 0.0 <= stopped < 1.0


def test_held_vertices_stay_where_they_were_identity() -> None:
    for part in walked().shots:
        held = part.animation.positions[:, part.model.body.fixed]
        assert np.abs(held - held[0]).max() <= 1e-13


def test_walk_arrives_identity() -> None:
    walk = walked()
    assert all(part.report.converged for part in walk.shots)
    assert max(max(part.report.errors) for part in walk.shots) < 0.02
    moved = (walk.animation.positions[-1] - beam().vertices).mean(axis=0)
    np.testing.assert_allclose(moved, 2 * STRIDE, atol=0.03)


def test_controls_of_a_segment_replay_identity() -> None:
    part = walked().shots[1]
    again = part.model.rollout(part.controls, part.dt, state=part.states[0], velocity=part.velocities[0])
    np.testing.assert_allclose(again.coordinates, part.states[1:], atol=1e-7 * np.abs(part.states).max())


def test_one_segment_is_a_keyframe_agreement() -> None:
    body, (a, b) = beam(), poses()
    material = cj.MaterialStVK(1e6, 0.3, 1e3)
    alone = keyframe_sequence(
        body.mesh, material, [Segment({10: a, 20: b}, 25, body.fixed)], damping=(0.1, 0.01), effort=1e-3, modes=3
    )
    made = cj.keyframe(body, {10: a, 20: b}, 25, effort=1e-3, modes=3)
    assert alone.shots[0].report.cost == pytest.approx(made.report.cost, rel=1e-6)
    np.testing.assert_allclose(alone.animation.positions, made.animation.positions, atol=1e-6)
    assert np.abs(made.model.lift_velocity(made.velocities)[0]).max() == 0.0


@pytest.mark.parametrize(
    ("segments", "words"),
    [
        ([], "at least one Segment"),
        ([3], "segment 0 must be a Segment"),
        ([Segment({}, 5)], "segment 0: keys must map frames"),
        ([Segment({0: poses()[0]}, 5, beam().fixed)], "segment 0: a key stands at frame 0"),
        ([Segment({9: poses()[0]}, 5, beam().fixed)], r"segment 0: a key stands at frame 9, but there are only"),
        ([Segment({4: poses()[0] + 0.5}, 5, beam().fixed)], "of the size from where they stand"),
    ],
)
def test_segments_bad_input(segments: Any, words: str) -> None:
    with pytest.raises(cj.InputError, match=words):
        keyframe_sequence(beam().mesh, cj.MaterialStVK(1e6, 0.3, 1e3), segments)


def test_offset_basis_bad_input() -> None:
    body: BodySolid = beam()
    with pytest.raises(cj.InputError, match="moves vertex 0, which the body fixes"):
        reduce_with_offset(body, np.zeros((body.vertex_count, 3)), np.ones((3 * body.vertex_count, 1)))
