"""USD for Blender, Houdini, Maya and Omniverse, tets included.

The file contains a visible Mesh (the skin, or the surface) and, for a tet mesh, a TetMesh of purpose "guide", which
viewers hide. Lines are BasisCurves. Points have time samples and the rest shape as their default value. Units are
metres, z is up.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation
from cajole.animation.export_geometry import (
    DEFAULT_GLOSS,
    ExportGeometry,
    convert_to_float32,
    linear_to_srgb,
    select_export_geometry,
    srgb_to_linear,
)
from cajole.animation.reader_utils import AnyMesh, require_regular_file, wrap_read_errors
from cajole.errors import FileError, MeshError
from cajole.mesh import Embedding, MeshLine, MeshTet, MeshTri, Skin, drop_degenerate_triangles
from cajole.mesh.line import RELATIVE_TUBE_RADIUS
from cajole.mesh.topology import triangulate_polygons
from cajole.parsers.child_process import run_in_child, summarise_error
from cajole.parsers.usd import USD_PACKAGE, PxrModules, load_pxr, parse_usd
from cajole.progress import ProgressCallback, report_progress
from cajole.storage import has_confined_reads, register_input, replace_atomically


def write_usd(animation: Animation, path: Path, *, progress: ProgressCallback | None = None) -> None:
    """Write a .usda, .usdc or .usd file: mesh, tets, skin with colours, velocities; positions in single precision."""
    pxr = load_pxr()
    with replace_atomically(path) as temporary:
        try:
            stage = pxr.Usd.Stage.CreateNew(str(temporary))
            _write_stage(pxr, stage, animation, progress)
            stage.GetRootLayer().Save()
            del stage
        except pxr.Tf.ErrorException as reason:
            raise OSError(f"USD could not write the file ({summarise_error(reason)})") from reason
        # USD does not always report a full disk: check that the last frame was written
        try:
            layer = pxr.Sdf.Layer.OpenAsAnonymous(str(temporary))
            times = layer.ListAllTimeSamples() if layer else []
        except pxr.Tf.ErrorException as reason:
            raise OSError(f"USD left the file incomplete ({summarise_error(reason)})") from reason
        if len(times) != animation.frames:
            raise OSError(f"USD wrote {len(times)} of {animation.frames} frames; the disk may be full")


def _write_stage(pxr: PxrModules, stage: Any, animation: Animation, progress: ProgressCallback | None) -> None:
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
    moving = _define_prims(pxr, stage, root, animation)
    for frame in range(animation.frames):
        report_progress(progress, frame / animation.frames, "writing frames")
        for prim, what in moving:
            _set_points(pxr, prim, what.positions_at(frame), frame, first + frame)
        if animation.velocities is not None:
            speeds = np.asarray(animation.velocities[frame], dtype=np.float64)
            if isinstance(animation.mesh, MeshLine):
                speeds = speeds[animation.mesh.lines.reshape(-1)]
            moving[0][0].CreateVelocitiesAttr().Set(_convert_to_vec3f(pxr, speeds, frame), first + frame)
    report_progress(progress, 1.0, "writing frames")


def _define_prims(pxr: PxrModules, stage: Any, root: str, animation: Animation) -> list[tuple[Any, ExportGeometry]]:
    """Define the prims; return them with their geometry: first the vertices of the animation, then the visible mesh."""
    if isinstance(animation.mesh, MeshLine):
        return [_define_curves(pxr, stage, f"{root}/lines", select_export_geometry(animation, "surface"))]
    whole = select_export_geometry(animation, "all")
    skin = animation.skin
    embedded = skin is not None and skin.embedding is not None
    if isinstance(animation.mesh, MeshTet):
        carrier = pxr.UsdGeom.TetMesh.Define(stage, f"{root}/tets")
        carrier.CreateTetVertexIndicesAttr(pxr.Vt.Vec4iArray.FromNumpy(animation.mesh.tets.astype(np.int32)))
        surface = pxr.Vt.Vec3iArray.FromNumpy(whole.elements.astype(np.int32))
        carrier.CreateSurfaceFaceVertexIndicesAttr(surface)
        _set_rest_and_colors(pxr, carrier, whole)
    else:
        carrier = _define_mesh(pxr, stage, f"{root}/mesh", whole)
    moving = [(carrier, whole)]
    if embedded or isinstance(animation.mesh, MeshTet):
        carrier.CreatePurposeAttr(pxr.UsdGeom.Tokens.guide)
        visible = select_export_geometry(animation, "skin" if embedded else "surface")
        moving.append((_define_mesh(pxr, stage, f"{root}/{'skin' if embedded else 'surface'}", visible), visible))
    if skin is not None:
        _set_skin(pxr, moving[-1][0].GetPrim() if embedded else carrier.GetPrim(), skin)
    return moving


def _define_mesh(pxr: PxrModules, stage: Any, path: str, geometry: ExportGeometry) -> Any:
    mesh = pxr.UsdGeom.Mesh.Define(stage, path)
    triangles = geometry.elements
    mesh.CreateFaceVertexCountsAttr(pxr.Vt.IntArray.FromNumpy(np.full(len(triangles), 3, dtype=np.int32)))
    mesh.CreateFaceVertexIndicesAttr(pxr.Vt.IntArray.FromNumpy(triangles.astype(np.int32).ravel()))
    mesh.CreateSubdivisionSchemeAttr(pxr.UsdGeom.Tokens.none)
    mesh.CreateDoubleSidedAttr(True)
    _set_rest_and_colors(pxr, mesh, geometry)
    return mesh


def _define_curves(pxr: PxrModules, stage: Any, path: str, geometry: ExportGeometry) -> tuple[Any, ExportGeometry]:
    """Lines as linear curves of two points each, which USD cannot share; cajole:lines has the vertex indices."""
    curves = pxr.UsdGeom.BasisCurves.Define(stage, path)
    ends = geometry.elements.reshape(-1)
    split = MeshLine(geometry.mesh.vertices[ends], np.arange(len(ends)).reshape(-1, 2))
    curves.CreateTypeAttr(pxr.UsdGeom.Tokens.linear)
    curves.CreateCurveVertexCountsAttr(pxr.Vt.IntArray.FromNumpy(np.full(len(split.lines), 2, dtype=np.int32)))
    curves.CreateWidthsAttr(pxr.Vt.FloatArray([2 * RELATIVE_TUBE_RADIUS * geometry.mesh.size]))
    curves.SetWidthsInterpolation(pxr.UsdGeom.Tokens.constant)
    numbers = curves.GetPrim().CreateAttribute("cajole:lines", pxr.Sdf.ValueTypeNames.IntArray)
    numbers.Set(pxr.Vt.IntArray.FromNumpy(ends.astype(np.int32)))
    apart = ExportGeometry(split, geometry.frames, lambda frame: geometry.positions_at(frame)[ends], None)
    _set_rest_and_colors(pxr, curves, apart)
    return curves, apart


def _set_rest_and_colors(pxr: PxrModules, prim: Any, geometry: ExportGeometry) -> None:
    prim.CreateOrientationAttr(pxr.UsdGeom.Tokens.rightHanded)
    _set_points(pxr, prim, geometry.mesh.vertices, 0, pxr.Usd.TimeCode.Default())
    # the rest shape also in double precision: rounded to single, thin elements could lose their volume
    rest = prim.GetPrim().CreateAttribute("cajole:rest", pxr.Sdf.ValueTypeNames.Double3Array)
    rest.Set(pxr.Vt.Vec3dArray.FromNumpy(geometry.mesh.vertices))
    if geometry.colors is not None:
        colors = prim.CreateDisplayColorPrimvar(pxr.UsdGeom.Tokens.vertex)
        colors.Set(_convert_to_vec3f(pxr, srgb_to_linear(geometry.colors), 0))


def _set_points(pxr: PxrModules, prim: Any, positions: NDArray[np.float64], frame: int, time: Any) -> None:
    prim.CreatePointsAttr().Set(_convert_to_vec3f(pxr, positions, frame), time)
    extent = np.array([positions.min(axis=0), positions.max(axis=0)])
    prim.CreateExtentAttr().Set(_convert_to_vec3f(pxr, extent, frame), time)


def _set_skin(pxr: PxrModules, prim: Any, skin: Skin) -> None:
    """Attributes that USD does not define: parts, gloss, and the embedding of the skin in the tets."""
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


def _convert_to_vec3f(pxr: PxrModules, array: NDArray[np.float64], frame: int) -> Any:
    return pxr.Vt.Vec3fArray.FromNumpy(convert_to_float32(array, frame))


def read_usd(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    prim: str | None = None,
    trusted: bool = False,
    progress: ProgressCallback | None = None,
) -> Animation:
    """Read the TetMesh or Mesh called `prim` (a path or a name); None: the only one, or the only one that moves.

    Bones, blend shapes, transforms of ancestors, metersPerUnit and upAxis are applied. The default value of the points
    is the rest shape, or else the first frame. Samples at uneven times are read at every time code; in the remaining
    time range of the stage the motion rests. The file is parsed in a child process, since USD can crash or hang on a
    damaged file; `trusted` parses undamaged files in this process, which is faster.
    """
    USD_PACKAGE.require()
    with wrap_read_errors(path):
        require_regular_file(path)
        confined = has_confined_reads()
        if trusted:
            parsed = parse_usd(
                path,
                prim,
                mesh is None,
                confined,
                report=lambda f: report_progress(progress, f, f"reading {path.name}"),
            )
        else:
            parsed = run_in_child(parse_usd, path, prim, mesh is None, confined, progress=progress)
        for layer in parsed["layers"]:
            register_input(layer)
        positions = parsed["positions"]
        rest = _build_rest_mesh(path, parsed, positions[0]) if mesh is None else mesh
        report_progress(progress, 1.0, f"reading {path.name}")
        return Animation(
            rest,
            positions,
            parsed["fps"] if fps is None else fps,
            velocities=parsed.get("velocities"),
            skin=_build_skin(path, parsed, rest) if mesh is None else None,
            start_frame=int(parsed["start_frame"]),
            name=str(parsed["name"]),
        )


def _build_rest_mesh(path: Path, parsed: Mapping[str, Any], first_frame: NDArray[np.floating[Any]]) -> AnyMesh:
    """The mesh in its default pose, or in the first frame if that pose is not valid."""
    for name in ("rest", "pose"):
        points = parsed.get(name)
        if points is None or len(points) != len(first_frame):
            continue
        try:
            return _build_mesh(path, parsed, points)
        except MeshError:
            pass  # other programs store arbitrary default values; the first frame is then the best rest shape
    return _build_mesh(path, parsed, np.asarray(first_frame, dtype=np.float64))


def _build_mesh(path: Path, parsed: Mapping[str, Any], vertices: NDArray[np.float64]) -> AnyMesh:
    if "tets" in parsed:
        return MeshTet(vertices, parsed["tets"])
    if "lines" in parsed:
        return MeshLine(vertices, parsed["lines"])
    counts, corners = parsed["counts"], parsed["corners"]
    if counts.size and (counts.min() < 3 or counts.sum() != corners.size):
        raise FileError(
            f"{path}: {parsed['prim']} announces faces of {counts.sum()} corners, three or more each, "
            f"and gives {corners.size}; export it again"
        )
    triangles = triangulate_polygons(counts, corners)
    return drop_degenerate_triangles(vertices, triangles[:, ::-1] if parsed["left_handed"] else triangles)


def _build_skin(path: Path, parsed: Mapping[str, Any], rest: AnyMesh) -> Skin | None:
    """The skin that is embedded in the mesh, or the colours of the mesh itself."""
    if "embedding_tets" not in parsed:
        return _build_surface_skin(parsed, rest, None) if isinstance(rest, MeshTri) else None
    skin = {name.removeprefix("skin_"): value for name, value in parsed.items() if name.startswith("skin_")}
    surface = _build_rest_mesh(path, skin, skin["pose"])
    embedding = Embedding(
        parsed["embedding_tets"], parsed["embedding_weights"], parsed["embedding_corners"], len(rest.vertices)
    )
    return _build_surface_skin(skin, surface, embedding) if isinstance(surface, MeshTri) else None


def _build_surface_skin(parsed: Mapping[str, Any], surface: MeshTri, embedding: Embedding | None) -> Skin | None:
    n = len(surface.vertices)
    colors = parsed.get("colors")
    if colors is None or len(colors) not in (1, n):
        return None  # colours per face or per corner cannot be assigned to vertices
    return Skin(
        surface,
        np.broadcast_to(linear_to_srgb(colors), (n, 3)),
        tuple(str(part) for part in parsed.get("parts", ["surface"])),
        parsed.get("labels", np.zeros(n, dtype=np.int64)),
        parsed.get("gloss", np.full(n, DEFAULT_GLOSS)),
        embedding,
    )
