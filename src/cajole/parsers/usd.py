"""Parse USD files: a Mesh or TetMesh with moving points or transforms, as plain arrays.

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

# y up to z up, (x, y, z) -> (x, -z, y), for row vectors
_Y_UP_TO_Z_UP = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])


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
    """A moving prim on its stage."""

    pxr: PxrModules
    path: Path
    stage: Any
    prim: Any

    @property
    def points_attribute(self) -> Any:
        """The attribute of its points."""
        return self.pxr.UsdGeom.PointBased(self.prim).GetPointsAttr()

    def transform_to_world(self, points: NDArray[np.float64], time_code: Any) -> NDArray[np.float64]:
        """Local points in world coordinates at a time: transforms of ancestors, then metres, then z up."""
        matrix = np.array(self.pxr.UsdGeom.XformCache(time_code).GetLocalToWorldTransform(self.prim))
        world = (points @ matrix[:3, :3] + matrix[3, :3]) * self.pxr.UsdGeom.GetStageMetersPerUnit(self.stage)
        upright = self.pxr.UsdGeom.GetStageUpAxis(self.stage) == self.pxr.UsdGeom.Tokens.z
        return np.asarray(world if upright else world @ _Y_UP_TO_Z_UP)

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
    """Read the TetMesh or Mesh called `prim` (a path or a name; None: the only one, or the only one that moves).

    confined: reject layers outside of the folder of the file.
    Returns positions, velocities (frames, n, 3); fps, start_frame, name; layers: the files that were read. With
    `include_surface` also the geometry of the prim (`_read_geometry`), and of its skin with the prefix "skin_".
    """
    pxr = load_pxr()
    with np.errstate(all="ignore"):
        layers = _find_layers(pxr, path, confined)
        stage = pxr.Usd.Stage.Open(str(path))
        rate = stage.GetTimeCodesPerSecond()
        if not (math.isfinite(rate) and rate > 0):  # USD accepts any number, and its skinning can hang
            raise FileError(f"{path}: timeCodesPerSecond is {rate}, but must be positive and finite; export it again")
        if not _bake_skinning(stage):
            raise FileError(f"{path}: its bones or blend shapes make no sense; export it with its points baked")
        source = _select_prim(pxr, path, stage, prim)
        codes, fps = _choose_time_codes(source)
        positions = _read_positions(source, codes, report)
        velocities = _read_velocities(source, codes, positions.shape)
        if _is_lines(source.prim):
            first = _read_line_ends(source)[1]
            positions, velocities = positions[:, first], None if velocities is None else velocities[:, first]
        # the group that contains the mesh, or a mesh without a group
        parent = source.prim.GetParent()
        named = source.prim if parent.IsPseudoRoot() else parent
        return {
            "positions": positions,
            **({} if velocities is None else {"velocities": velocities}),
            **(_read_geometry(source) | _read_skin(source) if include_surface else {}),
            "fps": float(fps),
            "start_frame": 0 if codes is None else round(codes[0] * fps / rate),
            "name": str(named.GetDisplayName() or named.GetName()),
            "layers": layers,
        }


def _find_layers(pxr: PxrModules, path: Path, confined: bool) -> list[str]:
    """The layer files of the stage, each checked before USD opens it.

    Raises FileError for a layer that is no regular file (USD waits for a pipe forever) and, if `confined`, for one
    outside of the folder of `path`. Value clips are not followed; if `confined` they are rejected.
    """
    folder = os.path.realpath(path.parent)
    waiting, found = [str(path)], set[str]()
    while waiting:
        file = os.path.realpath(waiting.pop().partition("[")[0])  # without the name inside a .usdz package
        if file in found or not os.path.exists(file):  # USD warns of missing layers and continues
            continue
        if not os.path.isfile(file):
            raise FileError(f"{path}: its layer {file} is no regular file; export it as one file")
        if confined and os.path.commonpath([folder, file]) != folder:
            raise FileError(f"{path}: its layer {os.path.basename(file)} is in another folder; export it as one file")
        found.add(file)
        layer = pxr.Sdf.Layer.FindOrOpen(file)
        if layer is not None:
            waiting += [layer.ComputeAbsolutePath(name) for name in layer.GetCompositionAssetDependencies()]
            specs: list[Any] = []
            if confined:
                layer.Traverse("/", specs.append)
            clips = any(spec.IsPrimPath() and layer.GetPrimAtPath(spec).HasInfo("clips") for spec in specs)
            if clips:
                raise FileError(f"{path}: value clips name other files; export it as one file")
    return sorted(found)


def _bake_skinning(stage: Any) -> bool:
    """Convert bones and blend shapes to motions of points, in memory. Returns False if USD cannot."""
    from pxr import Usd, UsdSkel

    if not any(prim.IsA(UsdSkel.Root) for prim in stage.Traverse()):
        return True
    layer = stage.GetSessionLayer()
    # with another rate than that of the stage, the times of the baked samples would be scaled
    layer.timeCodesPerSecond = stage.GetTimeCodesPerSecond()
    with Usd.EditContext(stage, layer):
        return bool(UsdSkel.BakeSkinning(stage.Traverse()))


def _select_prim(pxr: PxrModules, path: Path, stage: Any, wanted: str | None) -> UsdPrimSource:
    all_prims = [p for p in stage.Traverse() if p.IsA(pxr.UsdGeom.Mesh) or p.IsA(pxr.UsdGeom.TetMesh) or _is_lines(p)]
    found = [p for p in all_prims if wanted in (str(p.GetPath()), p.GetName())]
    if wanted is None:
        # a skin that Cajole wrote belongs to another prim
        own = [p for p in all_prims if not p.HasAttribute("cajole:corners")]
        found = [p for p in own if p.IsA(pxr.UsdGeom.TetMesh)] or own
        if len(found) > 1:
            sources = [UsdPrimSource(pxr, path, stage, p) for p in found]
            found = [
                s.prim
                for s in sources
                if s.points_attribute.GetNumTimeSamples() > 1 or len(s.find_transform_time_codes()) > 1
            ] or found
    if len(found) != 1:
        names = ", ".join(str(p.GetPath()) for p in all_prims) or "none"
        asked = "prim= must name one" if wanted is None else f"prim={wanted!r} names {len(found)}"
        raise FileError(f"{path} has these meshes: {names}; {asked} of them")
    return UsdPrimSource(pxr, path, stage, found[0])


def _is_lines(prim: Any) -> bool:
    """True for curves that Cajole wrote for a MeshLine; other curves do not identify shared vertices."""
    return bool(prim.HasAttribute("cajole:lines"))


def _read_line_ends(source: UsdPrimSource) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The vertex index of each line end (2m,), and one end of each vertex (n,)."""
    ends = np.asarray(_read_cajole_attribute(source, "lines"), dtype=np.int64)
    numbers, first = np.unique(ends, return_index=True)
    points = source.points_attribute.Get(_get_earliest_time(source))
    if points is None or len(ends) != len(points) or not np.array_equal(numbers, np.arange(len(numbers))):
        raise FileError(
            f"{source.path}: cajole:lines of {source.prim.GetPath()} does not fit its points; write it again"
        )
    return ends, first


