"""Cursors: what goes in comes out, and nothing that was not given out is taken."""

import base64
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import InvalidInput
from marketplace.cursor import Cursor, read_cursor


@given(value=st.integers(-(2**63) + 1, 2**63 - 1), key=st.uuids(), backwards=st.booleans())
def test_round_trip(value: int, key: object, backwards: bool) -> None:
    cursor = Cursor("price", value, key, backwards)  # type: ignore[arg-type]  # a UUID
    assert read_cursor(cursor.encode(), sort="price") == cursor


@given(st.text(max_size=300))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        read_cursor(text, sort="price")
    assert refusal.value.errors[0].field == "cursor"


_KEY = b"0190a7c64f7a7bd2a1c3e5f708192a3b"  # the same in every process, or xdist's workers would disagree on the test's name


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"{}",
        b"null",
        b'["price",1,"x",false]',
        b'["price",true,"%s",false]' % _KEY,
        b'["price",1.5,"%s",false]' % _KEY,
        b'["price",9223372036854775808,"%s",false]' % _KEY,
        b'["price",1,7,false]',
        b'["price",1,"%s",1]' % _KEY,
        b'[7,1,"%s",false]' % _KEY,
        pytest.param(b"[" * 100, id="deep"),
    ],
)
def test_forged_contents_are_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        read_cursor(base64.urlsafe_b64encode(body).decode(), sort="price")


def test_a_cursor_belongs_to_its_sort_order() -> None:
    with pytest.raises(InvalidInput) as refusal:
        read_cursor(Cursor("price", 1, uuid4()).encode(), sort="-vram")
    assert "sort=price" in refusal.value.errors[0].detail
