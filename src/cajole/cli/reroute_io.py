"""What `cajole reroute` is asked for and tells: nets and pilots of scenes and files, goals as text, the report."""

from __future__ import annotations

import glob
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cajole.animation import Animation, read_animation
from cajole.body import BodySprings
from cajole.checks import OptionalPackage
from cajole.cli.body_summary import format_note_rows
from cajole.cli.edit_parser import EditOperationParser
from cajole.cli.force_parsers import parse_gravity as acceleration
from cajole.cli.json_documents import add_units
from cajole.cli.number_parsers import parse_number, parse_seconds, parse_vector
from cajole.cli.output import format_written_files
from cajole.direct.rerouting import Goal, GoalReport, ImageSection, RerouteResult, build_image_goals
from cajole.direct.rerouting.contours import SCIKIT_IMAGE
from cajole.dynamics import simulate
from cajole.errors import FileError, InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri, read_mesh
from cajole.mesh.files import READERS
from cajole.progress import ProgressCallback, build_subprogress
from cajole.scenes import select_vertices
from cajole.scenes.reroute_scenes import RerouteScene, list_reroute_scene_names, load_reroute_scene
from cajole.storage import READ_ERRORS, open_regular_file, read_array

GOAL_SYNTAX = 'WHERE:FRAME:X,Y,Z, as in "7:60:0.1,0,0.4", or "7:60:+0,0,0.1" from where it is in the pilot'
# of numbers of goals and methods, behind their names
REPORT_UNITS = {
    "offset": "m", "error": "m", "closest": "m", "speed": "m_per_s", "pilot_speed": "m_per_s", "turned": "rad",
    "effort": "N2s", "peak": "N",
}  # fmt: skip
# of the pilot of a mesh, where nothing else is said
DEFAULT_PILOT_FRAMES = 120
# of springs made from a mesh, where nothing else is said: N/m, kg of all, N s/m, and the clamp of folds
DEFAULT_SPRINGS = {"stiffness": 100.0, "mass": 1.0, "damping": 0.05, "clamp": 0.02}


@dataclass(frozen=True)
class RerouteSourceOptions:
    """The source and what is said about its springs and its pilot; None where nothing is."""

    source: str
    springs: Mapping[str, float | None]
    fixed: tuple[str, ...]
    frames: int | None
    dt: str | None
    gravity: str | None

    def load_scene(self, progress: ProgressCallback) -> RerouteScene:
        """The scene of that name, or one made of a file. Raises InputError for options that it has no use for."""
        given = [name for name, value in self.springs.items() if value is not None] + ["fixed"] * bool(self.fixed)
        run = [name for name in ("frames", "dt", "gravity") if getattr(self, name) is not None]
        if self.source in list_reroute_scene_names():
            if given or run:
                raise InputError(f"--{(given + run)[0]} is the scene's own; leave it out, or give a file")
            return load_reroute_scene(self.source, progress=build_subprogress(progress, 0.0, 0.1))
        path = Path(self.source)
        if not path.suffix:
            known = ", ".join(list_reroute_scene_names())
            raise InputError(f"{self.source!r} is no scene to reroute ({known}) and no file; files have a suffix")
        if path.suffix.lower() in READERS:
            return self._simulate_mesh(path, progress)
        if run:
            raise InputError(f"--{run[0]} is for a mesh; {path} moves already, and its forces are found with it")
        pilot = read_animation(path, progress=build_subprogress(progress, 0.0, 0.1))
        return _build_scene(path, self._build_net(pilot.mesh), pilot)

    def _simulate_mesh(self, path: Path, progress: ProgressCallback) -> RerouteScene:
        """A mesh that falls: its pilot is simulated."""
        net = self._build_net(read_mesh(path))
        pilot = simulate(
            net,
            DEFAULT_PILOT_FRAMES if self.frames is None else self.frames,
            parse_seconds(self.dt or "1/60", "--dt"),
            gravity=acceleration(self.gravity or "9.81"),
            integrator="bdf2",
            progress=build_subprogress(progress, 0.0, 0.3),
        )
        return _build_scene(path, net, replace(pilot, name=path.stem))

    def _build_net(self, mesh: MeshTri | MeshTet | MeshLine) -> BodySprings:
        said = DEFAULT_SPRINGS | {name: value for name, value in self.springs.items() if value is not None}
        held = np.unique(
            np.concatenate([np.empty(0, np.int64), *(select_vertices(text, mesh, {}) for text in self.fixed)])
        )
        each = said["mass"] / len(mesh.vertices)
        return BodySprings.from_mesh(mesh, fixed=held, **{**said, "mass": each})


