"""Messages: any text is either understood or answered with an error that a person can read."""

from __future__ import annotations

import json
import re
import struct

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cajole.errors import InputError, SolveError
from cajole.studio.messages import MovedMessage, NoticeMessage, Undo
from cajole.studio.mode_registry import get_command_decoder
from cajole.studio.protocol import (
    HEADER,
    MAGIC,
    MAX_NESTING,
    MAX_TEXT_LENGTH,
    BinaryKind,
    Command,
    CommandDecoder,
    CommandError,
    build_error,
    encode_message,
    get_tag,
    pack_binary,
    to_float32,
)  # fmt: skip

DECODER = get_command_decoder()
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
# of each command one that is right
EXAMPLES = {
    "drag.begin": {"gesture": 1, "nodes": [3, 1], "frame": 4},
    "drag.move": {"gesture": 1, "seq": 2, "delta": [0.0, 0.1, -0.5]},
    "frames": {"stream": "result", "list": [1, 2]},
    "tune": {"h": 0.02, "ends": "free", "window": None},
    "marker.move": {"lane": "drags", "ids": ["a"], "frames": [3], "final": True},
    "rename": {"name": "Nod"},
    "compare": {"with": "rest"},
    "gravity": {"on": True},
}


@given(st.binary(max_size=200) | st.text(max_size=200))
def test_any_bytes_are_an_error_or_a_message_bad_input(data):
    try:
        found = DECODER.decode(data)
    except InputError:
        return
    assert isinstance(found, Command)


@given(st.dictionaries(st.sampled_from(["v", "do", "id", "frame", "nodes", "gesture", "mode"]), JSON))
def test_any_object_is_a_command_or_an_error_bad_input(message):
    try:
        found = DECODER.decode(json.dumps(message))
    except InputError:
        return
    assert found.name in DECODER.types


@given(st.sampled_from(sorted(EXAMPLES)), st.data(), JSON)
def test_any_value_is_taken_or_an_error_that_names_it_bad_input(name, data, value):
    word = data.draw(st.sampled_from(sorted(EXAMPLES[name])))
    text = json.dumps({"v": 1, "do": name, **EXAMPLES[name], word: value})
    try:
        found = DECODER.decode(text)
    except InputError as error:
        said = str(error)
        # numbers that JSON does not have are refused before they have a name
        assert f"{word} of {name}" in said or "is no number" in said or "too large" in said or "not JSON" in said
    else:
        again = msgspec.json.encode(found)
        assert DECODER.decode(again) == found


@pytest.mark.parametrize(
    ("name", "word", "value", "said"),
    [
        ("drag.begin", "frame", True, "is True, but must be a whole number between 0 and"),
        ("drag.begin", "frame", -1, "is -1, but must be a whole number between 0 and"),
        ("drag.begin", "frame", 1.5, "is 1.5"),
        ("drag.begin", "nodes", [], "must be a list of 1 to 100000 whole numbers"),
        ("drag.begin", "nodes", [0.5], "must be a list of 1 to 100000 whole numbers"),
        ("drag.begin", "nodes", "01", "is '01'"),
        ("drag.begin", "directions", "xw", "must be text"),
        ("drag.move", "delta", ["1", "2", "3"], "must be a list of three numbers"),
        ("drag.move", "delta", [1, 2], "must be a list of three numbers"),
        ("drag.move", "delta", [1, 2, None], "must be a list of three numbers"),
        ("drag.move", "delta", [True, 0, 0], "must be a list of three numbers"),
        ("drag.move", "delta", [1e300, 0, 0], "numbers between -1e+12 and 1e+12"),
        ("tune", "h", "0.5", "must be a number"),
        ("tune", "h", None, "is None"),
        ("tune", "ends", "open", "must be one of 'fixed', 'free'"),
        ("tune", "window", [3], "must be a list of two whole numbers between 0 and 2147483647 or null"),
        ("marker.move", "final", 1, "must be true or false"),
        ("marker.move", "ids", [1], "must be a list of 1 to 10000 texts"),
        ("marker.move", "ids", [""], "must be a list of 1 to 10000 texts"),
        ("rename", "name", "  ", "at least one letter"),
        ("rename", "name", "a\nb", "printable"),
        ("rename", "name", "a" * 121, "at most 120"),
        ("frames", "list", list(range(33)), "must be a list of 0 to 32 whole numbers"),
        ("frames", "stream", "all", "must be one of 'given', 'other', 'result'"),
    ],
)
def test_wrong_values_name_the_value_and_what_is_wanted_bad_input(name, word, value, said):
    message = json.dumps({"v": 1, "do": name, **EXAMPLES[name], word: value})
    with pytest.raises(InputError, match=f"^{word} of {re.escape(name)} is ") as raised:
        DECODER.decode(message)
    assert said in str(raised.value)


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
        DECODER.decode(text)


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
        DECODER.decode(json.dumps(message))


