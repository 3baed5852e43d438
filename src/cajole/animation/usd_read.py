"""Reading USD: any Mesh or TetMesh whose points, or whose transforms, move."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation.animation import Animation, Frames
from cajole.animation.blocks import frames_dtype
from cajole.animation.reading import DEFAULT_FPS, AnyMesh, even_times, file_size, guarded, rate_of
from cajole.animation.shown import PLAIN_GLOSS, srgb_from_linear
from cajole.animation.usd import Pxr, load_pxr
from cajole.animation.usd_probe import CRATE, complaint, skinned
from cajole.errors import FileError, MeshError
from cajole.mesh import Embedding, MeshTet, MeshTri, Skin, repaired
from cajole.mesh.topology import fans
from cajole.progress import Progress, report

# USD's y-up axes in our z-up ones: (x, y, z) -> (x, -z, y), for row vectors
_Z_FROM_Y = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])

# of a frame: an end of the stage this close to a whole step is one
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Source:
    """A prim that moves, on its stage."""

    pxr: Pxr
    path: Path
    stage: Any
    prim: Any

    @property
    def points(self) -> Any:
        """The attribute of its points."""
        return self.pxr.UsdGeom.PointBased(self.prim).GetPointsAttr()

    def placed(self, points: NDArray[np.float64], code: Any) -> NDArray[np.float64]:
        """Local points in our world at a time: ancestors' transforms, then metres, then z up."""
        matrix = np.array(self.pxr.UsdGeom.XformCache(code).GetLocalToWorldTransform(self.prim))
        world = (points @ matrix[:3, :3] + matrix[3, :3]) * self.pxr.UsdGeom.GetStageMetersPerUnit(self.stage)
        upright = self.pxr.UsdGeom.GetStageUpAxis(self.stage) == self.pxr.UsdGeom.Tokens.z
        return world if upright else world @ _Z_FROM_Y

    def local(self, code: Any) -> NDArray[np.float64]:
        """The points as stored, (n, 3)."""
        value = self.points.Get(code)
        if value is None or not len(value):
            raise FileError(f"{self.path}: {self.prim.GetPath()} has no points at time {code}; export it again")
        return np.asarray(value, dtype=np.float64).reshape(-1, 3)

    def ancestors_move(self) -> list[float]:
        """The time codes at which transforms of the prim and its ancestors have samples."""
        codes: set[float] = set()
        prim = self.prim
        while prim and not prim.IsPseudoRoot():
            if prim.IsA(self.pxr.UsdGeom.Xformable):
                codes |= set(self.pxr.UsdGeom.Xformable(prim).GetTimeSamples())
            prim = prim.GetParent()
        return sorted(codes)


def read_usd(
    path: Path,
    *,
    mesh: AnyMesh | None = None,
    fps: float | None = None,
    prim: str | None = None,
    trusted: bool = False,
    progress: Progress | None = None,
) -> Animation:
    """Read the TetMesh or Mesh called `prim` (a path or a name); None: the only one, or the only one that moves.

    Bones, blend shapes, transforms of ancestors, metersPerUnit and upAxis are applied. The points' default value is the
    rest shape (else the first frame is). Samples at uneven times are read at every time code; where the stage plays on
    before or after them, the motion rests. Binary files are first read in a process of their own, since USD can crash
    on damaged ones; `trusted` saves that second for files known to be whole.
    """
    pxr = load_pxr()
    with guarded(path):
        file_size(path)
        if not trusted:
            _require_survivable(path, prim, progress)
        stage = pxr.Usd.Stage.Open(str(path))
        if not skinned(stage):
            raise FileError(f"{path}: its bones or blend shapes make no sense; export it with its points baked")
        source = _chosen(pxr, path, stage, prim)
        codes, rate = _time_codes(source)
        positions = _positions(source, codes, progress)
        rest = _rest(source, positions[0]) if mesh is None else mesh
        return Animation(
            rest,
            positions,
            rate if fps is None else fps,
            velocities=_velocities(source, codes, positions.shape),
            skin=_skin(source, rest) if mesh is None else None,
            start_frame=0 if codes is None else round(codes[0] * rate / stage.GetTimeCodesPerSecond()),
            name=_title(source),
        )


def _title(source: Source) -> str:
    """What the group that holds the mesh is called, or the mesh where it stands alone."""
    parent = source.prim.GetParent()
    prim = source.prim if parent.IsPseudoRoot() else parent
    return str(prim.GetDisplayName() or prim.GetName())


