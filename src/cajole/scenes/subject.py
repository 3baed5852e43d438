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
from cajole.body.base import LARGE
from cajole.body.files import material_of
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri, Skin, embed, read_mesh, read_veg, voxelise
from cajole.mesh.closest import has_inside
from cajole.mesh.files import READERS, placed
from cajole.mesh.line import require_surface
from cajole.progress import Progress
from cajole.scenes.assembly import scene, scene_names
from cajole.scenes.selection import select

# of a file that names no damping: swings fade in some seconds, ripples sooner
DAMPING = (0.2, 0.002)
# cells that hold this many times the volume of what they were made around are worth a word
THICK = 1.3


@dataclass(frozen=True, eq=False)
class Subject:
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

    def selected(self, text: str) -> IndexArray:
        """The vertices that a selection means, as `select` reads it."""
        return select(text, self.mesh, self.parts)

    def held(self, texts: list[str]) -> Subject:
        """The same, held by these selections instead of its own; none given keeps its own."""
        if not texts:
            return self
        return replace(self, fixed=np.unique(np.concatenate([self.selected(text) for text in texts])))

    def made_of(self, young: float | None, poisson: float | None, density: float | None) -> Subject:
        """The same, with the values that are given in place of its own."""
        asked = {"young": young, "poisson": poisson, "density": density}
        given = {name: value for name, value in asked.items() if value is not None}
        if isinstance(self.material, MaterialStVK):
            return replace(self, material=replace(self.material, **given))
        changed = {material: replace(material, **given) for material in set(self.material)}
        return replace(self, material=tuple(changed[material] for material in self.material))

    def damped(self, damping: tuple[float, float] | None) -> Subject:
        """The same, with alpha [1/s] and beta [s] in place of its own damping; None keeps its own."""
        return self if damping is None else replace(self, damping=damping)

    def body(self) -> BodySolid:
        """The solid of the library."""
        return BodySolid(self.mesh, self.material, fixed=self.fixed, damping=self.damping)

    def dressed(self, animation: Animation) -> Animation:
        """The animation with the skin and the name of the subject."""
        return replace(animation, skin=self.skin, name=self.name)


def load_subject(
    source: str,
    *,
    tets: int | None = None,
    cells: int = 24,
    scale: float = 1.0,
    up: str = "z",
    progress: Progress | None = None,
) -> Subject:
    """A built-in scene by name, or a mesh file; a surface is filled with tets, `cells` along its longest side.

    tets: of a scene, about how many; scale, up: of a file, as for `read_mesh`.
    Raises InputError for what is neither, or an option of the other; FileError for a file that cannot be read.
    """
    if source in scene_names():
        if scale != 1.0 or up != "z":
            raise InputError(f"scale and up are for files; {source} is in metres, with z up")
        return _of_scene(source, tets, progress)
    path = Path(source)
    if path.suffix.lower() not in READERS:
        raise InputError(
            f"{source!r} is neither a scene ({', '.join(scene_names())}) nor a mesh file ({' '.join(READERS)})"
        )
    if tets is not None:
        raise InputError(f"tets is for scenes, which are generated; {path} has the tets it has")
    made = _of_veg(path, scale, up) if path.suffix.lower() == ".veg" else _of_mesh(path, cells, scale, up)
    return replace(made, notes=(*made.notes, *_size_notes(made.mesh)))


def _size_notes(mesh: MeshTet) -> tuple[str, ...]:
    if mesh.size < LARGE:
        return ()
    return (f"is the mesh in millimetres? its size is {mesh.size:.4g} m; then load it with scale 0.001",)


def _of_scene(name: str, tets: int | None, progress: Progress | None) -> Subject:
    made = scene(name, tets=tets, progress=progress)
    material = MaterialStVK(made.young, made.poisson, made.density)
    return Subject(name, made.mesh, made.skin, made.parts, made.fixed, material, made.damping, made.camera)


def _of_veg(path: Path, scale: float, up: str) -> Subject:
    file = read_veg(path)
    mesh, _ = placed(file.mesh, scale=scale, up=up).compacted()
    parts = {name: np.unique(mesh.tets[members]) for name, members in file.sets.items() if len(members)}
    plain = replace(_plain(path.stem, mesh, None), notes=(*file.notes, *mesh.notes))
    return replace(plain, parts=parts, material=material_of(file))


def _of_mesh(path: Path, cells: int, scale: float, up: str) -> Subject:
    mesh = require_surface(read_mesh(path, scale=scale, up=up), f"{path}: a solid")
    if isinstance(mesh, MeshTet):
        mesh, _ = mesh.compacted()
        return replace(_plain(path.stem, mesh, None), notes=mesh.notes)
    cage = voxelise(mesh, resolution=cells)
    skin = Skin(mesh, embedding=embed(mesh, cage))
    return replace(_plain(path.stem, cage, skin), notes=(*mesh.notes, *_thick_notes(mesh, cage, cells)))


def _thick_notes(surface: MeshTri, cage: MeshTet, cells: int) -> tuple[str, ...]:
    """What to say where cells are much thicker than what they stand for."""
    cell = float(np.ptp(surface.bounds, axis=0).max()) / cells
    if not has_inside(surface):
        return (f"the surface is open, so its walls are one cell ({cell:.2g} m) thick; close its holes to fill it",)
    ratio = cage.volume / surface.volume
    if ratio < THICK:
        return ()
    return (
        f"the cells have {ratio:.2g} times the volume, and mass, of the surface: thin parts are one cell ({cell:.2g} "
        f"m) thick; raise cells above {cells}, or lower density",
    )


def _plain(name: str, mesh: MeshTet, skin: Skin | None) -> Subject:
    nothing = np.empty(0, dtype=np.int64)
    return Subject(name, mesh, skin, MappingProxyType({}), nothing, MaterialStVK(), DAMPING, MappingProxyType({}))
