"""Vega's .veg: tets or cubes, materials and named sets of elements; and .bou, the fixed vertices beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.errors import FileError, MeshError
from cajole.mesh.base import frozen
from cajole.mesh.cubes import CORNERS, CUBE_TETS, cube_tets
from cajole.mesh.formats.text import Line, counted, first_index, float_rows, text_lines, whole_rows, within
from cajole.mesh.tet import MeshTet

# Vega's own files include one level; more than this would only serve to blow a file up
DEEPEST_INCLUDE = 4
# corners of a cube may miss its sides by this share of its size: coordinates are written with few digits
CUBE_ROUNDING = 1e-3


@dataclass(frozen=True, eq=False)
class VegFile:
    """What a .veg file holds.

    mesh: the tets (a cube gives six); young [Pa], poisson [1], density [kg/m³]: (m,) per tet, or None when the file
    names no material; sets: name -> indices of tets; notes: what the file left open and how it was decided.
    """

    mesh: MeshTet
    young: Array | None
    poisson: Array | None
    density: Array | None
    sets: Mapping[str, IndexArray]
    notes: tuple[str, ...] = ()


class Block(NamedTuple):
    """A section: the line with its star, the word after it, and the lines below."""

    head: Line
    name: str
    argument: str
    body: list[Line]


class Geometry(NamedTuple):
    """The mesh, the number of the first element in the file, its count there, and the tets made of each."""

    mesh: MeshTet
    start: int
    total: int
    split: int


def read_veg(path: Path) -> VegFile:
    """Read mesh, materials and sets. Raises FileError with the line where the file is wrong."""
    blocks = _blocks(path)
    geometry = _geometry(path, blocks)
    sets = {block.argument: _set(block, geometry) for block in blocks if block.name == "SET"}
    materials = {block.argument: _material(block) for block in blocks if block.name == "MATERIAL"}
    expanded = {name: frozen(_expanded(members, geometry)) for name, members in sets.items()}
    if not materials:
        return VegFile(geometry.mesh, None, None, None, expanded, ("the file names no material",))
    values, notes = _regions(blocks, geometry, sets, materials)
    density, young, poisson = (frozen(np.repeat(column, geometry.split)) for column in values.T)
    return VegFile(geometry.mesh, young, poisson, density, expanded, tuple(notes))


def read_geometry(path: Path) -> MeshTet:
    """Read the mesh alone, whatever its materials are."""
    return _geometry(path, _blocks(path)).mesh


def write_geometry(mesh: MeshTet, path: Path) -> None:
    """Write vertices and tets, numbered from 1; coordinates with all their digits."""
    with path.open("w", encoding="ascii") as out:
        out.write(f"*VERTICES\n{len(mesh.vertices)} 3 0 0\n")
        for i, (x, y, z) in enumerate(mesh.vertices.tolist(), start=1):
            out.write(f"{i} {x!r} {y!r} {z!r}\n")
        out.write(f"\n*ELEMENTS\nTET\n{len(mesh.tets)} 4 0\n")
        for i, (a, b, c, d) in enumerate((mesh.tets + 1).tolist(), start=1):
            out.write(f"{i} {a} {b} {c} {d}\n")


def read_bou(path: Path) -> IndexArray:
    """Fixed vertices, counted from 1 in the file, as sorted indices from 0; an empty file fixes none."""
    numbers = [(line, word) for line in text_lines(path, empty=True) for word in line.words]
    for line, word in numbers:
        if _number(word) < 1:
            raise line.wrong(f"expected vertex numbers from 1, separated by commas, found {line.quoted(word)}")
    return np.unique(np.array([_number(word) - 1 for _, word in numbers], dtype=np.int64))


def _number(word: str) -> int:
    """The whole number that a word writes in digits, or -1; one of more digits than an index can have counts as -1."""
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 18 else -1


def _lines(path: Path, above: tuple[str, ...] = (), read: set[str] | None = None) -> list[Line]:
    """The lines of a file, with those of the files it includes in their place.

    read: files that the mesh has included so far. Each is included once: a few short files that include each other many
    times would be more lines than the memory holds.
    """
    lines: list[Line] = []
    read = set() if read is None else read
    within_file = (*above, os.path.realpath(path))
    for line in text_lines(path):
        line = line._replace(included=bool(above))
        if line.text.upper().startswith("*INCLUDE"):
            lines += _included(line, line.text[len("*INCLUDE") :].strip(), within_file, read)
        else:
            lines.append(line)
    return lines


def _included(line: Line, name: str, above: tuple[str, ...], read: set[str]) -> list[Line]:
    """The lines of a file that stands in the folder of the including one, or below it.

    Meshes come from anywhere: a mesh must not decide which other files of the machine are read.
    """
    if not name:
        raise line.wrong("expected a file name after *INCLUDE")
    if "\0" in name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise line.wrong(f"cannot include {line.quoted(name)}: only files in the folder of the mesh are included")
    file = line.file.parent / name
    real = os.path.realpath(file)
    if not Path(real).is_relative_to(os.path.realpath(line.file.parent)):
        raise line.wrong(f"cannot include {line.quoted(name)}: it is a link to another folder; copy the file itself")
    if line.included and not os.path.isfile(real):  # the message of the reader would quote its name
        raise line.wrong("expected the name of a file in the same folder, found something else")
    if real in above or len(above) > DEEPEST_INCLUDE:
        raise line.wrong(f"files include each other in a circle, or more than {DEEPEST_INCLUDE} deep")
    if real in read:
        raise line.wrong(f"{line.quoted(name)} is included more than once; remove the other *INCLUDE lines")
    read.add(real)
    try:
        return _lines(file, above, read)
    except FileError as reason:
        raise line.wrong(f"cannot include {line.quoted(name)}: {reason}") from None


def _blocks(path: Path) -> list[Block]:
    lines = _lines(path)
    if not lines:
        raise FileError(f"{path} holds nothing but comments; expected sections *VERTICES and *ELEMENTS")
    if not lines[0].text.startswith("*"):
        raise lines[0].wrong(f"expected a section such as *VERTICES, found {lines[0].quoted()}")
    blocks: list[Block] = []
    for line in lines:
        if line.text.startswith("*"):
            name, _, argument = line.text[1:].replace(",", " ").strip().partition(" ")
            blocks.append(Block(line, name.upper(), argument.strip(), []))
        else:
            blocks[-1].body.append(line)
    return blocks


def _only(path: Path, blocks: Sequence[Block], name: str) -> Block:
    found = [block for block in blocks if block.name == name]
    if not found:
        last = (blocks[-1].body or [blocks[-1].head])[-1]
        raise FileError(f"{path}: expected a section *{name}, but the file ends at line {last.number} without one")
    if len(found) > 1:
        raise found[1].head.wrong(f"a second section *{name}; the first stands in line {found[0].head.number}")
    return found[0]


def _geometry(path: Path, blocks: list[Block]) -> Geometry:
    rows = _table(_only(path, blocks, "VERTICES"), "vertices", 0)
    vertices = float_rows(rows, 1, 3, "a vertex: its number and x y z")
    start = first_index(whole_rows(rows, 0, 1, "a vertex number"), rows, "vertices")
    block = _only(path, blocks, "ELEMENTS")
    corners = _corners(block)
    rows = _table(block, "elements", 1)
    numbers = whole_rows(rows, 0, 1 + corners, f"an element: its number and {corners} vertices")
    first = first_index(numbers, rows, "elements")
    elements = within(numbers[:, 1:], rows, start, len(vertices))
    split = 1 if corners == 4 else len(CUBE_TETS)
    tets = elements if corners == 4 else cube_tets(_binary_order(vertices, elements, rows))
    try:
        mesh = MeshTet(vertices, tets)
    except MeshError as reason:
        raise FileError(f"{path}: {reason}") from None
    return Geometry(mesh, first, len(elements), split)


def _corners(block: Block) -> int:
    kind = block.body[0].text.upper() if block.body else ""
    if kind.startswith("TET"):
        return 4
    if kind.startswith("CUBIC"):
        return 8
    where = block.body[0] if block.body else block.head
    raise where.wrong(f"expected TET or CUBIC after *ELEMENTS, found {where.quoted()}")


def _table(block: Block, what: str, skip: int) -> list[Line]:
    """The rows of a table; in place of the table a section may name a file that holds it."""
    body = block.body[skip:]
    if len(body) == 1 and not body[0].text[:1].isdigit():
        body = _included(body[0], body[0].text, (os.path.realpath(body[0].file),), set())
    return counted(body, what, block.body[skip - 1] if skip else block.head)[1]


def _binary_order(vertices: Array, cubes: IndexArray, rows: Sequence[Line]) -> IndexArray:
    """(m, 8) the corners of axis-aligned cubes sorted by position, in whatever order the file names them."""
    corners = vertices[cubes]
    low, high = corners.min(axis=1, keepdims=True), corners.max(axis=1, keepdims=True)
    upper = corners > (low + high) / 2
    code = (upper * np.array([1, 2, 4])).sum(axis=2)
    order = np.argsort(code, axis=1, kind="stable")
    miss = np.abs(corners - np.where(upper, high, low)).max(axis=(1, 2))
    wrong = (np.sort(code, axis=1) != np.arange(len(CORNERS))).any(axis=1)
    wrong |= miss > CUBE_ROUNDING * (high - low).max(axis=(1, 2))
    if wrong.any():
        raise rows[int(np.argmax(wrong))].wrong("this element is no cube with sides along x, y and z")
    return np.take_along_axis(cubes, order, axis=1)


def _set(block: Block, geometry: Geometry) -> IndexArray:
    """Elements of a set as indices from 0, in the file's own elements."""
    if not block.argument:
        raise block.head.wrong("expected a name after *SET")
    members: list[int] = []
    last = geometry.start + geometry.total - 1
    for line in block.body:
        for word in line.words:
            if not geometry.start <= _number(word) <= last:
                raise line.wrong(f"expected element numbers {geometry.start} to {last}, found {line.quoted(word)}")
            members.append(_number(word) - geometry.start)
    return np.unique(np.array(members, dtype=np.int64))


