"""GLB: what the standard asks for, exact within single precision, and files of other programs."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from animation_cases import FPS, FRAMES

from cajole.animation import Animation, glb, read_animation
from cajole.errors import FileError, InputError
from cajole.mesh import Skin, compute_vertex_normals
from cajole.parsers.child_process import CPU_LIMIT_VARIABLE

SINGLE = 2e-7  # coordinates here are below two


def parsed(path: Path) -> tuple[dict[str, Any], bytes]:
    data = path.read_bytes()
    magic, version, total = struct.unpack_from("<4sII", data)
    assert (magic, version, total) == (b"glTF", 2, len(data))
    length, kind = struct.unpack_from("<I4s", data, 12)
    assert (kind, length % 4) == (b"JSON", 0)
    size, kind = struct.unpack_from("<I4s", data, 20 + length)
    assert (kind, size % 4, 28 + length + size) == (b"BIN\0", 0, len(data))
    return json.loads(data[20 : 20 + length]), data[28 + length :]


def packed(document: dict[str, Any], data: bytes = b"") -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    if data:
        chunks += struct.pack("<I4s", len(data), b"BIN\0") + data
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def values(document: dict[str, Any], data: bytes, index: int) -> np.ndarray:
    """An accessor, decoded independently of the reader."""
    accessor = document["accessors"][index]
    view = document["bufferViews"][accessor["bufferView"]]
    dtype = {5126: "<f4", 5125: "<u4", 5123: "<u2"}[accessor["componentType"]]
    width = {"SCALAR": 1, "VEC3": 3}[accessor["type"]]
    flat = np.frombuffer(data, dtype, accessor["count"] * width, view["byteOffset"])
    return flat.reshape(-1, width)


def test_round_trip_identity(tmp_path: Path, cloth: Animation) -> None:
    cloth.write(tmp_path / "a.glb")
    again = read_animation(tmp_path / "a.glb")
    np.testing.assert_allclose(again.positions, cloth.positions, rtol=0, atol=SINGLE)
    np.testing.assert_array_equal(again.mesh.elements, cloth.mesh.elements)
    np.testing.assert_array_equal(again.mesh.vertices, again.positions[0])
    assert (again.fps, again.start_frame, again.name) == (FPS, 3, "cloth")


def test_plain_color_agreement(tmp_path: Path, cloth: Animation, full: Animation) -> None:
    """What has no colours is as blue as in pictures; glTF's factor is linear light, and leaves colours as they are."""
    cloth.write(tmp_path / "plain.glb")
    full.write(tmp_path / "painted.glb")
    factors = [
        parsed(tmp_path / f"{name}.glb")[0]["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"]
        for name in ("plain", "painted")
    ]
    encoded = 1.055 * np.array(factors[0][:3]) ** (1 / 2.4) - 0.055
    np.testing.assert_allclose(encoded, Skin(cloth.mesh).colors[0], atol=1e-12)
    assert factors[0][3] == 1.0
    assert factors[1] == [1.0] * 4


def test_skin_and_surface_identity(tmp_path: Path, full: Animation, tets: Animation) -> None:
    full.write(tmp_path / "a.glb")
    again = read_animation(tmp_path / "a.glb")
    np.testing.assert_allclose(again.positions, full.skinned().positions, rtol=0, atol=SINGLE)
    assert again.skin is not None
    assert full.skin is not None
    np.testing.assert_allclose(again.skin.colors, full.skin.colors, rtol=0, atol=1e-6)
    tets.write(tmp_path / "b.glb")
    kept = tets.mesh.surface_vertices  # type: ignore[union-attr]
    np.testing.assert_allclose(read_animation(tmp_path / "b.glb").positions, tets.positions[:, kept], atol=SINGLE)


