"""What other programs leave out or do otherwise: axes, units, rests at the end of a motion, surfaces that are cut."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from cajole.animation import Animation, convert, read_animation
from cajole.animation.glb import weld_vertices
from cajole.errors import InputError
from cajole.mesh import MeshTri, write_mesh

NAMES = ["cache.pc2", "cache.mdd", "cache_####.obj"]


def lying(animation: Animation) -> Animation:
    """The same as a program has it in which y is up and a unit is a centimetre: (x, y, z) m is (x, z, -y) cm."""

    def turned(points: np.ndarray) -> np.ndarray:
        x, y, z = np.moveaxis(100.0 * points, -1, 0)
        return np.stack([x, z, -y], axis=-1)

    mesh = MeshTri(turned(animation.mesh.vertices), animation.mesh.triangles)
    return Animation(mesh, turned(animation.positions), animation.fps, start_frame=animation.start_frame)


@pytest.mark.parametrize("name", NAMES)
def test_axes_and_units_that_a_file_does_not_say_identity(tmp_path: Path, cloth: Animation, name: str) -> None:
    lying(cloth).write(tmp_path / name)
    found = read_animation(tmp_path / name, up="y", scale=0.01, fps=cloth.fps)
    np.testing.assert_allclose(found.positions, cloth.positions, atol=1e-6)
    assert found.start_frame == cloth.start_frame
    rest = cloth.mesh.vertices if "obj" not in name else cloth.frame(0)
    np.testing.assert_allclose(found.mesh.vertices, rest, atol=1e-6)


def test_a_mesh_that_is_named_is_turned_with_its_cache_identity(tmp_path: Path, cloth: Animation) -> None:
    lying(cloth).write(tmp_path / "cache.pc2", companion=False)
    write_mesh(lying(cloth).mesh, tmp_path / "rest.obj")
    found = convert(
        tmp_path / "cache.pc2", tmp_path / "found.npz", mesh=tmp_path / "rest.obj", up="y", scale=0.01, fps=24
    )
    np.testing.assert_allclose(found.mesh.vertices, cloth.mesh.vertices, atol=1e-6)
    np.testing.assert_allclose(read_animation(tmp_path / "found.npz").positions, cloth.positions, atol=1e-6)


def test_axes_are_asked_for_only_where_a_file_does_not_say_bad_input(tmp_path: Path, cloth: Animation) -> None:
    cloth.write(tmp_path / "cache.npz")
    cloth.write(tmp_path / "cache.pc2")
    with pytest.raises(InputError, match="has no option 'up'"):
        read_animation(tmp_path / "cache.npz", up="y")
    with pytest.raises(InputError, match="up is 'x'"):
        read_animation(tmp_path / "cache.pc2", up="x", scale=0.5)
    with pytest.raises(InputError, match="scale"):
        read_animation(tmp_path / "cache.pc2", scale=0.0)


def test_a_motion_rests_where_the_stage_plays_on_reference(tmp_path: Path, cloth: Animation) -> None:
    Usd = pytest.importorskip("pxr.Usd")
    cloth.write(tmp_path / "rests.usda")
    stage = Usd.Stage.Open(str(tmp_path / "rests.usda"))
    stage.SetStartTimeCode(cloth.start_frame - 2)
    stage.SetEndTimeCode(cloth.start_frame + cloth.frames + 3.5)
    stage.GetRootLayer().Save()
    found = read_animation(tmp_path / "rests.usda")
    assert (found.start_frame, found.frames, found.fps) == (cloth.start_frame - 2, cloth.frames + 6, cloth.fps)
    # two before, all of them, and four after
    shown = [0, 0, *range(cloth.frames), *[cloth.frames - 1] * 4]
    np.testing.assert_allclose(found.positions, cloth.positions[shown], atol=1e-6)


def test_a_stage_that_claims_to_play_for_ever_bad_input(tmp_path: Path, cloth: Animation) -> None:
    Usd = pytest.importorskip("pxr.Usd")
    cloth.write(tmp_path / "long.usda")
    stage = Usd.Stage.Open(str(tmp_path / "long.usda"))
    stage.SetEndTimeCode(1e9)
    stage.GetRootLayer().Save()
    with pytest.raises(InputError, match="its times are damaged"):
        read_animation(tmp_path / "long.usda")


def cut(animation: Animation) -> Animation:
    """Every triangle with vertices of its own, as flat shading has it."""
    corners = animation.mesh.triangles.ravel()
    mesh = MeshTri(animation.mesh.vertices[corners], np.arange(len(corners)).reshape(-1, 3))
    return Animation(mesh, animation.positions[:, corners], animation.fps, start_frame=animation.start_frame)


def made_foreign(path: Path) -> None:
    """Forget who wrote a GLB file."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<I", data, 12)
    document = json.loads(data[20 : 20 + length])
    del document["extras"]
    text = json.dumps(document, separators=(",", ":")).encode().ljust(length)
    assert len(text) == length
    path.write_bytes(data[:20] + text + data[20 + length :])


