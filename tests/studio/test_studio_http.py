"""Requests: the page and its files, the door, uploads that are refused and uploads that are not."""

from __future__ import annotations

import errno
import io
import json
import os
import zipfile

import httpx
import numpy as np
import pytest
from studio_cases import Running, running, small_motion, sway_file

from cajole.mesh import box_tets, write_mesh
from cajole.studio.catalogue import get_picture_folder
from cajole.studio.locks import LOCK_FILE
from cajole.studio.project_store import DOCUMENT_NAME, ProjectSource
from waiting import PATIENCE

LIMIT = 200_000


@pytest.fixture
def page(tmp_path):
    static = tmp_path / "static"
    static.mkdir()
    (static / "index.html").write_text("<title>page</title>", encoding="utf-8")
    (static / "main.js").write_text("1", encoding="utf-8")
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    return static


@pytest.fixture
def studio(tmp_path, page):
    with running(tmp_path / "studio", page, max_upload_bytes=LIMIT) as found:
        yield found


@pytest.fixture
def client(studio):
    with httpx.Client(base_url=studio.address, timeout=PATIENCE) as found:
        yield found


@pytest.fixture
def inside(client, studio) -> httpx.Client:
    """Through the door."""
    assert client.post("/enter", content=studio.guard.token).status_code == 204
    return client


def test_the_page_and_its_files_are_served_with_their_headers_identity(client):
    got = client.get("/")
    assert (got.status_code, got.text) == (200, "<title>page</title>")
    assert got.headers["content-security-policy"].startswith("default-src 'self'")
    assert got.headers["x-content-type-options"] == "nosniff"
    assert client.get("/static/main.js").headers["cache-control"] == "no-cache"
    assert "immutable" in client.get("/static/main.js?v=3").headers["cache-control"]


NOT_SERVED = {
    "above": "/static/../secret.txt",
    "above, quoted": "/static/%2e%2e/secret.txt",
    "absolute": "/static//etc/passwd",
    "unknown": "/x",
    "zero byte": "/static/%00",
    "zero byte within": "/static/a%00b.js",
    "too long a name": f"/static/{'x' * 5000}",
    "too long a path": f"/static/{'x/' * 2500}",
    "not UTF-8": "/static/%ff%fe",
    "picture, zero byte": "/pictures/%00.webp",
    "picture, too long": f"/pictures/{'x' * 5000}.webp",
    "a folder": "/static/",
}


@pytest.mark.parametrize("path", NOT_SERVED.values(), ids=NOT_SERVED)
def test_nothing_else_is_served_bad_input(client, path):
    got = client.get(path)
    assert got.status_code == 404
    assert "secret" not in got.text


def test_a_page_that_was_not_built_says_how_bad_input(tmp_path):
    with running(tmp_path / "studio", tmp_path / "nothing") as studio:
        got = httpx.get(studio.address, timeout=PATIENCE)
    assert got.status_code == 503
    assert "make page" in got.text


@pytest.mark.parametrize("headers", [{"host": "evil.example"}, {"origin": "http://evil.example"}, {"origin": "null"}])
def test_requests_from_elsewhere_are_refused_bad_input(client, studio, headers):
    assert client.get("/", headers=headers).status_code == 403
    assert client.post("/enter", content=studio.guard.token, headers=headers).status_code == 403


def test_the_door_opens_for_the_token_alone_identity(client, studio):
    guard = studio.guard
    for wrong in ("", "x", guard.cookie_value, "\xff"):
        assert client.post("/enter", content=wrong.encode("latin-1")).status_code == 403
    assert client.post("/enter", content=b"x" * 100_000).status_code == 413
    assert client.post("/upload", params={"name": "a.npz"}, content=b"x").status_code == 403
    assert client.get("/download/0123456789abcdef").status_code == 403
    got = client.post("/enter", content=guard.token)
    cookie = got.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert client.get("/download/0123456789abcdef").status_code == 404


def uploaded(client: httpx.Client, name: str, content: bytes) -> httpx.Response:
    return client.post("/upload", params={"name": name}, content=content)


def left_over(studio: Running) -> list[str]:
    return [
        path.name for path in studio.hub.store.uploads_folder.rglob("*") if path.is_file() and path.name != LOCK_FILE
    ]


def test_a_motion_is_taken_and_told_identity(inside, studio, tmp_path):
    got = uploaded(inside, "C:\\motions\\sway.npz", sway_file(tmp_path).read_bytes()).json()
    assert (got["name"], got["kind"]) == ("sway.npz", "animation")
    assert "24 frames" in got["text"]
    assert got["modes"]["edit"] == {"possible": True, "why": None}
    assert left_over(studio) == ["sway.npz"]


