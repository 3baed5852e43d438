"""`cajole scenes`: list the built-in scenes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Group

from cajole.cli.command_options import ScenesCommandOptions
from cajole.cli.output import add_title, build_table, print_result, show_progress
from cajole.pictures import picture
from cajole.pictures.render import require_render_packages
from cajole.scenes import flow_scenes, scene
from cajole.scenes.builtin import SCENE_DEFINITIONS
from cajole.scenes.edit_scenes import get_edit_scene_descriptions
from cajole.scenes.enrich_scenes import get_enrich_scene_descriptions
from cajole.scenes.reroute_scenes import get_reroute_scene_descriptions
from cajole.scenes.steer_scenes import STEER_SCENE_DESCRIPTIONS
from cajole.storage import require_writable_path


def scenes(options: ScenesCommandOptions) -> None:
    """List the scenes of every verb, and render the bodies if asked for."""
    definitions = [build() for build in SCENE_DEFINITIONS.values()]
    bodies: list[dict[str, Any]] = [
        {"name": d.name, "title": d.title, "description": d.description, "tets": d.tets} for d in definitions
    ]
    if options.render is not None:
        _render_scenes(bodies, options.render, options.renderer)
    package = "cajole.scenes"
    document = {
        "scenes": bodies,
        "edit": _describe_scenes(get_edit_scene_descriptions(), f'{package}.edit_scenes.load_edit_scene("{{}}")'),
        "steer": _describe_scenes(STEER_SCENE_DESCRIPTIONS, f"{package}.steer_scenes.build_{{}}_scene()")
        + _describe_scenes(flow_scenes.FLOW_SCENE_DESCRIPTIONS, f"{package}.flow_scenes.build_{{}}_scene()"),
        "enrich": _describe_scenes(
            get_enrich_scene_descriptions(), f'{package}.enrich_scenes.load_enrich_scene("{{}}")'
        ),
        "reroute": _describe_scenes(
            get_reroute_scene_descriptions(), f'{package}.reroute_scenes.load_reroute_scene("{{}}")'
        ),
        "outputs": [entry["picture"] for entry in bodies if "picture" in entry],
    }
    table = build_table("scene", "#tets", "what it is")
    for entry in bodies:
        table.add_row(f"[cyan]{entry['name']}[/]", f"{entry['tets']}", entry["description"])
    titles = {
        "edit": "To edit: cajole edit NAME",
        "steer": "To steer: cajole steer swirl|leaves; in Python: cajole.scenes.steer_scenes.build_NAME_scene()",
        "enrich": "To enrich: cajole enrich NAME",
        "reroute": "To reroute: cajole reroute NAME",
    }
    tables = [add_title("Bodies: SCENE of simulate, pose, modes, keyframe, steer, picture", table)]
    for verb, title in titles.items():
        table = build_table("name", "what it is for")
        for entry in document[verb]:
            table.add_row(f"[cyan]{entry['name']}[/]", entry["description"])
        tables.append(add_title(title, table))
    print_result(document, Group(*tables))


def _render_scenes(bodies: list[dict[str, Any]], folder: Path, renderer: str) -> None:
    """Render each body to folder/name.png, and add the path to its entry."""
    first = folder / f"{bodies[0]['name']}.png"
    require_render_packages(first, renderer)
    require_writable_path(first)
    with show_progress("scenes") as progress:
        for index, entry in enumerate(bodies):
            progress(index / len(bodies), entry["name"])
            path = folder / f"{entry['name']}.png"
            picture(scene(entry["name"]), path, renderer=renderer)
            entry["picture"] = str(path)


def _describe_scenes(descriptions: Mapping[str, str], python_template: str) -> list[dict[str, Any]]:
    return [
        {"name": name, "description": text, "python": python_template.format(name)}
        for name, text in descriptions.items()
    ]
