"""The page's types and the reference are what the generator writes from the message classes."""

from __future__ import annotations

import re

from cajole.studio.mode_registry import get_command_decoder
from cajole.studio.protocol_codegen import (
    REFERENCE_FILE,
    TYPESCRIPT_FILE,
    build_reference,
    build_typescript,
    insert_reference,
)

REMEDY = "run python -m cajole.studio.protocol_codegen"


def test_the_types_of_the_page_are_up_to_date_identity():
    assert TYPESCRIPT_FILE.read_text(encoding="utf-8") == build_typescript(), REMEDY


def test_the_reference_is_up_to_date_identity():
    page = REFERENCE_FILE.read_text(encoding="utf-8")
    assert insert_reference(page) == page, REMEDY


def test_every_command_is_in_the_reference_and_in_the_types_agreement():
    commands = get_command_decoder().types.keys()
    rows = set(re.findall(r"^\| `([a-z.]+)` \|", build_reference(), re.MULTILINE))
    assert commands <= rows
    assert {name for name in commands if f'  "{name}": ' not in build_typescript()} == set()


def test_types_follow_annotations_identity():
    text = build_typescript()
    assert "  window?: [number, number] | null;" not in text.split("export interface Commands")[0]
    for line in (
        "    window?: [number, number] | null; // first and last frame that may change; null: all",
        "    levels: number | null; // subdivisions of the guide; null: the scene's own mesh",
        "  position: Vec3; // [m]",
        "  modes: Record<string, ModeAvailability>;",
        "  outcome?: Outcome;",
        "export interface DragInfo extends PositionTarget {",
    ):
        assert line in text, line