def test_ids_are_whole_numbers_and_errors_are_answered_under_them_bad_input():
    assert DECODER.decode('{"v": 1, "do": "undo", "id": 7}').id == 7
    for wrong in (True, 1.0, "1", -1, 2**60):
        with pytest.raises(CommandError, match="id of undo is") as raised:
            DECODER.decode(json.dumps({"v": 1, "do": "undo", "id": wrong}))
        assert raised.value.request_id is None
    with pytest.raises(CommandError) as raised:
        DECODER.decode('{"v": 1, "do": "undoo", "id": 7}')
    assert raised.value.request_id == 7


def test_two_classes_of_one_name_bad_input():
    class Other(Command, frozen=True, kw_only=True, tag="undo"):
        """Another command of that name."""

    with pytest.raises(ValueError, match="'undo'"):
        CommandDecoder([Undo, Other])


def test_a_binary_message_is_as_the_contract_says_identity():
    positions = np.arange(6.0).reshape(2, 3)
    data = pack_binary(BinaryKind.LIVE_FRAME, to_float32(positions), seq=5, frame=7, revision=9, extra=11)
    assert struct.unpack("<8I", data[: HEADER.size]) == (MAGIC, 10, 5, 7, 2, 0, 9, 11)
    assert data[:4] == b"CJL1"
    np.testing.assert_array_equal(np.frombuffer(data[32:], "<f4").reshape(2, 3), positions)


@pytest.mark.parametrize("wrong", [float("nan"), float("-inf"), np.float64("nan")])
def test_nothing_that_is_not_finite_leaves_bad_input(wrong):
    with pytest.raises(SolveError, match="overflows"):
        to_float32(np.array([[1e60, 0.0, 0.0]]))
    for position in ((wrong, 0.0, 0.0), [0.0, 0.0, wrong], np.array([0.0, wrong, 0.0])):
        with pytest.raises(SolveError, match="'moved' would hold a number that is not finite"):
            encode_message(MovedMessage(gesture=1, seq=1, position=position, miss=0.0, ms=1.0, meter=None))


def test_numpy_numbers_become_plain_ones_identity():
    message = MovedMessage(
        gesture=np.int64(1), seq=1, position=np.arange(3.0), miss=np.float64(1.5), ms=1e308, meter=None
    )
    told = json.loads(encode_message(message))
    assert told == {
        "is": "moved", "gesture": 1, "seq": 1, "position": [0.0, 1.0, 2.0], "miss": 1.5, "ms": 1e308, "meter": None
    }  # fmt: skip
    assert json.loads(encode_message(NoticeMessage(tone="ok", title="a", text="b")))["is"] == get_tag(NoticeMessage)


def test_errors_say_what_happened_and_what_to_do_identity():
    told = json.loads(
        encode_message(build_error(InputError("frame is 9, but must be below 5; choose another; or trim"), 3))
    )
    assert told == {
        "is": "error", "id": 3, "code": "input", "text": "frame is 9, but must be below 5",
        "remedy": "choose another; or trim",
    }  # fmt: skip
    surprise = build_error(KeyError("secret"))
    assert surprise.code == "internal"
    assert "secret" not in surprise.text
