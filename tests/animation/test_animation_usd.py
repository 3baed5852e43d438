"""USD: tets, skin and rest shape come back; scenes of other programs are read as they stand in the world."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from animation_cases import FPS, FRAMES

from cajole.animation import Animation, read_animation
from cajole.errors import FileError, MissingExtra
from cajole.mesh import MeshTet

pxr = pytest.importorskip("pxr", reason="usd-core is not installed")
from pxr import Gf, Usd, UsdGeom, Vt  # noqa: E402

SINGLE = 2e-7  # coordinates here are below two
SUFFIXES = [".usda", ".usdc", ".usd"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_everything_but_contacts_comes_back_identity(tmp_path: Path, full: Animation, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    full.write(path)
    again = read_animation(path)
    assert isinstance(again.mesh, MeshTet)
    np.testing.assert_array_equal(again.mesh.tets, full.mesh.elements)
    np.testing.assert_array_equal(again.mesh.vertices, full.mesh.vertices)
    np.testing.assert_array_equal(again.positions, full.positions.astype(np.float32))
    assert again.velocities is not None
    np.testing.assert_array_equal(again.velocities, full.velocities.astype(np.float32))  # type: ignore[union-attr]
    assert (again.fps, again.start_frame, again.name) == (FPS, -2, "jelly fish")
    assert again.skin is not None
    assert full.skin is not None
    assert again.skin.parts == full.skin.parts
    np.testing.assert_allclose(again.skin.colors, full.skin.colors, atol=1e-6)
    np.testing.assert_array_equal(again.skin.labels, full.skin.labels)
    np.testing.assert_array_equal(again.skin.gloss, full.skin.gloss)
    np.testing.assert_allclose(again.skinned().positions, full.skinned().positions, atol=SINGLE)


def test_triangles_and_own_colours_identity(tmp_path: Path, cloth: Animation, full: Animation) -> None:
    cloth.write(tmp_path / "a.usdc")
    again = read_animation(tmp_path / "a.usdc")
    np.testing.assert_array_equal(again.mesh.elements, cloth.mesh.elements)
    np.testing.assert_array_equal(again.positions, cloth.positions.astype(np.float32))
    assert again.skin is None
    painted = full.skinned()
    painted.write(tmp_path / "b.usda")
    again = read_animation(tmp_path / "b.usda")
    assert again.skin is not None
    assert painted.skin is not None
    np.testing.assert_allclose(again.skin.colors, painted.skin.colors, atol=1e-6)


def test_stage_is_what_viewers_expect_reference(tmp_path: Path, tets: Animation) -> None:
    # read with usd-core alone
    tets.write(tmp_path / "a.usda")
    stage = Usd.Stage.Open(str(tmp_path / "a.usda"))
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    assert (stage.GetTimeCodesPerSecond(), stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (FPS, 3, 3 + FRAMES - 1)
    assert stage.GetDefaultPrim().GetName() == "jelly"
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/jelly/surface"))
    solid = UsdGeom.TetMesh(stage.GetPrimAtPath("/jelly/tets"))
    assert mesh.GetSubdivisionSchemeAttr().Get() == "none"
    assert mesh.GetPurposeAttr().Get() == "default"
    assert solid.GetPurposeAttr().Get() == "guide"
    kept = tets.mesh.surface_vertices  # type: ignore[union-attr]
    for frame in range(FRAMES):
        points = np.asarray(mesh.GetPointsAttr().Get(3 + frame))
        np.testing.assert_array_equal(points, tets.positions[frame, kept].astype(np.float32))
        extent = np.asarray(mesh.GetExtentAttr().Get(3 + frame))
        np.testing.assert_array_equal(extent, [points.min(axis=0), points.max(axis=0)])
    # outward faces of right-handed tets, as USD itself finds them
    found = np.asarray(UsdGeom.TetMesh.ComputeSurfaceFaces(solid, Usd.TimeCode(3)))
    ours = np.asarray(solid.GetSurfaceFaceVertexIndicesAttr().Get())
    assert {_turned(face) for face in found.tolist()} == {_turned(face) for face in ours.tolist()}


def _turned(face: list[int]) -> tuple[int, ...]:
    """A face as the same cycle of vertices, whichever comes first."""
    first = face.index(min(face))
    return tuple(face[first:] + face[:first])


def scene(path: Path, *, up: str = "Y", scale: float = 0.01, animate_parent: bool = False) -> Usd.Stage:
    """Two squares, as other programs write them: quads under a turned and shifted parent, sampled every second code."""
    stage = Usd.Stage.CreateNew(str(path))
    UsdGeom.SetStageUpAxis(stage, up)
    UsdGeom.SetStageMetersPerUnit(stage, scale)
    stage.SetTimeCodesPerSecond(48)
    parent = UsdGeom.Xform.Define(stage, "/world")
    move = parent.AddTranslateOp()
    move.Set(Gf.Vec3d(100, 0, 0))
    if animate_parent:
        move.Set(Gf.Vec3d(100, 0, 0), 10)
        move.Set(Gf.Vec3d(200, 0, 0), 14)
    parent.AddRotateZOp().Set(90.0)
    for name in ("square", "floor"):
        mesh = UsdGeom.Mesh.Define(stage, f"/world/{name}")
        mesh.CreateFaceVertexCountsAttr([4])
        mesh.CreateFaceVertexIndicesAttr([0, 1, 2, 3])
        corners = np.array([[0, 0, 0], [10, 0, 0], [10, 10, 0], [0, 10, 0]], np.float32)
        mesh.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(corners))
        for step in range(3 if name == "square" else 0):
            mesh.GetPointsAttr().Set(Vt.Vec3fArray.FromNumpy(corners + np.float32(step)), 10 + 2 * step)
    return stage


def test_scenes_of_others_reference(tmp_path: Path) -> None:
    # worked out by hand: centimetres, y up, a quarter turn about z, a metre along x
    scene(tmp_path / "a.usda").Save()
    again = read_animation(tmp_path / "a.usda")
    assert (again.frames, again.fps, again.start_frame, again.name) == (3, 24.0, 5, "world")
    assert again.mesh.elements.tolist() == [[0, 1, 2], [0, 2, 3]]
    np.testing.assert_allclose(again.positions[0], [[1, 0, 0], [1, 0, 0.1], [0.9, 0, 0.1], [0.9, 0, 0]], atol=1e-6)
    np.testing.assert_allclose(again.positions[2] - again.positions[0], [[-0.02, -0.02, 0.02]] * 4, atol=1e-6)
    scene(tmp_path / "b.usda", up="Z", scale=1.0).Save()
    again = read_animation(tmp_path / "b.usda")
    np.testing.assert_allclose(again.positions[0, 2], [90, 10, 0], atol=1e-5)


def test_a_mesh_at_the_top_of_the_stage_identity(tmp_path: Path) -> None:
    stage = Usd.Stage.CreateNew(str(tmp_path / "a.usda"))
    mesh = UsdGeom.Mesh.Define(stage, "/leaf")
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    stage.Save()
    again = read_animation(tmp_path / "a.usda")
    # nothing moves, so it is one frame; nothing is said about units, so USD's own centimetres hold
    assert (again.frames, again.name) == (1, "leaf")
    np.testing.assert_allclose(again.positions[0, 1], [0.01, 0, 0])


def test_transforms_that_move_reference(tmp_path: Path) -> None:
    scene(tmp_path / "a.usda", animate_parent=True).Save()
    again = read_animation(tmp_path / "a.usda", prim="floor")
    # two samples of the parent, four codes apart
    assert (again.frames, again.fps) == (2, 12.0)
    np.testing.assert_allclose(again.positions[1] - again.positions[0], [[1, 0, 0]] * 4, atol=1e-6)
    again = read_animation(tmp_path / "a.usda", prim="/world/square")
    np.testing.assert_allclose(again.positions[1, 0] - again.positions[0, 0], [0.5 - 0.01, -0.01, 0.01], atol=1e-6)


def test_uneven_samples_are_read_at_every_code_reference(tmp_path: Path) -> None:
    stage = scene(tmp_path / "a.usda")
    points = UsdGeom.Mesh(stage.GetPrimAtPath("/world/square")).GetPointsAttr()
    points.ClearAtTime(12)
    points.Set(points.Get(14), 11)
    stage.Save()
    again = read_animation(tmp_path / "a.usda")
    assert (again.frames, again.fps) == (5, 48.0)
    np.testing.assert_array_equal(again.positions[1], again.positions[4])


def test_a_choice_among_meshes_bad_input(tmp_path: Path) -> None:
    stage = scene(tmp_path / "a.usda")
    stage.Save()
    with pytest.raises(FileError, match="/world/square, /world/floor; prim='roof' names 0 of them"):
        read_animation(tmp_path / "a.usda", prim="roof")
    UsdGeom.Mesh(stage.GetPrimAtPath("/world/square")).GetPointsAttr().Clear()
    stage.Save()
    with pytest.raises(FileError, match="prim= must name one of them"):
        read_animation(tmp_path / "a.usda")
    with pytest.raises(FileError, match="/world/square has no points"):
        read_animation(tmp_path / "a.usda", prim="square")
    Usd.Stage.CreateNew(str(tmp_path / "b.usda")).Save()
    with pytest.raises(FileError, match="these meshes: none"):
        read_animation(tmp_path / "b.usda")


def test_changing_topology_bad_input(tmp_path: Path) -> None:
    stage = scene(tmp_path / "a.usda")
    mesh = UsdGeom.Mesh(stage.GetPrimAtPath("/world/square"))
    mesh.GetPointsAttr().Set(Vt.Vec3fArray(5), 14)
    stage.Save()
    with pytest.raises(FileError, match="has 4 points at its first frame and 5 at frame 2"):
        read_animation(tmp_path / "a.usda")
    mesh.GetPointsAttr().Set(mesh.GetPointsAttr().Get(10), 14)
    mesh.GetFaceVertexIndicesAttr().Set([0, 1, 2, 3], 10)
    mesh.GetFaceVertexIndicesAttr().Set([3, 2, 1, 0], 12)
    stage.Save()
    with pytest.raises(FileError, match="faces of /world/square change over time"):
        read_animation(tmp_path / "a.usda")


def test_faces_that_do_not_add_up_bad_input(tmp_path: Path) -> None:
    stage = scene(tmp_path / "a.usda")
    counts = UsdGeom.Mesh(stage.GetPrimAtPath("/world/square")).GetFaceVertexCountsAttr()
    for wrong in ([3], [2, 2], [-1, 5]):
        counts.Set(wrong)
        stage.Save()
        with pytest.raises(FileError, match="corners"):
            read_animation(tmp_path / "a.usda")


def test_left_handed_faces_are_turned_identity(tmp_path: Path) -> None:
    stage = scene(tmp_path / "a.usda")
    UsdGeom.Mesh(stage.GetPrimAtPath("/world/square")).CreateOrientationAttr("leftHanded")
    stage.Save()
    assert read_animation(tmp_path / "a.usda").mesh.elements.tolist() == [[2, 1, 0], [3, 2, 0]]


def test_without_usd_core_bad_input(tmp_path: Path, cloth: Animation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pxr", None)
    with pytest.raises(MissingExtra, match=r"pip install 'cajole\[usd\]'"):
        cloth.write(tmp_path / "a.usda")
    with pytest.raises(MissingExtra, match="usd-core"):
        read_animation(tmp_path / "a.usda")
    assert not list(tmp_path.iterdir())