def _choose_time_codes(source: UsdPrimSource) -> tuple[NDArray[np.float64] | None, float]:
    """Evenly spaced time codes to read, None if there are no samples, and their frames per second."""
    codes = np.array(sorted({*source.points_attribute.GetTimeSamples(), *source.find_transform_time_codes()}))
    if not len(codes):
        return None, DEFAULT_FPS
    per_second = float(source.stage.GetTimeCodesPerSecond())
    if len(codes) == 1:
        return codes, per_second
    even_rate = estimate_frame_rate(codes, source.path)
    per_code, whole = even_rate or 1.0, codes
    if source.stage.HasAuthoredTimeCodeRange():
        # Other programs, such as Blender, omit samples that repeat the last one: the motion rests until the end of the
        # range, in whole steps.
        first, last = source.stage.GetStartTimeCode(), source.stage.GetEndTimeCode()
        before, after = np.floor(np.array([codes[0] - first, last - codes[-1]]) * per_code + 1e-6)
        start = [codes[0] - before / per_code] if before > 0 else []
        end = [codes[-1] + after / per_code] if after > 0 else []
        whole = np.concatenate([start, codes, end])
    if even_rate is not None and len(whole) == len(codes):
        return codes, per_second * even_rate
    return build_uniform_times(whole, per_code, source.path), per_second * per_code


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
    """Elements of a prim, candidates of its rest shape, and its appearance; the keys begin with `prefix`.

    Elements: tets (m, 4), lines (m, 2), or counts and corners of faces. rest: (n, 3) in double precision, as Cajole
    writes it; pose: (n, 3) the default value, which other programs use in different ways.
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
        # a shape with another number of points is not a rest shape of this prim
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
    """Linear colours (1, 3) or (n, 3), and the parts, labels and gloss that Cajole writes."""
    primvar = source.pxr.UsdGeom.Gprim(source.prim).GetDisplayColorPrimvar()
    colors = primvar.ComputeFlattened(_get_earliest_time(source)) if primvar.HasValue() else None
    if colors is None:
        return {}
    parts, labels, gloss = (_read_cajole_attribute(source, name) for name in ("parts", "labels", "gloss"))
    return {
        "colors": np.asarray(colors, dtype=np.float64).reshape(-1, 3),
        **({} if parts is None else {"parts": [str(part) for part in parts]}),
        **({} if labels is None else {"labels": np.asarray(labels, dtype=np.int64)}),
        **({} if gloss is None else {"gloss": np.asarray(gloss, dtype=np.float64)}),
    }


def _read_skin(source: UsdPrimSource) -> dict[str, Any]:
    """The skin that is embedded in this prim, with its embedding; empty if there is none."""
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
        return None  # velocities between samples or in a moving frame are not those of the points
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
