"""Spending by day, mode and instance: page, API and bars agree with the ledger."""

import json
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from billing.metering.holds import hold_funds
from billing.metering.meters import close_meter, open_meter
from billing.pricing.tariffs import Scope, Tariff
from billing.statements.spending_report import spending_report
from common import clock
from common.db.transactions import use_case
from tests.billing.money import RATE, START, UNIT, Source, at, grant, settle

NOW = at(hours=30)


@pytest.fixture
def spender(alice: User, hana: User) -> User:
    """Two hours of an instance on the first day; a disk for a day and a bit, over midnight."""
    grant(alice, 1000 * UNIT)
    source = Source(alice, hana).start()
    source.run(START, at(hours=2))
    settle(at(hours=2, seconds=10))
    disk = Source(alice, hana)
    with use_case():
        hold_funds(
            owner_id=alice.pk, amount_micros=UNIT * 24, source_kind="disk", source_id=disk.key, scope=Scope("hourly", "t4")
        )
        open_meter(
            source_kind="disk",
            source_id=disk.key,
            payer_id=alice.pk,
            payee_id=hana.pk,
            label="box: data disk",
            tariff=Tariff(12 * UNIT, hours=24),
            at=START,
            calendar=True,
        )
    settle(NOW)
    with time_machine.travel(NOW, tick=False), use_case():
        close_meter(source_kind="disk", source_id=disk.key, at=NOW)
    return alice


def read(client: Client, query: str = "") -> Any:
    with time_machine.travel(NOW, tick=False):
        reply = client.get(f"/api/v1/wallet/spend{query}")
    assert reply.status_code == 200, reply.content
    return json.loads(reply.content)


def test_each_way_of_cutting_adds_up_to_the_same(spender: User, client: Client) -> None:
    client.force_login(spender)
    whole = 2 * RATE + 15 * UNIT  # 30 hours of a disk at 12 a day
    for by in ("day", "mode", "source"):
        result = read(client, f"?by={by}")
        assert result["total"] == f"{whole / UNIT:.2f}", by
    assert [row["key"] for row in read(client, "?by=day")["rows"]] == ["2025-03-01", "2025-03-02"]
    assert {row["key"] for row in read(client, "?by=mode")["rows"]} == {"", "storage"}
    assert read(client, "?since=2025-03-02&until=2025-03-02")["rows"][0]["key"] == "2025-03-02"


@pytest.mark.parametrize("query", ["?since=2025-03-05&until=2025-03-01", "?since=1990-01-01", "?by=colour", "?since=x"])
def test_what_cannot_be_asked_is_refused_and_the_page_shows_the_last_days(spender: User, client: Client, query: str) -> None:
    client.force_login(spender)
    with time_machine.travel(NOW, tick=False):
        assert client.get(f"/api/v1/wallet/spend{query}").status_code == 400
        assert client.get(f"/wallet/spend{query}").status_code == 200


def test_the_page_has_a_bar_for_each_day_and_the_same_numbers_beneath(spender: User, client: Client) -> None:
    client.force_login(spender)
    with time_machine.travel(NOW, tick=False):
        page = client.get("/wallet/spend?by=source").content.decode()
    assert page.count('class="bar-net"') == 30
    assert "box: data disk" in page and "$15.00" in page


def test_a_wallet_that_spent_nothing_has_no_bars(mallory: User) -> None:
    spending = spending_report(mallory.pk, now=clock.now(), since=None, until=None, by="day")
    assert (spending.days, spending.rows, spending.total_micros) == ([], [], 0)


def test_bars_reach_no_higher_than_the_picture(spender: User) -> None:
    spending = spending_report(spender.pk, now=NOW, since=None, until=None, by="day")
    assert all(0 <= bar.y <= 1000 and bar.y + bar.height == pytest.approx(1000) for bar in spending.days)
    assert max(bar.height for bar in spending.days) > 400
