"""What `cajole enrich` tells: a document of numbers, and the same in words."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cajole.animation import Animation
from cajole.body import BodyShell
from cajole.cli.about import note_rows
from cajole.cli.option_words import spoken
from cajole.cli.output import written
from cajole.direct.enriching import EnrichResult


def described(source: str, guide: Animation, cloth: BodyShell, result: EnrichResult) -> dict[str, Any]:
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
        "newton_iterations": report.newton,
        "residual_sizes": report.residual,
        "gentleness_rms_weights": report.mean_gentleness,
        "gentleness_largest_weights": float(report.gentleness.max()),
        "gentleness_worst_frame": report.worst_frame,
        "yielded_edges": int((abs(result.cloth.plastic_angles) > 0).sum()),
        "edges": len(result.cloth.plastic_angles),
        "plastic": cloth.plasticity is not None,
        "collisions": None if report.collisions is None else asdict(report.collisions),
        "seconds": report.seconds,
        "notes": [*guide.mesh.notes, *map(spoken, report.notes)],
    }


def rows(document: dict[str, Any]) -> dict[str, str]:
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
    rows["written"] = written(d["outputs"])
    return rows | note_rows(d["notes"])
