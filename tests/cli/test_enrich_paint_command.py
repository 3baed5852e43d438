"""`cajole enrich` with paint: labels in files, of vertices or of triangles."""

from __future__ import annotations

import numpy as np
import pytest
from enrich_command_cases import FAST, lid, same, shell

import cajole as cj
from cajole.mesh import grid_triangles, subdivide, write_mesh


@pytest.mark.parametrize("suffix", ["npy", "txt"])
def test_painted_agreement(cajole, tmp_path, suffix):
    """Another mesh, joined by labels of vertices on the guide and of triangles on the shell."""
    guide, rough = lid(), tmp_path / "rough.npz"
    guide.write(rough)
    fine = subdivide(guide.mesh, levels=2)[0]
    write_mesh(fine, tmp_path / "fine.obj")
    ours = np.repeat([0, 1], 4)
    heights = fine.vertices[fine.triangles].mean(axis=1)[:, 2]
    theirs = np.where(heights < 0.3, 0, np.where(heights > 0.7, 1, -1))
    for name, labels in (("guide", ours), ("fine", theirs)):
        if suffix == "npy":
            np.save(tmp_path / f"{name}.npy", labels)
        else:
            (tmp_path / f"{name}.txt").write_text("# floor and lid\n" + "\n".join(map(str, labels)) + "\n")
    paint = ("--paint-guide", tmp_path / f"guide.{suffix}", "--paint-fine", tmp_path / f"fine.{suffix}")
    target = tmp_path / "out.npz"
    run = cajole("enrich", rough, "--fine", tmp_path / "fine.obj", *paint, *FAST, "-o", target)
    assert run.code == 0, run.err
    mesh = cj.read_mesh(tmp_path / "fine.obj")
    regions = cj.regions_painted(guide.mesh, ours, mesh, theirs)
    same(target, cj.enrich(guide, shell(mesh), regions, dt=1 / 60))


def test_words_paint_like_numbers_agreement(tmp_path):
    from cajole.cli.enrich import read_labels

    (tmp_path / "a.txt").write_text("left sleeve\n-1  # none\n7\n")
    assert read_labels(tmp_path / "a.txt", "--paint-guide") == ["left sleeve", -1, 7]


def test_as_many_triangles_as_vertices_claim(cajole, tmp_path):
    """Labels that fit both are asked about, and then taken as told."""
    flat = grid_triangles(2, 2)
    ring = cj.MeshTri(flat.vertices[:8], [(0, 1, 3), (1, 4, 3), (1, 2, 4), (2, 5, 4), (3, 4, 6), (4, 7, 6), (4, 5, 7)])
    mesh = cj.MeshTri([*ring.vertices, (3.0, 0, 0)], [*ring.triangles, (2, 8, 5), (2, 5, 1)])
    assert len(mesh.vertices) == len(mesh.triangles)
    cj.Animation(mesh, np.repeat(mesh.vertices[None], 2, axis=0), fps=30).write(tmp_path / "still.npz")
    write_mesh(mesh, tmp_path / "fine.ply")
    np.save(tmp_path / "labels.npy", np.arange(9) // 5)
    paint = ("--paint-guide", tmp_path / "labels.npy", "--paint-fine", tmp_path / "labels.npy")
    words = ("enrich", tmp_path / "still.npz", "--fine", tmp_path / "fine.ply", *paint, *FAST)
    asked = cajole(*words)
    assert asked.code == 1
    assert "--paint-on vertices" in asked.err.replace("\n", " ")
    for side in ("vertices", "triangles"):
        assert cajole(*words, "--paint-on", side, "--json").json["regions"] == 2
    assert cajole(*words, "--paint-on", "vertices,triangles", "--json").json["regions"] == 2


def test_paint_on_is_not_overheard_bad_input(cajole, tmp_path):
    """What is said of labels is held against their number, also where that number would tell."""
    mesh = grid_triangles(2, 2)
    cj.Animation(mesh, np.repeat(mesh.vertices[None], 2, axis=0), fps=30).write(tmp_path / "still.npz")
    write_mesh(mesh, tmp_path / "fine.ply")
    np.save(tmp_path / "labels.npy", np.arange(9) // 5)
    paint = ("--paint-guide", tmp_path / "labels.npy", "--paint-fine", tmp_path / "labels.npy")
    words = ("enrich", tmp_path / "still.npz", "--fine", tmp_path / "fine.ply", *paint, *FAST)
    assert cajole(*words, "--paint-on", "vertices", "--json").json["regions"] == 2
    for side in ("triangles", "vertices,triangles"):
        run = cajole(*words, "--paint-on", side)
        assert run.code == 1
        assert "9 labels, but the mesh has 8 triangles" in " ".join(run.err.split())
