"""`cajole reroute`: lead nodes of a mass-spring simulation along new paths."""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation, read_animation
from cajole.body import BodySprings
from cajole.checks import OptionalPackage
from cajole.cli.command_options import RerouteCommandOptions
from cajole.cli.files import require_writable, write_results
from cajole.cli.output import format_note_rows, format_written_files, print_summary, show_progress
from cajole.cli.parsers import (
    parse_gravity,
    parse_number,
    parse_seconds,
    parse_vector,
    select_animation_vertices,
    select_vertex_union,
    translate_errors,
)
from cajole.direct.rerouting import Goal, GoalReport, ImageSection, RerouteResult, build_image_goals
from cajole.direct.rerouting import reroute as solve_paths
from cajole.direct.rerouting.contours import SCIKIT_IMAGE
from cajole.direct.rerouting.report import MethodSummary
from cajole.dynamics import simulate
from cajole.errors import FileError, InputError, MissingExtra
from cajole.mesh import MeshLine, MeshTet, MeshTri, read_mesh
from cajole.mesh.files import READERS
from cajole.progress import ProgressCallback, build_subprogress
from cajole.scenes.reroute_scenes import (
    RerouteScene,
    list_reroute_scene_names,
    load_reroute_scene,
    require_scene_packages,
)
from cajole.storage import READ_ERRORS, open_regular_file, read_array

_GOAL_SYNTAX = 'WHERE:FRAME:X,Y,Z, as in "7:60:0.1,0,0.4", or "7:60:+0,0,0.1" from where it is in the pilot'
_GREY_MODES = ("1", "L", "I", "F", "I;16", "I;16B", "I;16L")  # of Pillow
PILLOW = OptionalPackage(("PIL",), "pillow", "viz", "images as .png")


def reroute(options: RerouteCommandOptions) -> None:
    """Run a pilot again with nodes led to goals, and write the second run."""
    outputs, pilot_file = options.output or [], options.pilot
    require_writable([*outputs, *([pilot_file] if pilot_file else [])])
    if options.images is not None:
        SCIKIT_IMAGE.require()
        if any(path.suffix.lower() == ".png" for path in find_images(options.images)):
            PILLOW.require()
    require_scene_packages(options.source)
    with translate_errors(), show_progress(options.source) as progress:
        scene = _load_scene(options, progress)
        goals = _collect_goals(options, scene)
        given = {"within": options.within, "limit": options.limit, "reach": options.reach}
        keywords = {**scene.reroute_options, **{name: x for name, x in given.items() if x is not None}}
        result = solve_paths(
            scene.net, scene.pilot, goals, options.method, compare=options.compare, progress=progress, **keywords
        )
        write_results(result.animation, outputs, camera=scene.camera, progress=progress)
        if pilot_file is not None:
            write_results(scene.pilot, [pilot_file], camera=scene.camera, progress=progress)
    document = _describe_reroute(options.source, scene, result)
    document["outputs"] = [str(path) for path in (*outputs, pilot_file) if path is not None]
    print_summary(f"Rerouted {options.source}", document, _format_rows(document))


def _load_scene(options: RerouteCommandOptions, progress: ProgressCallback) -> RerouteScene:
    """The named scene, or one built of a file. Raises InputError for options that the source does not take."""
    source, names = options.source, list_reroute_scene_names()
    springs = [name for name in ("stiffness", "mass", "damping", "clamp", "fixed") if name in options.given]
    simulation = [name for name in ("frames", "dt", "gravity") if name in options.given]
    if source in names:
        if springs or simulation:
            raise InputError(f"--{(springs + simulation)[0]} is the scene's own; leave it out, or give a file")
        return load_reroute_scene(source, progress=build_subprogress(progress, 0.0, 0.1))
    path = Path(source)
    if not path.suffix:
        raise InputError(f"{source!r} is no scene to reroute ({', '.join(names)}) and no file; files have a suffix")
    if path.suffix.lower() in READERS:
        net = _build_net(options, read_mesh(path))
        pilot = simulate(
            net,
            120 if options.frames is None else options.frames,
            parse_seconds(options.dt or "1/60", "--dt"),
            gravity=parse_gravity(options.gravity or "9.81"),
            integrator="bdf2",
            progress=build_subprogress(progress, 0.0, 0.3),
        )
        pilot = replace(pilot, name=path.stem)
    else:
        if simulation:
            raise InputError(f"--{simulation[0]} is for a mesh; {path} moves already, and its forces are found with it")
        pilot = read_animation(path, progress=build_subprogress(progress, 0.0, 0.1))
        net = _build_net(options, pilot.mesh)
    return RerouteScene(path.stem, path.name, "", net, pilot, ())


