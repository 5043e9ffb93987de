"""Days at the ends of the calendar, behind and before which there is none: refused wherever a day can be asked for."""

import pytest
from django.test import Client

from accounts.models import User

PAGES = (
    "/settings/log?day_from={day}",
    "/settings/log?day_to={day}",
    "/settings/log.csv?day_to={day}",
    "/wallet/statement?day_from={day}",
    "/wallet/statement?day_to={day}",
    "/wallet/statement.csv?day_to={day}",
    "/wallet/orders?day_to={day}",
    "/wallet/spend?since={day}",
    "/wallet/spend?until={day}",
    "/hosts/earnings?since={day}",
    "/hosts/earnings?until={day}",
    "/hosts/earnings.csv?until={day}",
)
ENDPOINTS = ("/api/v1/hosts/earnings?since={day}", "/api/v1/hosts/earnings?until={day}", "/api/v1/wallet/spend?until={day}")
DAYS = ("0001-01-01", "1999-12-31", "3000-01-01", "9999-12-31")


@pytest.fixture
def hanas(client: Client, hana: User) -> Client:
    client.force_login(hana)
    return client


@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_does_without_a_day_that_is_none(hanas: Client, page: str, day: str) -> None:
    assert hanas.get(page.format(day=day)).status_code < 500


@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("address", ENDPOINTS)
def test_the_api_names_the_field(hanas: Client, address: str, day: str) -> None:
    reply = hanas.get(address.format(day=day))
    field = address.partition("?")[2].partition("=")[0]
    (error,) = reply.json()["errors"]
    assert (reply.status_code, error["field"]) == (400, field)
    assert error["detail"] == "Choose a date between 2000 and 2999."


def test_the_last_day_that_can_be_asked_for(hanas: Client) -> None:
    for page in PAGES:
        assert hanas.get(page.format(day="2999-12-31")).status_code < 500
