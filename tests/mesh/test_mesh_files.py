"""Every format: written and read back, read from other writers, and refused when wrong."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest

from cajole.errors import FileError, InputError
from cajole.mesh import MeshTet, MeshTri, box_tets, read_mesh, write_mesh

BOX = box_tets(2, 1, 1, size=(0.1, 0.7, 1.3))
SKIN = BOX.surface
TET_SUFFIXES = [".veg", ".node", ".ele", ".msh", ".vtk", ".vtu", ".mesh"]
TRI_SUFFIXES = [".obj", ".ply", ".stl", ".msh", ".vtk", ".vtu", ".mesh"]


@pytest.mark.parametrize("suffix", TET_SUFFIXES)
def test_tets_survive_identity(tmp_path: Path, suffix: str) -> None:
    write_mesh(BOX, tmp_path / f"box{suffix}")
    again = read_mesh(tmp_path / f"box{suffix}")
    assert isinstance(again, MeshTet)
    assert again.content_hash == BOX.content_hash


@pytest.mark.parametrize("suffix", TRI_SUFFIXES)
def test_triangles_survive_identity(tmp_path: Path, suffix: str) -> None:
    write_mesh(SKIN, tmp_path / f"box{suffix.upper()}")
    again = read_mesh(tmp_path / f"box{suffix.upper()}")
    assert isinstance(again, MeshTri)
    if suffix == ".stl":  # single precision, vertices renumbered
        assert again.volume == pytest.approx(SKIN.volume, rel=1e-6)
        assert len(again.vertices) == len(SKIN.vertices)
        assert again.is_closed()
    else:
        assert again.content_hash == SKIN.content_hash


@pytest.mark.parametrize(
    ("name", "form", "binary"),
    [
        ("a.msh", "gmsh", False),
        ("a.msh", "gmsh", True),
        ("a.msh", "gmsh22", False),
        ("a.msh", "gmsh22", True),
        ("a.vtk", "vtk42", False),
        ("a.vtu", "vtu", False),
        ("a.node", "tetgen", None),
    ],
)
def test_tets_of_another_writer_reference(tmp_path: Path, name: str, form: str, binary: bool | None) -> None:
    meshio = pytest.importorskip("meshio")
    # meshio writes lines beside tets to some formats only
    lines = [("line", BOX.edges)] if form in ("gmsh22", "vtk42", "vtu") else []
    content = meshio.Mesh(BOX.vertices, [*lines, ("tetra", BOX.tets)])
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        options = {} if binary is None else {"binary": binary}
        meshio.write(tmp_path / name, content, file_format=form, **options)
    mesh = read_mesh(tmp_path / name)
    assert mesh.volume == pytest.approx(BOX.volume)
    assert any("passed over: " in note for note in mesh.notes) == bool(lines)


@pytest.mark.parametrize(("name", "binary"), [("a.ply", True), ("a.ply", False), ("a.stl", True), ("a.stl", False)])
def test_triangles_of_another_writer_reference(tmp_path: Path, name: str, binary: bool) -> None:
    meshio = pytest.importorskip("meshio")
    content = meshio.Mesh(SKIN.vertices, [("triangle", SKIN.triangles.astype(np.int32))])
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        meshio.write(tmp_path / name, content, binary=binary)
    mesh = read_mesh(tmp_path / name)
    assert isinstance(mesh, MeshTri)
    assert mesh.volume == pytest.approx(SKIN.volume, rel=1e-6)


def test_obj_polygons_and_relative_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.obj"
    path.write_text(
        "mtllib x.mtl\nv 0 0 0\nv 1 0 0 1 0 0\nv 1 1 0\nv\t0 1 0\nvt 0 0\nvn 0 0 1\no part\n"
        "f 1/1/1 2//1 3/1 \\\n 4\nv 0 0 1\nf -1 1 2 # back\nl 1 2\n"
    )
    mesh = read_mesh(path)
    assert mesh.elements[:2].tolist() == [[0, 1, 2], [0, 2, 3]]
    assert set(mesh.elements[2].tolist()) == {4, 0, 1}


@pytest.mark.parametrize("suffix", [".veg", ".node", ".ele", ".msh", ".obj", ".ply", ".stl"])
@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        b"solid\n",
        b"*VERTICES\n*ELEMENTS\nTET\n",
        b"ply\nformat ascii 1.0\nelement vertex -1\nproperty float x\nend_header\n",
        b"ply\nformat ascii 1.0\nelement vertex 99999999999\nproperty float x\nend_header\n",
    ],
)
def test_files_of_one_header_bad_input(tmp_path: Path, suffix: str, data: bytes) -> None:
    (tmp_path / f"a{suffix}").write_bytes(data)
    with pytest.raises(FileError, match=r"a\.\w+"):
        read_mesh(tmp_path / f"a{suffix}")


@pytest.mark.parametrize("kind", ["ascii", "binary_little_endian"])
def test_ply_elements_without_properties_bad_input(tmp_path: Path, kind: str) -> None:
    """Their rows take no bytes, so that any number of them fits into the file."""
    path = tmp_path / "a.ply"
    path.write_text(f"ply\nformat {kind} 1.0\nelement empty {10**15}\nend_header\n", encoding="ascii")
    with pytest.raises(FileError, match=f"promises {10**15} of 'empty'"):
        read_mesh(path)


def test_ply_both_byte_orders_and_mixed_polygons(tmp_path: Path) -> None:
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0], [0.5, 0.5, 1]])
    for name, order in (("little", "<"), ("big", ">")):
        header = (
            f"ply\nformat binary_{name}_endian 1.0\ncomment mixed\nelement vertex 5\nproperty float x\n"
            "property float y\nproperty float z\nproperty uchar red\nelement face 2\n"
            "property list uchar int vertex_index\nproperty float quality\nelement edge 1\n"
            "property int one\nend_header\n"
        )
        rows = np.zeros(5, [("p", order + "f4", 3), ("red", "u1")])
        rows["p"] = points
        faces = b"\x04" + np.array([0, 1, 2, 3], order + "i4").tobytes() + np.array([1], order + "f4").tobytes()
        faces += b"\x03" + np.array([0, 1, 4], order + "i4").tobytes() + np.array([1], order + "f4").tobytes()
        data = header.encode() + rows.tobytes() + faces + np.array([7], order + "i4").tobytes()
        path = tmp_path / f"{name}.ply"
        path.write_bytes(data)
        mesh = read_mesh(path)
        assert mesh.vertices == pytest.approx(points)
        assert [set(row) for row in mesh.elements.tolist()] == [{0, 1, 2}, {0, 2, 3}, {0, 1, 4}]
        path.write_bytes(data[: len(header) + 5 * 13 + 20])
        with pytest.raises(FileError, match="ends within element 'face'"):
            read_mesh(path)


def test_writing_leaves_no_debris(tmp_path: Path) -> None:
    target = tmp_path / "sub" / "box.veg"
    write_mesh(BOX, target)
    before = target.read_bytes()
    with pytest.raises(FileError):
        write_mesh(BOX, target / "inside.veg")
    assert target.read_bytes() == before
    assert [p.name for p in target.parent.iterdir()] == ["box.veg"]


def test_missing_folder_empty_unknown_bad_input(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="does not exist; check the name"):
        read_mesh(tmp_path / "none.obj")
    with pytest.raises(FileError, match=r"unknown suffix '\.doc'; meshes are read from \.veg \.obj"):
        read_mesh(tmp_path / "a.doc")
    with pytest.raises(FileError, match="a path must be a string"):
        read_mesh(7)  # type: ignore[arg-type]
    with pytest.raises(FileError):
        read_mesh("nul\0byte.obj")
    for suffix in {*TET_SUFFIXES, *TRI_SUFFIXES}:
        folder = tmp_path / f"folder{suffix}"
        folder.mkdir()
        with pytest.raises(FileError):
            read_mesh(folder)
        empty = tmp_path / f"empty{suffix}"
        empty.touch()
        with pytest.raises(FileError, match=r"is empty|does not exist"):
            read_mesh(empty)


def test_binary_obj_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "a.obj"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(FileError, match=r"a\.obj is binary, but a \.obj file is text; is its suffix wrong"):
        read_mesh(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 4\n", "names vertex 4, but the file holds 3"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 0 1 2\n", "line 4: there is no vertex 0"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 -4\n", "line 4: there is no vertex -4"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2\n", "line 4: a face needs at least three"),
        ("v 0 0 0\nv 1 0 0\nv 0 one 0\nf 1 2 3\n", "line 3: expected v x y z"),
        ("v 0 0 0\nv 1 0 0\nv 0 1 0\n", "3 vertices and 0 faces"),
        ("v 0 0 0\nv 1 0 0\nv 2 0 0\nf 1 2 3\n", "none of the 1 triangles has an area"),
        ("v 0 0 0\nv 1 0 0\nv 0 inf 0\nf 1 2 3\n", r"vertices\[2, 1\] is inf"),
        ("v 0 0 0\nf 1 2 3 \\", "cut off"),
    ],
)
def test_obj_bad_input(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "a.obj"
    path.write_text(text)
    with pytest.raises(FileError, match=message):
        read_mesh(path)


def test_wrong_kind_of_mesh_bad_input(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"\.stl holds triangles, not tets; write mesh\.surface"):
        write_mesh(BOX, tmp_path / "a.stl")
    with pytest.raises(FileError, match=r"\.veg holds tets, not triangles"):
        write_mesh(SKIN, tmp_path / "a.veg")
    with pytest.raises(FileError, match=r"unknown suffix '\.doc'; tets are written to"):
        write_mesh(BOX, tmp_path / "a.doc")
    with pytest.raises(InputError, match="not ndarray"):
        write_mesh(BOX.vertices, tmp_path / "a.veg")  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []


def test_half_a_pair_bad_input(tmp_path: Path) -> None:
    write_mesh(BOX, tmp_path / "a.node")
    (tmp_path / "a.ele").unlink()
    with pytest.raises(FileError, match=r"a\.ele does not exist; a TetGen mesh is a pair"):
        read_mesh(tmp_path / "a.node")


def test_nothing_is_printed_bad_input(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.vtk"
    path.write_bytes(b"# vtk DataFile Version 5.1\nnonsense\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS many double\n")
    with pytest.raises(FileError, match=r"cannot read .*a\.vtk as \.vtk"):
        read_mesh(path)
    assert capfd.readouterr() == ("", "")


def test_cells_of_no_use_bad_input(tmp_path: Path) -> None:
    path = tmp_path / "a.mesh"
    path.write_text("MeshVersionFormatted 2\nDimension 3\nVertices\n2\n0 0 0 1\n1 0 0 1\nEdges\n1\n1 2 1\nEnd\n")
    with pytest.raises(FileError, match="no tets or triangles, only line"):
        read_mesh(path)


def test_scale_and_up_reference(tmp_path: Path) -> None:
    for mesh in (box_tets(1, 1, 1, size=(2.0, 3.0, 4.0)), box_tets(1, 1, 1).surface):
        path = tmp_path / ("box.veg" if isinstance(mesh, MeshTet) else "box.obj")
        write_mesh(mesh, path)
        x, y, z = read_mesh(path).vertices.T
        turned = read_mesh(path, scale=0.001, up="y")
        np.testing.assert_allclose(turned.vertices, 0.001 * np.column_stack([x, -z, y]))
        assert type(turned) is type(mesh)
        assert turned.elements.tolist() == mesh.elements.tolist(), "nothing was mirrored"


def test_scale_and_up_bad_input(tmp_path: Path) -> None:
    write_mesh(box_tets(1, 1, 1), tmp_path / "box.veg")
    with pytest.raises(InputError, match=r"scale is 0\.0, but must be positive"):
        read_mesh(tmp_path / "box.veg", scale=0.0)
    with pytest.raises(InputError, match="up is 'x', but must be one of 'y', 'z'"):
        read_mesh(tmp_path / "box.veg", up="x")