def test_a_mesh_is_taken_and_told_identity(inside, studio, tmp_path):
    mesh = box_tets(2, 1, 1)
    write_mesh(mesh.surface, tmp_path / "box.obj")
    got = uploaded(inside, "box.obj", (tmp_path / "box.obj").read_bytes()).json()
    assert (got["kind"], got["text"]) == ("mesh", f"a surface mesh, {len(mesh.surface.triangles)} triangles")
    assert [mode for mode, chance in got["modes"].items() if chance["possible"]] == ["keyframe", "reroute"]
    assert "Nothing moves" in got["modes"]["edit"]["why"]


@pytest.mark.parametrize(
    "name", ["", "..", "../../x.npz", "x", "x.exe", ".npz", "a/..", "x\x00.npz", "x" * 300 + ".npz", "\n.npz"]
)
def test_names_that_are_none_are_refused_or_only_their_end_counts_bad_input(inside, studio, name):
    got = uploaded(inside, name, b"no zip")
    assert got.status_code == 400
    assert got.json()["text"]
    assert left_over(studio) == []


def pickled() -> bytes:
    made = io.BytesIO()
    np.savez(made, positions=np.array([{"a": 1}], dtype=object))
    return made.getvalue()


def bomb() -> bytes:
    """Zeros that claim to be a motion: a thousand times as large as the file."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**6, 10**5, 3)})
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("positions.npy", header.getvalue() + bytes(10**7))
    return made.getvalue()


def project(**members: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


BAD = {
    "pickled": ("a.npz", pickled()),
    "bomb": ("a.npz", bomb()),
    "no zip": ("a.npz", b"no zip"),
    "no mesh": ("a.obj", b"\xff\xfe\x00"),
    "no project": ("a.cajole", b"no zip"),
    "other zip": ("a.cajole", project(other=b"x")),
    "a project that is none": ("a.cajole", project(**{DOCUMENT_NAME: b"[1, 2]"})),
}


@pytest.mark.parametrize(("name", "content"), BAD.values(), ids=BAD)
def test_files_that_cannot_be_read_are_refused_with_the_reason_bad_input(inside, studio, name, content):
    got = uploaded(inside, name, content)
    assert got.status_code == 400, got.text
    assert got.json()["is"] == "error"
    assert left_over(studio) == []


def test_what_is_too_large_is_refused_and_nothing_is_left_bad_input(inside, studio):
    assert uploaded(inside, "a.npz", bytes(LIMIT + 1)).status_code == 413

    def parts():
        for _ in range(50):
            yield bytes(LIMIT // 10)

    # without a length the bytes are counted as they come
    got = inside.post("/upload", params={"name": "a.npz"}, content=parts())
    assert got.status_code == 413
    assert "cajole studio FILE" in got.json()["remedy"]
    assert left_over(studio) == []


@pytest.mark.parametrize("number", [errno.EROFS, errno.ENOSPC, errno.EACCES])
@pytest.mark.parametrize("refuses", ["os.mkdir", "tempfile.mkstemp"])
def test_a_folder_that_cannot_be_written_is_said_bad_input(inside, studio, monkeypatch, number, refuses):
    def refuse(*arguments, **options):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(refuses, refuse)
    got = uploaded(inside, "a.npz", b"no zip")
    monkeypatch.undo()
    assert got.status_code == 507, got.text
    assert os.strerror(number) in got.json()["text"]
    assert got.json()["remedy"]
    # and once it can, it is taken
    assert uploaded(inside, "a.npz", b"no zip").status_code == 400
    assert left_over(studio) == []


def test_downloads_of_what_is_no_number_are_not_found_bad_input(inside):
    for number in ("%00", "x" * 5000, "%2e%2e", "%ff"):
        assert inside.get(f"/download/{number}").status_code == 404


def test_pictures_are_there_or_not_identity(client, own_cache):
    assert client.get("/pictures/edit-twist.webp").status_code == 404
    get_picture_folder().mkdir(parents=True)
    (get_picture_folder() / "edit-twist.webp").write_bytes(b"RIFF")
    got = client.get("/pictures/edit-twist.webp")
    assert (got.status_code, got.headers["content-type"]) == (200, "image/webp")
    (get_picture_folder() / "other.webp").write_bytes(b"RIFF")
    assert client.get("/pictures/other.webp").status_code == 404
    assert client.get("/pictures/..%2f..%2fx.webp").status_code == 404


def test_an_uploaded_motion_opens_and_is_kept_agreement(inside, studio, tmp_path):
    sent = uploaded(inside, "sway.npz", sway_file(tmp_path).read_bytes()).json()
    with studio.tab() as tab:
        project = tab.ask("open", upload=sent["upload"], mode="edit")["project"]
        tab.state()
    shelf = studio.hub.store
    (kept,) = shelf.list_recent()
    assert (kept.name, kept.mode, kept.source) == ("sway", "edit", ProjectSource(file="source.npz"))
    stored = np.load(shelf.get_folder(kept.id) / "source.npz")["positions"]
    np.testing.assert_array_equal(stored, small_motion().positions)
    assert json.loads((shelf.get_folder(kept.id) / DOCUMENT_NAME).read_text())["id"] == project
