"""Nets of springs that close no triangles: ropes move, are directed, drawn and written like every other body."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import cajole as cj
from cajole.mesh import MeshLine, MeshTri, write_mesh
from cajole.pictures import picture, strip

COUNT = 6


@cache
def rope(stiffness: float = 500.0, *, sag: float = 0.0) -> cj.BodySprings:
    """Six masses in a row with bending springs over every second one; sag [m]: how far the middle hangs at rest."""
    x = 0.1 * np.arange(COUNT)
    points = np.stack([x, 0 * x, -4 * sag * x * (x[-1] - x) / x[-1] ** 2], axis=1)
    edges = [[i, i + 1] for i in range(COUNT - 1)] + [[i, i + 2] for i in range(COUNT - 2)]
    return cj.BodySprings(points, edges, fixed=[0, 1], stiffness=stiffness, mass=0.02, damping=0.05)


@cache
def tent() -> cj.BodySprings:
    """Springs from a ring of six to a hub and on to a mast: stiff in all directions, and without a closed triangle."""
    turn = 2 * np.pi * np.arange(6) / 6
    ring = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    points = np.vstack([ring, [[0, 0, 0.7], [0, 0, 1.4]]])
    edges = [[i, 6] for i in range(6)] + [[i, 7] for i in range(6)]
    return cj.BodySprings(points, edges, fixed=range(6), stiffness=200.0, mass=0.1, damping=0.2)


@cache
def swing() -> cj.Animation:
    return cj.simulate(rope(), 12, gravity=9.81, integrator="bdf2")


@pytest.mark.parametrize("integrator", ["bdf2", "newmark", "euler"])
def test_a_rope_falls_and_is_drawn_as_lines(integrator: str) -> None:
    edges = [[i, i + 1] for i in range(5)] + [[i, i + 2] for i in range(4)]
    body = cj.BodySprings([[0.1 * i, 0, 0] for i in range(6)], edges, fixed=[0])
    moved = cj.simulate(body, 5, integrator=integrator, gravity=9.81)
    assert isinstance(moved.mesh, MeshLine)
    assert moved.positions[-1, -1, 2] < -1e-3


def test_of_three_in_line_the_longest_is_not_drawn_reference() -> None:
    np.testing.assert_array_equal(rope().get_display_mesh().lines, [[i, i + 1] for i in range(COUNT - 1)])
    assert len(tent().get_display_mesh().lines) == 12


def test_nets_whose_triangles_cover_all_stay_surfaces_identity() -> None:
    sheet = cj.BodySprings.cloth(3, 3)
    bare = cj.BodySprings(sheet.vertices, sheet.edges)
    drawn = bare.get_display_mesh()
    assert isinstance(drawn, MeshTri)
    assert drawn.used_vertex_mask.all()
    assert (drawn.areas > 0).all()


def test_pose_modes_and_ground() -> None:
    hanging = cj.pose(rope(), gravity=9.81)
    assert hanging[-1, 2] < -0.01
    assert (cj.modes(tent(), 3).frequencies > 0).all()
    landed = cj.simulate(rope(), 12, gravity=9.81, integrator="bdf2", obstacles=cj.Ground(-0.02))
    assert landed.positions[:, :, 2].min() > -0.05
    assert landed.contacts is not None


def test_reduce_keyframe_and_steer(tmp_path: Path) -> None:
    body = tent()
    aside = cj.pose(body, loads={7: (3.0, 0.0, 0.0)})
    model = cj.reduce(body, cj.modes(body, 3).shapes)
    assert model.size == 3
    shot = cj.keyframe(body, {10: aside, 20: 0 * aside}, frames=21, modes=3, starts="pd")
    assert isinstance(shot.animation.mesh, MeshLine)
    controller = cj.steer(shot)
    controller.save(tmp_path / "tent.npz")
    loaded = cj.load_controller(tmp_path / "tent.npz")
    np.testing.assert_allclose(loaded.run().animation.positions, controller.run().animation.positions, atol=1e-12)
    assert isinstance(loaded.run().animation.mesh, MeshLine)


def test_reroute_leads_the_end_of_a_rope() -> None:
    there = swing().positions[8, -1] + [0.0, 0.02, 0.0]
    led = cj.reroute(rope(), swing(), [cj.Goal(COUNT - 1, 8, there)])
    np.testing.assert_allclose(led.animation.positions[8, -1], there, atol=1e-3)


def test_edit_refuses_lines_by_name_bad_input() -> None:
    with pytest.raises(cj.InputError, match=r"edit needs triangles or tets, but the mesh has lines only"):
        cj.edit(swing(), rope())
    with pytest.raises(cj.InputError, match=r"edit needs triangles or tets"):
        cj.edit(swing())


def test_bodies_of_surfaces_refuse_lines_by_name_bad_input() -> None:
    mesh = swing().mesh
    for make in (cj.BodyShell, cj.BodySolid, cj.embed_in_solid, cj.voxelise, cj.subdivide, cj.ObstacleMesh):
        with pytest.raises(cj.InputError):
            make(mesh)  # type: ignore[operator, arg-type]
    with pytest.raises(cj.MeshError, match="has no surface"):
        _ = mesh.surface


@pytest.mark.parametrize("renderer", ["draft", "mitsuba"])
def test_lines_are_seen_in_pictures(renderer: str) -> None:
    if renderer == "mitsuba":
        pytest.importorskip("mitsuba", reason="the ray tracer is optional")
    image = picture(swing(), frame=11, size=(96, 72), renderer=renderer, samples=4)
    pixels = np.asarray(image, dtype=float)
    assert np.ptp(pixels.reshape(-1, pixels.shape[-1]), axis=0).max() > 0.1
    if renderer == "draft":
        assert strip(swing(), frames=3, size=(80, 60), renderer="draft") is not None
        assert picture(rope(), size=(80, 60), renderer="draft") is not None
        red = np.tile([0.9, 0.0, 0.0], (COUNT, 1))
        colours = picture(swing(), frame=11, size=(96, 72), colors=red).reshape(-1, 3).astype(int)
        assert (colours[:, 0] - colours[:, 1]).max() > 80


@pytest.mark.parametrize("suffix", [".npz", ".glb", ".obj", ".usda", ".usdc", ".pc2", ".mdd"])
def test_lines_come_back_from_files(suffix: str, tmp_path: Path) -> None:
    if suffix.startswith(".usd"):
        pytest.importorskip("pxr", reason="USD is optional")
    path = tmp_path / f"rope{suffix}"
    swing().write(path)
    again = cj.read_animation(path)
    assert isinstance(again.mesh, MeshLine)
    np.testing.assert_array_equal(again.mesh.lines, swing().mesh.lines)
    np.testing.assert_allclose(again.positions, swing().positions, atol=1e-6)
    assert again.fps == pytest.approx(swing().fps, rel=1e-6)
    if suffix in (".npz", ".usda", ".usdc"):
        assert again.velocities is not None
        np.testing.assert_allclose(again.velocities, swing().velocities, atol=1e-5)


def test_pages_show_tubes(tmp_path: Path) -> None:
    try:
        swing().write(tmp_path / "rope.html")
    except cj.FileError as reason:
        pytest.skip(str(reason))
    again = cj.read_animation(tmp_path / "rope.html")
    assert isinstance(again.mesh, MeshTri)
    assert len(again.mesh.vertices) == 12 * len(swing().mesh.lines)
    assert "<iframe" in swing()._repr_html_()


def test_meshes_of_lines_in_files(tmp_path: Path) -> None:
    mesh = rope().get_display_mesh()
    cj.write_mesh(mesh, tmp_path / "rope.obj")
    again = cj.read_mesh(tmp_path / "rope.obj", scale=0.5, up="y")
    np.testing.assert_array_equal(again.elements, mesh.elements)
    np.testing.assert_allclose(again.vertices[:, 0], 0.5 * mesh.vertices[:, 0])
    (tmp_path / "poly.obj").write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nl 1 2 3\n")
    np.testing.assert_array_equal(cj.read_mesh(tmp_path / "poly.obj").elements, [[0, 1], [1, 2]])
    for suffix in (".stl", ".ply", ".veg", ".vtk"):
        with pytest.raises(cj.FileError, match=r"holds no lines; lines are written to \.obj"):
            write_mesh(mesh, tmp_path / f"rope{suffix}")


def test_the_studio_refuses_lines_by_name_bad_input() -> None:
    from cajole.studio.content import build_animation_content

    with pytest.raises(cj.InputError, match=r"the studio needs triangles or tets, but the mesh has lines only"):
        build_animation_content(swing())


def test_animations_of_lines_keep_their_methods(tmp_path: Path) -> None:
    moved = swing()
    assert moved.resampled(24).mesh is moved.mesh
    assert moved.trimmed(2, 5).frames == 3
    assert "5 lines" in repr(moved.mesh)
    assert replace(moved, name="other").n == COUNT
    moved.write(tmp_path / "rope.npz")
    from cajole.animation import describe_file

    told = describe_file(tmp_path / "rope.npz")
    assert (told.lines, told.faces, told.tets) == (COUNT - 1, 0, None)
    assert "lines" in str(told)


BAD = {
    "empty": ([[0, 0, 0.0]], np.empty((0, 2), int), "lines is empty"),
    "one vertex": ([[0, 0, 0.0], [1, 0, 0]], [[0, 0]], "names a vertex twice"),
    "no length": ([[0, 0, 0.0], [0, 0, 0]], [[0, 1]], r"lines\[0\] joins \[0, 1\], two vertices at one place"),
    "range": ([[0, 0, 0.0], [1, 0, 0]], [[0, 2]], "outside 0..1"),
    "finite": ([[0, 0, np.nan], [1, 0, 0]], [[0, 1]], "finite"),
}


@pytest.mark.parametrize("name", BAD)
def test_lines_bad_input(name: str) -> None:
    vertices, lines, message = BAD[name]
    with pytest.raises(cj.MeshError, match=message):
        MeshLine(vertices, lines)
