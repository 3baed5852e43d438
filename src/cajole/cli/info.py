"""`cajole info`: describe a file. Readers of controllers and edits are imported when needed, to compile nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cajole.cli.command_options import InfoCommandOptions
from cajole.cli.output import add_units, print_result
from cajole.errors import FileError
from cajole.storage import read_arrays

FileDescription = tuple[dict[str, Any], dict[str, str]]  # document, rows


def info(options: InfoCommandOptions) -> None:
    """Describe a mesh, an animation, a controller, a saved edit or fixed vertices."""
    description = _describe_special_file(options.file)
    if description is None:
        from cajole.animation import describe_file

        found = describe_file(options.file, mesh=options.mesh)
        print_result(add_units(found.as_dict(), {"bounds": "m", "largest_displacement": "m"}), str(found))
        return
    document, rows = description
    rows = {"file": str(options.file), "format": document["format"], "size": f"{document['bytes']} bytes", **rows}
    print_result(document, "\n".join(f"{name:<12} {value}" for name, value in rows.items()))


def _describe_special_file(file: Path) -> FileDescription | None:
    """Describe a file that is neither a mesh nor an animation; None for others."""
    suffix = file.suffix.lower()
    if suffix == ".json":
        return _describe_saved_edit(file)
    if suffix == ".bou":
        return _describe_fixed_vertices(file)
    if suffix != ".npz" or not file.is_file():
        return None
    from cajole.direct.steering.serialization import CONTROLLER_FORMAT, FLOW_CONTROLLER_FORMAT

    try:
        found = read_arrays(file, lambda name: name in ("format", "body", "K0", "springs"))
    except FileError:
        return None  # the reader of animations reports the reason
    if str(found.get("format")) == CONTROLLER_FORMAT:
        return _describe_controller(file)
    if str(found.get("format")) == FLOW_CONTROLLER_FORMAT:
        return _describe_flow_controller(file)
    return _describe_reduced_model(file) if "body" in found and len(found) > 1 else None


def _build_document(file: Path, kind: str, **values: Any) -> dict[str, Any]:
    return {"path": str(file), "format": kind, "bytes": file.stat().st_size, **values}


def _describe_controller(file: Path) -> FileDescription:
    from cajole.direct.steering.controller import load_controller

    controller = load_controller(file, derivatives=False)
    reference, weights = controller.reference, controller.cost_weights
    skin = bool(read_arrays(file, lambda name: name == "skin_triangles"))
    d = _build_document(
        file,
        "controller",
        frames=reference.step_count + 1,
        fps=1.0 / reference.dt,
        loop=reference.loop,
        vertices=controller.model.body.vertex_count,
        basis=controller.model.size,
        skin=skin,
        tracking=_format_cost_weight(weights.tracking),
        final=_format_cost_weight(weights.final),
        effort=_format_cost_weight(weights.effort),
    )
    return d, {
        "motion": f"{d['frames']} frames at {d['fps']:g} frames/s, {reference.step_count * reference.dt:.3g} s"
        + (", a loop" if d["loop"] else ""),
        "body": f"{d['vertices']} vertices in {d['basis']} coordinates",
        "skin": "yes" if skin else "no",
        "weights": ", ".join(f"{name} {d[name]}" for name in ("tracking", "final", "effort")),
        "open it": "cajole steer FILE, or cajole.load_controller(file)",
    }


def _format_cost_weight(value: Any) -> float | str:
    """A weight as a number, or the variable it depends on."""
    if callable(value):
        return "over time"
    return float(value) if not getattr(value, "shape", ()) else "by coordinate"


def _describe_flow_controller(file: Path) -> FileDescription:
    from cajole.direct.steering.controller import load_flow_controller

    controller = load_flow_controller(file)
    shot, flow, weights = controller.reference, controller.model.flow, controller.cost_weights
    d = _build_document(
        file,
        "controller of a flow",
        frames=shot.step_count + 1,
        fps=1.0 / shot.dt,
        columns=flow.columns,
        rows=flow.rows,
        cell_m=flow.cell_size,
        basis=controller.model.size,
        particles=shot.particles.shape[1],
        tracking=weights.tracking,
        final=weights.final,
        effort=weights.effort,
    )
    return d, {
        "motion": f"{d['frames']} frames at {d['fps']:g} frames/s, {shot.step_count * shot.dt:.3g} s",
        "flow": f"{d['columns']} × {d['rows']} cells of {d['cell_m']:g} m in {d['basis']} modes",
        "particles": str(d["particles"]),
        "weights": ", ".join(f"{name} {d[name]}" for name in ("tracking", "final", "effort")),
        "open it": "cajole steer FILE, or cajole.load_flow_controller(file)",
    }


def _describe_reduced_model(file: Path) -> FileDescription:
    basis = read_arrays(file, lambda name: name == "basis").get("basis")
    if basis is None or basis.ndim != 2:
        raise FileError(f"{file} looks like a reduced model, but has no basis; write it again with model.save")
    d = _build_document(file, "reduced model", vertices=len(basis) // 3, basis=basis.shape[1])
    return d, {
        "body": f"{d['vertices']} vertices in {d['basis']} coordinates",
        "open it": "cajole.load_model(file, body)",
    }


def _describe_saved_edit(file: Path) -> FileDescription:
    from cajole.direct.editing import serialization
    from cajole.direct.editing.constraints import OffsetConstraint

    found = serialization.read_edit_document(file)
    holds = [hold for hold, _, _ in found.constraints]
    d = _build_document(
        file,
        "edit",
        frames=found.input["frames"],
        fps=found.input["fps"],
        vertices=found.input["vertices"],
        modes=found.options["modes"],
        ends=found.settings["ends"],
        energy=found.settings["energy"],
        holds=[
            {"vertex": h.vertex, "frame": h.frame, "other": h.other if isinstance(h, OffsetConstraint) else None}
            for h in holds
        ],
    )
    vertices, frames = {hold.vertex for hold in holds}, [hold.frame for hold in holds]
    span = f", in frames {min(frames)}..{max(frames)}" if frames else ""
    return d, {
        "of": f"an animation of {d['frames']} frames at {d['fps']:g} frames/s, {d['vertices']} vertices",
        "held": f"{len(holds)} places of {len(vertices)} vertices{span}",
        "change": f"in {d['modes']} modes, {d['ends']} ends, energy of {d['energy']}",
        "open it": "cajole edit ANIMATION --edit FILE, or cajole.load_edit(file, animation, body)",
    }


def _describe_fixed_vertices(file: Path) -> FileDescription:
    from cajole.mesh import read_bou

    fixed = read_bou(file)
    d = _build_document(file, "held vertices", vertices=fixed.tolist())
    span = f", numbers {fixed[0]} to {fixed[-1]} (from 0)" if len(fixed) else ""
    return d, {"vertices": f"{len(fixed)}{span}", "use it": "--fixed FILE, or fixed=cajole.mesh.read_bou(file)"}
