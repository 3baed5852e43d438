"""USD: a Mesh or TetMesh whose points, or whose transforms, move, as plain arrays.

Runs in a child process (`cajole.parsers.child_process`): usd-core crashes on some damaged files and never returns
from others.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.checks import OptionalPackage
from cajole.errors import FileError
from cajole.parsers.frame_rates import DEFAULT_FPS, build_uniform_times, choose_frame_dtype, estimate_frame_rate

Frames = NDArray[np.floating[Any]]

USD_PACKAGE = OptionalPackage(("pxr",), "usd-core", "usd", "reading and writing USD files")

# USD's y-up axes in our z-up ones: (x, y, z) -> (x, -z, y), for row vectors
_Y_UP_TO_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])

# of a frame: an end of the stage this close to a whole step is one
_TIME_CODE_TOLERANCE = 1e-6


@dataclass(frozen=True)
class PxrModules:
    """The modules of usd-core that are used here."""

    Gf: Any
    Sdf: Any
    Tf: Any
    Usd: Any
    UsdGeom: Any
    Vt: Any


def load_pxr() -> PxrModules:
    """usd-core, or MissingExtra with what to install."""
    USD_PACKAGE.require()
    from pxr import Gf, Sdf, Tf, Usd, UsdGeom, Vt

    return PxrModules(Gf, Sdf, Tf, Usd, UsdGeom, Vt)


@dataclass(frozen=True)
class UsdPrimSource:
    """A prim that moves, on its stage."""

    pxr: PxrModules
    path: Path
    stage: Any
    prim: Any

    @property
    def points_attribute(self) -> Any:
        """The attribute of its points."""
        return self.pxr.UsdGeom.PointBased(self.prim).GetPointsAttr()

    def transform_to_world(self, points: NDArray[np.float64], time_code: Any) -> NDArray[np.float64]:
        """Local points in our world at a time: ancestors' transforms, then metres, then z up."""
        matrix = np.array(self.pxr.UsdGeom.XformCache(time_code).GetLocalToWorldTransform(self.prim))
        world = (points @ matrix[:3, :3] + matrix[3, :3]) * self.pxr.UsdGeom.GetStageMetersPerUnit(self.stage)
        upright = self.pxr.UsdGeom.GetStageUpAxis(self.stage) == self.pxr.UsdGeom.Tokens.z
        return world if upright else world @ _Y_UP_TO_Z_UP

    def read_local_points(self, time_code: Any) -> NDArray[np.float64]:
        """The points as stored, (n, 3)."""
        value = self.points_attribute.Get(time_code)
        if value is None or not len(value):
            raise FileError(f"{self.path}: {self.prim.GetPath()} has no points at time {time_code}; export it again")
        return np.asarray(value, dtype=np.float64).reshape(-1, 3)

    def find_transform_time_codes(self) -> list[float]:
        """The time codes at which transforms of the prim and its ancestors have samples."""
        codes: set[float] = set()
        prim = self.prim
        while prim and not prim.IsPseudoRoot():
            if prim.IsA(self.pxr.UsdGeom.Xformable):
                codes |= set(self.pxr.UsdGeom.Xformable(prim).GetTimeSamples())
            prim = prim.GetParent()
        return sorted(codes)


def parse_usd(
    path: Path, prim: str | None, include_surface: bool, confined: bool, *, report: Callable[[float], None]
) -> dict[str, Any]:
    """The TetMesh or Mesh called `prim` (a path or a name; None: the only one, or the only one that moves).

    confined: refuse layers outside of the file's own folder.
    positions, velocities: (frames, n, 3); fps, start_frame, name, prim; layers: the files that were read. Where
    `surface` is wanted also what `_shape` returns of the prim, and of its skin with names that begin with "skin_".
    """
    pxr = load_pxr()
    with np.errstate(all="ignore"):
        layers = _find_layers(pxr, path, confined)
        stage = pxr.Usd.Stage.Open(str(path))
        _require_valid_rate(path, stage)
        if not _bake_skinning(stage):
            raise FileError(f"{path}: its bones or blend shapes make no sense; export it with its points baked")
        source = _select_prim(pxr, path, stage, prim)
        codes, rate = _choose_time_codes(source)
        positions = _read_positions(source, codes, report)
        velocities = _read_velocities(source, codes, positions.shape)
        if _is_lines(source.prim):
            first = _read_line_ends(source)[1]
            positions, velocities = positions[:, first], None if velocities is None else velocities[:, first]
        return {
            "positions": positions,
            **({} if velocities is None else {"velocities": velocities}),
            **(_read_geometry(source) | _read_skin(source) if include_surface else {}),
            "fps": float(rate),
            "start_frame": 0 if codes is None else round(codes[0] * rate / stage.GetTimeCodesPerSecond()),
            "name": _find_display_name(source),
            "layers": layers,
        }


