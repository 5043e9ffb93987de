"""Identifiers: unique, ordered by time, and readable back only with their prefix."""

import uuid

import pytest
import time_machine
from hypothesis import given
from hypothesis import strategies as st

from common.errors import NotFound
from common.ids import new_uuid, parse_public_id, public_id


def test_uuids_are_of_version_7_and_unique() -> None:
    made = [new_uuid() for _ in range(10_000)]
    assert len(set(made)) == len(made)
    assert {key.version for key in made} == {7}
    assert {key.variant for key in made} == {uuid.RFC_4122}


def test_later_uuids_sort_later() -> None:
    keys = []
    for second in range(5):
        with time_machine.travel(1_800_000_000 + second, tick=False):
            keys.append(new_uuid())
    assert keys == sorted(keys)


def test_there_and_back() -> None:
    key = new_uuid()
    assert parse_public_id("inst", public_id("inst", key)) == key


@pytest.mark.parametrize("text", ["", "inst", "inst_", "inst_1", "offr_" + "0" * 32, "inst_" + "g" * 32, "inst_" + "0" * 33])
def test_other_texts_name_nothing(text: str) -> None:
    with pytest.raises(NotFound):
        parse_public_id("inst", text)


@given(st.text())
def test_any_text_is_an_id_or_not_found(text: str) -> None:
    for candidate in (text, f"inst_{text}"):
        try:
            parse_public_id("inst", candidate)
        except NotFound:
            continue
