"""What `cajole enrich` is asked for, as text and files: regions, the shell, the air and what it bumps into."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole import checks
from cajole.animation import Animation, read_animation
from cajole.animation.files import FORMATS
from cajole.arrays import Array
from cajole.body import BodyShell, LoadPressure, LoadWind, MaterialShell, Plasticity
from cajole.body.undeformed_shapes import build_accordion, build_crinkle, build_ridges
from cajole.cli.body_summary import format_note_rows
from cajole.cli.error_translation import translate_message
from cajole.cli.number_parsers import parse_number, parse_pair, parse_vector
from cajole.cli.output import format_written_files
from cajole.direct.enriching import EnrichResult, Regions, regions_clustered, regions_painted, regions_subdivided
from cajole.direct.enriching.collisions.stepper import COLLISION_METHODS as COLLISIONS
from cajole.direct.enriching.collisions.world import IPCTK
from cajole.dynamics import Ground
from cajole.errors import FileError, InputError
from cajole.mesh import MeshTet, MeshTri, read_mesh, subdivide
from cajole.mesh.files import READERS
from cajole.mesh.formats.text_lines import TextLine, read_text_lines
from cajole.mesh.line import require_surface
from cajole.progress import ProgressCallback, build_subprogress
from cajole.scenes import select_vertices
from cajole.scenes.enrich_scenes import build_picture_options, list_enrich_scene_names, load_enrich_scene
from cajole.storage import read_array

RegionLabels = NDArray[Any] | list[int | str]

# what docs/enrich.md says to start with: a light cotton, damped
DEFAULT_CLOTH_MATERIAL = MaterialShell(young=2e4, thickness=2e-3, density=300.0)
DEFAULT_CLOTH_DAMPING = (0.5, 1e-3)
# the shapes of --undeformed, the names of their sizes, and whether they have a direction
REST_SHAPES: dict[str, tuple[Callable[..., Array], tuple[str, ...], bool]] = {
    "accordion": (build_accordion, ("amplitude", "wavelength"), True),
    "ridges": (build_ridges, ("height", "spacing", "width"), True),
    "crinkle": (build_crinkle, ("amplitude", "scale"), False),
}
LABEL_ELEMENTS = ("vertices", "triangles")


@dataclass(frozen=True)
class EnrichRegionOptions:
    """Which fine mesh, and which of its averages are the guide's. Raises InputError for what does not go together."""

    subdivide: int | None = None
    fine: Path | None = None
    paint_guide: Path | None = None
    paint_fine: Path | None = None
    paint_on: str | None = None
    clusters: int | None = None
    mu: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        paint = (self.paint_guide, self.paint_fine)
        if self.fine is None and any((*paint, self.paint_on)):
            raise InputError("paint joins the guide to another mesh; name it with --fine")
        if self.fine is not None and not all(paint):
            raise InputError(
                "--fine needs paint that says what belongs together: a file of labels with --paint-guide, and one with "
                "--paint-fine"
            )
        if self.fine is not None and (self.subdivide is not None or self.clusters is not None):
            raise InputError("--fine is a mesh of its own, with painted regions; leave out --subdivide and --clusters")
        if self.fine is None and self.subdivide is None and self.clusters is None:
            raise InputError(
                "which averages shall the shell share with its guide? --subdivide 3 makes it from the guide's own "
                "triangles, --clusters 50 leads patches of them, --fine takes another mesh, with --paint-guide and "
                "--paint-fine"
            )
        if self.mu is not None and self.clusters is None:
            raise InputError("--mu is for patches; say how many with --clusters")
        if self.subdivide is not None:
            checks.require_integer(self.subdivide, "--subdivide", maximum=16)
        if self.clusters is not None:
            checks.require_integer(self.clusters, "--clusters")
        self._parse_paint_elements()
        checks.require_integer(self.seed, "--seed", minimum=0)

    def build_regions(self, guide: Animation, progress: ProgressCallback) -> tuple[Animation, Regions]:
        """The guide that is followed, a subdivided one where patches of such are, and the regions."""
        mesh = guide.mesh
        assert isinstance(mesh, MeshTri)
        if self.fine is not None:
            return guide, self._build_painted_regions(mesh, self.fine)
        if self.clusters is None:
            return guide, regions_subdivided(mesh, self.subdivide or 1)[1]
        followed = guide if self.subdivide is None else _subdivide_animation(guide, self.subdivide)
        made: dict[str, Any] = {} if self.mu is None else {"mu": self.mu}
        return followed, regions_clustered(followed, self.clusters, seed=self.seed, progress=progress, **made)

    def _build_painted_regions(self, mesh: MeshTri, file: Path) -> Regions:
        assert self.paint_guide is not None
        assert self.paint_fine is not None
        fine = read_mesh(file)
        if not isinstance(fine, MeshTri):
            raise InputError(f"--fine {file} holds tets, but a shell is made of triangles; write its surface")
        ours, theirs = read_labels(self.paint_guide, "--paint-guide"), read_labels(self.paint_fine, "--paint-fine")
        guide_on, fine_on = self._parse_paint_elements()
        for painted, side, labels in ((mesh, guide_on, self.paint_guide), (fine, fine_on, self.paint_fine)):
            if side is None and len(painted.vertices) == len(painted.triangles):
                raise InputError(
                    f"{labels}: its mesh has as many vertices as triangles, so that labels could be of either; say "
                    "--paint-on vertices or --paint-on triangles"
                )
        return regions_painted(mesh, ours, fine, theirs, guide_labels_on=guide_on, fine_labels_on=fine_on)

    def _parse_paint_elements(self) -> tuple[str | None, str | None]:
        """What the labels of the guide and those of the shell are of, where that is said."""
        if self.paint_on is None:
            return None, None
        words = self.paint_on.split(",")
        if len(words) > 2:
            raise InputError(
                f"--paint-on is {self.paint_on!r}, but must be one word, or one of the guide and one of --fine"
            )
        guide_on, fine_on = (
            checks.require_choice(word.strip(), "--paint-on", LABEL_ELEMENTS) for word in (words[0], words[-1])
        )
        return guide_on, fine_on