def test_layout_is_what_the_standard_asks_reference(tmp_path: Path, full: Animation) -> None:
    # glTF 2.0: bounds of positions and of times, y up, unit normals, linear colours, weights that show one target each
    full.write(tmp_path / "a.glb")
    document, data = parsed(tmp_path / "a.glb")
    assert sum(view["byteLength"] for view in document["bufferViews"]) == document["buffers"][0]["byteLength"]
    assert all(view["byteOffset"] % 4 == 0 for view in document["bufferViews"])
    primitive = document["meshes"][0]["primitives"][0]
    skin = full.skinned()
    y_up = np.stack([skin.positions[..., 0], skin.positions[..., 2], -skin.positions[..., 1]], axis=-1)
    base = values(document, data, primitive["attributes"]["POSITION"])
    np.testing.assert_allclose(base, y_up[0], atol=SINGLE)
    normals = values(document, data, primitive["attributes"]["NORMAL"])
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1, atol=1e-6)
    for frame, target in enumerate(primitive["targets"], start=1):
        accessor = document["accessors"][target["POSITION"]]
        change = values(document, data, target["POSITION"])
        np.testing.assert_allclose(base + change, y_up[frame], atol=SINGLE)
        np.testing.assert_array_equal([accessor["min"], accessor["max"]], [change.min(axis=0), change.max(axis=0)])
        shading = normals + values(document, data, target["NORMAL"])
        np.testing.assert_allclose(shading, compute_vertex_normals(y_up[frame], skin.mesh.triangles), atol=1e-5)
    sampler = document["animations"][0]["samplers"][0]
    np.testing.assert_allclose(values(document, data, sampler["input"])[:, 0], np.arange(FRAMES) / FPS, atol=1e-6)
    weights = values(document, data, sampler["output"]).reshape(FRAMES, FRAMES - 1)
    np.testing.assert_array_equal(weights, np.eye(FRAMES)[:, 1:])
    assert full.skin is not None
    srgb = full.skin.colors[3, 0]
    linear = srgb / 12.92 if srgb <= 0.04045 else ((srgb + 0.055) / 1.055) ** 2.4
    assert values(document, data, primitive["attributes"]["COLOR_0"])[3, 0] == pytest.approx(linear, rel=1e-6)
    assert document["materials"][0]["doubleSided"]


def test_every_and_max_targets_agreement(tmp_path: Path, cloth: Animation) -> None:
    cloth.write(tmp_path / "a.glb", every=4, normals=False)
    cloth.write(tmp_path / "b.glb", max_targets=2, normals=False)
    document, _ = parsed(tmp_path / "a.glb")
    assert document["meshes"][0]["extras"]["targetNames"] == ["frame 4", "frame 6"]
    again = read_animation(tmp_path / "a.glb")
    # frames between keys come back as the straight line that a viewer plays
    assert again.frames == FRAMES
    np.testing.assert_allclose(again.positions[[0, 4, 6]], cloth.positions[[0, 4, 6]], atol=SINGLE)
    np.testing.assert_allclose(again.positions[1], 0.75 * cloth.positions[0] + 0.25 * cloth.positions[4], atol=1e-6)
    document, _ = parsed(tmp_path / "b.glb")
    assert document["meshes"][0]["extras"]["targetNames"] == ["frame 3", "frame 6"]


def test_one_frame_is_a_still_identity(tmp_path: Path, cloth: Animation) -> None:
    cloth.trimmed(2, 3).write(tmp_path / "a.glb")
    document, _ = parsed(tmp_path / "a.glb")
    assert "animations" not in document
    again = read_animation(tmp_path / "a.glb")
    assert (again.frames, again.fps) == (1, FPS)
    np.testing.assert_allclose(again.positions[0], cloth.positions[2], atol=SINGLE)


def test_large_files_are_announced_bad_input(tmp_path: Path, cloth: Animation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glb, "_LARGE_FILE_BYTES", 100)
    with pytest.warns(UserWarning, match="which viewers load slowly; use every="):
        cloth.write(tmp_path / "a.glb")
    monkeypatch.setattr(glb, "_MAX_FILE_BYTES", 100)
    with pytest.raises(InputError, match="a GLB file can hold"):
        cloth.write(tmp_path / "a.glb")


