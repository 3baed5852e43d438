"""USD: the way into Blender, Houdini, Maya and Omniverse, tets included.

The file holds a Mesh to look at (the skin, or the surface) and, for a tet mesh, a TetMesh of purpose "guide", which
viewers hide. Lines are BasisCurves. Points have time samples, and the rest shape as their default value. Units are
metres, z is up.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation
from cajole.animation.shown import Shown, linear_from_srgb, shown, single
from cajole.mesh import MeshLine, MeshTet, Skin
from cajole.mesh.line import TUBE_RADIUS
from cajole.parsers.child import first_line
from cajole.parsers.usd import Pxr, load_pxr
from cajole.progress import Progress, report
from cajole.storage import atomic_path


def write_usd(animation: Animation, path: Path, *, progress: Progress | None = None) -> None:
    """Write a .usda, .usdc or .usd file: mesh, tets, skin with colours, velocities; positions in single precision."""
    pxr = load_pxr()
    with atomic_path(path) as temporary:
        try:
            stage = pxr.Usd.Stage.CreateNew(str(temporary))
            _fill(pxr, stage, animation, progress)
            stage.GetRootLayer().Save()
            del stage
        except pxr.Tf.ErrorException as reason:
            raise OSError(f"USD could not write the file ({first_line(reason)})") from reason
        _require_whole(pxr, temporary, animation)


def _fill(pxr: Pxr, stage: Any, animation: Animation, progress: Progress | None) -> None:
    first, last = animation.start_frame, animation.start_frame + animation.frames - 1
    stage.SetTimeCodesPerSecond(animation.fps)
    stage.SetFramesPerSecond(animation.fps)
    stage.SetStartTimeCode(first)
    stage.SetEndTimeCode(last)
    pxr.UsdGeom.SetStageUpAxis(stage, pxr.UsdGeom.Tokens.z)
    pxr.UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    root = f"/{pxr.Tf.MakeValidIdentifier(animation.name)}"
    top = pxr.UsdGeom.Xform.Define(stage, root).GetPrim()
    top.SetDisplayName(animation.name)
    stage.SetDefaultPrim(top)
    moving = _prims(pxr, stage, root, animation)
    for frame in range(animation.frames):
        report(progress, frame / animation.frames, "writing frames")
        for prim, what in moving:
            _set_points(pxr, prim, what.at(frame), frame, first + frame)
        if animation.velocities is not None:
            speeds = np.asarray(animation.velocities[frame], dtype=np.float64)
            if isinstance(animation.mesh, MeshLine):
                speeds = speeds[animation.mesh.lines.reshape(-1)]
            moving[0][0].CreateVelocitiesAttr().Set(_vectors(pxr, speeds, frame), first + frame)
    report(progress, 1.0, "writing frames")


def _prims(pxr: Pxr, stage: Any, root: str, animation: Animation) -> list[tuple[Any, Shown]]:
    """What moves: first the animation's own vertices, then what is shown of them where that is something else."""
    if isinstance(animation.mesh, MeshLine):
        return [_curves(pxr, stage, f"{root}/lines", shown(animation, "surface"))]
    whole = shown(animation, "all")
    skin = animation.skin
    embedded = skin is not None and skin.embedding is not None
    if isinstance(animation.mesh, MeshTet):
        carrier = pxr.UsdGeom.TetMesh.Define(stage, f"{root}/tets")
        carrier.CreateTetVertexIndicesAttr(pxr.Vt.Vec4iArray.FromNumpy(animation.mesh.tets.astype(np.int32)))
        surface = pxr.Vt.Vec3iArray.FromNumpy(whole.elements.astype(np.int32))
        carrier.CreateSurfaceFaceVertexIndicesAttr(surface)
        _define(pxr, carrier, whole)
    else:
        carrier = _mesh(pxr, stage, f"{root}/mesh", whole)
    moving = [(carrier, whole)]
    if embedded or isinstance(animation.mesh, MeshTet):
        carrier.CreatePurposeAttr(pxr.UsdGeom.Tokens.guide)
        visible = shown(animation, "skin" if embedded else "surface")
        moving.append((_mesh(pxr, stage, f"{root}/{'skin' if embedded else 'surface'}", visible), visible))
    if skin is not None:
        _set_skin(pxr, moving[-1][0].GetPrim() if embedded else carrier.GetPrim(), skin)
    return moving


def _mesh(pxr: Pxr, stage: Any, path: str, what: Shown) -> Any:
    mesh = pxr.UsdGeom.Mesh.Define(stage, path)
    triangles = what.elements
    mesh.CreateFaceVertexCountsAttr(pxr.Vt.IntArray.FromNumpy(np.full(len(triangles), 3, dtype=np.int32)))
    mesh.CreateFaceVertexIndicesAttr(pxr.Vt.IntArray.FromNumpy(triangles.astype(np.int32).ravel()))
    mesh.CreateSubdivisionSchemeAttr(pxr.UsdGeom.Tokens.none)
    mesh.CreateDoubleSidedAttr(True)
    _define(pxr, mesh, what)
    return mesh


