"""Scenes: built once from their recipes, then read from the cache."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

import cajole
from cajole.arrays import IndexArray
from cajole.checks import count, one_of
from cajole.mesh import MeshTet, MeshTri, Skin
from cajole.progress import Progress, report
from cajole.scenes.library import RECIPES
from cajole.scenes.recipe import Recipe
from cajole.scenes.skin import placed, skin_of
from cajole.scenes.stuffing import stuffed
from cajole.storage import cached, content_hash

if TYPE_CHECKING:
    from cajole.body import BodySolid

KIND = "scenes"
# files of this folder that no scene is made by
BYSTANDERS = ("__init__.py", "selection.py", "shots.py", "subject.py")


@dataclass(frozen=True, eq=False)
class Scene:
    """A body ready to be directed.

    mesh: the cage that is simulated; skin: what is seen, embedded in it; parts: the cage's vertices by name; fixed:
    vertices that are held; camera: keywords for `picture`; young [Pa], poisson, density [kg/m³] and damping
    (alpha [1/s], beta [s]): values that move visibly, with a first frequency of one to two hertz.
    """

    name: str
    title: str
    description: str
    mesh: MeshTet
    skin: Skin
    parts: Mapping[str, IndexArray]
    fixed: IndexArray
    camera: Mapping[str, Any]
    young: float
    poisson: float
    density: float
    damping: tuple[float, float]

    def body(self) -> BodySolid:
        """The solid with its material, held vertices and damping."""
        from cajole.body import BodySolid, MaterialStVK

        material = MaterialStVK(young=self.young, poisson=self.poisson, density=self.density)
        return BodySolid(self.mesh, material, fixed=self.fixed, damping=self.damping)


def scene_names() -> tuple[str, ...]:
    """The names that `scene` knows."""
    return tuple(RECIPES)


def scene(name: str, *, tets: int | None = None, skin: str = "normal", progress: Progress | None = None) -> Scene:
    """A built-in scene: generated at first use, read from the cache afterwards.

    tets: about how many the cage shall have (the scene's own number if None); skin: "normal" or "fine".
    Raises InputError for an unknown name or option, SolveError when so few tets cannot hold the scene's thin parts.
    """
    recipe = RECIPES[one_of(name, "the name of a scene", scene_names())]()
    one_of(skin, "skin", ("normal", "fine"))
    target = recipe.tets if tets is None else count(tets, "tets", least=50, most=2_000_000)
    key = content_hash(_version(), recipe.shape.content, name, target, skin)
    arrays = cached(KIND, key, lambda: _built(recipe, target, skin, progress))
    report(progress, 1.0, f"{recipe.title} is ready")
    return _assembled(recipe, arrays)


def _built(recipe: Recipe, target: int, skin: str, progress: Progress | None) -> dict[str, NDArray[Any]]:
    def part_of(fraction: float, text: str) -> bool | None:
        return None if progress is None else progress(0.6 * fraction, text)

    cage = stuffed(recipe.shape, target=target, clamp=recipe.clamp, grade=recipe.grade, progress=part_of)
    report(progress, 0.6, "drawing the skin")
    seen = skin_of(recipe, cage.mesh, fine=skin == "fine")
    labels = recipe.shape.caged(recipe.clamp * cage.cell, recipe.grade).shaded(cage.mesh.vertices, sigma=recipe.sigma)[
        1
    ]
    return {
        "vertices": cage.mesh.vertices,
        "tets": cage.mesh.tets,
        "labels": labels,
        "skin_vertices": seen.mesh.vertices,
        "skin_triangles": seen.mesh.triangles,
        "skin_colors": seen.colors,
        "skin_labels": seen.labels,
        "skin_gloss": seen.gloss,
        "skin_tets": seen.embedding.tets if seen.embedding is not None else np.zeros(0, dtype=np.int64),
    }


def _assembled(recipe: Recipe, arrays: Mapping[str, NDArray[Any]]) -> Scene:
    mesh = MeshTet(arrays["vertices"], arrays["tets"])
    names = recipe.shape.parts
    parts = {part: np.flatnonzero(arrays["labels"] == i) for i, part in enumerate(names)}
    parts = {part: vertices for part, vertices in parts.items() if len(vertices)}
    embedding = placed(arrays["skin_vertices"], arrays["skin_tets"], mesh)
    skin = Skin(
        MeshTri(arrays["skin_vertices"], arrays["skin_triangles"]),
        arrays["skin_colors"],
        (*names, *(eye.part for eye in recipe.eyes)),
        arrays["skin_labels"],
        arrays["skin_gloss"],
        embedding,
    )
    return Scene(
        name=recipe.name,
        title=recipe.title,
        description=recipe.description,
        mesh=mesh,
        skin=skin,
        parts=MappingProxyType(parts),
        fixed=np.asarray(recipe.fixed(mesh, parts), dtype=np.int64),
        camera=MappingProxyType(dict(recipe.camera)),
        young=recipe.young,
        poisson=recipe.poisson,
        density=recipe.density,
        damping=recipe.damping,
    )


@cache
def _version() -> str:
    """A digest of the sources that make scenes: whatever changes in them makes new ones."""
    try:
        files = sorted(path for path in Path(__file__).parent.glob("*.py") if path.name not in BYSTANDERS)
        sources = [path.read_text(encoding="utf-8") for path in files]
    except OSError:
        sources = []
    return content_hash(cajole.__version__, *sources)