def _build_net(options: RerouteCommandOptions, mesh: MeshTri | MeshTet | MeshLine) -> BodySprings:
    defaults = {"stiffness": 100.0, "mass": 1.0, "damping": 0.05, "clamp": 0.02}
    springs = {
        name: value if getattr(options, name) is None else getattr(options, name) for name, value in defaults.items()
    }
    vertex_mass = springs["mass"] / len(mesh.vertices)
    fixed = select_vertex_union(options.fixed or [], mesh, {})
    return BodySprings.from_mesh(mesh, fixed=fixed, **{**springs, "mass": vertex_mass})


def _collect_goals(options: RerouteCommandOptions, scene: RerouteScene) -> list[Goal]:
    """Goals of --goal and --images, otherwise those of the scene; --window replaces their windows."""
    image_goals = _find_image_goals(options, scene.pilot)
    if not (options.goal or scene.goals or image_goals):
        raise InputError(
            f"nothing is led: say where a vertex shall be with --goal {_GOAL_SYNTAX}, or show it with --images"
        )
    goals = [*(goal for text in options.goal or [] for goal in _parse_goal(text, scene.pilot)), *image_goals]
    goals = goals or list(scene.goals)
    return goals if options.window is None else [replace(goal, window=options.window) for goal in goals]


def _parse_goal(text: str, pilot: Animation) -> list[Goal]:
    parts = text.split(":")
    if len(parts) != 3 or not parts[1].strip().isdecimal():
        raise InputError(f"goal {text!r} is not understood; write {_GOAL_SYNTAX}")
    vertices, frame, word = select_animation_vertices(parts[0], pilot, {}), int(parts[1]), parts[2].strip()
    position = parse_vector(word.removeprefix("+"), f"the place of goal {text!r}")
    if not word.startswith("+"):
        if len(vertices) > 1:
            raise InputError(f"goal {text!r}: {len(vertices)} vertices cannot all be in one place; write +X,Y,Z")
        return [Goal(int(vertices[0]), frame, position)]
    if frame >= pilot.frames:
        raise InputError(f"goal {text!r}: the pilot has {pilot.frames} frames, counted from 0")
    return [Goal(int(v), frame, pilot.positions[frame, v] + position) for v in vertices]


def _find_image_goals(options: RerouteCommandOptions, pilot: Animation) -> list[Goal]:
    """Goals that make the body's section match the images; none without images. Raises InputError, FileError."""
    if options.images is None:
        for name in ("at", "section", "align", "level", "every"):
            if name in options.given:
                raise InputError(f"--{name} is about images; say where they are with --images")
        return []
    paths = find_images(options.images)
    frames = _parse_image_frames(options.at, paths)
    images = [read_grey_image(path) for path in paths]
    given = {"every": options.every, "align": options.align, "level": options.level, "window": options.window}
    keywords: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    try:
        return list(build_image_goals(pilot, images, frames, _parse_section(options.section), **keywords).goals)
    except InputError as reason:  # the library knows indices of images, the command line file names
        message = re.sub(r"^frames\[", "--at[", str(reason))
        message = re.sub(r"images\[(\d+)\]", lambda found: paths[int(found[1])].name, message)
        raise InputError(message) from None


def find_images(folder_or_pattern: str) -> list[Path]:
    """The .png and .npy images of a folder or a pattern, in natural order: scan2 before scan10."""

    def build_sort_key(path: Path) -> list[tuple[int, str]]:
        return [(int(word), "") if word.isdigit() else (-1, word) for word in re.split(r"(\d+)", path.name)]

    place = Path(folder_or_pattern)
    paths = [Path(path) for path in glob.glob(str(place / "*" if place.is_dir() else place))]
    images = sorted((path for path in paths if path.suffix.lower() in (".png", ".npy")), key=build_sort_key)
    if not images:
        raise FileError(
            f"--images {folder_or_pattern}: no .png or .npy file is there; give a folder, or a pattern in quotes"
        )
    return images


def read_grey_image(path: Path) -> NDArray[Any]:
    """Read a grey image (height, width). Raises FileError for unreadable files, InputError for colour images."""
    try:
        if path.suffix.lower() == ".npy":
            return read_array(path)
        PILLOW.require()
        from PIL import Image

        # Pillow itself refuses images that unpack to excessive sizes
        with open_regular_file(path) as stream, Image.open(stream) as image:
            mode = image.mode
            pixels = np.asarray(image, dtype=np.float64) if mode in _GREY_MODES else None
    except MissingExtra:
        raise
    except (FileError, *READ_ERRORS) as reason:
        raise FileError(f"{path} cannot be read as an image ({reason}); write it anew") from None
    if pixels is None:
        raise InputError(f"{path} has colours ({mode}); save it in grey")
    return pixels


