"""Shells whose folds stay: the return map against its closed form, and what it must never do."""

from __future__ import annotations

import numpy as np
import pytest
from shell_cases import SHEETS, STUFF, rich_shell, rough_sheet

from bodies import Array
from cajole.body import BodyShell, Plasticity
from cajole.errors import InputError, SolveError
from cajole.mesh import MeshTri, grid_triangles

# two triangles with a height of 1 m and 0.9 m above their edge of 1 m: 2A/l = 1.9 m
PAIR = MeshTri([[0, 0, 0], [1, 0, 0], [0.5, 1, 0], [0.4, -0.9, 0]], [[0, 1, 2], [1, 0, 3]])
WIDTH = 1.9


def folded(angle: float) -> Array:
    """Displacements that turn the second triangle of PAIR by an angle."""
    u = np.zeros((4, 3))
    u[3] = [0.0, 0.9 * (1 - np.cos(angle)), 0.9 * np.sin(angle)]
    return u


def bent_in_steps(body: BodyShell, to: float, steps: int) -> BodyShell:
    for angle in np.linspace(0.0, to, steps + 1)[1:]:
        body = body.yielded(folded(angle))
    return body


@pytest.mark.parametrize("hardening", [0.8, 0.0, -0.8])
@pytest.mark.parametrize("steps", [1, 10, 100, 1000, 10_000])
def test_steps_reference(steps, hardening):
    """θ̄ = θ - κ 2A/l and k = exp(η (θ l/2A - κ)), whatever the number of steps."""
    body = bent_in_steps(BodyShell(PAIR, STUFF, plasticity=Plasticity(0.5 / WIDTH, hardening)), 2.0, steps)
    assert abs(body.rest_angles[0]) == pytest.approx(1.5, rel=1e-12)
    assert body.bending_scale[0] == pytest.approx(np.exp(hardening * 1.5 / WIDTH), rel=1e-11)
    assert body.plastic_angles[0] == pytest.approx(body.rest_angles[0], rel=1e-12)


def test_other_way_identity():
    """Folding down is folding up in a mirror."""
    body = BodyShell(PAIR, STUFF, plasticity=Plasticity(0.2, 0.7))
    up, down = bent_in_steps(body, 1.3, 7), bent_in_steps(body, -1.3, 7)
    np.testing.assert_allclose(up.rest_angles, -down.rest_angles, rtol=1e-13)
    np.testing.assert_allclose(up.bending_scale, down.bending_scale, rtol=1e-13)
    rough = BodyShell(rough_sheet(), STUFF, plasticity=Plasticity(0.2, 0.7))
    mirror = BodyShell(rough.mesh.moved(rough.vertices * [1, 1, -1]), STUFF, plasticity=Plasticity(0.2, 0.7))
    u = np.random.default_rng(4).uniform(-0.05, 0.05, (16, 3))
    one, two = rough.yielded(u), mirror.yielded(u * [1, 1, -1])
    assert np.count_nonzero(one.plastic_angles) > 5
    np.testing.assert_allclose(one.plastic_angles, -two.plastic_angles, rtol=0, atol=1e-12)
    np.testing.assert_allclose(one.bending_scale, two.bending_scale, rtol=1e-12)


def test_back_and_forth_reference():
    """Unfolded again it yields the other way: the path counts, and hardening adds up over it."""
    body = BodyShell(PAIR, STUFF, plasticity=Plasticity(0.5 / WIDTH, 0.3))
    body = bent_in_steps(body, 2.0, 5).yielded(folded(0.0))
    assert body.plastic_angles[0] == pytest.approx(np.sign(body.plastic_angles[0]) * 0.5, rel=1e-12)
    assert body.bending_scale[0] == pytest.approx(np.exp(0.3 * (1.5 + 1.0) / WIDTH), rel=1e-12)


def test_inside_the_limit_identity():
    """Nothing yields below the limit, twice at one shape, or without plasticity: the same object."""
    body = BodyShell(PAIR, STUFF, plasticity=Plasticity(0.5 / WIDTH, 1.0))
    assert body.yielded(folded(0.499)) is body
    plain = BodyShell(PAIR, STUFF)
    assert plain.yielded(folded(2.0)) is plain
    after = body.yielded(folded(0.8))
    assert after is not body
    assert after.yielded(folded(0.8)) is after
    assert not body.plastic_angles.any(), "the body that yielded is as it was"
    assert after.pattern is body.pattern
    assert after.hinges is body.hinges


def test_limit_in_metres_identity():
    """The same fold in a mesh twice as large has half the curvature."""
    large = PAIR.moved(2.0 * PAIR.vertices)
    small = BodyShell(PAIR, STUFF, plasticity=Plasticity(0.4, 0.2)).yielded(folded(1.5))
    big = BodyShell(large, STUFF, plasticity=Plasticity(0.2, 0.4)).yielded(2.0 * folded(1.5))
    np.testing.assert_allclose(small.rest_angles, big.rest_angles, rtol=1e-12)
    np.testing.assert_allclose(small.bending_scale, big.bending_scale, rtol=1e-12)


