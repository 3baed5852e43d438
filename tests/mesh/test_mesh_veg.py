"""Vega's files: geometry, materials, sets, and messages that name the line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cajole.errors import FileError
from cajole.mesh import box_tets, read_bou, read_mesh, read_veg, write_mesh

TETS = """# a comment
*VERTICES
5 3 0 0
1 0 0 0
2 1 0 0
3 0 1 0  # inline comment
4 0, 0, 1
5 1 1 1

*ELEMENTS
TET
2 4 0
1 1 2 3 4
2 2 3 4 5

*MATERIAL soft
ENU, 1000, 1e6, 0.45

*MATERIAL hard
ENU, 2000, 1e9, 0.3

*SET tip
2,

*REGION
allElements, soft

*REGION
tip, hard
"""

CUBES = """*VERTICES
12 3 0 0
0 0 0 0
1 1 0 0
2 1 1 0
3 0 1 0
4 0 0 1
5 1 0 1
6 1 1 1
7 0 1 1
8 2 0 0
9 2 1 0
10 2 0 1
11 2 1 1
*ELEMENTS
CUBIC
2 8 0
0 0 1 2 3 4 5 6 7
1 9 8 1 2 11 10 5 6
*MATERIAL a
ENU, 1000, 1e6, 0.45
*SET second
1
"""


@pytest.fixture
def veg(tmp_path: Path) -> Path:
    path = tmp_path / "two.veg"
    path.write_text(TETS)
    return path


def test_vega_meshes_reference(vega: Path) -> None:
    for mesh_name, numbers in (
        ("beam3_tet.veg", "beam3_tet.json"),
        ("simpleBridge-ic_128_0.15_.1.veg", "simpleBridge_tet.json"),
    ):
        expected = json.loads((vega / numbers).read_text())
        file = read_veg(vega / mesh_name)
        assert len(file.mesh.vertices) == expected["num_vertices"]
        assert len(file.mesh.tets) == expected["num_tets"]
        assert file.mesh.volume == pytest.approx(expected["volume"], rel=1e-13)
        assert file.mesh.surface.volume == pytest.approx(expected["volume"], rel=1e-12)
        assert file.young is not None and file.poisson is not None and file.density is not None  # noqa: PT018
        assert file.young.tolist() == [expected["E_element0"]] * len(file.mesh.tets)
        assert file.poisson[0] == expected["nu_element0"]
        assert file.density[0] == expected["density_element0"]


def test_vega_fixed_vertices_reference(vega: Path) -> None:
    expected = json.loads((vega / "beam3_tet.json").read_text())["fixed_vertices_0based"]
    assert read_bou(vega / "beam3.bou").tolist() == sorted(expected)


def test_materials_and_sets(veg: Path) -> None:
    file = read_veg(veg)
    assert file.mesh.volumes == pytest.approx([1 / 6, 1 / 3])
    assert np.array_equal(file.young, [1e6, 1e9])
    assert np.array_equal(file.poisson, [0.45, 0.3])
    assert np.array_equal(file.density, [1000, 2000])
    assert {name: members.tolist() for name, members in file.sets.items()} == {"tip": [1]}
    assert file.notes == ()


def test_elements_without_region_take_the_last_material_and_tell(veg: Path) -> None:
    veg.write_text(TETS.replace("*REGION\nallElements, soft\n", ""))
    file = read_veg(veg)
    assert np.array_equal(file.young, [1e9, 1e9])
    assert file.notes == ("1 elements are in no region and took the material hard",)


def test_no_material(veg: Path) -> None:
    veg.write_text(TETS[: TETS.index("*MATERIAL")])
    file = read_veg(veg)
    assert file.young is None
    assert file.notes == ("the file names no material",)


def test_cubes_conform_and_count_from_zero(tmp_path: Path) -> None:
    path = tmp_path / "cubes.veg"
    path.write_text(CUBES)
    file = read_veg(path)
    assert len(file.mesh.tets) == 12
    assert file.mesh.volume == pytest.approx(2)
    assert file.mesh.is_manifold()
    assert len(file.mesh.surface.triangles) == 20  # ten square faces: the inner one is matched
    assert file.sets["second"].tolist() == list(range(6, 12))
    assert file.young is not None
    assert file.young.shape == (12,)


@pytest.mark.parametrize("reference", ["*INCLUDE nodes.txt", "nodes.txt"])
def test_vertices_by_reference(veg: Path, reference: str) -> None:
    start, end = TETS.index("5 3 0 0"), TETS.index("*ELEMENTS")
    (veg.parent / "nodes.txt").write_text(TETS[start:end])
    veg.write_text(TETS[:start] + reference + "\n" + TETS[end:])
    assert read_mesh(veg).volume == pytest.approx(0.5)


def test_write_and_read_identity(tmp_path: Path) -> None:
    mesh = box_tets(2, 1, 1, size=(0.1, 0.2, 0.3))
    write_mesh(mesh, tmp_path / "box.veg")
    again = read_mesh(tmp_path / "box.veg")
    assert again.content_hash == mesh.content_hash


def test_orthotropic_geometry_is_read(veg: Path) -> None:
    veg.write_text(TETS.replace("ENU, 2000, 1e9, 0.3", "ORTHOTROPIC, 1000, 1, 1, 1"))
    assert len(read_mesh(veg).elements) == 2
    with pytest.raises(FileError, match="line 20: ORTHOTROPIC materials are not supported; give the material as ENU"):
        read_veg(veg)


def test_truncated_bad_input(veg: Path) -> None:
    veg.write_text("\n".join(TETS.splitlines()[:6]))
    with pytest.raises(FileError, match=r"two\.veg, line 6: expected 5 vertices \(line 3 says so\), found 3.*cut off"):
        read_mesh(veg)
    veg.write_text("\n".join(TETS.splitlines()[:9]))
    with pytest.raises(FileError, match=r"expected a section \*ELEMENTS, but the file ends at line 8"):
        read_mesh(veg)
    veg.write_text("\n".join(TETS.splitlines()[:13]))
    with pytest.raises(FileError, match="line 13: expected 2 elements"):
        read_mesh(veg)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1 0 0 0", "1 0 zero 0", "line 4: expected a vertex: its number and x y z, found '1 0 zero 0'"),
        ("1 0 0 0", "1 0 0", "line 4: expected a vertex"),
        ("1 0 0 0", "7 0 0 0", "line 4: the first of the vertices is number 7"),
        ("2 1 0 0", "3 1 0 0", "line 5: expected number 2 of the vertices, found 3"),
        ("1 0 0 0", "1 nan 0 0", r"two\.veg: vertices\[0, 0\] is nan"),
        ("2 2 3 4 5", "2 2 3 4 6", "line 14: there is no vertex 6: vertices are numbered 1 to 5"),
        ("2 2 3 4 5", "2 2 3 4 4", "names a vertex twice"),
        ("TET\n", "HEX\n", "line 11: expected TET or CUBIC"),
        ("ENU, 1000, 1e6, 0.45", "ENU, 1000, -1, 0.45", "line 17: density and E must be positive"),
        ("ENU, 1000, 1e6, 0.45", "ENU, 1000, 1e6", "line 17: expected ENU, density, E, nu"),
        ("ENU, 1000, 1e6, 0.45", "MOONEYRIVLIN, 1, 2", "MOONEYRIVLIN materials are not supported"),
        ("2,\n", "3,\n", "line 23: expected element numbers 1 to 2, found '3'"),
        ("tip, hard", "tail, hard", "line 29: expected 'set, material' with a set of allElements, tip"),
        ("*VERTICES", "*INCLUDE two.veg", "include each other"),
        ("*VERTICES", "*INCLUDE none.txt", "line 2: cannot include 'none.txt'"),
        ("*VERTICES\n", "*VERTICES\n*VERTICES\n", r"line 3: a second section \*VERTICES"),
    ],
)
def test_lines_bad_input(veg: Path, old: str, new: str, message: str) -> None:
    veg.write_text(TETS.replace(old, new, 1))
    with pytest.raises(FileError, match=message):
        read_veg(veg)


def test_skewed_cube_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "cubes.veg"
    path.write_text(CUBES.replace("6 1 1 1\n", "6 1 1.2 1\n"))
    with pytest.raises(FileError, match="line 18: this element is no cube"):
        read_mesh(path)


def test_bou_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "a.bou"
    path.write_text("3,1,\n2 3\n")
    assert read_bou(path).tolist() == [0, 1, 2]
    path.write_text("")
    assert read_bou(path).tolist() == []
    for text in ("1,0", "1,-2", "1,two", "9" * 30):
        path.write_text(text)
        with pytest.raises(FileError, match="line 1: expected vertex numbers from 1"):
            read_bou(path)


def test_body_of_its_material_agreement(veg: Path) -> None:
    from cajole.body import BodySolid, MaterialStVK, read_body

    file, body = read_veg(veg), read_body(veg, fixed=[0], scale=0.5)
    assert file.young is not None
    assert file.poisson is not None
    assert file.density is not None
    materials = [MaterialStVK(*row) for row in zip(file.young, file.poisson, file.density)]
    made = BodySolid(file.mesh.moved(0.5 * file.mesh.vertices), materials, fixed=[0])
    assert body.compute_content_hash() == made.compute_content_hash()
    veg.write_text(TETS[: TETS.index("*MATERIAL")])
    assert read_body(veg).compute_content_hash() == BodySolid(read_veg(veg).mesh).compute_content_hash()
