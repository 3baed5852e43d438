"""Built-in scenes by name: generated from their definitions at first use, then read from the cache."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cajole.arrays import IndexArray
from cajole.checks import require_choice, require_integer
from cajole.mesh import MeshTet, MeshTri, Skin
from cajole.progress import ProgressCallback, report_progress
from cajole.scenes import beam, bridge, dinosaur, elephant, fish, flower, strike, tee
from cajole.scenes.scene_definition import SceneDefinition
from cajole.scenes.skin import build_skin, embed_in_tets
from cajole.scenes.tetrahedralisation import tetrahedralise_with_report
from cajole.storage import hash_content, load_or_compute
from cajole.version import __version__

if TYPE_CHECKING:
    from cajole.body import BodySolid

SCENE_DEFINITIONS: dict[str, Callable[[], SceneDefinition]] = {
    "beam": beam.define_scene,
    "bridge": bridge.define_scene,
    "dinosaur": dinosaur.define_scene,
    "dinosaur-large": dinosaur.define_large_scene,
    "elephant": elephant.define_scene,
    "fish": fish.define_scene,
    "flower": flower.define_scene,
    "strike": strike.define_scene,
    "tee": tee.define_scene,
}


@dataclass(frozen=True, eq=False)
class Scene:
    """A simulation mesh with its drawn surface, material and boundary conditions.

    mesh: the tet mesh that is simulated; skin: the drawn surface, embedded in it; parts: vertices of the mesh by name;
    fixed: vertices with zero displacement; camera: keywords of `picture`; young [Pa], poisson, density [kg/m³] and
    damping (alpha [1/s], beta [s]): chosen for a first natural frequency of one to two hertz.
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
        """Create the solid with its material, fixed vertices and damping."""
        from cajole.body import BodySolid, MaterialStVK

        material = MaterialStVK(young=self.young, poisson=self.poisson, density=self.density)
        return BodySolid(self.mesh, material, fixed=self.fixed, damping=self.damping)


def scene_names() -> tuple[str, ...]:
    """Names accepted by `scene`."""
    return tuple(SCENE_DEFINITIONS)


def scene(
    name: str, *, tets: int | None = None, skin: str = "normal", progress: ProgressCallback | None = None
) -> Scene:
    """Load a built-in scene; it is generated at first use and read from the cache afterwards.

    tets: approximate number of tets (default: that of the scene); skin: "normal" or "fine". Raises InputError for an
    unknown name or option, SolveError when the tets are too few for the thin parts of the scene.
    """
    cache_kind = "scenes"
    recipe = SCENE_DEFINITIONS[require_choice(name, "the name of a scene", scene_names())]()
    require_choice(skin, "skin", ("normal", "fine"))
    target = recipe.tets if tets is None else require_integer(tets, "tets", minimum=50, maximum=2_000_000)
    key = hash_content(_hash_sources(), recipe.shape.content, name, target, skin)
    arrays = load_or_compute(cache_kind, key, lambda: _build_arrays(recipe, target, skin, progress))
    report_progress(progress, 1.0, f"{recipe.title} is ready")
    return _assemble_scene(recipe, arrays)


def _build_arrays(
    definition: SceneDefinition, target: int, skin: str, progress: ProgressCallback | None
) -> dict[str, NDArray[Any]]:
    def report_meshing(fraction: float, text: str) -> bool | None:
        return None if progress is None else progress(0.6 * fraction, text)

    cage = tetrahedralise_with_report(
        definition.shape,
        target=target,
        min_radius_cells=definition.min_radius_cells,
        grading=definition.grading,
        progress=report_meshing,
    )
    report_progress(progress, 0.6, "drawing the skin")
    seen = build_skin(definition, cage.mesh, fine=skin == "fine")
    labels = definition.shape.select_cage(
        definition.min_radius_cells * cage.cell_size, definition.grading
    ).compute_colors_and_labels(cage.mesh.vertices, blend_width=definition.blend_width)[1]
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


def _assemble_scene(definition: SceneDefinition, arrays: Mapping[str, NDArray[Any]]) -> Scene:
    mesh = MeshTet(arrays["vertices"], arrays["tets"])
    names = definition.shape.parts
    parts = {part: np.flatnonzero(arrays["labels"] == i) for i, part in enumerate(names)}
    parts = {part: vertices for part, vertices in parts.items() if len(vertices)}
    embedding = embed_in_tets(arrays["skin_vertices"], arrays["skin_tets"], mesh)
    skin = Skin(
        MeshTri(arrays["skin_vertices"], arrays["skin_triangles"]),
        arrays["skin_colors"],
        (*names, *(eye.part for eye in definition.eyes)),
        arrays["skin_labels"],
        arrays["skin_gloss"],
        embedding,
    )
    return Scene(
        name=definition.name,
        title=definition.title,
        description=definition.description,
        mesh=mesh,
        skin=skin,
        parts=MappingProxyType(parts),
        fixed=np.asarray(definition.find_fixed_vertices(mesh, parts), dtype=np.int64),
        camera=MappingProxyType(dict(definition.camera)),
        young=definition.young,
        poisson=definition.poisson,
        density=definition.density,
        damping=definition.damping,
    )


@cache
def _hash_sources() -> str:
    """Hash of the version and of the sources that generate geometry: any change invalidates the cached scenes."""
    # files of this folder that no scene is made by
    files_without_geometry = ("__init__.py", "selection.py", "keyframe_scenes.py", "scene_body.py")
    try:
        files = sorted(path for path in Path(__file__).parent.glob("*.py") if path.name not in files_without_geometry)
        sources = [path.read_text(encoding="utf-8") for path in files]
    except OSError:
        sources = []
    return hash_content(__version__, *sources)