@pytest.mark.parametrize("options", [{"every": 0}, {"max_targets": 0}, {"vertices": "skin"}, {"each": 2}])
def test_options_bad_input(tmp_path: Path, cloth: Animation, options: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        cloth.write(tmp_path / "a.glb", **options)
    assert not list(tmp_path.iterdir())


def foreign(**change: Any) -> tuple[dict[str, Any], bytes]:
    """A triangle as other exporters write it: parent transform, strided bytes, a sparse target, uneven keys."""
    strided = np.zeros((3, 5), "<f4")
    strided[:, :3] = [[0, 0, 0], [1, 0, 0], [0, 1, 0]]
    pieces = [
        strided.tobytes(),
        np.array([0, 1, 2, 0], "<u1").tobytes(),
        np.array([2, 0], "<u2").tobytes(),
        np.array([0, 0, 2], "<f4").tobytes(),
        np.array([1.0, 1.25, 2.0], "<f4").tobytes(),
        np.array([0, 1, 0], "<f4").tobytes(),
    ]
    starts = np.cumsum([0] + [len(piece) for piece in pieces])
    views = [{"buffer": 0, "byteOffset": int(s), "byteLength": len(p)} for s, p in zip(starts, pieces)]
    views[0]["byteStride"] = 20
    sparse = {
        "count": 1,
        "indices": {"bufferView": 2, "componentType": 5123},
        "values": {"bufferView": 3},
    }
    document = {
        "asset": {"version": "2.0"},
        "nodes": [
            {"children": [1], "translation": [10, 0, 0], "rotation": [0, 0, np.sqrt(0.5), np.sqrt(0.5)]},
            {"mesh": 0, "name": "leaf", "scale": [2, 2, 2]},
        ],
        "meshes": [
            {"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "targets": [{"POSITION": 2}]}]},
        ],
        "animations": [
            {
                "samplers": [{"input": 3, "output": 4}],
                "channels": [{"sampler": 0, "target": {"node": 1, "path": "weights"}}],
            }
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3"},
            {"bufferView": 1, "componentType": 5121, "count": 3, "type": "SCALAR"},
            {"componentType": 5126, "count": 3, "type": "VEC3", "sparse": sparse},
            {"bufferView": 4, "componentType": 5126, "count": 3, "type": "SCALAR"},
            {"bufferView": 5, "componentType": 5126, "count": 3, "type": "SCALAR"},
        ],
        "bufferViews": views,
        "buffers": [{"byteLength": int(starts[-1])}],
    }
    return document | change, b"".join(pieces)


def test_files_of_others_reference(tmp_path: Path) -> None:
    # worked out by hand: scale 2, a quarter turn about z, 10 along x, then y up to z up
    (tmp_path / "a.glb").write_bytes(packed(*foreign()))
    again = read_animation(tmp_path / "a.glb")
    assert (again.name, again.fps, again.frames, again.start_frame) == ("leaf", 4.0, 5, 4)
    np.testing.assert_allclose(again.positions[0], [[10, 0, 0], [10, 0, 2], [8, 0, 0]], atol=1e-6)
    # the sparse target moves vertex 2 by 2 along its own z, 4 in the scene: -4 along our y, with weights 0 1 2/3 1/3 0
    np.testing.assert_allclose(again.positions[:, 2, 1], [0, -4, -8 / 3, -4 / 3, 0], atol=1e-6)
    np.testing.assert_allclose(again.positions[:, :2, 1], 0, atol=1e-6)


def test_stepped_keys_reference(tmp_path: Path) -> None:
    document, data = foreign()
    document["animations"][0]["samplers"][0]["interpolation"] = "STEP"
    (tmp_path / "a.glb").write_bytes(packed(document, data))
    np.testing.assert_allclose(read_animation(tmp_path / "a.glb").positions[:, 2, 1], [0, -4, -4, -4, 0], atol=1e-6)


def test_a_choice_among_meshes_bad_input(tmp_path: Path) -> None:
    document, data = foreign()
    still = {"attributes": {"POSITION": 0}, "indices": 1}
    document["meshes"].append({"name": "floor", "primitives": [still]})
    document["nodes"].append({"mesh": 1})
    (tmp_path / "a.glb").write_bytes(packed(document, data))
    assert read_animation(tmp_path / "a.glb").name == "leaf"  # the only one that moves
    assert read_animation(tmp_path / "a.glb", prim="floor").frames == 1
    with pytest.raises(FileError, match="these meshes: leaf, floor; prim='roof' names 0 of them"):
        read_animation(tmp_path / "a.glb", prim="roof")
    del document["meshes"][0]["primitives"][0]["targets"]
    del document["animations"]
    (tmp_path / "a.glb").write_bytes(packed(document, data))
    with pytest.raises(FileError, match="prim= must name one of them"):
        read_animation(tmp_path / "a.glb")


def _set(document: dict[str, Any], path: str, value: Any) -> None:
    *keys, last = path.split("/")
    place: Any = document
    for key in keys:
        place = place[int(key)] if key.isdigit() else place[key]
    place[int(last) if last.isdigit() else last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("accessors/0/count", 10**12, "claims 1000000000000 values"),
        ("accessors/0/count", 4, "smaller than what is read"),
        ("accessors/2/count", 10**9, "claims 1000000000 values"),
        ("accessors/0/bufferView", 99, r"refers to bufferViews\[99\]"),
        ("bufferViews/0/byteOffset", -8, "smaller than what is read"),
        ("bufferViews/0/byteStride", 0, "smaller than what is read"),
        ("bufferViews/0/buffer", 1, "another file"),
        ("nodes/1/mesh", 5, r"refers to meshes\[5\]"),
        ("nodes/1/skin", 0, "moved by bones"),
        ("nodes/1/children", [0], "its own ancestor"),
        ("animations/0/channels/0/target/path", "rotation", "moves the mesh's node as a whole"),
        ("animations/0/samplers/0/interpolation", "CUBICSPLINE", "export it with linear keys"),
        ("meshes/0/primitives/0/mode", 5, "only triangles"),
        ("extensionsRequired", ["KHR_draco_mesh_compression"], "export it without compression"),
        ("extras", {"cajole": {"fps": 1e12}}, "its times are damaged"),
        ("extras", {"cajole": {"fps": "x"}}, "damaged"),
        ("accessors", 7, "damaged"),
    ],
)
def test_damaged_documents_bad_input(tmp_path: Path, path: str, value: Any, message: str) -> None:
    document, data = foreign()
    _set(document, path, value)
    (tmp_path / "a.glb").write_bytes(packed(document, data))
    with pytest.raises(FileError, match=message):
        read_animation(tmp_path / "a.glb")


def test_long_chain_of_nodes_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """100,000 nodes, each the parent of the next, take about 2 s of CPU; quadratic work would take more than 30."""
    monkeypatch.setenv(CPU_LIMIT_VARIABLE, "20")
    document, data = foreign()
    first, length = len(document["nodes"]), 100_000
    parents = [{"children": [first + k + 1], "translation": [1e-4, 0, 0]} for k in range(length)]
    parents[-1]["children"] = [0]
    document["nodes"] += parents
    (tmp_path / "a.glb").write_bytes(packed(document, data))
    again = read_animation(tmp_path / "a.glb")
    np.testing.assert_allclose(again.positions[0], [[20, 0, 0], [20, 0, 2], [18, 0, 0]], atol=1e-6)
    document["nodes"][0]["children"] = [1, first]
    (tmp_path / "a.glb").write_bytes(packed(document, data))
    with pytest.raises(FileError, match="its own ancestor"):
        read_animation(tmp_path / "a.glb")