def test_surfaces_that_others_cut_are_whole_identity(tmp_path: Path, cloth: Animation) -> None:
    cut(cloth).write(tmp_path / "cut.glb")
    assert read_animation(tmp_path / "cut.glb").n == 3 * len(cloth.mesh.triangles)
    made_foreign(tmp_path / "cut.glb")
    found = read_animation(tmp_path / "cut.glb")
    assert found.n == cloth.n
    assert len(found.mesh.boundary_edges) == len(cloth.mesh.boundary_edges)
    same = [np.abs(cloth.positions - found.positions[:, [k]]).max(axis=(0, 2)).argmin() for k in range(found.n)]
    np.testing.assert_allclose(found.positions, cloth.positions[:, same], atol=1e-6)


def test_what_parts_later_is_not_joined_identity() -> None:
    """Two triangles that touch along an edge in the first frame, and leave each other in the second."""
    stored = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    frames = np.stack([stored, stored + [0, 0, 1.0]])
    triangles = np.array([[0, 1, 2], [3, 5, 4]])
    kept, joint = weld_vertices(stored, frames, triangles)
    np.testing.assert_array_equal(kept, [0, 1, 2, 5])
    np.testing.assert_array_equal(joint, [[0, 1, 2], [1, 3, 2]])
    frames[1, 3] += [0, 0, 0.5]
    kept, joint = weld_vertices(stored, frames, triangles)
    np.testing.assert_array_equal(kept, [0, 1, 2, 3, 5])
    np.testing.assert_array_equal(joint, [[0, 1, 2], [3, 4, 2]])


def test_blend_shapes_of_usd_move_the_points_reference(tmp_path: Path) -> None:
    """As Blender writes shape keys unless told otherwise; worked out by hand: weights 0, 0.5, 1 of a metre upwards."""
    Usd, UsdGeom, UsdSkel = (pytest.importorskip(f"pxr.{name}") for name in ("Usd", "UsdGeom", "UsdSkel"))
    stage = Usd.Stage.CreateNew(str(tmp_path / "key.usda"))
    UsdGeom.SetStageUpAxis(stage, "Z")
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    stage.SetTimeCodesPerSecond(30)
    root = UsdSkel.Root.Define(stage, "/leaf")
    mesh = UsdGeom.Mesh.Define(stage, "/leaf/mesh")
    mesh.CreatePointsAttr([(0, 0, 0), (1, 0, 0), (0, 1, 0)])
    mesh.CreateFaceVertexCountsAttr([3])
    mesh.CreateFaceVertexIndicesAttr([0, 1, 2])
    shape = UsdSkel.BlendShape.Define(stage, "/leaf/mesh/up")
    shape.CreateOffsetsAttr([(0, 0, 1)])
    shape.CreatePointIndicesAttr([2])
    weights = UsdSkel.Animation.Define(stage, "/leaf/bones/weights")
    weights.CreateBlendShapesAttr(["up"])
    for code, weight in ((4, 0.0), (5, 0.5), (6, 1.0)):
        weights.CreateBlendShapeWeightsAttr().Set([weight], code)
    bones = UsdSkel.Skeleton.Define(stage, "/leaf/bones")
    UsdSkel.BindingAPI.Apply(bones.GetPrim()).CreateAnimationSourceRel().SetTargets([weights.GetPath()])
    binding = UsdSkel.BindingAPI.Apply(mesh.GetPrim())
    binding.CreateBlendShapesAttr(["up"])
    binding.CreateBlendShapeTargetsRel().SetTargets([shape.GetPath()])
    binding.CreateSkeletonRel().SetTargets([bones.GetPath()])
    stage.SetDefaultPrim(root.GetPrim())
    stage.Save()
    before = (tmp_path / "key.usda").read_bytes()
    found = read_animation(tmp_path / "key.usda")
    assert (found.fps, found.start_frame, found.frames) == (30.0, 4, 3)
    np.testing.assert_allclose(found.positions[:, 2], [[0, 1, 0], [0, 1, 0.5], [0, 1, 1]], atol=1e-6)
    np.testing.assert_allclose(found.mesh.vertices[2], [0, 1, 0])
    # what was made of it is in memory alone
    assert (tmp_path / "key.usda").read_bytes() == before
