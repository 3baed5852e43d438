"""Bodies from built-in scenes or mesh files, with parts, fixed vertices, skin and camera."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from cajole.animation import Animation
from cajole.arrays import IndexArray
from cajole.body import BodySolid, MaterialStVK
from cajole.body.base import SUSPICIOUS_SIZE
from cajole.body.solid import parse_material
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri, Skin, embed, read_mesh, read_veg, voxelise
from cajole.mesh.closest_point import has_inside
from cajole.mesh.files import READERS, convert_mesh_to_z_up_metres
from cajole.mesh.line import require_surface
from cajole.progress import ProgressCallback
from cajole.scenes.builtin import scene, scene_names
from cajole.scenes.selection import select_vertices

# of a file that names no damping: swings fade in some seconds, ripples sooner
DEFAULT_DAMPING = (0.2, 0.002)


@dataclass(frozen=True, eq=False)
class SceneBody:
    """A solid: mesh, drawn skin, named parts (vertices), fixed vertices, damping and camera.

    material: one for all tets, or one per tet; notes: warnings about the mesh.
    """

    name: str
    mesh: MeshTet
    skin: Skin | None
    parts: Mapping[str, IndexArray]
    fixed: IndexArray
    material: MaterialStVK | tuple[MaterialStVK, ...]
    damping: tuple[float, float]
    camera: Mapping[str, Any]
    notes: tuple[str, ...] = ()

    def select(self, expression: str) -> IndexArray:
        """Vertices of a selection, see `select_vertices`."""
        return select_vertices(expression, self.mesh, self.parts)

    def with_fixed_vertices(self, selections: list[str]) -> SceneBody:
        """Return a copy fixed at the union of selections; an empty list keeps the fixed vertices."""
        if not selections:
            return self
        return replace(self, fixed=np.unique(np.concatenate([self.select(text) for text in selections])))

    def with_material(self, young: float | None, poisson: float | None, density: float | None) -> SceneBody:
        """Return a copy with the given material values; None keeps a value."""
        asked = {"young": young, "poisson": poisson, "density": density}
        given = {name: value for name, value in asked.items() if value is not None}
        if isinstance(self.material, MaterialStVK):
            return replace(self, material=replace(self.material, **given))
        changed = {material: replace(material, **given) for material in set(self.material)}
        return replace(self, material=tuple(changed[material] for material in self.material))

    def with_damping(self, damping: tuple[float, float] | None) -> SceneBody:
        """Return a copy with damping (alpha [1/s], beta [s]); None keeps it."""
        return self if damping is None else replace(self, damping=damping)

    def body(self) -> BodySolid:
        """Create the solid."""
        return BodySolid(self.mesh, self.material, fixed=self.fixed, damping=self.damping)

    def attach_skin(self, animation: Animation) -> Animation:
        """Return the animation with the skin and the name of this body."""
        return replace(animation, skin=self.skin, name=self.name)


def load_scene_body(
    source: str,
    *,
    tets: int | None = None,
    cells: int = 24,
    scale: float = 1.0,
    up: str = "z",
    progress: ProgressCallback | None = None,
) -> SceneBody:
    """Load a built-in scene by name, or a mesh file; a surface is filled with tets, `cells` along its longest side.

    tets: approximate number, for a scene; scale, up: for a file, as in `read_mesh`.
    Raises InputError for an unknown source or an option that does not apply, FileError for an unreadable file.
    """
    if source in scene_names():
        if scale != 1.0 or up != "z":
            raise InputError(f"scale and up are for files; {source} is in metres, with z up")
        return _load_builtin_scene(source, tets, progress)
    path = Path(source)
    if path.suffix.lower() not in READERS:
        raise InputError(
            f"{source!r} is neither a scene ({', '.join(scene_names())}) nor a mesh file ({' '.join(READERS)})"
        )
    if tets is not None:
        raise InputError(f"tets is for scenes, which are generated; {path} has the tets it has")
    made = _load_veg_file(path, scale, up) if path.suffix.lower() == ".veg" else _load_mesh_file(path, cells, scale, up)
    return replace(made, notes=(*made.notes, *_check_size(made.mesh)))


def _check_size(mesh: MeshTet) -> tuple[str, ...]:
    if mesh.size < SUSPICIOUS_SIZE:
        return ()
    return (f"is the mesh in millimetres? its size is {mesh.size:.4g} m; then load it with scale 0.001",)


def _load_builtin_scene(name: str, tets: int | None, progress: ProgressCallback | None) -> SceneBody:
    made = scene(name, tets=tets, progress=progress)
    material = MaterialStVK(made.young, made.poisson, made.density)
    return SceneBody(name, made.mesh, made.skin, made.parts, made.fixed, material, made.damping, made.camera)


def _load_veg_file(path: Path, scale: float, up: str) -> SceneBody:
    file = read_veg(path)
    mesh, _ = convert_mesh_to_z_up_metres(file.mesh, scale=scale, up=up).compacted()
    parts = {name: np.unique(mesh.tets[members]) for name, members in file.sets.items() if len(members)}
    plain = replace(_build_default_body(path.stem, mesh, None), notes=(*file.notes, *mesh.notes))
    return replace(plain, parts=parts, material=parse_material(file))


def _load_mesh_file(path: Path, cells: int, scale: float, up: str) -> SceneBody:
    mesh = require_surface(read_mesh(path, scale=scale, up=up), f"{path}: a solid")
    if isinstance(mesh, MeshTet):
        mesh, _ = mesh.compacted()
        return replace(_build_default_body(path.stem, mesh, None), notes=mesh.notes)
    cage = voxelise(mesh, resolution=cells)
    skin = Skin(mesh, embedding=embed(mesh, cage))
    return replace(_build_default_body(path.stem, cage, skin), notes=(*mesh.notes, *_check_volume(mesh, cage, cells)))


def _check_volume(surface: MeshTri, cage: MeshTet, cells: int) -> tuple[str, ...]:
    """Notes about cells that are much thicker than the surface they fill."""
    # cells that hold this many times the volume of what they were made around are worth a word
    max_volume_ratio = 1.3
    cell = float(np.ptp(surface.bounds, axis=0).max()) / cells
    if not has_inside(surface):
        return (f"the surface is open, so its walls are one cell ({cell:.2g} m) thick; close its holes to fill it",)
    ratio = cage.volume / surface.volume
    if ratio < max_volume_ratio:
        return ()
    return (
        f"the cells have {ratio:.2g} times the volume, and mass, of the surface: thin parts are one cell ({cell:.2g} "
        f"m) thick; raise cells above {cells}, or lower density",
    )


def _build_default_body(name: str, mesh: MeshTet, skin: Skin | None) -> SceneBody:
    nothing = np.empty(0, dtype=np.int64)
    return SceneBody(
        name, mesh, skin, MappingProxyType({}), nothing, MaterialStVK(), DEFAULT_DAMPING, MappingProxyType({})
    )