def _expanded(members: IndexArray, geometry: Geometry) -> IndexArray:
    return (members[:, None] * geometry.split + np.arange(geometry.split)).reshape(-1)


def _material(block: Block) -> tuple[float, float, float]:
    """Density, Young's modulus and Poisson's ratio of a material section."""
    if not block.argument or not block.body:
        raise block.head.wrong("expected *MATERIAL and a name, and below it: ENU, density, E, nu")
    line = block.body[0]
    kind = line.words[0].upper() if line.words else ""
    if kind.startswith(("ORTHOTROPIC", "MOONEYRIVLIN")):
        raise line.wrong(f"{kind} materials are not supported; give the material as ENU, density, E, nu")
    if kind != "ENU":
        raise line.wrong(f"expected ENU, density, E, nu, found {line.quoted()}")
    density, young, poisson = float_rows([line], 1, 3, "ENU, density, E, nu")[0].tolist()
    if not (0 < density < np.inf and 0 < young < np.inf and -1 < poisson < 0.5):
        raise line.wrong("density and E must be positive and finite, and nu between -1 and 0.5")
    return density, young, poisson


def _regions(
    blocks: list[Block], geometry: Geometry, sets: Mapping[str, IndexArray], materials: Mapping[str, tuple[float, ...]]
) -> tuple[Array, list[str]]:
    """(count, 3) density, E, nu of each element; one in no region takes the last material, as in Vega."""
    every = {"allElements": np.arange(geometry.total), **sets}
    values = np.tile(list(materials.values())[-1], (geometry.total, 1))
    open_ = np.ones(geometry.total, dtype=bool)
    for block in (block for block in blocks if block.name == "REGION"):
        line = block.body[0] if block.body else block.head
        names = [part.strip() for part in line.text.split(",")]
        if len(names) != 2 or names[0] not in every or names[1] not in materials:
            raise line.wrong(
                f"expected 'set, material' with a set of {', '.join(every)} and a material of {', '.join(materials)}, "
                f"found {line.quoted()}"
            )
        values[every[names[0]]] = materials[names[1]]
        open_[every[names[0]]] = False
    name = list(materials)[-1]
    return values, [f"{int(open_.sum())} elements are in no region and took the material {name}"] * bool(open_.any())