@dataclass(frozen=True)
class EnrichShellOptions:
    """What the shell is made of, as far as that is known without its mesh."""

    material: MaterialShell
    damping: tuple[float, float]
    plasticity: Plasticity | None
    rest_shape: Callable[[MeshTri], Array] | None
    fixed: tuple[str, ...] = ()

    def build_shell(self, mesh: MeshTri) -> BodyShell:
        """The shell of a mesh."""
        held = np.unique(
            np.concatenate([np.empty(0, np.int64), *(select_vertices(text, mesh, {}) for text in self.fixed)])
        )
        shape = None if self.rest_shape is None else self.rest_shape(mesh)
        return BodyShell(
            mesh, self.material, fixed=held, damping=self.damping, undeformed=shape, plasticity=self.plasticity
        )


@dataclass(frozen=True)
class EnrichCollisionOptions:
    """How the shell bumps into itself and into colliders. Raises InputError for settings of collisions without any."""

    method: str | None = None
    colliders: tuple[str, ...] = ()
    friction: float | None = None
    distance: float | None = None

    def __post_init__(self) -> None:
        if self.method is not None:
            checks.require_choice(self.method, "--collisions", COLLISIONS)
            IPCTK.require()
        elif self.colliders or self.friction is not None or self.distance is not None:
            raise InputError(
                "--collider, --friction and --distance are for collisions; say --collisions fast, or exact"
            )
        for text in self.colliders:
            if _parse_ground(text) is None and Path(text).suffix.lower() not in (*READERS, *FORMATS):
                raise InputError(
                    f'--collider {text!r} must be "ground", "ground:HEIGHT", a mesh file ({" ".join(READERS)}) or an '
                    f"animation ({' '.join(FORMATS)})"
                )

    def load_keyword_arguments(self, progress: ProgressCallback) -> dict[str, Any]:
        """The options of `enrich` that say this, files read."""
        if self.method is None:
            return {}
        given = {"friction": self.friction, "distance": self.distance}
        colliders = [_load_collider(text, progress) for text in self.colliders]
        known = {name: value for name, value in given.items() if value is not None}
        return {"collisions": self.method, "colliders": colliders, **known}


def _load_collider(text: str, progress: ProgressCallback) -> Ground | MeshTri | MeshTet | Animation:
    ground = _parse_ground(text)
    if ground is not None:
        return ground
    if Path(text).suffix.lower() in READERS:
        return require_surface(read_mesh(text), f"the collider {text}")
    return read_animation(text, progress=progress)


def _parse_ground(text: str) -> Ground | None:
    """The plane that "ground" or "ground:HEIGHT" names."""
    word, given, height = text.partition(":")
    if word != "ground":
        return None
    return Ground(parse_number(height, "--collider ground, its height (m)")) if given else Ground()


