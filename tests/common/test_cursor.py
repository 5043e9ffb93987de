"""Walks by cursor: every row once, both ways, whatever is equal, inserted or forged."""

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.core import signing
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import given
from hypothesis import strategies as st
from rest_framework import serializers
from rest_framework.generics import ListAPIView
from rest_framework.permissions import AllowAny
from rest_framework.test import APIRequestFactory

from accounts.models import User
from common.http.pagination import _beyond, _total_order

MOMENT = datetime(2026, 1, 1, 0, 0, 0, 123_456, tzinfo=UTC)


class Row(serializers.Serializer[User]):
    email = serializers.CharField()


class Rows(ListAPIView[Any]):
    permission_classes = (AllowAny,)
    serializer_class = Row
    ordering: Any = ("-date_joined", "display_name")

    def get_queryset(self) -> Any:
        people = User.objects.all()
        return (
            people.values("id", "email", "date_joined", "display_name") if "dicts" in self.request.query_params else people
        )


class ByName(Rows):
    ordering = "display_name"


def page(address: str, view: type[Rows] = Rows) -> Any:
    return view.as_view()(APIRequestFactory().get(address))


def emails(reply: Any) -> list[str]:
    return [row["email"] for row in reply.data["results"]]


def people(offsets: list[int]) -> list[str]:
    """Users who joined so many minutes after the first, and their addresses in the order of the list."""
    rows = [
        User(email=f"{n}@example.com", display_name="xyz"[n % 3], date_joined=MOMENT + timedelta(minutes=offset))
        for n, offset in enumerate(offsets)
    ]
    User.objects.bulk_create(rows)
    # date_joined falls, name rises, and the added id goes with the last field.
    ordered = sorted(rows, key=lambda row: (-row.date_joined.timestamp(), row.display_name, row.pk))
    return [row.email for row in ordered]


@pytest.mark.parametrize("kind", ["models", "dicts"])
@pytest.mark.parametrize("offsets", [[], [0], [0] * 25, list(range(25)), [n % 3 for n in range(25)], [0] * 10])
def test_a_walk_meets_every_row_once_there_and_back(db: None, kind: str, offsets: list[int]) -> None:
    expected = people(offsets)
    address, there = f"/?limit=5&{kind}", []
    while address:
        reply = page(address)
        there.append(emails(reply))
        last, address = reply.data, reply.data["next"]
    assert [email for rows in there for email in rows] == expected
    assert all(len(rows) == 5 for rows in there[:-1])
    back, address = [there[-1]], last["previous"]
    while address:
        reply = page(address)
        back.insert(0, emails(reply))
        address = reply.data["previous"]
    assert back == there


def test_rows_that_come_meanwhile_do_not_shift_the_next_page(db: None) -> None:
    expected = people(list(range(10)))
    first = page("/?limit=4")
    User.objects.create_user("newest@example.com", date_joined=MOMENT + timedelta(days=1))
    second = page(first.data["next"])
    assert emails(first) + emails(second) == expected[:8]
    assert emails(page(second.data["previous"])) == expected[:4]


@given(st.data())
def test_the_comparison_names_every_field_of_a_total_order(data: st.DataObject) -> None:
    fields = _total_order(data.draw(st.sampled_from(["-a", "a", ("a", "-b"), ("-a", "b")])))
    assert fields[-1] == ("-id" if fields[-2].startswith("-") else "id")
    values = data.draw(st.tuples(*[st.integers(0, 3)] * len(fields)))
    condition = str(_beyond(fields, values))
    assert condition.count("__lt") + condition.count("__gt") == len(fields) + 1


@pytest.mark.parametrize("limit", ["0", "-1", "x", "201", "99999999999999999999", "", "1.5", "٣", "+1"])
def test_odd_limits_are_refused(db: None, limit: str) -> None:
    reply = page(f"/?limit={quote(limit)}")
    assert (reply.status_code, reply.data["errors"][0]["field"]) == (400, "limit")


def test_the_largest_page(db: None) -> None:
    people(list(range(201)))
    assert len(emails(page("/?limit=200"))) == 200
    assert len(emails(page("/"))) == 50


@pytest.mark.parametrize(
    "cursor",
    ["", "x", "%00", "eyJhIjoxfQ:1tXYZ:abc", signing.dumps([False, ["x"]], salt="else")],
    ids=["empty", "short", "nul", "bad signature", "signed for something else"],
)
def test_forged_cursors_are_refused(db: None, cursor: str) -> None:
    reply = page(f"/?cursor={cursor}")
    assert (reply.status_code, reply.data["errors"][0]["field"]) == (400, "cursor")


def test_a_cursor_of_another_order_is_refused(db: None) -> None:
    people([0] * 5)
    cursor = page("/?limit=2").data["next"].partition("cursor=")[2]
    assert page(f"/?cursor={cursor}", ByName).status_code == 400


def test_a_page_is_one_query(db: None) -> None:
    people([0] * 20)
    address = page("/?limit=5").data["next"]
    with CaptureQueriesContext(connection) as queries:
        page(address)
    assert len(queries) == 1


def test_other_parameters_stay_in_the_links(db: None) -> None:
    people([0] * 5)
    reply = page("/?limit=2&dicts&region=eu&region=us")
    assert "region=eu&region=us" in reply.data["next"]
    assert reply.data["next"].count("cursor=") == 1
    assert page(reply.data["next"]).data["next"].count("cursor=") == 1
