"""A scene by name, or a mesh file: a body with everything needed to move it and to show it."""

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
    """A solid: its mesh, what is seen of it, named parts (vertices), held vertices, damping and camera.

    material: one, or one of each tet; notes: what is unusual about it.
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
        """The vertices that a selection means, as `select` reads it."""
        return select_vertices(expression, self.mesh, self.parts)

    def with_fixed_vertices(self, selections: list[str]) -> SceneBody:
        """The same, held by these selections instead of its own; none given keeps its own."""
        if not selections:
            return self
        return replace(self, fixed=np.unique(np.concatenate([self.select(text) for text in selections])))

    def with_material(self, young: float | None, poisson: float | None, density: float | None) -> SceneBody:
        """The same, with the values that are given in place of its own."""
        asked = {"young": young, "poisson": poisson, "density": density}
        given = {name: value for name, value in asked.items() if value is not None}
        if isinstance(self.material, MaterialStVK):
            return replace(self, material=replace(self.material, **given))
        changed = {material: replace(material, **given) for material in set(self.material)}
        return replace(self, material=tuple(changed[material] for material in self.material))

    def with_damping(self, damping: tuple[float, float] | None) -> SceneBody:
        """The same, with alpha [1/s] and beta [s] in place of its own damping; None keeps its own."""
        return self if damping is None else replace(self, damping=damping)

    def body(self) -> BodySolid:
        """The solid of the library."""
        return BodySolid(self.mesh, self.material, fixed=self.fixed, damping=self.damping)

    def attach_skin(self, animation: Animation) -> Animation:
        """The animation with the skin and the name of the subject."""
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
    """A built-in scene by name, or a mesh file; a surface is filled with tets, `cells` along its longest side.

    tets: of a scene, about how many; scale, up: of a file, as for `read_mesh`.
    Raises InputError for what is neither, or an option of the other; FileError for a file that cannot be read.
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
    """What to say where cells are much thicker than what they stand for."""
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
