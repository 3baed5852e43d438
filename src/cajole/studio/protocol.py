"""Wire format of the studio: typed JSON messages in both directions, and binary messages with vertices.

Messages are frozen `msgspec.Struct` classes. Their annotations are the single definition of the protocol: they validate
what the page sends, and `protocol_codegen` writes the TypeScript types and the reference in docs/studio-protocol.md
from them. `messages` has the classes that all modes share, `modes/<mode>/messages` those of one mode.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable
from difflib import get_close_matches
from enum import IntEnum
from typing import Annotated, Any, ClassVar, Literal, NoReturn, TypeVar, Union, get_args

import msgspec
import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec import inspect as types
from numpy.typing import NDArray

from cajole.checks import format_value, require_finite_result
from cajole.errors import CajoleError, Cancelled, InputError, MissingExtra, SolveError
from cajole.studio.locks import FolderLocked

PROTOCOL_VERSION = 1
MAGIC = 0x314C4A43
HEADER_FIELDS = ("magic", "kind", "seq", "frame", "count", "flags", "rev", "extra")
HEADER = struct.Struct("<8I")
# limits of what the page sends: small JSON only
MAX_TEXT_LENGTH, MAX_NESTING = 1_000_000, 8

# --- types of fields

# JavaScript represents integers up to this exactly
RequestId = Annotated[int, Meta(ge=0, le=2**53 - 1)]
Whole = Annotated[int, Meta(ge=0, le=2**31 - 1)]
# larger forces and positions would overflow in the computation
Real = Annotated[float, Meta(ge=-1e12, le=1e12)]
NonNegative = Annotated[float, Meta(ge=0.0, le=1e12)]
RealVector = tuple[Real, Real, Real]
_NAME_PATTERN = (
    r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]*[^\s\x00-\x1f\x7f-\x9f\u2028\u2029][^\x00-\x1f\x7f-\x9f\u2028\u2029]*$"
)
Name = Annotated[str, Meta(min_length=1, max_length=120, pattern=_NAME_PATTERN)]
Names = Annotated[tuple[Name, ...], Meta(min_length=1, max_length=10_000)]
Nodes = Annotated[tuple[Whole, ...], Meta(max_length=100_000)]
SomeNodes = Annotated[tuple[Whole, ...], Meta(min_length=1, max_length=100_000)]
# coordinates [m] and colours (red, green, blue) that the server sends
Vec3 = tuple[float, float, float]
# an object as json reads and writes it: messages before they are validated, and snapshots of modes
JsonObject = dict[str, Any]
AnyStruct = TypeVar("AnyStruct", bound=Struct)


# --- base classes of messages


class ServerMessage(Struct, frozen=True, kw_only=True, tag_field="is"):
    """A JSON message from the server; the tag of the class is its `is`. Fields that are UNSET are left out."""


class Answer(ServerMessage, frozen=True, kw_only=True, tag="done"):
    """The answer to a command that succeeded, or that became a job."""

    id: int | None = None  # of the command
    unsaved: str | UnsetType = UNSET  # why the change could not be written to the disk
    job: str | UnsetType = UNSET  # the job that the command became
    cancelled: bool | UnsetType = UNSET  # the job was cancelled
    overtaken: bool | UnsetType = UNSET  # a newer message of the same stream replaced this one


ErrorCode = Literal["input", "solve", "cancelled", "missing", "locked", "internal"]


class ErrorMessage(ServerMessage, frozen=True, kw_only=True, tag="error"):
    """The answer to a command that failed; without `id`, an error that concerns no single command."""

    code: ErrorCode
    text: str  # what is wrong
    remedy: str | UnsetType = UNSET
    id: int | UnsetType = UNSET  # of the command


class Command(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="do"):
    """A JSON message from the page; the tag of the class is its `do`.

    answer: class of the answer; coalesces: a newer message of the same stream may replace one that still waits, and
    `coalescing_key` names the stream.
    """

    answer: ClassVar[type[Answer]] = Answer
    # sent back in place of the active gesture when the connection of its page ends
    cancel_command: ClassVar[type[Command] | None] = None
    ends_gesture: ClassVar[bool] = False

    v: Literal[1]  # version of the protocol
    id: RequestId | None = None  # the command is answered under this number; without one it gets no answer

    @property
    def name(self) -> str:
        return get_tag(type(self))

    @property
    def coalescing_key(self) -> tuple[object, ...] | None:
        """Messages of one key replace one another while they wait; None for commands that are all executed."""
        return None

    def get_changes(self) -> JsonObject:
        """The fields that were sent, by attribute name, without `v` and `id`."""
        given = {name: getattr(self, name) for name in self.__struct_fields__ if name not in ("v", "id")}
        return {name: value for name, value in given.items() if value is not UNSET}


class GestureMove(Command, frozen=True, kw_only=True):
    """A movement of the active gesture; the newest replaces those that wait."""

    gesture: Whole
    seq: Whole  # counts the movements of the gesture

    @property
    def coalescing_key(self) -> tuple[object, ...] | None:
        return self.name, self.gesture


def get_tag(message_type: type[Struct]) -> str:
    """`do` of a command class, `is` of a server message class."""
    return str(message_type.__struct_config__.tag)


# --- decoding and encoding


class CommandDecoder:
    """Decodes and validates commands of the given classes."""

    def __init__(self, command_types: Iterable[type[Command]]):
        self.types: dict[str, type[Command]] = {}
        for each in command_types:
            name = get_tag(each)
            if self.types.setdefault(name, each) is not each:
                raise ValueError(f"two message classes have the command name {name!r}; rename one")
        self._decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(Union[tuple(self.types.values())])  # noqa: UP007

    def decode(self, text: str | bytes) -> Command:
        """The command in a text message. Raises `CommandError` with the value, its place and what is expected."""
        if len(text) > MAX_TEXT_LENGTH:
            raise CommandError(f"a message of {len(text)} characters is too long; {MAX_TEXT_LENGTH} are the most")
        try:
            command: Command = self._decoder.decode(text)
        except (msgspec.MsgspecError, RecursionError, ValueError) as reason:
            self._raise_error(text, reason)
        return command

    def _raise_error(self, text: str | bytes, reason: Exception) -> NoReturn:
        """Find the first wrong value of a message that msgspec refused, and raise an error about it."""
        message = _parse_object(text)
        wanted = message.get("id")
        request_id = wanted if _fits(wanted, RequestId) else None
        if message.get("v") != PROTOCOL_VERSION or not isinstance(message["v"], int) or isinstance(message["v"], bool):
            raise CommandError(
                f"v is {_abbreviate(message.get('v'))}, but this studio speaks version {PROTOCOL_VERSION}; "
                "reload the page",
                request_id,
            )
        name = message.get("do")
        if not isinstance(name, str) or name not in self.types:
            hint = _suggest(str(name), self.types)
            raise CommandError(f"do is {_abbreviate(name)}, which is no command{hint}", request_id)
        wrong = find_mismatch({word: value for word, value in message.items() if word != "do"}, self.types[name], name)
        raise CommandError(wrong or f"{name} cannot be read: {reason}; reload the page", request_id)


class CommandError(InputError):
    """A message that is no valid command; request_id: number to answer under, None where it has none."""

    def __init__(self, text: str, request_id: int | None = None):
        super().__init__(text)
        self.request_id = request_id


def encode_message(message: ServerMessage) -> str:
    """A message as JSON; NumPy numbers and arrays become plain ones. Raises SolveError for NaN and infinity."""
    if not _is_finite(message):
        raise SolveError(
            f"a message {get_tag(type(message))!r} would hold a number that is not finite; undo the last step"
        )
    return _ENCODER.encode(message).decode()


def build_error(error: BaseException, request_id: int | None = None) -> ErrorMessage:
    """The answer to a command that failed: what is wrong, and the remedy after the first semicolon of the message."""
    codes: dict[type[BaseException], ErrorCode] = {
        Cancelled: "cancelled",
        MissingExtra: "missing",
        FolderLocked: "locked",
        InputError: "input",
        SolveError: "solve",
    }
    code: ErrorCode = next((code for kind, code in codes.items() if isinstance(error, kind)), "internal")
    if isinstance(error, CajoleError):
        text, _, remedy = str(error).partition("; ")
    elif isinstance(error, MemoryError):
        text, remedy = "there is not enough memory for this", "use fewer modes, frames or vertices"
    else:
        text, remedy = "something unexpected went wrong", "undo, or reopen the project; nothing is lost"
    return ErrorMessage(code=code, text=text, remedy=remedy or UNSET, id=UNSET if request_id is None else request_id)


def describe_type(expected: types.Type) -> str:
    """Values that a type accepts, in words, for error messages and the reference."""
    match expected:
        case types.IntType():
            return f"a whole number{_describe_range(expected.ge, expected.le)}"
        case types.FloatType():
            return f"a number{_describe_range(expected.ge, expected.le)}"
        case types.BoolType():
            return "true or false"
        case types.StrType(max_length=None):
            return "text"
        case types.StrType():
            return f"text of at least one letter and at most {expected.max_length} printable characters"
        case types.LiteralType():
            return f"one of {', '.join(repr(value) for value in expected.values)}"
        case types.TupleType():
            count = {2: "two", 3: "three"}.get(len(expected.item_types), str(len(expected.item_types)))
            return f"a list of {count} {_pluralise(expected.item_types[0])}"
        case types.VarTupleType():
            span = (
                "any number of"
                if expected.max_length is None
                else f"{expected.min_length or 0} to {expected.max_length}"
            )
            return f"a list of {span} {_pluralise(expected.item_type)}"
        case types.NoneType():
            return "null"
        case types.UnionType():
            return " or ".join(describe_type(each) for each in expected.types if not isinstance(each, types.CustomType))
    return "an object"


def _pluralise(item: types.Type) -> str:
    match item:
        case types.IntType():
            return f"whole numbers{_describe_range(item.ge, item.le)}"
        case types.FloatType():
            return f"numbers{_describe_range(item.ge, item.le)}"
        case types.StrType():
            return f"texts of 1 to {item.max_length} printable characters"
    return "entries"


def _describe_range(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" between {low:.10g} and {high:.10g}"


def _parse_object(text: str | bytes) -> JsonObject:
    """The JSON object of finite numbers in a text, of any fields."""
    try:
        message = json.loads(text, parse_constant=reject_constant, parse_float=_parse_finite)
    except RecursionError:
        raise CommandError(f"a message is nested too deeply; {MAX_NESTING} levels are the most") from None
    except ValueError as reason:
        raise CommandError(f"a message is not JSON: {reason}; send one object a message") from None
    if not isinstance(message, dict):
        raise CommandError(f"a message must be a JSON object, not {type(message).__name__}")
    _require_depth(message, MAX_NESTING)
    return message


def reject_constant(word: str) -> float:
    """For `json.loads`: NaN and infinities are no JSON."""
    raise ValueError(f"{word} is no number")


def _parse_finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{word[:20]} is too large a number")
    return number


def _require_depth(value: object, levels: int) -> None:
    if not isinstance(value, dict | list):
        return
    if levels == 0:
        raise CommandError(f"a message is nested too deeply; {MAX_NESTING} levels are the most")
    for part in value.values() if isinstance(value, dict) else value:
        _require_depth(part, levels - 1)


def convert_checked(value: object, expected: type[AnyStruct], where: str) -> AnyStruct:
    """A JSON value as an instance of a class. Raises InputError about the first part that has another type."""
    try:
        return msgspec.convert(value, expected)
    except (msgspec.ValidationError, ValueError, OverflowError) as reason:
        raise InputError(find_mismatch(value, expected, where) or f"{where} cannot be read: {reason}") from None


def find_mismatch(value: object, expected: Any, where: str) -> str | None:
    """The first part of a JSON value that has not the expected type, and what is wrong with it; None if all fits."""
    if _fits(value, expected):
        return None
    info = types.type_info(expected)
    if isinstance(value, dict) and isinstance(info, types.StructType):
        known = {field.encode_name: field for field in info.fields}
        if info.forbid_unknown_fields:
            for word in sorted(value.keys() - known.keys()):
                return f"{where} takes no {_abbreviate(word)}{_suggest(word, known.keys() - {'v', 'id'})}"
        missing = next((word for word, field in known.items() if field.required and word not in value), None)
        if missing is not None:
            return f"{where} needs {missing}, which is missing"
        declared = [(field.encode_name, field.type) for field in msgspec.structs.fields(info.cls)]
        parts = [find_mismatch(value[word], kind, f"{word} of {where}") for word, kind in declared if word in value]
        return next((part for part in parts if part is not None), None)
    if isinstance(value, dict) and isinstance(info, types.DictType):
        kind = get_args(expected)[1]
        parts = [find_mismatch(part, kind, f"{_abbreviate(key)} of {where}") for key, part in value.items()]
        return next((part for part in parts if part is not None), None)
    return f"{where} is {_abbreviate(value)}, but must be {describe_type(info)}"


def _fits(value: object, expected: Any) -> bool:
    try:
        msgspec.convert(value, expected)
    except (msgspec.ValidationError, ValueError, OverflowError):
        return False
    return True


def _abbreviate(value: object) -> str:
    text = format_value(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _suggest(word: str, known: Iterable[str]) -> str:
    near = get_close_matches(word[:40], list(known), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _is_finite(value: object) -> bool:
    """True if no number in a message is NaN or infinite; msgspec would write those as null."""
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, Struct):
        return all(_is_finite(getattr(value, name)) for name in value.__struct_fields__)
    if isinstance(value, list | tuple):
        if value and type(value[0]) is float:  # curves and paths: the sum is not finite where an entry is not
            return math.isfinite(sum(value)) or all(math.isfinite(each) for each in value)
        return all(_is_finite(each) for each in value)
    if isinstance(value, dict):
        return all(_is_finite(each) for each in value.values())
    return not isinstance(value, np.ndarray | np.floating) or bool(np.isfinite(value).all())


def _to_plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} cannot be sent")


_ENCODER = msgspec.json.Encoder(enc_hook=_to_plain)


# --- binary messages


class BinaryKind(IntEnum):
    """Content of a binary message, by the number in its header."""

    TRIANGLES = 1
    VERTEX_COLORS = 2
    VERTEX_NODES = 3
    PROP = 4
    REGION_LABELS = 5
    LIVE_FRAME = 10
    RESULT_FRAME = 11
    INPUT_FRAME = 12
    COMPARISON_FRAME = 13


StreamName = Literal["result", "given", "other"]
STREAM_KINDS: dict[StreamName, BinaryKind] = {
    "result": BinaryKind.RESULT_FRAME,
    "given": BinaryKind.INPUT_FRAME,
    "other": BinaryKind.COMPARISON_FRAME,
}


def pack_binary(
    kind: BinaryKind,
    data: NDArray[Any],
    *more: NDArray[Any],
    seq: int = 0,
    frame: int = 0,
    flags: int = 0,
    revision: int = 0,
    extra: int = 0,
) -> bytes:
    """A binary message: the header, then the arrays in memory order; `count` is the length of the first array."""
    header = HEADER.pack(MAGIC, kind, seq & 0xFFFFFFFF, frame, len(data), flags, revision & 0xFFFFFFFF, extra)
    return b"".join([header, *(np.ascontiguousarray(array).tobytes() for array in (data, *more))])


def to_float32(positions: NDArray[np.float64]) -> NDArray[np.float32]:
    """Positions (k, 3) [m] in single precision. Raises SolveError where they overflow."""
    with np.errstate(over="ignore"):
        rounded = np.asarray(positions, dtype="<f4")
    require_finite_result(rounded, "the shape")
    return rounded
