"""Messages: any text is either understood or answered with an error that a person can read."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cajole.errors import CajoleError, InputError, SolveError
from cajole.studio import message_values
from cajole.studio.protocol import (
    COMMAND_FIELDS,
    HEADER,
    MAGIC,
    MAX_NESTING,
    MAX_TEXT_LENGTH,
    BinaryKind,
    build_error,
    check_command,
    decode_message,
    encode_message,
    pack_binary,
    read_id,
    to_float32,
)  # fmt: skip

PAGE = (Path(__file__).parents[2] / "docs" / "studio-protocol.md").read_text(encoding="utf-8")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_bytes_are_an_error_or_a_message_bad_input(data):
    try:
        found = decode_message(data)
    except InputError:
        return
    assert isinstance(found, dict)


@given(st.dictionaries(st.sampled_from(["v", "do", "id", "frame", "nodes", "gesture", "mode"]), JSON))
def test_any_object_is_a_command_or_an_error_bad_input(message):
    try:
        name = check_command(decode_message(json.dumps(message)))
    except InputError:
        return
    assert name in COMMAND_FIELDS


TAKERS = {
    "integer": lambda m: message_values.read_integer(m, "x", 0, 9),
    "number": lambda m: message_values.read_number(m, "x", 0.0, 1.0),
    "vector": lambda m: message_values.read_vector(m, "x"),
    "flag": lambda m: message_values.read_flag(m, "x"),
    "text": lambda m: message_values.read_text(m, "x"),
    "one_of": lambda m: message_values.read_choice(m, "x", ("a", "b")),
    "nodes": lambda m: message_values.read_vertices(m, "x", 10),
    "texts": lambda m: message_values.read_texts(m, "x"),
}


@given(st.sampled_from(sorted(TAKERS)), JSON)
def test_any_value_is_taken_or_an_error_bad_input(name, value):
    try:
        found = TAKERS[name]({"do": "tune", "x": value})
    except CajoleError as error:
        said = str(error)
    else:
        said = "x of tune"
        json.dumps(found.tolist() if isinstance(found, np.ndarray) else found, allow_nan=False)
    assert "x of tune" in said


@pytest.mark.parametrize(
    ("name", "value"),
    [("integer", True), ("integer", 10), ("integer", 1.0), ("number", "0.5"), ("number", 1.5), ("number", None),
     ("vector", ["1", "2", "3"]), ("vector", [1, 2]), ("vector", [1, 2, None]), ("vector", [True, 0, 0]),
     ("vector", [1e300, 0, 0]), ("flag", 1), ("text", "  "), ("text", "a\nb"), ("text", "a" * 121), ("one_of", "c"),
     ("nodes", [10]), ("nodes", []), ("nodes", [0.5]), ("nodes", "01"), ("texts", [1]), ("texts", [""])],
)  # fmt: skip
def test_wrong_values_name_the_value_bad_input(name, value):
    with pytest.raises(InputError, match="x of pin"):
        TAKERS[name]({"do": "pin", "x": value})


def test_values_that_are_missing_bad_input():
    with pytest.raises(InputError, match="pin needs x"):
        message_values.read_integer({"do": "pin"}, "x")
    assert message_values.read_flag({"do": "mode"}, "hand", False) is False


def test_nodes_are_taken_once_in_their_order_identity():
    assert message_values.read_vertices({"x": [3, 1, 3, 2, 1]}, "x", 4) == [3, 1, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON"),
        ("[1]", "must be a JSON object"),
        ('{"v": NaN}', "NaN is no number"),
        ('{"v": 1e999}', "too large"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * (MAX_NESTING + 1) + "1" + "}" * (MAX_NESTING + 1), "nested too deeply"),
        ('"' + "a" * MAX_TEXT_LENGTH + '"', "too long"),
    ],
)
def test_what_is_no_message_bad_input(text, said):
    with pytest.raises(InputError, match=said):
        decode_message(text)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"do": "undo"}, "version"),
        ({"v": True, "do": "undo"}, "version"),
        ({"v": 1}, "no command"),
        ({"v": 1, "do": "undoo"}, "did you mean undo"),
        ({"v": 1, "do": ["undo"]}, "no command"),
        ({"v": 1, "do": "frame"}, "frame needs frame"),
        ({"v": 1, "do": "pin", "nodes": [1], "frame": 0, "node": 1}, "pin takes no 'node'; did you mean nodes"),
    ],
)
def test_wrong_names_are_corrected_bad_input(message, said):
    with pytest.raises(InputError, match=re.escape(said)):
        check_command(message)


def test_every_command_of_the_page_is_known_and_told_agreement():
    """The table of docs/studio-protocol.md and the commands here name the same."""
    table = PAGE.split("## Text, from the page")[1].split("## Text, from the server")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| ")]
    told = {name for row in rows for name in re.findall(r"`([a-z.]+)`", row)}
    told |= set(re.findall(r"`(stop)`:", table))
    # in these rows, values of a command stand beside its name
    assert COMMAND_FIELDS.keys() - told == set()
    assert told - COMMAND_FIELDS.keys() <= {"nodes", "on"}


def test_ids_are_whole_numbers_identity():
    assert read_id({"id": 7}) == 7
    assert [read_id({"id": wrong}) for wrong in (True, 1.0, "1", -1, 2**60, None)] == [None] * 6


def test_a_binary_message_is_as_the_contract_says_identity():
    positions = np.arange(6.0).reshape(2, 3)
    data = pack_binary(BinaryKind.LIVE_FRAME, to_float32(positions), seq=5, frame=7, revision=9, extra=11)
    assert struct.unpack("<8I", data[: HEADER.size]) == (MAGIC, 10, 5, 7, 2, 0, 9, 11)
    assert data[:4] == b"CJL1"
    np.testing.assert_array_equal(np.frombuffer(data[32:], "<f4").reshape(2, 3), positions)


def test_nothing_that_is_not_finite_leaves_bad_input():
    with pytest.raises(SolveError, match="overflows"):
        to_float32(np.array([[1e60, 0.0, 0.0]]))
    with pytest.raises(SolveError, match="not finite"):
        encode_message({"is": "state", "x": float("nan")})
    assert json.loads(encode_message({"x": np.float64(1.5), "y": np.arange(2)})) == {"x": 1.5, "y": [0, 1]}


def test_errors_say_what_happened_and_what_to_do_identity():
    told = build_error(InputError("frame is 9, but must be below 5; choose another; or trim"), 3)
    assert told == {
        "is": "error", "id": 3, "code": "input", "text": "frame is 9, but must be below 5",
        "remedy": "choose another; or trim",
    }  # fmt: skip
    surprise = build_error(KeyError("secret"))
    assert surprise["code"] == "internal"
    assert "secret" not in surprise["text"]
