"""What a scene's name and a mesh file become."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cajole.animation import Animation
from cajole.body import MaterialStVK
from cajole.errors import InputError
from cajole.mesh import box_tets, write_mesh
from cajole.scenes import load_scene_body, scene


@pytest.fixture
def box(tmp_path):
    """A subject of a tet file."""
    path = tmp_path / "box.veg"
    write_mesh(box_tets(3, 1, 1), path)
    return load_scene_body(str(path))


def test_scene_and_its_subject_agreement():
    subject, made = load_scene_body("beam"), scene("beam")
    body, expected = subject.body(), made.body()
    assert np.array_equal(body.fixed, expected.fixed)
    assert body.total_mass == expected.total_mass
    assert (body.alpha, body.beta) == (expected.alpha, expected.beta)
    assert (
        abs(
            body.stiffness(np.zeros((body.vertex_count, 3))) - expected.stiffness(np.zeros((body.vertex_count, 3)))
        ).max()
        == 0
    )


def test_changes_leave_the_first_as_it_was_identity(box):
    changed = box.with_fixed_vertices(["x<1%", "0,4"]).with_material(2e5, None, 500.0).with_damping((1.0, 0.5))
    assert changed.fixed.tolist() == sorted({*box.select("x<1%").tolist(), 0, 4})
    assert changed.material == replace(box.material, young=2e5, density=500.0)
    assert changed.damping == (1.0, 0.5)
    assert len(box.fixed) == 0
    assert (
        box.with_fixed_vertices([]).with_material(None, None, None).with_damping(None).body().total_mass
        == box.body().total_mass
    )


def test_tets_keep_what_is_not_changed_of_their_materials_identity(box):
    soft, hard = MaterialStVK(1e5, 0.3, 900.0), MaterialStVK(1e7, 0.45, 1200.0)
    mixed = replace(box, material=(soft, hard) * (len(box.mesh.tets) // 2))
    lighter = mixed.with_material(None, None, 100.0)
    assert lighter.material[:2] == (replace(soft, density=100.0), replace(hard, density=100.0))
    assert len(lighter.material) == len(box.mesh.tets)
    assert mixed.material[0] is soft
    assert lighter.body().total_mass == pytest.approx(100.0 * box.mesh.volume)


def test_surface_becomes_a_skin_identity(tmp_path):
    surface = box_tets(3, 1, 1).surface
    write_mesh(surface, tmp_path / "box.obj")
    subject = load_scene_body(str(tmp_path / "box.obj"), cells=4)
    dressed = subject.attach_skin(Animation(subject.mesh, subject.mesh.vertices[None], fps=24))
    assert dressed.name == "box"
    assert dressed.skin.mesh.vertices == pytest.approx(surface.vertices)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("dragon", {}, "'dragon' is neither a scene \\(beam, .*\\) nor a mesh file \\(.*\\.veg"),
        ("beam", {"scale": 2.0}, "scale and up are for files; beam is in metres"),
        ("box.veg", {"tets": 100}, "tets is for scenes, which are generated; box.veg has the tets it has"),
        ("missing.veg", {}, "missing.veg"),
    ],
)
def test_subject_bad_input(source, options, message):
    with pytest.raises(InputError, match=message):
        load_scene_body(source, **options)
