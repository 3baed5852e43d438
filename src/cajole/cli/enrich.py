"""`cajole enrich`: let a thin shell with folds follow a rough animation on average."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
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
from cajole.cli.command_options import EnrichCommandOptions
from cajole.cli.files import require_writable, write_results
from cajole.cli.output import format_note_rows, format_written_files, print_summary, show_progress
from cajole.cli.parsers import (
    parse_gravity,
    parse_named_numbers,
    parse_number,
    parse_pair,
    parse_seconds,
    parse_vector,
    select_vertex_union,
    translate_errors,
    translate_message,
)
from cajole.direct import enrich as solve_shell
from cajole.direct.enriching import EnrichResult, Regions, regions_clustered, regions_painted, regions_subdivided
from cajole.direct.enriching.collisions.stepper import COLLISION_METHODS
from cajole.direct.enriching.collisions.world import IPCTK
from cajole.direct.enriching.guide import extract_guide
from cajole.dynamics import Ground
from cajole.errors import FileError, InputError
from cajole.mesh import MeshTet, MeshTri, read_mesh, subdivide
from cajole.mesh.files import READERS
from cajole.mesh.formats.text_lines import TextLine, read_text_lines
from cajole.mesh.line import require_surface
from cajole.progress import ProgressCallback, build_subprogress
from cajole.scenes.enrich_scenes import build_picture_options, list_enrich_scene_names, load_enrich_scene
from cajole.storage import read_array

RegionLabels = NDArray[Any] | list[int | str]


def enrich(options: EnrichCommandOptions) -> None:
    """Enrich a guide or a scene and write the motion of the shell."""
    outputs = options.output or []
    require_writable(outputs)
    is_scene = _is_enrich_scene(options)
    _check_collision_options(options)
    stepping = _parse_step_options(options)
    if is_scene:
        name = options.source
        with translate_errors(), show_progress(name) as progress:
            guide, cloth, result, camera = _solve_scene(options, stepping, progress)
            write_results(result.animation, outputs, camera=camera, progress=progress)
    else:
        _check_region_options(options)
        with translate_errors():
            build_shell = _parse_shell(options)
        wind = None if options.wind is None else parse_vector(options.wind, "--wind")
        gusts = (
            {}
            if options.gusts is None
            else parse_named_numbers(options.gusts, "--gusts", ("gust_speed", "gust_size"), 1)
        )
        name = Path(options.source).name
        with translate_errors(), show_progress(name) as progress:
            guide = _read_guide(options, progress)
            followed, regions = _build_regions(options, guide, progress)
            cloth = build_shell(regions.fine_mesh)
            forces: list[LoadWind | LoadPressure] = []
            if wind is not None or gusts:
                air = np.zeros(3) if wind is None else wind
                forces.append(LoadWind(cloth.mesh, air, seed=options.seed, **gusts))
            if options.pressure is not None:
                pressure = checks.require_real_number(options.pressure, "--pressure (Pa)")
                forces.append(LoadPressure(cloth.mesh, pressure))
            collisions = _load_collision_keywords(options, progress)
            result = solve_shell(followed, cloth, regions, forces=forces, progress=progress, **stepping, **collisions)
            write_results(result.animation, outputs, camera={}, progress=progress)
    document = _describe_enrich(options.source, guide, cloth, result) | {"outputs": [str(path) for path in outputs]}
    print_summary(f"Enriched {name}", document, _format_rows(document))


def _is_enrich_scene(options: EnrichCommandOptions) -> bool:
    """True if the source names a scene. Raises InputError for unknown names, and for options that the source lacks."""
    source, names = options.source, list_enrich_scene_names()
    if source in names:
        accepted = {
            "source", "material", "dt", "newton", "frames", "gravity", "collisions", "friction", "distance", "output",
            "left_alone",
        }  # fmt: skip
        refused = [name for name in vars(options) if name in options.given - accepted]
        if refused:
            raise InputError(f"--{refused[0].replace('_', '-')} is the scene's own; leave it out, or give a file")
        return True
    if not Path(source).suffix:
        raise InputError(f"{source!r} is no scene to enrich ({', '.join(names)}) and no file; files have a suffix")
    if options.material is not None:
        raise InputError(f"--material is for scenes; what {source} becomes is said by --young, --thickness and so on")
    return False


def _check_collision_options(options: EnrichCommandOptions) -> None:
    if options.collisions is not None:
        checks.require_choice(options.collisions, "--collisions", COLLISION_METHODS)
        IPCTK.require()
    elif options.collider or options.friction is not None or options.distance is not None:
        raise InputError("--collider, --friction and --distance are for collisions; say --collisions fast, or exact")
    for text in options.collider or []:
        if _parse_ground(text) is None and Path(text).suffix.lower() not in (*READERS, *FORMATS):
            raise InputError(
                f'--collider {text!r} must be "ground", "ground:HEIGHT", a mesh file ({" ".join(READERS)}) or an '
                f"animation ({' '.join(FORMATS)})"
            )


def _parse_step_options(options: EnrichCommandOptions) -> dict[str, Any]:
    """Keywords of `enrich` for time steps, gravity and tracking, those that are given."""
    keywords: dict[str, Any] = {}
    if options.dt is not None:
        keywords["dt"] = checks.require_positive(parse_seconds(options.dt, "--dt"), "--dt")
    if options.newton is not None:
        keywords["newton"] = checks.require_integer(options.newton, "--newton")
    if options.frames is not None:
        keywords["frames"] = checks.require_integer(options.frames, "--frames")
    if options.gravity is not None:  # "none" replaces the gravity of a scene
        keywords["gravity"] = parse_gravity(options.gravity)
    return keywords | ({"tracked": False} if options.left_alone else {})


def _load_collision_keywords(options: EnrichCommandOptions, progress: ProgressCallback) -> dict[str, Any]:
    """Keywords of `enrich` for collisions, with the files of colliders read."""
    if options.collisions is None:
        return {}
    given = {"friction": options.friction, "distance": options.distance}
    return {
        "collisions": options.collisions,
        "colliders": [_load_collider(text, progress) for text in options.collider or []],
        **{name: value for name, value in given.items() if value is not None},
    }


def _load_collider(text: str, progress: ProgressCallback) -> Ground | MeshTri | MeshTet | Animation:
    ground = _parse_ground(text)
    if ground is not None:
        return ground
    if Path(text).suffix.lower() in READERS:
        return require_surface(read_mesh(text), f"the collider {text}")
    return read_animation(text, progress=progress)


def _parse_ground(text: str) -> Ground | None:
    """The plane of "ground" or "ground:HEIGHT"; None for other texts."""
    word, given, height = text.partition(":")
    if word != "ground":
        return None
    return Ground(parse_number(height, "--collider ground, its height (m)")) if given else Ground()


def _solve_scene(
    options: EnrichCommandOptions, stepping: dict[str, Any], progress: ProgressCallback
) -> tuple[Animation, BodyShell, EnrichResult, dict[str, Any]]:
    """Guide, shell and result of a scene, and the keywords of its pictures; colliders are those of the scene."""
    scene = load_enrich_scene(options.source, progress=build_subprogress(progress, 0.0, 0.1))
    material = options.material
    if material is not None:
        checks.require_choice(material, "--material", tuple(scene.variants))
    collisions = _load_collision_keywords(options, progress)
    collisions.pop("colliders", None)
    result = scene.solve(material, progress=build_subprogress(progress, 0.1, 1.0), **stepping, **collisions)
    return scene.guide, scene.get_variant(material).shell, result, build_picture_options(scene, material)


def _read_guide(options: EnrichCommandOptions, progress: ProgressCallback) -> Animation:
    prim = {} if options.prim is None else {"prim": options.prim}
    animation = read_animation(options.source, mesh=options.mesh, fps=options.fps, progress=progress, **prim)
    return extract_guide(animation)


def _check_region_options(options: EnrichCommandOptions) -> None:
    """Raise InputError for options of regions that contradict each other."""
    paint = (options.paint_guide, options.paint_fine)
    is_subdivided, is_clustered = options.subdivide is not None, options.clusters is not None
    if options.fine is None and any((*paint, options.paint_on)):
        raise InputError("paint joins the guide to another mesh; name it with --fine")
    if options.fine is not None and not all(paint):
        raise InputError(
            "--fine needs paint that says what belongs together: a file of labels with --paint-guide, and one with "
            "--paint-fine"
        )
    if options.fine is not None and (is_subdivided or is_clustered):
        raise InputError("--fine is a mesh of its own, with painted regions; leave out --subdivide and --clusters")
    if options.fine is None and not is_subdivided and not is_clustered:
        raise InputError(
            "which averages shall the shell share with its guide? --subdivide 3 makes it from the guide's own "
            "triangles, --clusters 50 leads patches of them, --fine takes another mesh, with --paint-guide and "
            "--paint-fine"
        )
    if options.mu is not None and not is_clustered:
        raise InputError("--mu is for patches; say how many with --clusters")
    if options.subdivide is not None:
        checks.require_integer(options.subdivide, "--subdivide", maximum=16)
    if options.clusters is not None:
        checks.require_integer(options.clusters, "--clusters")
    _parse_label_elements(options.paint_on)
    checks.require_integer(options.seed, "--seed", minimum=0)


def _parse_label_elements(text: str | None) -> tuple[str | None, str | None]:
    """The elements, vertices or triangles, that the labels of the guide and of the fine mesh refer to, if given."""
    if text is None:
        return None, None
    words = text.split(",")
    if len(words) > 2:
        raise InputError(f"--paint-on is {text!r}, but must be one word, or one of the guide and one of --fine")
    guide, fine = (
        checks.require_choice(word.strip(), "--paint-on", ("vertices", "triangles")) for word in (words[0], words[-1])
    )
    return guide, fine


def _build_regions(
    options: EnrichCommandOptions, guide: Animation, progress: ProgressCallback
) -> tuple[Animation, Regions]:
    """The guide that is followed, subdivided for patches of the finer mesh, and the regions."""
    mesh = guide.mesh
    assert isinstance(mesh, MeshTri)
    if options.fine is not None:
        return guide, _build_painted_regions(options, mesh, options.fine)
    if options.clusters is None:
        return guide, regions_subdivided(mesh, options.subdivide or 1)[1]
    followed = guide
    if options.subdivide is not None:
        fine, P = subdivide(mesh, levels=options.subdivide)
        positions = np.stack([np.asarray(P @ guide.frame(frame)) for frame in range(guide.frames)])
        followed = Animation(fine, positions, guide.fps, start_frame=guide.start_frame, name=guide.name)
    mu: dict[str, Any] = {} if options.mu is None else {"mu": options.mu}
    return followed, regions_clustered(followed, options.clusters, seed=options.seed, progress=progress, **mu)


def _build_painted_regions(options: EnrichCommandOptions, mesh: MeshTri, file: Path) -> Regions:
    assert options.paint_guide is not None
    assert options.paint_fine is not None
    fine = read_mesh(file)
    if not isinstance(fine, MeshTri):
        raise InputError(f"--fine {file} holds tets, but a shell is made of triangles; write its surface")
    guide_labels = read_labels(options.paint_guide, "--paint-guide")
    fine_labels = read_labels(options.paint_fine, "--paint-fine")
    guide_on, fine_on = _parse_label_elements(options.paint_on)
    for painted, elements, path in ((mesh, guide_on, options.paint_guide), (fine, fine_on, options.paint_fine)):
        if elements is None and len(painted.vertices) == len(painted.triangles):
            raise InputError(
                f"{path}: its mesh has as many vertices as triangles, so that labels could be of either; say "
                "--paint-on vertices or --paint-on triangles"
            )
    return regions_painted(mesh, guide_labels, fine, fine_labels, guide_labels_on=guide_on, fine_labels_on=fine_on)


def read_labels(path: Path, option: str) -> RegionLabels:
    """Read labels from an .npy, or from a .txt with one per line: an integer, -1 for none, or a word."""
    suffix = path.suffix.lower()
    if suffix == ".txt":
        return [_parse_label(line) for line in read_text_lines(path)]
    if suffix != ".npy":
        raise FileError(f"{option} {path}: labels are read from .npy and .txt, one for each vertex or triangle")
    try:
        labels = read_array(path)
    except FileError as reason:
        message = f"{reason}; whole numbers go into an .npy, words into a .txt"
        raise FileError(f"cannot read labels from {path}: {message}") from None
    if labels.ndim != 1 or labels.dtype.kind not in "iuU":
        raise FileError(
            f"{path} holds {labels.dtype} of shape {labels.shape}, but labels are one list of whole numbers, -1 where "
            "there is none"
        )
    return labels


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


def _parse_shell(options: EnrichCommandOptions) -> Callable[[MeshTri], BodyShell]:
    """The shell that the options describe, as a function of its mesh; by default a light, damped cotton cloth."""
    names = ("young", "poisson", "thickness", "density")
    given = {name: getattr(options, name) for name in names if getattr(options, name) is not None}
    material = MaterialShell(**{"young": 2e4, "thickness": 2e-3, "density": 300.0, **given})
    damping = (0.5, 1e-3) if options.damping is None else parse_pair(options.damping, "--damping")
    plasticity = None
    if options.plastic is not None:
        numbers = parse_named_numbers(options.plastic, "--plastic", ("yield_curvature", "hardening"), 1)
        plasticity = Plasticity(**numbers)
    shape = None if options.undeformed is None else parse_rest_shape(options.undeformed, options.seed)

    def build_shell(mesh: MeshTri) -> BodyShell:
        return BodyShell(
            mesh,
            material,
            fixed=select_vertex_union(options.fixed or [], mesh, {}),
            damping=damping,
            undeformed=None if shape is None else shape(mesh),
            plasticity=plasticity,
        )

    return build_shell


def parse_rest_shape(text: str, seed: int = 0) -> Callable[[MeshTri], Array]:
    """Parse "KIND:SIZES [along X,Y,Z]" as a function of the mesh that returns its stress-free shape (n, 3) [m]."""
    shapes: dict[str, tuple[Callable[..., Array], tuple[str, ...], bool]] = {  # builder, sizes, has a direction
        "accordion": (build_accordion, ("amplitude", "wavelength"), True),
        "ridges": (build_ridges, ("height", "spacing", "width"), True),
        "crinkle": (build_crinkle, ("amplitude", "scale"), False),
    }
    kind, _, rest = text.partition(":")
    name = kind.strip()
    if name not in shapes:
        forms = ", ".join(f"{each}:{','.join(sizes).upper()}" for each, (_, sizes, _) in shapes.items())
        raise InputError(f"--undeformed {text!r} is not known; write one of {forms}, in metres")
    build, names, is_directed = shapes[name]
    sizes, along, direction = rest.partition("along")
    keywords: dict[str, Any] = dict(parse_named_numbers(sizes, f"--undeformed {name}", names, len(names)))
    if along and not is_directed:
        raise InputError(f"--undeformed {text!r}: {name} has no direction; leave `along` out")
    if along:
        keywords["direction"] = parse_vector(direction, f"the direction of --undeformed {name}")
    if not is_directed:
        keywords["seed"] = seed
    return lambda mesh: build(mesh, **keywords)


def _describe_enrich(source: str, guide: Animation, cloth: BodyShell, result: EnrichResult) -> dict[str, Any]:
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


def _format_rows(document: dict[str, Any]) -> dict[str, str]:
    d = document
    rms, most = d["gentleness_rms_weights"], d["gentleness_largest_weights"]
    rows = {
        "guide": f"{d['guide_vertices']} vertices, {d['guide_frames']} frames",
        "shell": f"{d['vertices']} vertices, {d['triangles']} triangles, {d['mass_kg']:.4g} kg, "
        f"{d['fixed'] or 'no'} vertices held",
        "follows": f"in the means of {d['regions']} regions, |g| at most {d['residual_sizes']:.2g} of its size"
        if d["regions"]
        else f"nothing, without tracking: its means are up to {d['residual_sizes']:.2g} of its size off the guide's",
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
    rows |= {"took": f"{d['seconds']:.2f} s", "written": format_written_files(d["outputs"])}
    return rows | format_note_rows(d["notes"])