def _find_layers(pxr: PxrModules, path: Path, confined: bool) -> list[str]:
    """The files of the layers that the stage is composed of, each checked before USD opens it.

    Raises FileError for a layer that is no regular file (USD waits for a pipe forever) and, where `confined`, for one
    outside of the folder of `path`. Value clips are not followed; where `confined` they are refused.
    """
    folder = os.path.realpath(path.parent)
    waiting, found = [str(path)], set[str]()
    while waiting:
        file = os.path.realpath(waiting.pop().partition("[")[0])  # without the name inside a .usdz package
        if file in found or not os.path.exists(file):  # USD itself warns of missing layers and goes on
            continue
        if not os.path.isfile(file):
            raise FileError(f"{path}: its layer {file} is no regular file; export it as one file")
        if confined and os.path.commonpath([folder, file]) != folder:
            raise FileError(f"{path}: its layer {os.path.basename(file)} is in another folder; export it as one file")
        found.add(file)
        layer = pxr.Sdf.Layer.FindOrOpen(file)
        if layer is not None:
            waiting += [layer.ComputeAbsolutePath(name) for name in layer.GetCompositionAssetDependencies()]
            if confined and _has_clips(layer):
                raise FileError(f"{path}: value clips name other files; export it as one file")
    return sorted(found)


def _has_clips(layer: Any) -> bool:
    specs: list[Any] = []
    layer.Traverse("/", specs.append)
    return any(spec.IsPrimPath() and layer.GetPrimAtPath(spec).HasInfo("clips") for spec in specs)


def _require_valid_rate(path: Path, stage: Any) -> None:
    """USD takes any number, and its skinning does not end for some of them."""
    rate = stage.GetTimeCodesPerSecond()
    if not (math.isfinite(rate) and rate > 0):
        raise FileError(f"{path}: timeCodesPerSecond is {rate}, but must be positive and finite; export it again")


def _bake_skinning(stage: Any) -> bool:
    """Make bones and blend shapes motions of the points that they move, in memory alone; whether that could be done."""
    from pxr import Usd, UsdSkel

    if not any(prim.IsA(UsdSkel.Root) for prim in stage.Traverse()):
        return True
    layer = stage.GetSessionLayer()
    # at another rate than the stage's, the times of what is written there would be stretched
    layer.timeCodesPerSecond = stage.GetTimeCodesPerSecond()
    with Usd.EditContext(stage, layer):
        return bool(UsdSkel.BakeSkinning(stage.Traverse()))


def _find_display_name(source: UsdPrimSource) -> str:
    """What the group that holds the mesh is called, or the mesh where it stands alone."""
    parent = source.prim.GetParent()
    prim = source.prim if parent.IsPseudoRoot() else parent
    return str(prim.GetDisplayName() or prim.GetName())


def _select_prim(pxr: PxrModules, path: Path, stage: Any, wanted: str | None) -> UsdPrimSource:
    all_prims = [p for p in stage.Traverse() if p.IsA(pxr.UsdGeom.Mesh) or p.IsA(pxr.UsdGeom.TetMesh) or _is_lines(p)]
    found = [p for p in all_prims if wanted in (str(p.GetPath()), p.GetName())]
    if wanted is None:
        # a skin of ours hangs in another prim and comes with it
        own = [p for p in all_prims if not p.HasAttribute("cajole:corners")]
        found = [p for p in own if p.IsA(pxr.UsdGeom.TetMesh)] or own
        if len(found) > 1:
            found = [p for p in found if _has_animation(UsdPrimSource(pxr, path, stage, p))] or found
    if len(found) != 1:
        names = ", ".join(str(p.GetPath()) for p in all_prims) or "none"
        asked = "prim= must name one" if wanted is None else f"prim={wanted!r} names {len(found)}"
        raise FileError(f"{path} has these meshes: {names}; {asked} of them")
    return UsdPrimSource(pxr, path, stage, found[0])


def _is_lines(prim: Any) -> bool:
    """True for curves that Cajole wrote for a MeshLine: other curves do not say which ends are one vertex."""
    return bool(prim.HasAttribute("cajole:lines"))