def _build_scene(path: Path, net: BodySprings, pilot: Animation) -> RerouteScene:
    return RerouteScene(path.stem, path.name, "", net, pilot, ())


def collect_goals(
    texts: list[str],
    pilot: Animation,
    scene_goals: Sequence[Goal],
    window: int | None,
    image_goals: Sequence[Goal] = (),
) -> list[Goal]:
    """Goals from their texts and those `seen` in images, or a scene's own; each with `window` where it is given."""
    if not (texts or scene_goals or image_goals):
        raise InputError(
            f"nothing is led: say where a vertex shall be with --goal {GOAL_SYNTAX}, or show it with --images"
        )
    reader = EditOperationParser(pilot, {})
    read = [*(goal for text in texts for goal in _parse_goal(text, reader)), *image_goals] or list(scene_goals)
    return read if window is None else [replace(goal, window=window) for goal in read]


def _parse_goal(text: str, parser: EditOperationParser) -> list[Goal]:
    parts = text.split(":")
    if len(parts) != 3 or not parts[1].strip().isdecimal():
        raise InputError(f"goal {text!r} is not understood; write {GOAL_SYNTAX}")
    vertices, frame = parser.select_vertices(parts[0]), int(parts[1])
    word = parts[2].strip()
    place = parse_vector(word.removeprefix("+"), f"the place of goal {text!r}")
    if not word.startswith("+"):
        if len(vertices) > 1:
            raise InputError(f"goal {text!r}: {len(vertices)} vertices cannot all be in one place; write +X,Y,Z")
        return [Goal(int(vertices[0]), frame, place)]
    if frame >= parser.animation.frames:
        raise InputError(f"goal {text!r}: the pilot has {parser.animation.frames} frames, counted from 0")
    return [Goal(int(v), frame, parser.animation.positions[frame, v] + place) for v in vertices]


def describe_reroute(source: str, net: BodySprings, result: RerouteResult) -> dict[str, Any]:
    """What was asked and what came of it, as numbers."""
    report = result.report
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
        "compared": {name: add_units(asdict(other), REPORT_UNITS) for name, other in report.comparison.items()},
        "seconds": report.seconds,
        "notes": [
            f"vertex {goal.vertex} at frame {goal.frame}: {note}" for goal in report.goals for note in goal.notes
        ],
    }


def _describe_goal(goal: GoalReport) -> dict[str, Any]:
    """A goal without its notes, which stand with those of the run."""
    told = add_units(asdict(goal), REPORT_UNITS) | {"reached": goal.is_successful, "told": str(goal)}
    told["likeness"] = add_units(told["likeness"], REPORT_UNITS)
    del told["notes"]
    return told


def format_reroute_rows(document: dict[str, Any]) -> dict[str, str]:
    """The same for people."""
    d = document
    most = "" if d["limit_N"] is None else f" of {d['limit_N']:.3g} allowed"
    rms, largest = d["gentleness_rms_weights"], d["gentleness_largest_weights"]
    shown = {
        "net": f"{d['vertices']} vertices, {d['springs']} springs, {d['mass_kg']:.4g} kg, {d['fixed'] or 'none'} held",
        "reached": f"{d['reached']} of {len(d['goals'])} goals within {d['within_m']:.3g} m, by {d['method']}",
        "goals": "\n".join(goal["told"] for goal in d["goals"]),
        "effort": f"{d['effort_N2s']:.3g} N² s, {d['peak_N']:.3g} N on a vertex at most{most}",
        "gentleness": f"{rms:.3g} weights (rms while led), {largest:.3g} at most",
    }
    for name, other in d["compared"].items():
        shown[f"by {name}"] = (
            f"{other['reached']} reached, effort {other['effort_N2s']:.3g} N² s, peak {other['peak_N']:.3g} N, "
            f"shape off by {other['shape']:.2g}"
        )
    shown |= format_note_rows(d["notes"])
    return shown | {"took": f"{d['seconds']:.2f} s", "written": format_written_files(d["outputs"])}


IMAGE_SUFFIXES = (".png", ".npy")
PILLOW = OptionalPackage(("PIL",), "pillow", "viz", "images as .png")
# greys as Pillow calls them
GREY_MODES = ("1", "L", "I", "F", "I;16", "I;16B", "I;16L")
SECTION_SYNTAX = 'ORIGIN:RIGHT:UP:PIXEL, as in "-0.06,0,0.06:1,0,0:0,0,1:0.001"'