def _require_survivable(path: Path, prim: str | None, progress: Progress | None) -> None:
    with path.open("rb") as stream:
        if stream.read(len(CRATE)) != CRATE:
            return
    found = complaint(path, prim, lambda: report(progress, 0.0, f"checking {path.name}"))
    if found is not None:
        raise RuntimeError(found)  # as USD itself would have


def _chosen(pxr: Pxr, path: Path, stage: Any, wanted: str | None) -> Source:
    all_prims = [p for p in stage.Traverse() if p.IsA(pxr.UsdGeom.Mesh) or p.IsA(pxr.UsdGeom.TetMesh)]
    found = [p for p in all_prims if wanted in (str(p.GetPath()), p.GetName())]
    if wanted is None:
        # a skin of ours hangs in another prim and comes with it
        own = [p for p in all_prims if not p.HasAttribute("cajole:corners")]
        found = [p for p in own if p.IsA(pxr.UsdGeom.TetMesh)] or own
        if len(found) > 1:
            found = [p for p in found if _moves(Source(pxr, path, stage, p))] or found
    if len(found) != 1:
        names = ", ".join(str(p.GetPath()) for p in all_prims) or "none"
        asked = "prim= must name one" if wanted is None else f"prim={wanted!r} names {len(found)}"
        raise FileError(f"{path} has these meshes: {names}; {asked} of them")
    return Source(pxr, path, stage, found[0])


def _moves(source: Source) -> bool:
    return source.points.GetNumTimeSamples() > 1 or len(source.ancestors_move()) > 1


def _time_codes(source: Source) -> tuple[NDArray[np.float64] | None, float]:
    """The codes to read at, evenly spaced, and their frames per second; None where nothing has samples."""
    codes = np.array(sorted({*source.points.GetTimeSamples(), *source.ancestors_move()}))
    if not len(codes):
        return None, DEFAULT_FPS
    per_second = float(source.stage.GetTimeCodesPerSecond())
    if len(codes) == 1:
        return codes, per_second
    per_code = rate_of(codes, source.path)
    whole = _with_rests(source, codes, per_code or 1.0)
    if per_code is not None and len(whole) == len(codes):
        return codes, per_second * per_code
    return even_times(whole, per_code or 1.0, source.path), per_second * (per_code or 1.0)


def _with_rests(source: Source, codes: NDArray[np.float64], per_code: float) -> NDArray[np.float64]:
    """The codes, and the ends of what the stage plays where it goes on longer, in whole steps.

    Other programs, Blender among them, leave out samples that repeat the last: the motion rests, and is not over.
    """
    if not source.stage.HasAuthoredTimeCodeRange():
        return codes
    first, last = source.stage.GetStartTimeCode(), source.stage.GetEndTimeCode()
    before, after = np.floor(np.array([codes[0] - first, last - codes[-1]]) * per_code + _ROUNDING)
    start = [codes[0] - before / per_code] if before > 0 else []
    end = [codes[-1] + after / per_code] if after > 0 else []
    return np.concatenate([start, codes, end])


def _positions(source: Source, codes: NDArray[np.float64] | None, progress: Progress | None) -> Frames:
    times = _usd_times(source, codes)
    first = source.placed(source.local(times[0]), times[0])
    result = np.empty((len(times), *first.shape), dtype=frames_dtype(len(times), len(first)))
    for frame, time in enumerate(times):
        report(progress, frame / len(times), f"reading {source.path.name}")
        points = source.local(time)
        if len(points) != len(first):
            raise FileError(
                f"{source.path}: {source.prim.GetPath()} has {len(first)} points at its first frame and "
                f"{len(points)} at frame {frame}; only meshes of constant topology can be read"
            )
        result[frame] = source.placed(points, time)
    report(progress, 1.0, f"reading {source.path.name}")
    return result


def _usd_times(source: Source, codes: NDArray[np.float64] | None) -> list[Any]:
    code = source.pxr.Usd.TimeCode
    return [code.Default()] if codes is None else [code(float(c)) for c in codes]


def _rest(source: Source, first: Frames) -> AnyMesh:
    """The mesh in its default pose where that is a mesh, else as it is in the first frame."""
    default = source.pxr.Usd.TimeCode.Default()
    exact, pose = _own(source, "rest"), source.points.Get(default)
    for points in (exact, pose):
        if points is None or len(points) != len(first):
            continue
        try:
            return _mesh(source, source.placed(np.asarray(points, dtype=np.float64), default))
        except MeshError:
            pass  # other programs leave anything in the default; the first frame is then the best rest shape there is
    return _mesh(source, np.asarray(first, dtype=np.float64))


