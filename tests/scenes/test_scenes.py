"""The built-in scenes: sound cages, covered skins, named parts, a cache that gives back what it got."""

from __future__ import annotations

import numpy as np
import pytest

from cajole.dynamics import modes
from cajole.errors import InputError, SolveError
from cajole.scenes import scene, scene_names, tetrahedralise
from cajole.scenes.builtin import SCENE_DEFINITIONS
from cajole.scenes.skin import MIN_BARYCENTRIC_WEIGHT, SKIN_GLOSS
from cajole.scenes.tetrahedralisation import count_misoriented_faces, label_face_components
from cajole.storage import find_cache_folder


def test_cage_is_sound_claim(built):
    mesh, recipe = built.mesh, SCENE_DEFINITIONS[built.name]()
    assert abs(len(mesh.tets) / recipe.tets - 1) < 0.1
    assert mesh.volumes.min() > 0
    assert count_misoriented_faces(mesh.tets) == 0
    assert len(np.unique(label_face_components(mesh.tets))) == 1
    assert mesh.is_manifold()
    assert mesh.dihedral_angles.min() > 25
    assert mesh.dihedral_angles.max() < 145


def test_skin_is_covered_claim(built):
    skin = built.skin
    for part in built.parts:
        vertices = skin.find_part_vertices(part)
        if len(vertices):
            assert skin.embedding.min_weights[vertices].min() > MIN_BARYCENTRIC_WEIGHT, part
    assert skin.deform(built.mesh.vertices) == pytest.approx(skin.mesh.vertices, abs=1e-9)
    assert 10_000 < len(skin.mesh.vertices) < 90_000


def test_every_part_is_simulated_identity(built):
    """The named parts split the cage, and every part of the recipe that is simulated has vertices or fuses with one."""
    together = np.concatenate(list(built.parts.values()))
    assert np.sort(together).tolist() == list(range(len(built.mesh.vertices)))
    assert len(built.fixed) == len(np.unique(built.fixed)) < len(built.mesh.vertices)


def test_eyes_are_rigid_identity(built):
    """Under an affine motion of the cage an eye moves as one; under any motion it is carried by one tet."""
    for part in built.skin.parts:
        if "eye" in part or "pupil" in part:
            eye = built.skin.find_part_vertices(part)
            assert len(np.unique(built.skin.embedding.tets[eye])) == 1
            assert (built.skin.gloss[eye] > SKIN_GLOSS).all()


def test_lively_claim(built):
    """The suggested material puts the first elastic frequency near one hertz."""
    found = modes(built.body(), 1).frequencies
    assert 0.8 < found[0] < 2.0
    assert (built.name in ("elephant", "fish")) == (len(built.fixed) == 0)


def test_flower_blooms_are_apart_claim():
    """The blooms do not touch each other or a leaf: from bloom to bloom the way leads down the stem."""
    flower = scene("flower")
    label = np.empty(len(flower.mesh.vertices), dtype="U20")
    for part, vertices in flower.parts.items():
        label[vertices] = part
    met = {frozenset(pair) for pair in np.unique(np.sort(label[flower.mesh.edges], axis=1), axis=0).tolist()}
    for first in ("bloom", "bloom disc"):
        for second in ("second bloom", "second bloom disc", "leaves", "branch"):
            assert frozenset((first, second)) not in met
    assert frozenset(("second bloom", "leaves")) not in met
    assert frozenset(("stem", "bloom")) in met


def test_cache_identity(built):
    again = scene(built.name)
    assert again.mesh.content_hash == built.mesh.content_hash
    assert again.skin.mesh.content_hash == built.skin.mesh.content_hash
    assert again.skin.colors.tobytes() == built.skin.colors.tobytes()
    assert again.fixed.tobytes() == built.fixed.tobytes()


def test_damaged_cache_identity(monkeypatch, tmp_path):
    """A cache file cut short is made anew."""
    monkeypatch.setenv("CAJOLE_CACHE", str(tmp_path))
    beam = scene("beam", tets=600)
    for path in (find_cache_folder() / "scenes").glob("*.npz"):
        path.write_bytes(path.read_bytes()[:1000])
    assert scene("beam", tets=600).mesh.content_hash == beam.mesh.content_hash


def test_other_sizes_claim():
    shape = SCENE_DEFINITIONS["dinosaur"]().shape
    for tets in (1500, 9000):
        mesh = tetrahedralise(shape, target=tets)
        assert abs(len(mesh.tets) / tets - 1) < 0.1
        assert mesh.is_manifold()


def test_progress_claim():
    told = []
    scene("beam", tets=700, progress=lambda fraction, text: told.append((fraction, text)))
    fractions = [fraction for fraction, _ in told]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    assert all(text for _, text in told)


def test_scene_bad_input():
    with pytest.raises(InputError, match="dinosaur"):
        scene("unicorn")
    with pytest.raises(InputError, match="skin is 'hairy'"):
        scene("beam", skin="hairy")
    with pytest.raises(InputError, match="tets is 0"):
        scene("beam", tets=0)
    with pytest.raises(SolveError, match="more tets"):
        scene("flower", tets=400)
    assert set(scene_names()) >= {"beam", "bridge", "dinosaur", "tee", "flower", "fish"}


def test_fine_skin_claim():
    plain, fine = (scene("beam", tets=700, skin=skin) for skin in ("normal", "fine"))
    assert fine.mesh.content_hash == plain.mesh.content_hash
    assert len(fine.skin.mesh.vertices) > 3 * len(plain.skin.mesh.vertices)
