"""What `simulate`, `pose` and `modes` accept and tell: forms of input, notes, hints, names, and steps that are hard."""

from __future__ import annotations

import numpy as np
import pytest

import cajole as cj
from cajole.mesh import box_tets

DOWN = (0.0, 0.0, -9.81)


def soft_block(size: float = 1.0, young: float = 1e6) -> cj.BodySolid:
    mesh = box_tets(2, 1, 1, size=(2 * size, size, size))
    return cj.BodySolid(mesh, cj.MaterialStVK(young=young), fixed=mesh.vertices[:, 0] == 0)


def test_gravity_as_a_number_agreement() -> None:
    body = soft_block()
    np.testing.assert_array_equal(cj.pose(body, gravity=9.81), cj.pose(body, gravity=DOWN))
    runs = [cj.simulate(body, 3, gravity=value).positions for value in (9.81, DOWN)]
    np.testing.assert_array_equal(runs[0], runs[1])


def test_mask_agreement_with_indices() -> None:
    held = np.flatnonzero(soft_block().vertices[:, 0] == 0)
    np.testing.assert_array_equal(soft_block().fixed, held)
    np.testing.assert_array_equal(cj.BodySprings.cloth(1, 1, fixed=[True, False, False, True]).fixed, [0, 3])


def test_inverted_reference() -> None:
    body = soft_block()
    u = np.zeros((body.vertex_count, 3))
    assert len(body.inverted(u)) == 0
    mirrored = body.vertices * [1, 1, -2]
    assert len(body.inverted(mirrored)) == len(body.mesh.tets), "all tets of a mirrored body are inside out"
    assert len(cj.BodySprings.cloth(1, 1).inverted(np.zeros((4, 3)))) == 0


def test_inside_out_tets_are_noted() -> None:
    body = soft_block(young=1e3)
    force = np.zeros((body.vertex_count, 3))
    force[body.mesh.nearest((2.0, 0.5, 0.5)), 0] = -2e4
    run = cj.simulate(body, 12, 1 / 60, force=force, integrator="euler")
    first = next(k for k, u in enumerate(run.displacements) if len(body.inverted(u)))
    assert f"inside out from frame {first}: use a stiffer material" in run.notes[0]
    assert cj.simulate(soft_block(), 3, gravity=DOWN).notes == ()


def test_size_hint_identity(monkeypatch: pytest.MonkeyPatch) -> None:
    from cajole.dynamics.implicit_stepper import ImplicitStepOptions, ImplicitStepper
    from cajole.dynamics.statics import StaticSolver, StaticsOptions

    monkeypatch.setattr(ImplicitStepper, "options", ImplicitStepOptions(max_iterations=0))
    monkeypatch.setattr(StaticSolver, "options", StaticsOptions(max_iterations=0))
    huge, small = soft_block(size=1000.0), soft_block()
    with pytest.raises(cj.NotConverged, match=r"frame 1 .*is the mesh in millimetres\? its size is 2449 m"):
        cj.simulate(huge, 3, gravity=9.81)
    with pytest.raises(cj.NotConverged, match=r"is the mesh in millimetres\?"):
        cj.pose(huge, gravity=9.81)
    with pytest.raises(cj.NotConverged) as told:
        cj.simulate(small, 3, gravity=9.81)
    assert "millimetres" not in str(told.value)


def around() -> cj.EmbeddedMesh:
    return cj.embed_in_solid(box_tets(2, 2, 2).surface, resolution=3, fixed=[0])


def test_body_around_carries_its_triangles_agreement() -> None:
    both = around()
    run = cj.simulate(both, 4, gravity=9.81)
    inner = cj.simulate(both.body, 4, gravity=9.81)
    np.testing.assert_array_equal(run.positions, inner.positions)
    np.testing.assert_allclose(run.skinned().positions, both.embedding.apply(inner.positions))


@pytest.mark.parametrize("verb", [cj.pose, cj.modes])
def test_body_around_bad_input(verb: object) -> None:
    with pytest.raises(cj.InputError, match=r"pass embedded\.body.*embedded\.skin\.deform"):
        verb(around())  # type: ignore[operator]


def test_names_in_one_line_identity() -> None:
    solid, sheet = soft_block(), cj.BodyShell(box_tets(1, 1, 1).surface)
    shown = [solid, sheet, cj.BodySprings.cloth(1, 1), around(), cj.modes(solid, 4, cache=False), cj.Ground(0.5)]
    shown += [cj.Ground(plane=((0, 0, 0), (0, 1, 1)), margin=0.1), cj.ObstacleMesh(mesh=box_tets(1, 1, 1))]
    for thing in shown:
        text = repr(thing)
        assert text.startswith(type(thing).__name__ + "(")
        assert "\n" not in text
        assert len(text) < 200, text
    assert repr(solid) == "BodySolid(MeshTet(12 vertices, 12 tets), 2000 kg, 4 fixed)"
    assert repr(shown[5]) == "Ground(height=0.5, friction=0.5, damping=0.5)"


