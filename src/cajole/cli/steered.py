"""What `cajole steer` says of its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cajole.cli.about import about, body_rows, note_rows
from cajole.cli.output import written

if TYPE_CHECKING:
    from cajole.body import BodySolid
    from cajole.direct import Controller, Run
    from cajole.scenes import Subject


def described(
    subject: Subject, body: BodySolid, controller: Controller, runs: dict[str, Run], loops: int
) -> dict[str, Any]:
    """What was asked and reached, as JSON has it."""
    return about(subject, body) | described_runs(controller, runs, loops, subject.notes)


def described_runs(
    controller: Controller, runs: dict[str, Run], loops: int, notes: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The same without the body; notes: what was unusual about it."""
    reference, dials = controller.reference, controller.dials
    outside = reference.motion_error
    return {
        "basis": controller.model.size,
        "frames": reference.steps // reference.substeps + 1,
        "dt_s": reference.dt * reference.substeps,
        "substeps": reference.substeps,
        "loops": loops,
        "tracking": dials.tracking,
        "final": dials.final,
        "effort": dials.effort,
        "outside_basis_sizes": 0.0 if outside is None else float(outside.max()),
        "seam_sizes": reference.seam if loops > 1 else None,
        "gain_seconds": controller.seconds,
        "controlled": _told(runs.get("with control")),
        "uncontrolled": _told(runs.get("without control")),
        "notes": [*notes, *_notes(controller, runs.get("with control"), runs.get("without control"))],
    }


def _notes(controller: Controller, steered: Run | None, free: Run | None) -> list[str]:
    """What is wrong with motion, body and basis, and whether control is worth its force."""
    from cajole.direct.steering.diagnosis import trouble

    notes = [] if steered is None else list(steered.report.notes)
    if steered is not None and free is not None and 0 < free.report.mean_error <= steered.report.mean_error:
        why = "" if notes else f": {trouble(controller.reference)}"
        notes.append(f"control does no better than none{why}")
    return notes + [note for note in controller.reference.notes if not any(note in other for other in notes)]


def _told(run: Run | None) -> dict[str, Any] | None:
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
        "cut_steps": report.cuts,
        "step_seconds": report.step_seconds,
        "notes": list(report.notes),
    }


def rows(document: dict[str, Any]) -> dict[str, str]:
    """The same for people."""
    d = document
    missed = _percent(d["outside_basis_sizes"])
    finer = f", {d['substeps']} steps to each" if d["substeps"] > 1 else ""
    shown = {
        **(body_rows(d) if "tets" in d else {"body": f"{d['vertices']} vertices in {d['basis']} coordinates"}),
        "motion": f"{d['frames']} frames, {d['dt_s']:.4g} s apart{finer}; the basis misses it by {missed}",
        "without control": _off(d["uncontrolled"]),
        "with control": _off(d["controlled"]),
    }
    if d["controlled"]:
        c = d["controlled"]
        shown["added force"] = f"{c['force_rms_weights']:.3g} weights (rms), {c['force_largest_weights']:.3g} at most"
        shown["took"] = f"gains {d['gain_seconds']:.2f} s, a step {1e6 * c['step_seconds']:.0f} µs"
        if c["cut_steps"]:
            why = "" if c["notes"] else ": pushed beyond small deviations"
            shown["cut"] = f"{c['cut_steps']} steps were cut into parts to converge{why}"
    shown |= note_rows(d["notes"])
    if d["seam_sizes"] is not None:
        shown["seam"] = f"{_percent(d['seam_sizes'])} from the last frame to the first"
    shown["written"] = written(d["outputs"])
    return shown


def _off(told: dict[str, Any] | None) -> str:
    if told is None:
        return "breaks before the end: beyond what its model can do"
    mean, most, end = (told[f"error_{name}_sizes"] for name in ("rms", "largest", "final"))
    return f"off by {_percent(mean)} (rms), {100 * most:.3g} % at worst, {100 * end:.3g} % at the end"


def _percent(share: float) -> str:
    return f"{100 * share:.3g} % of the size"