def parse_shell_options(
    material: dict[str, float | None], damping: str | None, plastic: str | None, undeformed: str | None,
    fixed: list[str] | None, seed: int,
) -> EnrichShellOptions:  # fmt: skip
    """The shell that options ask for; those of CLOTH and DAMPING where they say nothing."""
    given = {name: value for name, value in material.items() if value is not None}
    return EnrichShellOptions(
        MaterialShell(**(vars(DEFAULT_CLOTH_MATERIAL) | given)),
        DEFAULT_CLOTH_DAMPING if damping is None else parse_pair(damping, "--damping"),
        None
        if plastic is None
        else Plasticity(**_parse_named_numbers(plastic, "--plastic", ("yield_curvature", "hardening"), 1)),
        None if undeformed is None else parse_rest_shape(undeformed, seed),
        tuple(fixed or ()),
    )


def parse_rest_shape(text: str, seed: int = 0) -> Callable[[MeshTri], Array]:
    """A shape at rest from "KIND:SIZES [along X,Y,Z]", as a function of the mesh."""
    kind, _, rest = text.partition(":")
    name = kind.strip()
    if name not in REST_SHAPES:
        forms = ", ".join(f"{each}:{','.join(sizes).upper()}" for each, (_, sizes, _) in REST_SHAPES.items())
        raise InputError(f"--undeformed {text!r} is not known; write one of {forms}, in metres")
    make, names, directed = REST_SHAPES[name]
    sizes, along, direction = rest.partition("along")
    options: dict[str, Any] = dict(_parse_named_numbers(sizes, f"--undeformed {name}", names, len(names)))
    if along and not directed:
        raise InputError(f"--undeformed {text!r}: {name} has no direction; leave `along` out")
    if along:
        options["direction"] = parse_vector(direction, f"the direction of --undeformed {name}")
    if not directed:
        options["seed"] = seed
    return lambda mesh: make(mesh, **options)


def build_air_loads(
    mesh: MeshTri, wind: Array | None, gusts: dict[str, float], pressure: float | None, seed: int
) -> list[LoadWind | LoadPressure]:
    """The air's forces on a mesh; none where neither wind nor gusts nor pressure are asked for."""
    loads: list[LoadWind | LoadPressure] = []
    if wind is not None or gusts:
        loads.append(LoadWind(mesh, np.zeros(3) if wind is None else wind, seed=seed, **gusts))
    if pressure is not None:
        loads.append(LoadPressure(mesh, checks.require_real_number(pressure, "--pressure (Pa)")))
    return loads


def parse_gusts(text: str | None) -> dict[str, float]:
    """Strength [m/s] and, where given, scale [m] of gusts."""
    return {} if text is None else _parse_named_numbers(text, "--gusts", ("gust_speed", "gust_size"), 1)


def read_labels(path: Path, option: str) -> RegionLabels:
    """Labels from an .npy, or from a text file with one on each line: a whole number, -1 for none, or a word."""
    if path.suffix.lower() == ".npy":
        return _read_label_array(path)
    if path.suffix.lower() == ".txt":
        return [_parse_label(line) for line in read_text_lines(path)]
    raise FileError(f"{option} {path}: labels are read from .npy and .txt, one for each vertex or triangle")


def _read_label_array(path: Path) -> RegionLabels:
    try:
        found = read_array(path)
    except FileError as reason:
        said = f"{reason}; whole numbers go into an .npy, words into a .txt"
        raise FileError(f"cannot read labels from {path}: {said}") from None
    if found.ndim != 1 or found.dtype.kind not in "iuU":
        raise FileError(
            f"{path} holds {found.dtype} of shape {found.shape}, but labels are one list of whole numbers, -1 where "
            "there is none"
        )
    return found


def _parse_label(line: TextLine) -> int | str:
    word = line.text
    try:
        return int(word)
    except ValueError:
        pass
    try:
        float(word)
    except ValueError:
        return word
    raise line.build_error(f"a label is a whole number or a word, not {word!r}")


def _parse_named_numbers(text: str, option: str, names: tuple[str, ...], required_count: int) -> dict[str, float]:
    """Numbers separated by commas, by name; those after the first `least` may be missing."""
    words = text.split(",")
    if not required_count <= len(words) <= len(names):
        form = ",".join(names[:required_count]) + "".join(f"[,{name}]" for name in names[required_count:])
        raise InputError(f"{option} is {text.strip()!r}, but must be {form.upper()}: numbers separated by commas")
    return {name: parse_number(word, f"{option}, its {name}") for name, word in zip(names, words)}


def _subdivide_animation(guide: Animation, levels: int) -> Animation:
    """The same motion of the guide's mesh with every edge halved `levels` times."""
    assert isinstance(guide.mesh, MeshTri)
    fine, P = subdivide(guide.mesh, levels=levels)
    positions = np.stack([np.asarray(P @ guide.frame(frame)) for frame in range(guide.frames)])
    return Animation(fine, positions, guide.fps, start_frame=guide.start_frame, name=guide.name)