def _curves(pxr: Pxr, stage: Any, path: str, what: Shown) -> tuple[Any, Shown]:
    """Lines as linear curves of two points each, which USD does not share; cajole:lines has the vertices' numbers."""
    curves = pxr.UsdGeom.BasisCurves.Define(stage, path)
    ends = what.elements.reshape(-1)
    split = MeshLine(what.mesh.vertices[ends], np.arange(len(ends)).reshape(-1, 2))
    curves.CreateTypeAttr(pxr.UsdGeom.Tokens.linear)
    curves.CreateCurveVertexCountsAttr(pxr.Vt.IntArray.FromNumpy(np.full(len(split.lines), 2, dtype=np.int32)))
    curves.CreateWidthsAttr(pxr.Vt.FloatArray([2 * TUBE_RADIUS * what.mesh.size]))
    curves.SetWidthsInterpolation(pxr.UsdGeom.Tokens.constant)
    numbers = curves.GetPrim().CreateAttribute("cajole:lines", pxr.Sdf.ValueTypeNames.IntArray)
    numbers.Set(pxr.Vt.IntArray.FromNumpy(ends.astype(np.int32)))
    apart = Shown(split, what.frames, lambda frame: what.at(frame)[ends], None)
    _define(pxr, curves, apart)
    return curves, apart


def _define(pxr: Pxr, prim: Any, what: Shown) -> None:
    prim.CreateOrientationAttr(pxr.UsdGeom.Tokens.rightHanded)
    _set_points(pxr, prim, what.mesh.vertices, 0, pxr.Usd.TimeCode.Default())
    # the rest shape in double precision as well: rounded to single, thin elements could lose their volume
    rest = prim.GetPrim().CreateAttribute("cajole:rest", pxr.Sdf.ValueTypeNames.Double3Array)
    rest.Set(pxr.Vt.Vec3dArray.FromNumpy(what.mesh.vertices))
    if what.colors is not None:
        colors = prim.CreateDisplayColorPrimvar(pxr.UsdGeom.Tokens.vertex)
        colors.Set(_vectors(pxr, linear_from_srgb(what.colors), 0))


def _set_points(pxr: Pxr, prim: Any, positions: NDArray[np.float64], frame: int, time: Any) -> None:
    prim.CreatePointsAttr().Set(_vectors(pxr, positions, frame), time)
    extent = np.array([positions.min(axis=0), positions.max(axis=0)])
    prim.CreateExtentAttr().Set(_vectors(pxr, extent, frame), time)


def _set_skin(pxr: Pxr, prim: Any, skin: Skin) -> None:
    """What USD has no name for: parts, gloss, and how the skin hangs in the tets."""
    types = pxr.Sdf.ValueTypeNames
    values = {
        "parts": (types.StringArray, pxr.Vt.StringArray(list(skin.parts))),
        "labels": (types.IntArray, pxr.Vt.IntArray.FromNumpy(skin.labels.astype(np.int32))),
        "gloss": (types.DoubleArray, pxr.Vt.DoubleArray.FromNumpy(skin.gloss)),
    }
    if skin.embedding is not None:
        values |= {
            "tets": (types.IntArray, pxr.Vt.IntArray.FromNumpy(skin.embedding.tets.astype(np.int32))),
            "corners": (types.Int4Array, pxr.Vt.Vec4iArray.FromNumpy(skin.embedding.corners.astype(np.int32))),
            "weights": (types.Double4Array, pxr.Vt.Vec4dArray.FromNumpy(skin.embedding.weights)),
        }
    for name, (kind, value) in values.items():
        prim.CreateAttribute(f"cajole:{name}", kind).Set(value)


def _vectors(pxr: Pxr, array: NDArray[np.float64], frame: int) -> Any:
    return pxr.Vt.Vec3fArray.FromNumpy(single(array, frame))


def _require_whole(pxr: Pxr, path: Path, animation: Animation) -> None:
    """USD does not always say when the disk is full: look whether the last frame has arrived."""
    try:
        layer = pxr.Sdf.Layer.OpenAsAnonymous(str(path))
        times = layer.ListAllTimeSamples() if layer else []
    except pxr.Tf.ErrorException as reason:
        raise OSError(f"USD left the file incomplete ({first_line(reason)})") from reason
    if len(times) != animation.frames:
        raise OSError(f"USD wrote {len(times)} of {animation.frames} frames; the disk may be full")