@dataclass(frozen=True)
class SectionImageOptions:
    """What --images, --at, --section and the rest say; where: a folder or a pattern of .png or .npy files."""

    folder_or_pattern: str | None
    at: str | None
    section: str | None
    align: str | None
    level: float | None
    every: int | None

    def require_packages(self) -> None:
        """Raise MissingExtra if packages that read the images and find their contours are missing."""
        if self.folder_or_pattern is not None:
            SCIKIT_IMAGE.require()
            if any(path.suffix.lower() == ".png" for path in find_images(self.folder_or_pattern)):
                PILLOW.require()

    def compute_goals(self, pilot: Animation, window: int | None) -> list[Goal]:
        """Where vertices must be so that the body's section looks as in the images; none without images.

        Raises InputError, FileError.
        """
        if self.folder_or_pattern is None:
            for name in ("at", "section", "align", "level", "every"):
                if getattr(self, name) is not None:
                    raise InputError(f"--{name} is about images; say where they are with --images")
            return []
        paths = find_images(self.folder_or_pattern)
        frames = _parse_frames(self.at, paths)
        images = [read_grey_image(path) for path in paths]
        try:
            said = {"every": self.every, "align": self.align, "level": self.level, "window": window}
            chosen: dict[str, Any] = {name: value for name, value in said.items() if value is not None}
            asked = build_image_goals(pilot, images, frames, _parse_section(self.section), **chosen)
        except InputError as reason:
            raise InputError(_insert_file_names(str(reason), paths)) from None
        return list(asked.goals)


def find_images(folder_or_pattern: str) -> list[Path]:
    """The images of a folder or a pattern, in the order of the numbers in their names."""
    found = [Path(folder_or_pattern) / "*"] if Path(folder_or_pattern).is_dir() else [Path(folder_or_pattern)]
    paths = [Path(path) for pattern in found for path in glob.glob(str(pattern))]
    images = sorted((path for path in paths if path.suffix.lower() in IMAGE_SUFFIXES), key=_get_natural_sort_key)
    if not images:
        raise FileError(
            f"--images {folder_or_pattern}: no .png or .npy file is there; give a folder, or a pattern in quotes"
        )
    return images


def read_grey_image(path: Path) -> NDArray[Any]:
    """One grey image (height, width). Raises FileError for what cannot be read, InputError for colours."""
    if path.suffix.lower() == ".npy":
        try:
            return read_array(path)
        except FileError as reason:
            raise FileError(f"{path} cannot be read as an image ({reason}); write it anew") from None
    try:
        return _read_png(path)
    except InputError:
        raise
    except READ_ERRORS as reason:
        raise FileError(f"{path} cannot be read as an image ({reason}); write it anew") from None


def _read_png(path: Path) -> NDArray[Any]:
    PILLOW.require()
    from PIL import Image

    # a picture that unpacks to far more pixels than any section has is an error of its own in Pillow
    with open_regular_file(path) as stream, Image.open(stream) as image:
        if image.mode not in GREY_MODES:
            raise InputError(f"{path} has colours ({image.mode}); save it in grey")
        return np.asarray(image, dtype=np.float64)


def _parse_frames(text: str | None, paths: Sequence[Path]) -> list[int]:
    """The frames of the pilot at which images were taken."""
    words = [] if text is None else text.split(",")
    if not words or not all(word.strip().isdecimal() for word in words):
        raise InputError(f"--at must be the frame of each of the {len(paths)} images, as in 16,28,40")
    if len(words) != len(paths):
        names = ", ".join(path.name for path in paths[:6])
        raise InputError(f"--at has {len(words)} frames, but there are {len(paths)} images ({names}); give one a frame")
    return [int(word) for word in words]


def _parse_section(text: str | None) -> ImageSection:
    """Where images lie: the middle of the upper left pixel, the ways of a row and against a column, a pixel's size."""
    if text is None:
        raise InputError(f"--section is missing: say where the images lie, {SECTION_SYNTAX}")
    parts = text.split(":")
    if len(parts) != 4:
        raise InputError(f"--section is {text!r}, but must say where the images lie: {SECTION_SYNTAX}")
    origin, right, up = (parse_vector(part, "--section") for part in parts[:3])
    return ImageSection(origin, right, up, parse_number(parts[3], "the pixel of --section"))


def _get_natural_sort_key(path: Path) -> list[tuple[int, str]]:
    """Numbers in a name count as numbers: scan2 before scan10."""
    return [(int(word), "") if word.isdigit() else (-1, word) for word in re.split(r"(\d+)", path.name)]


def _insert_file_names(text: str, paths: Sequence[Path]) -> str:
    """With the names of files in place of numbers of images, and the option that frames came from."""
    text = re.sub(r"^frames\[", "--at[", text)
    return re.sub(r"images\[(\d+)\]", lambda found: paths[int(found[1])].name, text)
