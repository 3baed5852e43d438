"""Bodies of commands: loading, description, forces, pins and poses in files."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cajole import checks, scenes
from cajole.animation import read_animation
from cajole.animation.files import FORMATS
from cajole.arrays import Array
from cajole.body import Body, BodySolid
from cajole.cli.command_options import BodyOptions, MeshedBodyOptions, StaticBodyOptions
from cajole.cli.parsers import parse_pair, parse_seconds, parse_vector
from cajole.direct import fit_pose
from cajole.errors import FileError, InputError
from cajole.mesh import read_mesh
from cajole.mesh.files import READERS
from cajole.progress import ProgressCallback
from cajole.reduction import ReducedModel
from cajole.scenes import SceneBody
from cajole.storage import read_arrays


def load_scene_body(options: MeshedBodyOptions, source: str, progress: ProgressCallback) -> SceneBody:
    """Load a scene or mesh file with the resolution, fixed vertices, material and damping of the options."""
    read: dict[str, Any] = {}
    if isinstance(options, StaticBodyOptions):
        read = {"scale": options.scale, "up": options.up}
    damping = options.damping if isinstance(options, BodyOptions) else None
    found = scenes.load_scene_body(source, tets=options.tets, cells=options.cells, progress=progress, **read)
    return (
        found.with_fixed_vertices(options.fixed or [])
        .with_material(options.young, options.poisson, options.density)
        .with_damping(None if damping is None else parse_pair(damping, "--damping"))
    )


def describe_body(scene_body: SceneBody, body: BodySolid) -> dict[str, Any]:
    """Name, sizes, fixed vertices, mass [kg] and smallest and largest Young's modulus [Pa] of a body."""
    materials = scene_body.material if isinstance(scene_body.material, tuple) else (scene_body.material,)
    young = [material.young for material in materials]
    return {
        "subject": scene_body.name,
        "vertices": body.vertex_count,
        "tets": len(scene_body.mesh.tets),
        "fixed": len(body.fixed),
        "mass_kg": body.total_mass,
        "young_Pa": [float(min(young)), float(max(young))],
    }


def format_body_rows(document: dict[str, Any]) -> dict[str, str]:
    """Table rows of `describe_body`; the document's `basis`, if any, is the number of reduced coordinates."""
    d = document
    reduced = f", in {d['basis']} coordinates" if "basis" in d else ""
    least, most = d["young_Pa"]
    young = f"{least:.3g} Pa" if least == most else f"{least:.3g} to {most:.3g} Pa"
    return {
        "body": f"{d['vertices']} vertices, {d['tets']} tets{reduced}",
        "made of": f"{d['mass_kg']:.4g} kg, Young's modulus {young}, {d['fixed'] or 'no'} vertices held",
    }


@dataclass(frozen=True, eq=False)
class TimedForce:
    """A force (n, 3) [N] that acts from `start` to `stop` [s]."""

    force: Array
    start: float
    stop: float

    def is_active(self, time: float) -> bool:
        """True if the force acts on the step that ends at `time` [s]; times are sums of dt and carry rounding."""
        return self.start - 1e-9 <= time <= self.stop + 1e-9

    def compute_reduced_force(self, model: ReducedModel, dt: float, first_frame: int, steps: int) -> Array:
        """Uᵀf (steps, r) on the steps into frames first_frame, first_frame + 1, …, as a disturbance of `steer`."""
        on = np.array([self.is_active(dt * frame) for frame in range(first_frame, first_frame + steps)])
        return on[:, None] * model.project_force(self.force)


def parse_push(text: str, scene_body: SceneBody, body: Body) -> TimedForce:
    """Parse "WHERE: FX,FY,FZ [N|weights] [for SECONDS] [from SECONDS]": a total force, distributed by mass."""
    match = re.fullmatch(
        r"(?P<where>.+?):\s*(?P<force>[^:]+?)\s*(?P<unit>\bN|\bweights?)?"
        r"(?:\s+for\s+(?P<length>\S+))?(?:\s+from\s+(?P<start>\S+))?",
        text.strip(),
    )
    if match is None:
        syntax = 'WHERE: FX,FY,FZ [N|weights] [for SECONDS] [from SECONDS], as in "head: 0,300,0 for 0.2"'
        raise InputError(f"push {text!r} is not understood; write {syntax}")
    vertices = scene_body.select(match["where"])
    if len(vertices) == 0:
        raise InputError(f"push {text!r} selects no vertex to push")
    total = parse_vector(match["force"], f"the force of push {text!r}")
    if not (match["unit"] or "N").startswith("weight"):
        total = total / body.weight
    start = parse_seconds(match["start"], "from") if match["start"] else 0.0
    stop = start + parse_seconds(match["length"], "for") if match["length"] else np.inf
    return TimedForce(body.distribute_force(vertices, total), start, stop)


def parse_pin(text: str, scene_body: SceneBody) -> dict[int, Array]:
    """Parse "WHERE: DX,DY,DZ" as {vertex: displacement (3,) [m]}."""
    where, colon, move = text.rpartition(":")
    if not colon:
        raise InputError(f'pin {text!r} is not understood; write WHERE: DX,DY,DZ, as in "tail: 0,0.4,0"')
    shift = parse_vector(move, f"the displacement of pin {text!r}")
    return {int(vertex): shift for vertex in scene_body.select(where)}


def build_force_function(pushes: list[TimedForce], count: int) -> Callable[[float], Array]:
    """The sum of pushes as a function f(t [s]) -> (count, 3) [N]."""

    def evaluate_force(time: float) -> Array:
        return sum((p.force for p in pushes if p.is_active(time)), np.zeros((count, 3)))

    return evaluate_force


def load_pose(path: Path, source_frame: int | None, scene_body: SceneBody, body: BodySolid) -> Array:
    """Load a displacement (n, 3) [m] from a file: an array `displacement`, a mesh, or a frame of an animation.

    source_frame: the last one if None. Raises FileError for unreadable files, InputError for vertices that belong
    neither to the body nor to its skin.
    """
    stored = read_arrays(path, lambda name: name == "displacement") if path.suffix.lower() == ".npz" else {}
    if stored:
        return checks.require_real_array(stored["displacement"], f"displacement in {path}", (None, 3), error=FileError)
    if path.suffix.lower() in READERS and source_frame is None:
        points = read_mesh(path).vertices
    elif path.suffix.lower() not in FORMATS:
        raise FileError(f"{path}: a key is an animation ({' '.join(FORMATS)}) or a mesh file ({' '.join(READERS)})")
    else:
        animation = read_animation(path)
        frame = animation.frames - 1 if source_frame is None else source_frame
        if frame >= animation.frames:
            raise InputError(f"{path} has frames 0..{animation.frames - 1}, so there is no frame {frame}")
        points = animation.positions[frame]
    if len(points) == body.vertex_count:
        return points - body.vertices
    if scene_body.skin is not None and len(points) == len(scene_body.skin.mesh.vertices):
        return fit_pose(body, scene_body.skin, points).displacement
    skin = "" if scene_body.skin is None else f" nor the {len(scene_body.skin.mesh.vertices)} of its skin"
    raise InputError(f"{path} has {len(points)} vertices, which are not the {body.vertex_count} of the body{skin}")
