"""What stands in the file of an edit: every field is looked at before anything is done with it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from cajole import checks
from cajole.arrays import Array
from cajole.direct.editing.holds import Hold
from cajole.direct.editing.report import WARPS, Options
from cajole.direct.editing.spacetime import ENDS, ENERGIES, Settings
from cajole.errors import FileError, InputError
from cajole.storage import cannot_read, open_regular

FORMAT, VERSION = "cajole edit", 1
# Longer files are none of ours: a region of a million vertices takes a quarter of it.
MOST_BYTES = 32_000_000
# Digits of a whole number that fits 64 bits.
MOST_DIGITS = 18
# How far directions may be from orthonormal.
ROUNDED = 1e-9
REMEDY = "the file is damaged or was changed by hand: save the edit again"
FIELDS = ("format", "version", "input", "eigenvalues", "options", "settings", "holds")
COUNTS, HASHES = ("vertices", "frames"), ("elements", "rest", "motion", "contacts")
PROJECTED = ("rest", "motion", "normals")


@dataclass(frozen=True, eq=False)
class Stored:
    """input: what names the animation; eigenvalues (r,); options and settings as `edit` takes them; holds, each with
    its linear targets (k,), and the rows (k, 3) of a partial one."""

    input: dict[str, Any]
    eigenvalues: Array
    options: dict[str, Any]
    settings: dict[str, Any]
    holds: list[tuple[Hold, Array, Array | None]]


def read(path: Path) -> Stored:
    """The content of a file. Raises FileError naming the field that is wrong."""
    return looked_at(_json(path), path)


def looked_at(document: Any, path: Path) -> Stored:
    """A document that was in a file. Raises FileError naming the field that is wrong; path: what messages call it."""
    try:
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise InputError(f'the file is no edit: "format" must be "{FORMAT}"')
        if document.get("version") != VERSION:
            raise InputError(f'"version" is {document.get("version")!r}, but this Cajole reads {VERSION}')
        top = _table(document, "the file", FIELDS)
        options = _options(top["options"])
        return Stored(
            _input(top["input"]),
            _real(top["eigenvalues"], "eigenvalues", (options["modes"],)),
            options,
            _settings(top["settings"]),
            _holds(top["holds"]),
        )
    except FileError:
        raise
    except InputError as reason:
        raise FileError(f"{path}: {reason}; {REMEDY}") from None


def _json(path: Path) -> Any:
    with open_regular(path) as stream:
        try:
            raw = stream.read(MOST_BYTES + 1)
        except OSError as reason:
            raise cannot_read(path, reason) from None
    if len(raw) > MOST_BYTES:
        raise FileError(f"{path} is longer than {MOST_BYTES} bytes, so it is no edit")
    try:
        return json.loads(raw.decode("utf-8"), parse_constant=_refused, parse_int=_whole)
    except (ValueError, RecursionError) as reason:
        raise FileError(f"{path} is no JSON: {reason}; {REMEDY}") from None


def _refused(word: str) -> NoReturn:
    raise ValueError(f"{word} is not a number")


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits)} digits")
    return int(digits)


def _table(value: Any, name: str, wanted: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Any]:
    """`value` if it is an object with exactly these fields."""
    if not isinstance(value, dict):
        raise InputError(f"{name} must be an object with {', '.join(wanted)}, not {type(value).__name__}")
    for field in wanted:
        if field not in value:
            raise InputError(f'{name} lacks "{field}"')
    for field in value:
        if field not in (*wanted, *optional):
            raise InputError(f'{name} has a field "{field[:40]}", which is unknown')
    return value


def _real(value: Any, name: str, shape: tuple[int | None, ...]) -> Array:
    """Finite numbers of a shape; words and truth values are none."""
    if not isinstance(value, list):
        raise InputError(f"{name} must be a list of numbers")
    flat = value if len(shape) == 1 else [entry for row in value if isinstance(row, list) for entry in row]
    for entry in flat:
        checks.real_number(entry, name)
    return checks.real_array(value, name, shape)


def _input(value: Any) -> dict[str, Any]:
    table = _table(value, "input", (*COUNTS, "fps", *HASHES), ("projections",))
    for name in COUNTS:
        checks.count(table[name], f"input.{name}")
    checks.positive(table["fps"], "input.fps")
    for name in HASHES:
        if not isinstance(table[name], str) and not (name == "contacts" and table[name] is None):
            raise InputError(f"input.{name} must be a hash, not {table[name]!r}")
    if "projections" in table:
        _projections(table["projections"])
    return table


def _projections(value: Any) -> None:
    table = _table(value, "input.projections", (*PROJECTED, "touching"))
    for name in PROJECTED:
        _real(table[name], f"input.projections.{name}", (None, None))
    if table["touching"] is not None and not isinstance(table["touching"], str):
        raise InputError(f"input.projections.touching must be a hash or null, not {table['touching']!r}")


def _options(value: Any) -> dict[str, Any]:
    table = _table(value, "options", tuple(field.name for field in fields(Options)))
    checks.count(table["modes"], "options.modes")
    checks.one_of(table["warp"], "options.warp", WARPS)
    if not isinstance(table["whole"], bool):
        raise InputError(f"options.whole must be true or false, not {table['whole']!r}")
    if table["cluster"] is not None:
        checks.count(table["cluster"], "options.cluster")
    if table["region"] is not None:
        if not isinstance(table["region"], list):
            raise InputError("options.region must be a list of vertices, or null")
        checks.index_array(table["region"], "options.region", (None,), 2**62)
    return table


def _settings(value: Any) -> dict[str, Any]:
    table = dict(_table(value, "settings", tuple(field.name for field in fields(Settings))))
    for name in ("h", "smoothness"):
        checks.positive(table[name], f"settings.{name}")
    checks.one_of(table["ends"], "settings.ends", ENDS)
    checks.one_of(table["energy"], "settings.energy", ENERGIES)
    table["damping"] = tuple(_real(table["damping"], "settings.damping", (2,)).tolist())
    for number in table["damping"]:
        checks.positive(number, "settings.damping", zero=True)
    if table["window"] is not None:
        if not isinstance(table["window"], list) or len(table["window"]) != 2:
            raise InputError("settings.window must be two frames, or null")
        table["window"] = tuple(checks.count(frame, "settings.window", least=0) for frame in table["window"])
    return table


def _holds(value: Any) -> list[tuple[Hold, Array, Array | None]]:
    if not isinstance(value, list):
        raise InputError("holds must be a list")
    found = [_hold(each, f"holds[{k}]") for k, each in enumerate(value)]
    if len({hold.key for hold, _, _ in found}) < len(found):
        raise InputError("holds has one vertex twice at the same frame")
    return found


def _hold(value: Any, name: str) -> tuple[Hold, Array, Array | None]:
    table: Mapping[str, Any] = _table(
        value, name, ("vertex", "frame", "other", "target", "directions", "linear"), ("rows",)
    )
    vertex, frame = (checks.count(table[field], f"{name}.{field}", least=0) for field in ("vertex", "frame"))
    other = -1 if table["other"] is None else checks.count(table["other"], f"{name}.other", least=0)
    if other == vertex:
        raise InputError(f"{name} ties vertex {vertex} to itself")
    across = _real(table["directions"], f"{name}.directions", (None, 3))
    k = len(across)
    if not 1 <= k <= 3 or np.abs(across).max() > 2 or np.abs(across @ across.T - np.eye(k)).max() > ROUNDED:
        raise InputError(f"{name}.directions must be one to three orthonormal vectors")
    if (k < 3) != ("rows" in table):
        raise InputError(f"{name} must have rows exactly when it holds fewer than three directions")
    rows = _real(table["rows"], f"{name}.rows", (k, 3)) if k < 3 else None
    if rows is not None and not 0 < np.abs(rows).max(axis=1).min() <= np.abs(rows).max() < 2:
        raise InputError(f"{name}.rows must be of about unit length")
    target, linear = _real(table["target"], f"{name}.target", (3,)), _real(table["linear"], f"{name}.linear", (k,))
    return Hold(vertex, frame, target, across, other), linear, rows