def _mesh(source: Source, vertices: NDArray[np.float64]) -> AnyMesh:
    geometry = source.pxr.UsdGeom
    if source.prim.IsA(geometry.TetMesh):
        tets = geometry.TetMesh(source.prim).GetTetVertexIndicesAttr().Get(_earliest(source))
        return MeshTet(vertices, np.asarray(tets, dtype=np.int64).reshape(-1, 4))
    mesh = geometry.Mesh(source.prim)
    if mesh.GetFaceVertexIndicesAttr().GetNumTimeSamples() > 1:
        raise FileError(f"{source.path}: the faces of {source.prim.GetPath()} change over time, which cannot be read")
    counts = np.asarray(mesh.GetFaceVertexCountsAttr().Get(_earliest(source)), dtype=np.int64)
    corners = np.asarray(mesh.GetFaceVertexIndicesAttr().Get(_earliest(source)), dtype=np.int64)
    if counts.size and (counts.min() < 3 or counts.sum() != corners.size):
        raise FileError(
            f"{source.path}: {source.prim.GetPath()} announces faces of {counts.sum()} corners, three or more each, "
            f"and gives {corners.size}; export it again"
        )
    triangles = fans(counts, corners)
    if mesh.GetOrientationAttr().Get() == geometry.Tokens.leftHanded:
        triangles = triangles[:, ::-1]
    return repaired(vertices, triangles)


def _earliest(source: Source) -> Any:
    return source.pxr.Usd.TimeCode.EarliestTime()


def _velocities(source: Source, codes: NDArray[np.float64] | None, shape: tuple[int, ...]) -> Frames | None:
    attribute = source.pxr.UsdGeom.PointBased(source.prim).GetVelocitiesAttr()
    if codes is None or list(attribute.GetTimeSamples()) != list(codes) or len(source.ancestors_move()) > 1:
        return None  # velocities between samples, or in a moving frame, are not what the points do
    result = np.empty(shape, dtype=frames_dtype(shape[0], shape[1]))
    origin = np.zeros((1, 3))
    for frame, time in enumerate(_usd_times(source, codes)):
        local = np.asarray(attribute.Get(time), dtype=np.float64)
        if local.shape != shape[1:]:
            return None
        result[frame] = source.placed(local, time) - source.placed(origin, time)
    return result


def _skin(source: Source, rest: AnyMesh) -> Skin | None:
    """The skin that hangs in this prim, or the prim's own colours."""
    riders = [p for p in source.prim.GetParent().GetChildren() if p.HasAttribute("cajole:corners")]
    if riders and source.prim.GetPath() != riders[0].GetPath():
        skin = Source(source.pxr, source.path, source.stage, riders[0])
        default = source.pxr.Usd.TimeCode.Default()
        surface = _rest(skin, skin.placed(skin.local(default), default))
        embedding = Embedding(
            np.asarray(_own(skin, "tets"), dtype=np.int64),
            np.asarray(_own(skin, "weights")),
            np.asarray(_own(skin, "corners"), dtype=np.int64),
            len(rest.vertices),
        )
        return _dressed(skin, surface, embedding) if isinstance(surface, MeshTri) else None
    return _dressed(source, rest, None) if isinstance(rest, MeshTri) else None


def _dressed(source: Source, surface: MeshTri, embedding: Embedding | None) -> Skin | None:
    n = len(surface.vertices)
    primvar = source.pxr.UsdGeom.Gprim(source.prim).GetDisplayColorPrimvar()
    colors = primvar.ComputeFlattened(_earliest(source)) if primvar.HasValue() else None
    if colors is None or len(colors) not in (1, n):
        return None  # colours by face or by corner have no place on vertices
    srgb = srgb_from_linear(np.asarray(colors, dtype=np.float64).reshape(-1, 3))
    parts, labels, gloss = _own(source, "parts"), _own(source, "labels"), _own(source, "gloss")
    return Skin(
        surface,
        np.broadcast_to(srgb, (n, 3)),
        ("surface",) if parts is None else tuple(str(part) for part in parts),
        np.zeros(n, dtype=np.int64) if labels is None else np.asarray(labels, dtype=np.int64),
        np.full(n, PLAIN_GLOSS) if gloss is None else np.asarray(gloss, dtype=np.float64),
        embedding,
    )


def _own(source: Source, name: str) -> Any:
    attribute = source.prim.GetAttribute(f"cajole:{name}")
    return attribute.Get() if attribute else None
