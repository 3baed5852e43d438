"""Tabs at a running studio: opening, dragging, playing, looking on, leaving, coming back."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from studio_cases import FRAMES, Running, Tab, connected, running, small_motion, sway_file
from websockets.exceptions import ConnectionClosed, InvalidStatus

from cajole.animation import read_animation
from cajole.studio.protocol import BinaryKind
from waiting import PATIENCE

NODE = 20


@pytest.fixture
def studio(tmp_path):
    with running(tmp_path / "studio") as found:
        yield found


def opened(tab: Tab, studio: Running, folder: Path) -> dict:
    """The sway of the small beam, open; its first state."""
    project = studio.hub.open_path(sway_file(folder))
    assert tab.ask("open", project=project.id)["project"] == project.id
    return tab.state()


def heard(tab: Tab, name: str) -> list[dict]:
    return [message for message in tab.texts if message["is"] == name]


def test_a_tab_is_told_all_it_needs_to_draw_identity(studio, tmp_path):
    with studio.tab() as tab:
        state = opened(tab, studio, tmp_path)
        shown = tab.frame(lambda frame: frame.kind == BinaryKind.LIVE_FRAME)
        motion = small_motion()
        (project,) = heard(tab, "project")
        face, tint, node = (next(f for f in tab.frames if f.kind == kind) for kind in (1, 2, 3))
        surface = motion.mesh.surface
        assert (project["vertices"], project["triangles"]) == (tint.count, face.count)
        np.testing.assert_array_equal(np.frombuffer(face.data, "<u4").reshape(-1, 3), surface.triangles)
        np.testing.assert_array_equal(np.frombuffer(node.data, "<u4"), np.arange(motion.n))
        np.testing.assert_allclose(shown.positions, motion.frame(0), atol=1e-6)
        assert (state["frames"], state["fps"], state["mode"], state["frame"]) == (FRAMES, 24.0, "edit", 0)
        assert shown.rev == state["rev"]
        assert project["modes"]["edit"] == {"possible": True, "why": None}
        assert project["modes"]["reroute"] == {"possible": True, "why": None}
        assert project["size"] == pytest.approx(motion.mesh.size)
        low, high = np.array(project["bounds"])
        np.testing.assert_allclose([low, high], motion.bounds, atol=1e-9)
        # the page can draw before it is told what changes
        kinds = [message["is"] for message in tab.texts]
        assert kinds.index("job") < kinds.index("project") < kinds.index("state")


def test_frames_that_are_asked_for_come_and_change_with_a_drag_agreement(studio, tmp_path):
    with studio.tab() as tab:
        opened(tab, studio, tmp_path)
        motion = small_motion()
        tab.say("frames", stream="given", list=[7, 3])
        for wanted in (7, 3):
            got = tab.frame(lambda frame: frame.kind == BinaryKind.INPUT_FRAME)
            assert got.frame == wanted
            np.testing.assert_allclose(got.positions, motion.frame(wanted), atol=1e-6)
        tab.drag(NODE, 12, (0.0, 0.1, 0.0))
        state = tab.state(lambda state: state["undo"])
        tab.say("frames", stream="result", list=[12])
        moved = tab.frame(lambda frame: frame.kind == BinaryKind.RESULT_FRAME)
        assert moved.rev == state["rev"]
        np.testing.assert_allclose(
            moved.positions[NODE], motion.frame(12)[NODE] + [0.0, 0.1, 0.0], atol=2e-3 * motion.mesh.size
        )
        # frames beyond the motion are not there, and nothing breaks
        tab.say("frames", stream="result", list=[FRAMES, 11])
        assert tab.frame(lambda frame: frame.kind == BinaryKind.RESULT_FRAME).frame == 11


def test_the_edit_frame_is_followed_by_what_the_first_view_shows_identity(studio, tmp_path):
    with studio.tab() as tab:
        opened(tab, studio, tmp_path)
        tab.say("frame", frame=5)
        assert tab.frame(lambda f: f.kind == BinaryKind.LIVE_FRAME and f.frame == 5).seq > 1
        tab.say("frame", frame=6)
        assert tab.state(lambda state: state["frame"] == 6)
        error = tab.ask("frame", frame=FRAMES)
        assert (error["code"], "between 0 and" in error["text"]) == ("input", True)


def test_at_most_two_shapes_are_on_the_way_identity(studio, tmp_path):
    with studio.tab(acknowledges=False) as tab:
        opened(tab, studio, tmp_path)
        for frame in range(1, 12):
            tab.ask("frame", frame=frame)
            tab.state(lambda state, frame=frame: state["frame"] == frame)
        # answers prove that all frames were made; of their shapes two have come
        assert sum(frame.kind == BinaryKind.LIVE_FRAME for frame in tab.frames) == 2
        last = tab.frames[-1].seq
        tab.say("ack", seq=last)
        assert tab.frame(lambda frame: frame.kind == BinaryKind.LIVE_FRAME and frame.seq > last).frame == 11


def test_undo_takes_back_what_a_gesture_did_identity(studio, tmp_path):
    with studio.tab() as tab:
        opened(tab, studio, tmp_path)
        tab.drag(NODE, 12, (0.0, 0.1, 0.0))
        state = tab.state(lambda state: state["undo"])
        assert (state["undo"], state["redo"]) == (f"move vertex {NODE}", None)
        tab.say("undo")
        state = tab.state(lambda state: not state["edit"]["drags"])
        assert (state["undo"], state["redo"]) == (None, f"move vertex {NODE}")


def test_the_second_tab_looks_on_until_it_takes_over_identity(studio, tmp_path):
    with studio.tab() as first, studio.tab() as second:
        opened(first, studio, tmp_path)
        project = studio.hub.active_project_id
        second.ask("open", project=project)
        second.state()
        assert heard(second, "seat") == [{"is": "seat", "pilot": False}]
        error = second.ask("pin", nodes=[NODE], frame=3)
        assert "another tab" in error["text"]
        assert "take over" in error["remedy"]
        second.say("frames", stream="given", list=[2])
        assert second.frame(lambda frame: frame.kind == BinaryKind.INPUT_FRAME).frame == 2
        # what the pilot does is seen by both
        first.drag(NODE, 12, (0.0, 0.1, 0.0))
        assert second.state(lambda state: state["undo"])
        second.ask("takeover")
        first.until(lambda message: message == {"is": "seat", "pilot": False})
        assert second.ask("undo")["is"] == "done"
        assert first.ask("undo")["is"] == "error"


def test_a_tab_that_is_lost_comes_back_to_the_same_project_identity(studio, tmp_path):
    with studio.tab() as tab:
        opened(tab, studio, tmp_path)
        tab.drag(NODE, 12, (0.0, 0.1, 0.0))
        tab.ask("drag.begin", gesture=2, nodes=[NODE + 1], frame=8)
        project = studio.hub.active_project_id
    with studio.tab() as tab:
        assert next(m for m in tab.texts if m["is"] == "welcome")["project"] == project
        tab.ask("open", project=project)
        state = tab.state()
        assert [drag["node"] for drag in state["edit"]["drags"]] == [NODE]
        assert heard(tab, "seat")[0]["pilot"] is True
        # what was in the lost tab's hand is put back: undo works
        assert tab.ask("undo")["is"] == "done"
        tab.ask("close")
    with studio.tab() as tab:
        assert next(m for m in tab.texts if m["is"] == "welcome")["project"] is None


def test_names_and_lists_of_projects_identity(studio, tmp_path):
    with studio.tab() as tab:
        opened(tab, studio, tmp_path)
        project = studio.hub.active_project_id
        tab.drag(NODE, 12, (0.0, 0.1, 0.0))
        tab.ask("rename", name="Nod")
        told = tab.ask("catalogue")["catalogue"]
        (recent,) = told["recent"]
        assert (recent["id"], recent["name"], recent["mode"], recent["text"]) == (project, "Nod", "edit", "1 drag")
        assert recent["recovered"] is False
        assert {scene["modes"][0] for scene in told["scenes"]} == {"edit", "keyframe", "steer", "enrich", "reroute"}
        assert "open in a tab" in tab.ask("forget", project=project)["text"]
        tab.ask("close")
        assert tab.ask("forget", project=project)["is"] == "done"
        assert tab.ask("catalogue")["catalogue"]["recent"] == []


def test_wrong_messages_are_answered_and_the_project_lives_on_bad_input(studio, tmp_path):
    with studio.tab() as tab:
        opened(tab, studio, tmp_path)
        for text in ("{", "[]", '{"v":1,"do":"undo","id":true}', b"\x00\xff", '{"v":1,"do":"nothing"}', "1" * 1000):
            tab.socket.send(text)
        for what, values in (
            ("pull.begin", {"gesture": 1, "node": 0, "add": False}),
            ("drag.move", {"gesture": 9, "seq": 1, "delta": [0, 0, 1]}),
            ("drag.begin", {"gesture": 1, "nodes": [10**9], "frame": 0}),
            ("drag.begin", {"gesture": 1, "nodes": [0], "frame": "x"}),
            ("open", {"scene": "nowhere", "mode": "edit"}),
            ("open", {"project": "../../etc"}),
            ("open", {}),
            ("mode", {"mode": "steer", "hand": "yes"}),
            ("mode", {"mode": "nowhere"}),
            ("reroute", {}),
            ("export", {"what": "result", "format": "exe"}),
            ("frames", {"stream": "result", "list": list(range(40))}),
        ):
            answer = tab.ask(what, **values)
            assert (answer["is"], answer["code"]) == ("error", "input"), (what, answer)
            assert answer["text"]
        assert tab.ask("pin", nodes=[NODE], frame=8)["is"] == "done"


def test_strangers_are_not_let_in_bad_input(studio):
    address = f"ws://127.0.0.1:{studio.guard.port}/ws"
    with pytest.raises(ConnectionClosed) as closed, studio.tab(token="guess"):
        pass
    assert closed.value.rcvd.code == 4403
    with connected(address) as socket:
        socket.send(json.dumps({"v": 1, "do": "catalogue"}))
        with pytest.raises(ConnectionClosed):
            socket.recv(timeout=PATIENCE)
    for headers in ({"Origin": "http://evil.example"}, {"Host": "evil.example"}):
        with pytest.raises(InvalidStatus), connected(address, additional_headers=headers):
            pass


def test_a_message_that_is_too_long_ends_the_connection_bad_input(studio):
    def shout(tab: Tab) -> None:
        tab.say("rename", name="x" * 1_100_000)
        tab.until(lambda message: False)

    with studio.tab() as tab, pytest.raises(ConnectionClosed):
        shout(tab)
    # for that tab alone
    with studio.tab() as tab:
        assert tab.ask("catalogue")["is"] == "done"


@pytest.mark.parametrize("suffix", ["npz", "glb", "pc2", "obj"])
def test_the_result_is_written_and_reads_back_agreement(studio, tmp_path, suffix):
    import zipfile

    import httpx

    with studio.tab() as tab:
        opened(tab, studio, tmp_path)
        tab.drag(NODE, 12, (0.0, 0.1, 0.0))
        assert tab.ask("export", what="result", format=suffix)["is"] == "done"
        made = tab.until(lambda message: message["is"] == "file")
    with httpx.Client(base_url=studio.address, timeout=PATIENCE) as client:
        assert client.get(made["url"]).status_code == 403
        assert client.post("/enter", content=studio.guard.token).status_code == 204
        got = client.get(made["url"])
    assert len(got.content) == made["bytes"]
    path = tmp_path / made["name"]
    path.write_bytes(got.content)
    if path.suffix == ".zip":
        zipfile.ZipFile(path).extractall(tmp_path / "out")
        path = min((tmp_path / "out").glob(f"*.{suffix}"))
    found = read_animation(path)
    assert found.frames == FRAMES
    low, high = found.frame(12).min(axis=0), found.frame(12).max(axis=0)
    assert high[1] > small_motion().frame(12)[:, 1].max() + 0.05, (low, high)


def test_an_edit_and_a_project_go_out_and_come_in_agreement(studio, tmp_path):
    import httpx

    from cajole import load_edit

    with studio.tab() as tab, httpx.Client(base_url=studio.address, timeout=PATIENCE) as client:
        client.post("/enter", content=studio.guard.token)
        opened(tab, studio, tmp_path)
        tab.drag(NODE, 12, (0.0, 0.1, 0.0))
        tab.say("export", what="edit", format="json")
        edit = tab.until(lambda message: message["is"] == "file")
        tab.say("export", what="project", format="cajole")
        project = tab.until(lambda message: message["is"] == "file")
        (tmp_path / "edit.json").write_bytes(client.get(edit["url"]).content)
        assert (NODE, 12) in load_edit(tmp_path / "edit.json", small_motion()).constraints
        sent = client.post("/upload", params={"name": "a.cajole"}, content=client.get(project["url"]).content).json()
        assert (sent["kind"], sent["modes"]) == ("project", {"edit": {"possible": True, "why": None}})
        old = studio.hub.active_project_id
        new = tab.ask("open", upload=sent["upload"], mode="edit")["project"]
        assert new != old
        tab.until(lambda message: message["is"] == "project" and message["id"] == new)
        state = tab.state()
        assert [drag["node"] for drag in state["edit"]["drags"]] == [NODE]


def test_a_project_that_cannot_be_opened_says_why_bad_input(studio, tmp_path):
    with studio.tab() as tab:
        broken = tmp_path / "broken.npz"
        broken.write_bytes(b"no zip")
        project = studio.hub.open_path(broken)
        tab.ask("open", project=project.id)
        error = tab.until(lambda message: message["is"] == "error")
        assert "broken" in error["text"]
        assert "could not be opened" in tab.ask("undo")["text"]
