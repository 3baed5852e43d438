"""What `cajole reroute` is asked for and tells: nets and pilots of scenes and files, goals as text, the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from cajole.animation import Animation, read_animation
from cajole.body import BodySprings
from cajole.cli.about import note_rows
from cajole.cli.json_documents import united
from cajole.cli.moves import Reader
from cajole.cli.numbers import seconds, vector
from cajole.cli.output import written
from cajole.cli.pushes import gravity as acceleration
from cajole.direct.rerouting import Goal, GoalReport, RerouteResult
from cajole.dynamics import simulate
from cajole.errors import InputError
from cajole.mesh import MeshLine, MeshTet, MeshTri, read_mesh
from cajole.mesh.files import READERS
from cajole.progress import Progress, portion
from cajole.scenes import select
from cajole.scenes.rerouting import RerouteScene, reroute_scene, reroute_scene_names

FORM = 'WHERE:FRAME:X,Y,Z, as in "7:60:0.1,0,0.4", or "7:60:+0,0,0.1" from where it is in the pilot'
# of numbers of goals and methods, behind their names
UNITS = {
    "offset": "m", "error": "m", "closest": "m", "speed": "m_per_s", "pilot_speed": "m_per_s", "turned": "rad",
    "effort": "N2s", "peak": "N",
}  # fmt: skip
# of the pilot of a mesh, where nothing else is said
FRAMES = 120
# of springs made from a mesh, where nothing else is said: N/m, kg of all, N s/m, and the clamp of folds
USUAL = {"stiffness": 100.0, "mass": 1.0, "damping": 0.05, "clamp": 0.02}


@dataclass(frozen=True)
class Asked:
    """The source and what is said about its springs and its pilot; None where nothing is."""

    source: str
    springs: Mapping[str, float | None]
    fixed: tuple[str, ...]
    frames: int | None
    dt: str | None
    gravity: str | None

    def staged(self, progress: Progress) -> RerouteScene:
        """The scene of that name, or one made of a file. Raises InputError for options that it has no use for."""
        given = [name for name, value in self.springs.items() if value is not None] + ["fixed"] * bool(self.fixed)
        run = [name for name in ("frames", "dt", "gravity") if getattr(self, name) is not None]
        if self.source in reroute_scene_names():
            if given or run:
                raise InputError(f"--{(given + run)[0]} is the scene's own; leave it out, or give a file")
            return reroute_scene(self.source, progress=portion(progress, 0.0, 0.1))
        path = Path(self.source)
        if not path.suffix:
            known = ", ".join(reroute_scene_names())
            raise InputError(f"{self.source!r} is no scene to reroute ({known}) and no file; files have a suffix")
        if path.suffix.lower() in READERS:
            return self._fallen(path, progress)
        if run:
            raise InputError(f"--{run[0]} is for a mesh; {path} moves already, and its forces are found with it")
        pilot = read_animation(path, progress=portion(progress, 0.0, 0.1))
        return _scene(path, self._net(pilot.mesh), pilot)

    def _fallen(self, path: Path, progress: Progress) -> RerouteScene:
        """A mesh that falls: its pilot is simulated."""
        net = self._net(read_mesh(path))
        pilot = simulate(
            net, FRAMES if self.frames is None else self.frames, seconds(self.dt or "1/60", "--dt"),
            gravity=acceleration(self.gravity or "9.81"), integrator="bdf2", progress=portion(progress, 0.0, 0.3),
        )  # fmt: skip
        return _scene(path, net, replace(pilot, name=path.stem))

    def _net(self, mesh: MeshTri | MeshTet | MeshLine) -> BodySprings:
        said = USUAL | {name: value for name, value in self.springs.items() if value is not None}
        held = np.unique(np.concatenate([np.empty(0, np.int64), *(select(text, mesh, {}) for text in self.fixed)]))
        each = said["mass"] / len(mesh.vertices)
        return BodySprings.from_mesh(mesh, fixed=held, **{**said, "mass": each})


def _scene(path: Path, net: BodySprings, pilot: Animation) -> RerouteScene:
    return RerouteScene(path.stem, path.name, "", net, pilot, ())


def goals_of(
    texts: list[str], pilot: Animation, own: Sequence[Goal], window: int | None, seen: Sequence[Goal] = ()
) -> list[Goal]:
    """Goals from their texts and those `seen` in images, or a scene's own; each with `window` where it is given."""
    if not (texts or own or seen):
        raise InputError(f"nothing is led: say where a vertex shall be with --goal {FORM}, or show it with --images")
    reader = Reader(pilot, {})
    read = [*(goal for text in texts for goal in _goals(text, reader)), *seen] or list(own)
    return read if window is None else [replace(goal, window=window) for goal in read]


def _goals(text: str, reader: Reader) -> list[Goal]:
    parts = text.split(":")
    if len(parts) != 3 or not parts[1].strip().isdecimal():
        raise InputError(f"goal {text!r} is not understood; write {FORM}")
    vertices, frame = reader.vertices(parts[0]), int(parts[1])
    word = parts[2].strip()
    place = vector(word.removeprefix("+"), f"the place of goal {text!r}")
    if not word.startswith("+"):
        if len(vertices) > 1:
            raise InputError(f"goal {text!r}: {len(vertices)} vertices cannot all be in one place; write +X,Y,Z")
        return [Goal(int(vertices[0]), frame, place)]
    if frame >= reader.animation.frames:
        raise InputError(f"goal {text!r}: the pilot has {reader.animation.frames} frames, counted from 0")
    return [Goal(int(v), frame, reader.animation.positions[frame, v] + place) for v in vertices]


def described(source: str, net: BodySprings, result: RerouteResult) -> dict[str, Any]:
    """What was asked and what came of it, as numbers."""
    report = result.report
    return {
        "subject": source,
        "vertices": net.count,
        "springs": len(net.edges),
        "fixed": len(net.fixed),
        "mass_kg": net.total_mass,
        "method": report.method,
        "frames": result.animation.frames,
        "fps": result.animation.fps,
        "within_m": report.within,
        "limit_N": report.limit,
        "reach_m": report.reach,
        "reached": report.reached,
        "effort_N2s": report.effort,
        "peak_N": report.peak,
        "gentleness_rms_weights": report.mean_gentleness,
        "gentleness_largest_weights": float(report.gentleness.max()),
        "goals": [_told(goal) for goal in report.goals],
        "compared": {name: united(asdict(other), UNITS) for name, other in report.compared.items()},
        "seconds": report.seconds,
        "notes": [
            f"vertex {goal.vertex} at frame {goal.frame}: {note}" for goal in report.goals for note in goal.notes
        ],
    }


def _told(goal: GoalReport) -> dict[str, Any]:
    """A goal without its notes, which stand with those of the run."""
    told = united(asdict(goal), UNITS) | {"reached": goal.reached, "told": str(goal)}
    told["likeness"] = united(told["likeness"], UNITS)
    del told["notes"]
    return told


def rows(document: dict[str, Any]) -> dict[str, str]:
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
    shown |= note_rows(d["notes"])
    return shown | {"took": f"{d['seconds']:.2f} s", "written": written(d["outputs"])}