@pytest.mark.parametrize("name", list(SHEETS))
def test_energy_never_increases_identity(name):
    """Neither over a whole update nor by what neighbours hold bent: rest angles flow downhill only."""
    random = np.random.default_rng(7)
    for _ in range(30):
        body = rich_shell(SHEETS[name](), random)
        count = len(body.hinges.vertices)
        soft = BodyShell(
            body.mesh, body.material, undeformed=body.undeformed, bending_scale=body.bending_scale,
            plasticity=Plasticity(random.uniform(0.0, 0.5, count)),
        )  # fmt: skip
        u = random.uniform(-0.15, 0.15, (body.vertex_count, 3))
        after = soft.yielded(u)
        assert after is not soft
        assert after.energy(u) <= soft.energy(u) * (1 + 1e-13)
        before, left = (
            np.abs(each._bending_energy.compute_elastic_angles(soft.vertices + u)) for each in (soft, after)
        )
        assert (left <= before + 1e-12).all()


def test_held_hinges_claim():
    """To cut every angle at its limit can store energy, where neighbours hold it bent; the flow does not do so."""
    random, cut, flowed = np.random.default_rng(3), 0, 0
    for _ in range(60):
        mesh = rough_sheet()
        body = BodyShell(mesh, STUFF, plasticity=Plasticity(np.where(random.random(21) < 0.2, 0.0, 1e3)))
        u = random.uniform(-0.15, 0.15, (16, 3))
        bending = body._bending_energy
        phi, after = bending.compute_elastic_angles(body.vertices + u), body.yielded(u)
        widths = np.array([width_of(mesh, hinge) for hinge in body.hinges.vertices])
        limit = body.plasticity.expand_to_hinges(21)[0] * widths  # type: ignore[union-attr]
        clipped = np.einsum(
            "gki,gi->gk", bending.factors, np.append(np.clip(phi, -limit, limit), 0.0)[body.hinges.groups]
        )
        before = np.einsum("gki,gi->gk", bending.factors, np.append(phi, 0.0)[body.hinges.groups])
        cut += int((clipped**2).sum() > (before**2).sum() * (1 + 1e-9))
        flowed += int(after.energy(u) > body.energy(u) * (1 + 1e-13))
    assert cut > 3, "the case must be one that happens"
    assert flowed == 0


def width_of(mesh: MeshTri, hinge: Array) -> float:
    a, b, c, d = mesh.vertices[hinge]
    area = 0.5 * (np.linalg.norm(np.cross(b - a, c - a)) + np.linalg.norm(np.cross(b - a, d - a)))
    return float(2 * area / np.linalg.norm(b - a))


def test_crease_stays_claim():
    """A strip folded sharply along a line keeps its fold there, and nowhere else."""
    mesh = grid_triangles(6, 3, size=(0.6, 0.3))
    body = BodyShell(mesh, STUFF, plasticity=Plasticity(2.0))
    u = np.zeros((body.vertex_count, 3))
    beyond = np.maximum(0.0, mesh.vertices[:, 0] - 0.3)
    u[:, 0], u[:, 2] = beyond * (np.cos(1.2) - 1), beyond * np.sin(1.2)
    after = body.yielded(u)
    at_line = np.abs(mesh.vertices[after.hinges.vertices[:, :2], 0] - 0.3).max(axis=1) < 1e-9
    assert (np.abs(after.plastic_angles[at_line]) > 0.5).all()
    assert not after.plastic_angles[~at_line].any()
    assert after.energy(u) < 0.5 * body.energy(u)


def test_whole_turns_identity():
    """Rest angles stay within half a turn, however far the folds went, and nothing jumps there."""
    body = BodyShell(PAIR, STUFF, plasticity=Plasticity(0.1))
    body = bent_in_steps(body, 1.9 * np.pi, 400)
    assert abs(body.rest_angles[0]) <= np.pi
    assert abs(body.plastic_angles[0]) == pytest.approx(1.9 * np.pi - 0.1 * WIDTH, rel=1e-9)
    assert abs(body._bending_energy.compute_elastic_angles(body.vertices + folded(1.9 * np.pi))[0]) == pytest.approx(
        0.1 * WIDTH, rel=1e-9
    )


def test_plasticity_bad_input():
    with pytest.raises(InputError, match=r"yield_curvature \(1/m\) is -1.0, but must be at least zero"):
        Plasticity(-1.0)
    with pytest.raises(InputError, match=r"hardening \(m\) is nan"):
        Plasticity(1.0, float("nan"))
    with pytest.raises(InputError, match=r"yield_curvature \(1/m\)\[1\] is -2.0"):
        BodyShell(rough_sheet(), plasticity=Plasticity([1.0, -2.0] + [1.0] * 19))
    with pytest.raises(InputError, match=r"hardening \(m\) of each hinge has shape \(2,\), but \(21,\) is needed"):
        BodyShell(rough_sheet(), plasticity=Plasticity(1.0, [1.0, 2.0]))
    body = BodyShell(PAIR, STUFF, plasticity=Plasticity(0.1, 1e3))
    with pytest.raises(SolveError, match=r"hinge 0 would bend .* times as stiffly.*hardening nearer to zero"):
        body.yielded(folded(2.0))
    with pytest.raises(InputError, match=r"displacement\[0, 0\] is nan"):
        body.yielded(np.full((4, 3), np.nan))
    with pytest.raises(SolveError, match="has lost its area"):
        body.yielded(-body.vertices)
