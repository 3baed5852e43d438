"""SCENE|FILE on the command line: a body with everything needed to move it and to show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation
from cajole.body import BodySolid, MaterialStVK
from cajole.cli.numbers import pair
from cajole.cli.selection import select
from cajole.errors import InputError
from cajole.mesh import MeshTet, MeshTri, Skin, embed, read_mesh, read_veg, voxelise
from cajole.mesh.files import READERS
from cajole.progress import Progress
from cajole.scenes import scene, scene_names

Indices = NDArray[np.int64]

# of a file that names no damping: swings fade in some seconds, ripples sooner
DAMPING = (0.2, 0.002)
PLAIN = (0.30, 0.52, 0.72)


@dataclass(frozen=True, eq=False)
class Subject:
    """A solid: its mesh, what is seen of it, named parts (vertices), held vertices, damping and camera.

    material: (m, 3) young [Pa], poisson and density [kg/m³] of each tet.
    """

    name: str
    mesh: MeshTet
    skin: Skin | None
    parts: Mapping[str, Indices]
    fixed: Indices
    material: NDArray[np.float64]
    damping: tuple[float, float]
    camera: Mapping[str, Any]

    def selected(self, text: str) -> Indices:
        """The vertices that a selection on the command line means."""
        return select(text, self.mesh, self.parts)

    def held(self, texts: list[str]) -> Subject:
        """The same, held by these selections instead of its own; none given keeps its own."""
        if not texts:
            return self
        return replace(self, fixed=np.unique(np.concatenate([self.selected(text) for text in texts])))

    def made_of(self, young: float | None, poisson: float | None, density: float | None) -> Subject:
        """The same, with the values that are given in place of its own."""
        material = self.material.copy()
        for column, value in enumerate((young, poisson, density)):
            if value is not None:
                material[:, column] = value
        return replace(self, material=material)

    def damped(self, text: str | None) -> Subject:
        """The same, with "ALPHA,BETA" in place of its own damping."""
        return self if text is None else replace(self, damping=pair(text, "--damping"))

    def body(self) -> BodySolid:
        """The solid of the library."""
        rows = [tuple(row) for row in self.material.tolist()]
        made = {row: MaterialStVK(*row) for row in set(rows)}
        material = made[rows[0]] if len(made) == 1 else [made[row] for row in rows]
        return BodySolid(self.mesh, material, fixed=self.fixed, damping=self.damping)

    def dressed(self, animation: Animation) -> Animation:
        """The animation with the skin and the name of the subject."""
        return replace(animation, skin=self.skin, name=self.name)


def load(text: str, *, tets: int | None = None, cells: int = 24, progress: Progress | None = None) -> Subject:
    """A built-in scene by name, or a mesh file; a surface is filled with tets, `cells` along its longest side."""
    if text in scene_names():
        return _of_scene(text, tets, progress)
    path = Path(text)
    if path.suffix.lower() not in READERS:
        raise InputError(
            f"{text!r} is neither a scene ({', '.join(scene_names())}) nor a mesh file ({' '.join(READERS)}); "
            "run cajole scenes for the list"
        )
    if tets is not None:
        raise InputError(f"--tets is for scenes, which are generated; {path} has the tets it has")
    return _of_veg(path) if path.suffix.lower() == ".veg" else _of_mesh(path, cells)


def _of_scene(name: str, tets: int | None, progress: Progress | None) -> Subject:
    made = scene(name, tets=tets, progress=progress)
    material = np.tile((made.young, made.poisson, made.density), (len(made.mesh.tets), 1))
    return Subject(name, made.mesh, made.skin, made.parts, made.fixed, material, made.damping, made.camera)


def _of_veg(path: Path) -> Subject:
    file = read_veg(path)
    parts = {name: np.unique(file.mesh.tets[members]) for name, members in file.sets.items() if len(members)}
    plain = _plain(path.stem, file.mesh, None)
    if file.young is None or file.poisson is None or file.density is None:
        return replace(plain, parts=parts)
    return replace(plain, parts=parts, material=np.column_stack([file.young, file.poisson, file.density]))


def _of_mesh(path: Path, cells: int) -> Subject:
    mesh = read_mesh(path)
    if isinstance(mesh, MeshTet):
        return _plain(path.stem, mesh, None)
    cage = voxelise(mesh, resolution=cells)
    return _plain(path.stem, cage, _coat(mesh, cage))


def _coat(surface: MeshTri, cage: MeshTet) -> Skin:
    n = len(surface.vertices)
    gloss, labels = np.full(n, 0.2), np.zeros(n, dtype=np.int64)
    return Skin(surface, np.tile(PLAIN, (n, 1)), ("surface",), labels, gloss, embed(surface, cage))


def _plain(name: str, mesh: MeshTet, skin: Skin | None) -> Subject:
    plain = MaterialStVK()
    material = np.tile((plain.young, plain.poisson, plain.density), (len(mesh.tets), 1))
    nothing = np.empty(0, dtype=np.int64)
    return Subject(name, mesh, skin, MappingProxyType({}), nothing, material, DAMPING, MappingProxyType({}))
