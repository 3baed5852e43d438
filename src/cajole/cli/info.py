"""`cajole info`: what a file holds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cajole.cli.json_documents import add_units
from cajole.cli.output import JsonOption, print_result


def info(
    file: Annotated[
        Path,
        typer.Argument(
            help="A mesh, an animation (a folder is a sequence of .obj files), a controller, a saved edit (.json) or "
            "held vertices (.bou)."
        ),
    ],
    mesh: Annotated[Path | None, typer.Option(help="The mesh that a .pc2 or .mdd belongs to.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Say what a file holds: format, frames, vertices, size, how far it moves.

    [green]cajole info wag.glb[/]

    [green]cajole info cache.pc2 --mesh body.obj --json[/]

    [green]cajole info back.npz[/]
    """
    from cajole.animation import describe_file as summary

    special = _describe_special_file(file)
    if special is not None:
        document, rows = special
        rows = {"file": str(file), "format": document["format"], "size": f"{document['bytes']} bytes", **rows}
        print_result(document, "\n".join(f"{name:<12} {value}" for name, value in rows.items()), as_json=as_json)
        return
    found = summary(file, mesh=mesh)
    print_result(add_units(found.as_dict(), {"bounds": "m", "largest_displacement": "m"}), str(found), as_json=as_json)


FileDescription = tuple[dict[str, Any], dict[str, str]]


def _describe_special_file(file: Path) -> FileDescription | None:
    """The document and the rows of a file that is neither a mesh nor an animation."""
    suffix = file.suffix.lower()
    if suffix == ".json":
        return _describe_saved_edit(file)
    if suffix == ".bou":
        return _describe_fixed_vertices(file)
    if suffix != ".npz" or not file.is_file():
        return None
    from cajole.direct.steering.serialization import CONTROLLER_FORMAT
    from cajole.direct.steering.serialization import FLOW_CONTROLLER_FORMAT as FLOW_FORMAT
    from cajole.errors import FileError
    from cajole.storage import read_arrays

    try:
        found = read_arrays(file, lambda name: name in ("format", "body", "K0", "springs"))
    except FileError:
        return None  # the reader of animations says what is wrong with it
    if str(found.get("format")) == CONTROLLER_FORMAT:
        return _describe_controller(file)
    if str(found.get("format")) == FLOW_FORMAT:
        return _describe_flow_controller(file)
    return _describe_reduced_model(file) if "body" in found and len(found) > 1 else None


def _build_document(file: Path, kind: str, **values: Any) -> dict[str, Any]:
    return {"path": str(file), "format": kind, "bytes": file.stat().st_size, **values}


def _describe_controller(file: Path) -> FileDescription:
    from cajole.direct.steering.controller import load_controller
    from cajole.storage import read_arrays

    controller = load_controller(file, derivatives=False)
    reference, dials = controller.reference, controller.cost_weights
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
        tracking=_format_cost_weight(dials.tracking),
        final=_format_cost_weight(dials.final),
        effort=_format_cost_weight(dials.effort),
    )
    return d, {
        "motion": f"{d['frames']} frames at {d['fps']:g} frames/s, {reference.step_count * reference.dt:.3g} s"
        + (", a loop" if d["loop"] else ""),
        "body": f"{d['vertices']} vertices in {d['basis']} coordinates",
        "skin": "yes" if skin else "no",
        "dials": ", ".join(f"{name} {d[name]}" for name in ("tracking", "final", "effort")),
        "open it": "cajole steer FILE, or cajole.load_controller(file)",
    }


def _describe_flow_controller(file: Path) -> FileDescription:
    from cajole.direct.steering.controller import load_flow_controller

    controller = load_flow_controller(file)
    shot, flow, dials = controller.reference, controller.model.flow, controller.cost_weights
    d = _build_document(
        file, "controller of a flow",
        frames=shot.step_count + 1, fps=1.0 / shot.dt, columns=flow.columns, rows=flow.rows, cell_m=flow.cell_size,
        basis=controller.model.size, particles=shot.particles.shape[1],
        tracking=dials.tracking, final=dials.final, effort=dials.effort,
    )  # fmt: skip
    return d, {
        "motion": f"{d['frames']} frames at {d['fps']:g} frames/s, {shot.step_count * shot.dt:.3g} s",
        "flow": f"{d['columns']} × {d['rows']} cells of {d['cell_m']:g} m in {d['basis']} modes",
        "particles": str(d["particles"]),
        "dials": ", ".join(f"{name} {d[name]}" for name in ("tracking", "final", "effort")),
        "open it": "cajole steer FILE, or cajole.load_flow_controller(file)",
    }


def _format_cost_weight(value: Any) -> float | str:
    """A dial as a number, or how it varies."""
    if callable(value):
        return "over time"
    return float(value) if not getattr(value, "shape", ()) else "by coordinate"


def _describe_reduced_model(file: Path) -> FileDescription:
    from cajole.errors import FileError
    from cajole.storage import read_arrays

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

    held = read_bou(file)
    d = _build_document(file, "held vertices", vertices=held.tolist())
    span = f", numbers {held[0]} to {held[-1]} (from 0)" if len(held) else ""
    return d, {
        "vertices": f"{len(held)}{span}",
        "use it": "--fixed FILE, or fixed=cajole.mesh.read_bou(file)",
    }