def _parse_image_frames(text: str | None, paths: Sequence[Path]) -> list[int]:
    words = [] if text is None else text.split(",")
    if not words or not all(word.strip().isdecimal() for word in words):
        raise InputError(f"--at must be the frame of each of the {len(paths)} images, as in 16,28,40")
    if len(words) != len(paths):
        names = ", ".join(path.name for path in paths[:6])
        raise InputError(f"--at has {len(words)} frames, but there are {len(paths)} images ({names}); give one a frame")
    return [int(word) for word in words]


def _parse_section(text: str | None) -> ImageSection:
    """Parse the plane of images: centre of the upper left pixel, directions of rows and against columns, pixel size."""
    syntax = 'ORIGIN:RIGHT:UP:PIXEL, as in "-0.06,0,0.06:1,0,0:0,0,1:0.001"'
    if text is None:
        raise InputError(f"--section is missing: say where the images lie, {syntax}")
    parts = text.split(":")
    if len(parts) != 4:
        raise InputError(f"--section is {text!r}, but must say where the images lie: {syntax}")
    origin, right, up = (parse_vector(part, "--section") for part in parts[:3])
    return ImageSection(origin, right, up, parse_number(parts[3], "the pixel of --section"))


def _describe_reroute(source: str, scene: RerouteScene, result: RerouteResult) -> dict[str, Any]:
    report, net = result.report, scene.net
    notes = [f"vertex {goal.vertex} at frame {goal.frame}: {note}" for goal in report.goals for note in goal.notes]
    return {
        "subject": source,
        "vertices": net.vertex_count,
        "springs": len(net.edges),
        "fixed": len(net.fixed),
        "mass_kg": net.total_mass,
        "method": report.method,
        "frames": result.animation.frames,
        "fps": result.animation.fps,
        "within_m": report.within,
        "limit_N": report.limit,
        "reach_m": report.reach,
        "reached": report.reached_count,
        "effort_N2s": report.effort,
        "peak_N": report.peak_force,
        "gentleness_rms_weights": report.mean_gentleness,
        "gentleness_largest_weights": float(report.gentleness.max()),
        "goals": [_describe_goal(goal) for goal in report.goals],
        "compared": {name: _describe_method(method) for name, method in report.comparison.items()},
        "seconds": report.seconds,
        "notes": [*scene.pilot.mesh.notes, *notes],
    }


def _describe_goal(goal: GoalReport) -> dict[str, Any]:
    """A goal without its notes, which are among those of the run."""
    similarity = goal.similarity
    return {
        "number": goal.goal_index,
        "vertex": goal.vertex,
        "frame": goal.frame,
        "start": goal.start_frame,
        "offset_m": goal.pilot_distance,
        "error_m": goal.error,
        "closest_m": goal.closest_distance,
        "closest_frame": goal.closest_frame,
        "speed_m_per_s": goal.arrival_speed,
        "pilot_speed_m_per_s": goal.pilot_speed,
        "likeness": {
            "stepping": similarity.step_length_variation,
            "turning": similarity.turning_correlation,
            "shape": similarity.shape_distance,
            "turned_rad": similarity.max_turning_difference,
        },
        "why": goal.failure_reason,
        "reached": goal.is_successful,
        "told": str(goal),
    }


def _describe_method(method: MethodSummary) -> dict[str, Any]:
    return {
        "effort_N2s": method.effort,
        "peak_N": method.peak_force,
        "error_m": method.max_error,
        "reached": method.reached_count,
        "shape": method.max_shape_distance,
    }


def _format_rows(document: dict[str, Any]) -> dict[str, str]:
    d = document
    most = "" if d["limit_N"] is None else f" of {d['limit_N']:.3g} allowed"
    rms, largest = d["gentleness_rms_weights"], d["gentleness_largest_weights"]
    rows = {
        "net": f"{d['vertices']} vertices, {d['springs']} springs, {d['mass_kg']:.4g} kg, {d['fixed'] or 'none'} held",
        "reached": f"{d['reached']} of {len(d['goals'])} goals within {d['within_m']:.3g} m, by {d['method']}",
        "goals": "\n".join(goal["told"] for goal in d["goals"]),
        "effort": f"{d['effort_N2s']:.3g} N² s, {d['peak_N']:.3g} N on a vertex at most{most}",
        "gentleness": f"{rms:.3g} weights (rms while led), {largest:.3g} at most",
    }
    for name, other in d["compared"].items():
        rows[f"by {name}"] = (
            f"{other['reached']} reached, effort {other['effort_N2s']:.3g} N² s, peak {other['peak_N']:.3g} N, "
            f"shape off by {other['shape']:.2g}"
        )
    rows |= format_note_rows(d["notes"])
    return rows | {"took": f"{d['seconds']:.2f} s", "written": format_written_files(d["outputs"])}