# --- steps that are hard


def tube(around: int = 12, rings: int = 9) -> cj.MeshTri:
    """A closed tube, upright, 0.24 m high and 0.08 m wide."""
    turn = 2 * np.pi * np.arange(around) / around
    ring = 0.04 * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    sides = [np.column_stack([ring, np.full(around, z)]) for z in np.linspace(0, 0.24, rings)]
    vertices = np.vstack([*sides, np.array([[0, 0, 0], [0, 0, 0.24]])])
    here, n = np.arange(around), around * rings
    there = (here + 1) % around
    triangles = [np.column_stack([np.full(around, n), there, here])]
    for low in range(0, n - around, around):
        triangles += [np.column_stack([low + here, low + there, low + around + there])]
        triangles += [np.column_stack([low + here, low + around + there, low + around + here])]
    triangles += [np.column_stack([np.full(around, n + 1), n - around + here, n - around + there])]
    return cj.MeshTri(vertices, np.vstack(triangles))


def tilted(mesh: cj.MeshTri, angle: float, height: float) -> cj.MeshTri:
    c, s = np.cos(angle), np.sin(angle)
    return mesh.moved(mesh.vertices @ np.array([[1, 0, 0], [0, c, s], [0, -s, c]]) + [0, 0, height])


def test_stiff_shell_that_turns_identity() -> None:
    """A tenth of a radian a frame stretches it by far more than it would ever be: halved steps alone fail."""
    body = cj.BodyShell(tube(), cj.MaterialShell(young=1e9, thickness=3e-3))
    arms = body.vertices - body.vertices.mean(axis=0)
    run = cj.simulate(body, 9, 1 / 60, start=cj.InitialState(velocity=np.cross([10.0, 0, 0], arms)))
    assert run.velocities is not None
    pairs = zip(run.displacements, run.velocities)
    energies = [body.energy(u) + 0.5 * v.ravel() @ (body.mass @ v.ravel()) for u, v in pairs]
    np.testing.assert_allclose(energies, energies[0], rtol=0.05)


def test_closed_shell_falls_on_the_ground() -> None:
    body = cj.BodyShell(tilted(tube(), 0.3, 0.06), cj.MaterialShell(young=1e9, thickness=3e-3), damping=(0.1, 1e-3))
    run = cj.simulate(body, 24, 1 / 60, gravity=9.81, obstacles=cj.Ground())
    assert -0.01 < run.positions[:, :, 2].min() < 0, "it fell through, or never fell"


def test_crumpled_shell_needs_no_more_mass_than_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a sheet folds, the clamped tangent is positive definite as it is."""
    from cajole.dynamics.restricted_system import RestrictedSystem

    added: list[float] = []
    shifted = RestrictedSystem.factorise_with_shift

    def listened(self: RestrictedSystem, *given: object, **options: object) -> float:
        added.append(shifted(self, *given, **options))  # type: ignore[arg-type]
        return added[-1]

    monkeypatch.setattr(RestrictedSystem, "factorise_with_shift", listened)
    body = cj.BodyShell(tilted(tube(), 0.3, 0.02), cj.MaterialShell(young=3e5, thickness=1e-3), damping=(0.1, 1e-3))
    speed = cj.InitialState(velocity=np.tile([0, 0, -2.0], (body.vertex_count, 1)))
    cj.simulate(body, 5, 1 / 60, gravity=9.81, start=speed, obstacles=cj.Ground())
    assert len(added) > 0, "nothing folded"
    assert max(added) == 0.0


def test_impact_that_nothing_solves_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    from cajole.dynamics.implicit_stepper import ImplicitStepOptions, ImplicitStepper

    monkeypatch.setattr(ImplicitStepper, "options", ImplicitStepOptions(max_iterations=0))
    body = cj.BodyShell(tilted(tube(4, 3), 0.3, 0.1))
    heard: list[str] = []
    message = r"frame 1 .*most at vertex \d+, at \(.*tried as 4, 16 and 64 smaller steps: use a thicker"
    with pytest.raises(cj.NotConverged, match=message) as told:
        cj.simulate(body, 3, gravity=9.81, obstacles=cj.Ground(), progress=lambda share, text: heard.append(text))
    assert "body_around" in str(told.value)
    assert "stiffness=" in str(told.value)
    assert "frame 1: an impact, part 1 of 64" in heard
