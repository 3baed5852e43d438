"""Vega's .veg (tets or cubes, materials, named sets of elements) and .bou (fixed vertices)."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from cajole.arrays import Array, IndexArray
from cajole.errors import FileError, MeshError
from cajole.mesh.base import make_read_only
from cajole.mesh.cubes import CUBE_CORNERS, CUBE_TETS, split_cubes_into_tets
from cajole.mesh.formats.text_lines import (
    TextLine,
    convert_to_zero_base,
    find_index_base,
    parse_counted_block,
    parse_float_rows,
    parse_integer_rows,
    read_text_lines,
)
from cajole.mesh.tet import MeshTet


@dataclass(frozen=True, eq=False)
class VegFile:
    """The content of a .veg file.

    mesh: the tets (a cube gives six); young [Pa], poisson [1], density [kg/m³]: (m,) per tet, or None if the file has
    no material; sets: name -> indices of tets; notes: assumptions about what the file leaves open.
    """

    mesh: MeshTet
    young: Array | None
    poisson: Array | None
    density: Array | None
    sets: Mapping[str, IndexArray]
    notes: tuple[str, ...] = ()


class VegSection(NamedTuple):
    """A section: its header line *NAME argument, and the lines below."""

    header: TextLine
    name: str
    argument: str
    body: list[TextLine]


class VegGeometry(NamedTuple):
    """The mesh, first number and count of the elements in the file, and the tets per element."""

    mesh: MeshTet
    index_base: int
    element_count: int
    tets_per_element: int


def read_veg(path: Path) -> VegFile:
    """Read mesh, materials and sets. Raises FileError with the line of the error."""
    blocks = _read_sections(path)
    geometry = _parse_geometry(path, blocks)
    sets = {block.argument: _parse_set(block, geometry) for block in blocks if block.name == "SET"}
    materials = {block.argument: _parse_material(block) for block in blocks if block.name == "MATERIAL"}
    split = geometry.tets_per_element
    expanded = {
        name: make_read_only((members[:, None] * split + np.arange(split)).reshape(-1))
        for name, members in sets.items()
    }
    if not materials:
        return VegFile(geometry.mesh, None, None, None, expanded, ("the file names no material",))
    values, notes = _assign_materials(blocks, geometry, sets, materials)
    density, young, poisson = (make_read_only(np.repeat(column, geometry.tets_per_element)) for column in values.T)
    return VegFile(geometry.mesh, young, poisson, density, expanded, tuple(notes))


def read_veg_mesh(path: Path) -> MeshTet:
    """Read only the mesh; materials are not checked."""
    return _parse_geometry(path, _read_sections(path)).mesh


def write_veg_mesh(mesh: MeshTet, path: Path) -> None:
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
    numbers = [(line, word) for line in read_text_lines(path, allow_empty=True) for word in line.words]
    for line, word in numbers:
        if _parse_index(word) < 1:
            raise line.build_error(f"expected vertex numbers from 1, separated by commas, found {line.quote(word)}")
    return np.unique(np.array([_parse_index(word) - 1 for _, word in numbers], dtype=np.int64))


def _parse_index(word: str) -> int:
    """The number that a word of at most 18 digits denotes, else -1."""
    return int(word) if word.isascii() and word.isdigit() and len(word) <= 18 else -1


def _read_lines(
    path: Path, including_files: tuple[str, ...] = (), included_files: set[str] | None = None
) -> list[TextLine]:
    """The lines of a file, with those of the files that it includes.

    included_files: those included so far. Each may be included once: a few short files that include each other many
    times could exceed the memory.
    """
    lines: list[TextLine] = []
    included_files = set() if included_files is None else included_files
    within_file = (*including_files, os.path.realpath(path))
    for line in read_text_lines(path):
        line = line._replace(from_include=bool(including_files))
        if line.text.upper().startswith("*INCLUDE"):
            lines += _read_included_lines(line, line.text[len("*INCLUDE") :].strip(), within_file, included_files)
        else:
            lines.append(line)
    return lines


def _read_included_lines(
    line: TextLine, name: str, including_files: tuple[str, ...], included_files: set[str]
) -> list[TextLine]:
    """The lines of an included file, which must be in the folder of the including file, or below it.

    Meshes come from untrusted sources and must not select which other files are read.
    """
    if not name:
        raise line.build_error("expected a file name after *INCLUDE")
    if "\0" in name or Path(name).is_absolute() or ".." in Path(name).parts:
        raise line.build_error(f"cannot include {line.quote(name)}: only files in the folder of the mesh are included")
    file = line.file.parent / name
    real = os.path.realpath(file)
    if not Path(real).is_relative_to(os.path.realpath(line.file.parent)):
        raise line.build_error(
            f"cannot include {line.quote(name)}: it is a link to another folder; copy the file itself"
        )
    if line.from_include and not os.path.isfile(real):  # the message of the reader would quote its name
        raise line.build_error("expected the name of a file in the same folder, found something else")
    if real in including_files or len(including_files) > 4:  # Vega's own files include one level
        raise line.build_error("files include each other in a circle, or more than 4 deep")
    if real in included_files:
        raise line.build_error(f"{line.quote(name)} is included more than once; remove the other *INCLUDE lines")
    included_files.add(real)
    try:
        return _read_lines(file, including_files, included_files)
    except FileError as reason:
        raise line.build_error(f"cannot include {line.quote(name)}: {reason}") from None


def _read_sections(path: Path) -> list[VegSection]:
    lines = _read_lines(path)
    if not lines:
        raise FileError(f"{path} holds nothing but comments; expected sections *VERTICES and *ELEMENTS")
    if not lines[0].text.startswith("*"):
        raise lines[0].build_error(f"expected a section such as *VERTICES, found {lines[0].quote()}")
    blocks: list[VegSection] = []
    for line in lines:
        if line.text.startswith("*"):
            name, _, argument = line.text[1:].replace(",", " ").strip().partition(" ")
            blocks.append(VegSection(line, name.upper(), argument.strip(), []))
        else:
            blocks[-1].body.append(line)
    return blocks


def _find_single_section(path: Path, sections: Sequence[VegSection], name: str) -> VegSection:
    found = [block for block in sections if block.name == name]
    if not found:
        last = (sections[-1].body or [sections[-1].header])[-1]
        raise FileError(f"{path}: expected a section *{name}, but the file ends at line {last.number} without one")
    if len(found) > 1:
        raise found[1].header.build_error(
            f"a second section *{name}; the first stands in line {found[0].header.number}"
        )
    return found[0]


def _parse_geometry(path: Path, sections: list[VegSection]) -> VegGeometry:
    rows = _read_table_rows(_find_single_section(path, sections, "VERTICES"), "vertices", 0)
    vertices = parse_float_rows(rows, 1, 3, "a vertex: its number and x y z")
    start = find_index_base(parse_integer_rows(rows, 0, 1, "a vertex number"), rows, "vertices")
    block = _find_single_section(path, sections, "ELEMENTS")
    head = block.body[0] if block.body else block.header
    kind = head.text.upper() if block.body else ""
    if not kind.startswith(("TET", "CUBIC")):
        raise head.build_error(f"expected TET or CUBIC after *ELEMENTS, found {head.quote()}")
    corners = 4 if kind.startswith("TET") else 8
    rows = _read_table_rows(block, "elements", 1)
    numbers = parse_integer_rows(rows, 0, 1 + corners, f"an element: its number and {corners} vertices")
    first = find_index_base(numbers, rows, "elements")
    elements = convert_to_zero_base(numbers[:, 1:], rows, start, len(vertices))
    split = 1 if corners == 4 else len(CUBE_TETS)
    tets = elements if corners == 4 else split_cubes_into_tets(_sort_cube_corners(vertices, elements, rows))
    try:
        mesh = MeshTet(vertices, tets)
    except MeshError as reason:
        raise FileError(f"{path}: {reason}") from None
    return VegGeometry(mesh, first, len(elements), split)


def _read_table_rows(section: VegSection, what: str, skip: int) -> list[TextLine]:
    """The rows of a table, or of the file that the section names instead."""
    body = section.body[skip:]
    if len(body) == 1 and not body[0].text[:1].isdigit():
        body = _read_included_lines(body[0], body[0].text, (os.path.realpath(body[0].file),), set())
    return parse_counted_block(body, what, section.body[skip - 1] if skip else section.header)[1]


def _sort_cube_corners(vertices: Array, cubes: IndexArray, rows: Sequence[TextLine]) -> IndexArray:
    """(m, 8) the corners of axis-aligned cubes in binary order of their positions."""
    corners = vertices[cubes]
    low, high = corners.min(axis=1, keepdims=True), corners.max(axis=1, keepdims=True)
    upper = corners > (low + high) / 2
    code = (upper * np.array([1, 2, 4])).sum(axis=2)
    order = np.argsort(code, axis=1, kind="stable")
    miss = np.abs(corners - np.where(upper, high, low)).max(axis=(1, 2))
    wrong = (np.sort(code, axis=1) != np.arange(len(CUBE_CORNERS))).any(axis=1)
    wrong |= miss > 1e-3 * (high - low).max(axis=(1, 2))  # coordinates have few digits
    if wrong.any():
        raise rows[int(np.argmax(wrong))].build_error("this element is no cube with sides along x, y and z")
    return np.take_along_axis(cubes, order, axis=1)


def _parse_set(section: VegSection, geometry: VegGeometry) -> IndexArray:
    """Indices, from 0, of the elements of a set."""
    if not section.argument:
        raise section.header.build_error("expected a name after *SET")
    members: list[int] = []
    last = geometry.index_base + geometry.element_count - 1
    for line in section.body:
        for word in line.words:
            if not geometry.index_base <= _parse_index(word) <= last:
                raise line.build_error(
                    f"expected element numbers {geometry.index_base} to {last}, found {line.quote(word)}"
                )
            members.append(_parse_index(word) - geometry.index_base)
    return np.unique(np.array(members, dtype=np.int64))


def _parse_material(section: VegSection) -> tuple[float, float, float]:
    """Density, Young's modulus and Poisson's ratio of a material section."""
    if not section.argument or not section.body:
        raise section.header.build_error("expected *MATERIAL and a name, and below it: ENU, density, E, nu")
    line = section.body[0]
    kind = line.words[0].upper() if line.words else ""
    if kind.startswith(("ORTHOTROPIC", "MOONEYRIVLIN")):
        raise line.build_error(f"{kind} materials are not supported; give the material as ENU, density, E, nu")
    if kind != "ENU":
        raise line.build_error(f"expected ENU, density, E, nu, found {line.quote()}")
    density, young, poisson = parse_float_rows([line], 1, 3, "ENU, density, E, nu")[0].tolist()
    if not (0 < density < np.inf and 0 < young < np.inf and -1 < poisson < 0.5):
        raise line.build_error("density and E must be positive and finite, and nu between -1 and 0.5")
    return density, young, poisson


def _assign_materials(
    sections: list[VegSection],
    geometry: VegGeometry,
    sets: Mapping[str, IndexArray],
    materials: Mapping[str, tuple[float, ...]],
) -> tuple[Array, list[str]]:
    """(count, 3) density, E, nu of each element, and notes; elements in no region get the last material, as in Vega."""
    every = {"allElements": np.arange(geometry.element_count), **sets}
    values = np.tile(list(materials.values())[-1], (geometry.element_count, 1))
    open_ = np.ones(geometry.element_count, dtype=bool)
    for block in (block for block in sections if block.name == "REGION"):
        line = block.body[0] if block.body else block.header
        names = [part.strip() for part in line.text.split(",")]
        if len(names) != 2 or names[0] not in every or names[1] not in materials:
            raise line.build_error(
                f"expected 'set, material' with a set of {', '.join(every)} and a material of {', '.join(materials)}, "
                f"found {line.quote()}"
            )
        values[every[names[0]]] = materials[names[1]]
        open_[every[names[0]]] = False
    name = list(materials)[-1]
    return values, [f"{int(open_.sum())} elements are in no region and took the material {name}"] * bool(open_.any())
