"""What commands say of the body they worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cajole.body import BodySolid
    from cajole.scenes import SceneBody


def describe_body(scene_body: SceneBody, body: BodySolid) -> dict[str, Any]:
    """Its name, sizes, held vertices, mass and Young's modulus, the least and the greatest."""
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


def format_note_rows(notes: list[str]) -> dict[str, str]:
    """What is unusual, each on a line; no row when nothing is."""
    return {"note": "\n".join(notes)} if notes else {}


def format_body_rows(document: dict[str, Any]) -> dict[str, str]:
    """The same for people; `basis` is the number of coordinates, where there is one."""
    d = document
    reduced = f", in {d['basis']} coordinates" if "basis" in d else ""
    least, most = d["young_Pa"]
    young = f"{least:.3g} Pa" if least == most else f"{least:.3g} to {most:.3g} Pa"
    return {
        "body": f"{d['vertices']} vertices, {d['tets']} tets{reduced}",
        "made of": f"{d['mass_kg']:.4g} kg, Young's modulus {young}, {d['fixed'] or 'no'} vertices held",
    }