def _read_line_ends(source: UsdPrimSource) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The vertex number of each end of a line (2m,), and an end of each vertex (n,)."""
    ends = np.asarray(_read_cajole_attribute(source, "lines"), dtype=np.int64)
    numbers, first = np.unique(ends, return_index=True)
    points = source.points_attribute.Get(_get_earliest_time(source))
    if points is None or len(ends) != len(points) or not np.array_equal(numbers, np.arange(len(numbers))):
        raise FileError(
            f"{source.path}: cajole:lines of {source.prim.GetPath()} does not fit its points; write it again"
        )
    return ends, first


def _has_animation(source: UsdPrimSource) -> bool:
    return source.points_attribute.GetNumTimeSamples() > 1 or len(source.find_transform_time_codes()) > 1


def _choose_time_codes(source: UsdPrimSource) -> tuple[NDArray[np.float64] | None, float]:
    """The codes to read at, evenly spaced, and their frames per second; None where nothing has samples."""
    codes = np.array(sorted({*source.points_attribute.GetTimeSamples(), *source.find_transform_time_codes()}))
    if not len(codes):
        return None, DEFAULT_FPS
    per_second = float(source.stage.GetTimeCodesPerSecond())
    if len(codes) == 1:
        return codes, per_second
    per_code = estimate_frame_rate(codes, source.path)
    whole = _extend_to_stage_range(source, codes, per_code or 1.0)
    if per_code is not None and len(whole) == len(codes):
        return codes, per_second * per_code
    return build_uniform_times(whole, per_code or 1.0, source.path), per_second * (per_code or 1.0)


def _extend_to_stage_range(
    source: UsdPrimSource, time_codes: NDArray[np.float64], per_code: float
) -> NDArray[np.float64]:
    """The codes, and the ends of what the stage plays where it goes on longer, in whole steps.

    Other programs, Blender among them, leave out samples that repeat the last: the motion rests, and is not over.
    """
    if not source.stage.HasAuthoredTimeCodeRange():
        return time_codes
    first, last = source.stage.GetStartTimeCode(), source.stage.GetEndTimeCode()
    before, after = np.floor(np.array([time_codes[0] - first, last - time_codes[-1]]) * per_code + _TIME_CODE_TOLERANCE)
    start = [time_codes[0] - before / per_code] if before > 0 else []
    end = [time_codes[-1] + after / per_code] if after > 0 else []
    return np.concatenate([start, time_codes, end])


def _read_positions(
    source: UsdPrimSource, time_codes: NDArray[np.float64] | None, report: Callable[[float], None]
) -> NDArray[np.floating[Any]]:
    times = _build_usd_time_codes(source, time_codes)
    first = source.transform_to_world(source.read_local_points(times[0]), times[0])
    result = np.empty((len(times), *first.shape), dtype=choose_frame_dtype(len(times), len(first)))
    for frame, time in enumerate(times):
        report(frame / len(times))
        points = source.read_local_points(time)
        if len(points) != len(first):
            raise FileError(
                f"{source.path}: {source.prim.GetPath()} has {len(first)} points at its first frame and "
                f"{len(points)} at frame {frame}; only meshes of constant topology can be read"
            )
        result[frame] = source.transform_to_world(points, time)
    return result


def _build_usd_time_codes(source: UsdPrimSource, time_codes: NDArray[np.float64] | None) -> list[Any]:
    code = source.pxr.Usd.TimeCode
    return [code.Default()] if time_codes is None else [code(float(c)) for c in time_codes]


def _read_geometry(source: UsdPrimSource, prefix: str = "") -> dict[str, Any]:
    """Elements of a prim, the shapes that may be its rest, and its paint.

    Elements: tets (m, 4), lines (m, 2), or counts and corners of its faces.
    rest: (n, 3) in double precision, as Cajole writes it; pose: (n, 3) the default value, which other programs leave
    anything in.
    """
    default = source.pxr.Usd.TimeCode.Default()
    shapes = {"rest": _read_cajole_attribute(source, "rest"), "pose": source.points_attribute.Get(default)}
    found = {
        name: source.transform_to_world(np.asarray(points, dtype=np.float64).reshape(-1, 3), default)
        for name, points in shapes.items()
        if points is not None and len(points)
    }
    if _is_lines(source.prim):
        first = _read_line_ends(source)[1]
        # a shape of another number of points is no rest of this one
        found = {name: points[first] for name, points in found.items() if len(points) > first.max()}
    found |= {"prim": str(source.prim.GetPath())} | _read_elements(source) | _read_appearance(source)
    return {prefix + name: value for name, value in found.items()}


def _read_elements(source: UsdPrimSource) -> dict[str, Any]:
    geometry, earliest = source.pxr.UsdGeom, _get_earliest_time(source)
    if _is_lines(source.prim):
        return {"lines": _read_line_ends(source)[0].reshape(-1, 2)}
    if source.prim.IsA(geometry.TetMesh):
        tets = geometry.TetMesh(source.prim).GetTetVertexIndicesAttr().Get(earliest)
        return {"tets": np.asarray(tets, dtype=np.int64).reshape(-1, 4)}
    mesh = geometry.Mesh(source.prim)
    if mesh.GetFaceVertexIndicesAttr().GetNumTimeSamples() > 1:
        raise FileError(f"{source.path}: the faces of {source.prim.GetPath()} change over time, which cannot be read")
    return {
        "counts": np.asarray(mesh.GetFaceVertexCountsAttr().Get(earliest), dtype=np.int64),
        "corners": np.asarray(mesh.GetFaceVertexIndicesAttr().Get(earliest), dtype=np.int64),
        "left_handed": mesh.GetOrientationAttr().Get() == geometry.Tokens.leftHanded,
    }


def _read_appearance(source: UsdPrimSource) -> dict[str, Any]:
    """Linear colours (1, 3) or (n, 3), and what Cajole writes beside them."""
    primvar = source.pxr.UsdGeom.Gprim(source.prim).GetDisplayColorPrimvar()
    colors = primvar.ComputeFlattened(_get_earliest_time(source)) if primvar.HasValue() else None
    if colors is None:
        return {}
    parts, labels, gloss = (
        _read_cajole_attribute(source, "parts"),
        _read_cajole_attribute(source, "labels"),
        _read_cajole_attribute(source, "gloss"),
    )
    return {
        "colors": np.asarray(colors, dtype=np.float64).reshape(-1, 3),
        **({} if parts is None else {"parts": [str(part) for part in parts]}),
        **({} if labels is None else {"labels": np.asarray(labels, dtype=np.int64)}),
        **({} if gloss is None else {"gloss": np.asarray(gloss, dtype=np.float64)}),
    }


def _read_skin(source: UsdPrimSource) -> dict[str, Any]:
    """The skin that hangs in this prim, and how it hangs there; nothing where there is none."""
    riders = [p for p in source.prim.GetParent().GetChildren() if p.HasAttribute("cajole:corners")]
    if not riders or source.prim.GetPath() == riders[0].GetPath():
        return {}
    skin = UsdPrimSource(source.pxr, source.path, source.stage, riders[0])
    return {
        **_read_geometry(skin, "skin_"),
        "embedding_tets": np.asarray(_read_cajole_attribute(skin, "tets"), dtype=np.int64),
        "embedding_weights": np.asarray(_read_cajole_attribute(skin, "weights"), dtype=np.float64),
        "embedding_corners": np.asarray(_read_cajole_attribute(skin, "corners"), dtype=np.int64),
    }


def _read_velocities(
    source: UsdPrimSource, time_codes: NDArray[np.float64] | None, shape: tuple[int, ...]
) -> NDArray[np.floating[Any]] | None:
    attribute = source.pxr.UsdGeom.PointBased(source.prim).GetVelocitiesAttr()
    if (
        time_codes is None
        or list(attribute.GetTimeSamples()) != list(time_codes)
        or len(source.find_transform_time_codes()) > 1
    ):
        return None  # velocities between samples, or in a moving frame, are not what the points do
    result = np.empty(shape, dtype=choose_frame_dtype(shape[0], shape[1]))
    origin = np.zeros((1, 3))
    for frame, time in enumerate(_build_usd_time_codes(source, time_codes)):
        local = np.asarray(attribute.Get(time), dtype=np.float64)
        if local.shape != shape[1:]:
            return None
        result[frame] = source.transform_to_world(local, time) - source.transform_to_world(origin, time)
    return result


def _get_earliest_time(source: UsdPrimSource) -> Any:
    return source.pxr.Usd.TimeCode.EarliestTime()


def _read_cajole_attribute(source: UsdPrimSource, name: str) -> Any:
    attribute = source.prim.GetAttribute(f"cajole:{name}")
    return attribute.Get() if attribute else None
