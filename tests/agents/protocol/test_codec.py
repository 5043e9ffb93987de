"""The codec: what it writes it reads, and nothing else gets through."""

import dataclasses
import json
import typing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.protocol.codec import MalformedMessage, decode, encode
from agents.protocol.messages import DesiredState, EnrolReply, EnrolRequest, ObservedInstance, Report

LARGEST = 2**53
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
WHOLE = st.integers(-LARGEST, LARGEST)
SIMPLE = {str: TEXT, int: WHOLE, float: st.floats(-LARGEST, LARGEST), bool: st.booleans()}
FEW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


def messages(kind: Any) -> st.SearchStrategy[Any]:
    """Messages of one kind, their lists short."""
    hints = typing.get_type_hints(kind)
    return st.builds(kind, **{name: _values(hint) for name, hint in hints.items()})


def _values(hint: Any) -> st.SearchStrategy[Any]:
    if hint in SIMPLE:
        return SIMPLE[hint]
    if dataclasses.is_dataclass(hint):
        return messages(hint)
    return _collections(typing.get_origin(hint), typing.get_args(hint))


def _collections(origin: Any, arguments: tuple[Any, ...]) -> st.SearchStrategy[Any]:
    if origin is typing.Literal:
        return st.sampled_from(arguments)
    if origin is list:
        return st.lists(_values(arguments[0]), max_size=2)
    if origin is tuple:
        return st.tuples(*map(_values, arguments))
    if origin is dict:
        return st.dictionaries(TEXT, _values(arguments[1]), max_size=2)
    return st.none() | _values(arguments[0])


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@FEW
@given(messages(Report))
def test_reports_survive_the_wire(report: Report) -> None:
    assert decode(Report, encode(report)) == report


@FEW
@given(messages(DesiredState))
def test_desired_states_survive_the_wire(state: DesiredState) -> None:
    assert decode(DesiredState, encode(state)) == state


@FEW
@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_no_bytes_break_the_codec(body: bytes) -> None:
    for kind in (Report, DesiredState, EnrolRequest):
        try:
            assert isinstance(decode(kind, body), kind)
        except MalformedMessage as error:
            assert str(error)


@FEW
@given(messages(Report).map(lambda report: json.loads(encode(report))), st.data())
def test_one_wrong_field_is_named(message: dict[str, Any], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(set(message) - {"facts"})))
    message[name] = {"not": "this"}
    with pytest.raises(MalformedMessage, match=rf"Report\.{name}\b"):
        decode(Report, json.dumps(message).encode())


def both_ways(message: Any, data: st.DataObject) -> tuple[Any, Any]:
    """What a peer of another version might send of it, at every depth: with fields that this side does not know, and without
    some that have a default. And what this side has to take it for."""
    if isinstance(message, list | tuple):
        rows = [both_ways(item, data) for item in message]
        return [sent for sent, _ in rows], type(message)(taken for _, taken in rows)
    if not dataclasses.is_dataclass(message) or isinstance(message, type):
        return message, message
    sent, taken = {}, {}
    for item in dataclasses.fields(message):
        optional = item.default is not dataclasses.MISSING or item.default_factory is not dataclasses.MISSING
        if not (optional and data.draw(st.booleans())):
            sent[item.name], taken[item.name] = both_ways(getattr(message, item.name), data)
    more = data.draw(st.dictionaries(st.sampled_from(["zz_new", "zz_more"]), JSON, max_size=2))
    return {**sent, **more}, type(message)(**taken)


@pytest.mark.parametrize("kind", [Report, DesiredState, EnrolRequest, EnrolReply])
@FEW
@given(st.data())
def test_fault_021_a_peer_of_another_version_is_understood_or_refused(kind: Any, data: st.DataObject) -> None:
    """Never guessed: what is unknown changes nothing, what is left out is its default, and what must be there is missed."""
    sent, taken = both_ways(data.draw(messages(kind)), data)
    assert decode(kind, json.dumps(sent).encode()) == taken
    must = [item.name for item in dataclasses.fields(kind) if item.default is item.default_factory]
    name = data.draw(st.sampled_from(must))
    del sent[name]
    with pytest.raises(MalformedMessage, match=rf"{kind.__name__}\.{name} is missing"):
        decode(kind, json.dumps(sent).encode())


def test_a_newer_peer_may_say_more() -> None:
    body = json.dumps({"id": "a", "generation": 1, "phase": "running", "mood": {"good": True}}).encode()
    assert decode(ObservedInstance, body) == ObservedInstance("a", 1, "running")


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"phase": "dancing"}, "must be one of"),
        ({"phase": ["running"]}, "must be one of"),
        ({"generation": "1"}, "must be of type int"),
        ({"generation": True}, "must be of type int"),
        ({"generation": 1.0}, "must be of type int"),
        ({"run_seconds": True}, "must be of type float"),
        ({"gpu_uuids": "GPU-1"}, "must be a list"),
        ({"gpu_uuids": [1]}, r"gpu_uuids\[0\]"),
        ({"sample": 3}, "must be an object"),
    ],
)
def test_wrong_types_are_refused(change: dict[str, Any], complaint: str) -> None:
    body = json.dumps({"id": "a", "generation": 1, "phase": "running", **change}).encode()
    with pytest.raises(MalformedMessage, match=complaint):
        decode(ObservedInstance, body)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "1" + "0" * 400])
def test_numbers_are_finite(number: str) -> None:
    with pytest.raises(MalformedMessage, match="finite"):
        decode(ObservedInstance, f'{{"id":"a","generation":1,"phase":"running","run_seconds":{number}}}'.encode())


def test_ports_are_pairs() -> None:
    row = {"id": "a", "generation": 1, "fence": 1, "run": "running", "image": "i", "ports": [[22, 1, 2]]}
    state = {"protocol": 1, "version": 1, "wait_url": "", "wait_ticket": "", "instances": [row]}
    with pytest.raises(MalformedMessage, match=r"ports\[0\] must have 2 items"):
        decode(DesiredState, json.dumps(state).encode())


def test_a_deep_nest_is_no_message() -> None:
    with pytest.raises(MalformedMessage):
        decode(Report, b"[" * 100_000)
