"""What `cajole steer` says of its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cajole.cli.body_summary import describe_body, format_body_rows, format_note_rows
from cajole.cli.output import format_written_files

if TYPE_CHECKING:
    from cajole.body import BodySolid
    from cajole.direct import Controller, ControllerRun
    from cajole.scenes import SceneBody


def describe_steer(
    scene_body: SceneBody, body: BodySolid, controller: Controller, runs: dict[str, ControllerRun], loops: int
) -> dict[str, Any]:
    """What was asked and reached, as JSON has it."""
    return describe_body(scene_body, body) | describe_runs(controller, runs, loops, scene_body.notes)


def describe_runs(
    controller: Controller, runs: dict[str, ControllerRun], loops: int, notes: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The same without the body; notes: what was unusual about it."""
    reference, dials = controller.reference, controller.cost_weights
    outside = reference.projection_error
    return {
        "basis": controller.model.size,
        "frames": reference.step_count // reference.substeps + 1,
        "dt_s": reference.dt * reference.substeps,
        "substeps": reference.substeps,
        "loops": loops,
        "tracking": dials.tracking,
        "final": dials.final,
        "effort": dials.effort,
        "outside_basis_sizes": 0.0 if outside is None else float(outside.max()),
        "seam_sizes": reference.loop_gap if loops > 1 else None,
        "gain_seconds": controller.gain_seconds,
        "controlled": _describe_run(runs.get("with control")),
        "uncontrolled": _describe_run(runs.get("without control")),
        "notes": [*notes, *_build_notes(controller, runs.get("with control"), runs.get("without control"))],
    }


def _build_notes(
    controller: Controller, controlled: ControllerRun | None, uncontrolled: ControllerRun | None
) -> list[str]:
    """What is wrong with motion, body and basis, and whether control is worth its force."""
    from cajole.direct.steering.reference import diagnose_divergence

    notes = [] if controlled is None else list(controlled.report.notes)
    if (
        controlled is not None
        and uncontrolled is not None
        and 0 < uncontrolled.report.mean_error <= controlled.report.mean_error
    ):
        why = "" if notes else f": {diagnose_divergence(controller.reference)}"
        notes.append(f"control does no better than none{why}")
    return notes + [note for note in controller.reference.notes if not any(note in other for other in notes)]


def _describe_run(run: ControllerRun | None) -> dict[str, Any] | None:
    if run is None:
        return None
    report = run.report
    return {
        "error_rms_sizes": report.mean_error,
        "error_largest_sizes": report.worst_error,
        "error_final_sizes": report.final_error,
        "force_rms_weights": report.mean_gentleness,
        "force_largest_weights": float(report.gentleness.max()),
        "effort": report.effort,
        "cut_steps": report.subdivided_step_count,
        "step_seconds": report.step_seconds,
        "notes": list(report.notes),
    }


def format_steer_rows(document: dict[str, Any]) -> dict[str, str]:
    """The same for people."""
    d = document
    missed = _format_percent(d["outside_basis_sizes"])
    finer = f", {d['substeps']} steps to each" if d["substeps"] > 1 else ""
    shown = {
        **(format_body_rows(d) if "tets" in d else {"body": f"{d['vertices']} vertices in {d['basis']} coordinates"}),
        "motion": f"{d['frames']} frames, {d['dt_s']:.4g} s apart{finer}; the basis misses it by {missed}",
        "without control": _format_error(d["uncontrolled"]),
        "with control": _format_error(d["controlled"]),
    }
    if d["controlled"]:
        c = d["controlled"]
        shown["added force"] = f"{c['force_rms_weights']:.3g} weights (rms), {c['force_largest_weights']:.3g} at most"
        shown["took"] = f"gains {d['gain_seconds']:.2f} s, a step {1e6 * c['step_seconds']:.0f} µs"
        if c["cut_steps"]:
            why = "" if c["notes"] else ": pushed beyond small deviations"
            shown["cut"] = f"{c['cut_steps']} steps were cut into parts to converge{why}"
    shown |= format_note_rows(d["notes"])
    if d["seam_sizes"] is not None:
        shown["seam"] = f"{_format_percent(d['seam_sizes'])} from the last frame to the first"
    shown["written"] = format_written_files(d["outputs"])
    return shown


def _format_error(run_document: dict[str, Any] | None) -> str:
    if run_document is None:
        return "breaks before the end: beyond what its model can do"
    mean, most, end = (run_document[f"error_{name}_sizes"] for name in ("rms", "largest", "final"))
    return f"off by {_format_percent(mean)} (rms), {100 * most:.3g} % at worst, {100 * end:.3g} % at the end"


def _format_percent(share: float) -> str:
    return f"{100 * share:.3g} % of the size"