# what can be said of a scene; all else it has by itself
ALLOWED_SCENE_OPTIONS = {
    "source", "material", "dt", "newton", "frames", "gravity", "collisions", "friction", "distance", "output",
    "left_alone", "as_json",
}  # fmt: skip


def is_enrich_scene(source: str) -> bool:
    """Whether a source names a scene to enrich. Raises InputError for what can be no file either."""
    if source in list_enrich_scene_names():
        return True
    if not Path(source).suffix:
        known = ", ".join(list_enrich_scene_names())
        raise InputError(f"{source!r} is no scene to enrich ({known}) and no file; files have a suffix")
    return False


def check_scene_options(source: str, given_options: Iterable[str]) -> None:
    """Raise InputError for the first option, by its name in Python, that a scene has no use for, or a file."""
    if not is_enrich_scene(source):
        if "material" in given_options:
            raise InputError(
                f"--material is for scenes; what {source} becomes is said by --young, --thickness and so on"
            )
        return
    for name in given_options:
        if name not in ALLOWED_SCENE_OPTIONS:
            raise InputError(f"--{name.replace('_', '-')} is the scene's own; leave it out, or give a file")


def run_enrich_scene(
    name: str, material: str | None, settings: dict[str, Any], progress: ProgressCallback
) -> tuple[Animation, BodyShell, EnrichResult, dict[str, Any]]:
    """The guide, the shell, what became of it, and keywords for pictures of that.

    settings: keywords for `enrich`, in place of the scene's own; its colliders take part where there are collisions.
    """
    scene = load_enrich_scene(name, progress=build_subprogress(progress, 0.0, 0.1))
    if material is not None:
        checks.require_choice(material, "--material", tuple(scene.variants))
    result = scene.solve(material, progress=build_subprogress(progress, 0.1, 1.0), **settings)
    return scene.guide, scene.get_variant(material).shell, result, build_picture_options(scene, material)


def describe_enrich(source: str, guide: Animation, cloth: BodyShell, result: EnrichResult) -> dict[str, Any]:
    """The result of a source in numbers."""
    report, motion = result.report, result.animation
    return {
        "source": source,
        "guide_vertices": guide.n,
        "guide_frames": guide.frames,
        "vertices": motion.n,
        "triangles": len(cloth.mesh.triangles),
        "fixed": len(cloth.fixed),
        "mass_kg": cloth.total_mass,
        "regions": report.regions,
        "frames": motion.frames,
        "fps": motion.fps,
        "steps": report.steps,
        "newton_iterations": report.newton_iterations,
        "residual_sizes": report.residual,
        "gentleness_rms_weights": report.mean_gentleness,
        "gentleness_largest_weights": float(report.gentleness.max()),
        "gentleness_worst_frame": report.worst_frame,
        "yielded_edges": int((abs(result.cloth.plastic_angles) > 0).sum()),
        "edges": len(result.cloth.plastic_angles),
        "plastic": cloth.plasticity is not None,
        "collisions": None if report.collisions is None else asdict(report.collisions),
        "seconds": report.seconds,
        "notes": [*guide.mesh.notes, *map(translate_message, report.notes)],
    }


def format_enrich_rows(document: dict[str, Any]) -> dict[str, str]:
    """A document in words, a line each."""
    d = document
    rms, most = d["gentleness_rms_weights"], d["gentleness_largest_weights"]
    rows = {
        "guide": f"{d['guide_vertices']} vertices, {d['guide_frames']} frames",
        "shell": f"{d['vertices']} vertices, {d['triangles']} triangles, {d['mass_kg']:.4g} kg, "
        f"{d['fixed'] or 'no'} vertices held",
        "follows": f"in the means of {d['regions']} regions, |g| at most {d['residual_sizes']:.2g} of its size"
        if d["regions"]
        else f"nothing, left alone: its means are up to {d['residual_sizes']:.2g} of its size off the guide's",
        "gentleness": f"led with {rms:.3g} weights (rms), {most:.3g} at most (frame {d['gentleness_worst_frame']})",
        "motion": f"{d['frames']} frames at {d['fps']:.4g} frames/s, {d['steps']} steps, {d['newton_iterations']} "
        "linear solves",
    }
    if d["plastic"]:
        rows["folds"] = f"{d['yielded_edges']} of {d['edges']} edges stay bent"
    if d["collisions"]:
        c = d["collisions"]
        rows["collisions"] = (
            f"{c['kind']}, {c['contacts']} contacts at most, {c['truncations']} steps cut short, {c['intersections']} "
            "frames with intersections"
        )
    rows["took"] = f"{d['seconds']:.2f} s"
    rows["written"] = format_written_files(d["outputs"])
    return rows | format_note_rows(d["notes"])
