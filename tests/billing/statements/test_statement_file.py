"""The statement as CSV and in groups: each line, exact, harmless in a spreadsheet; sums that are those of the lines."""

import csv
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.test import Client

from accounts.models import User
from accounts.tokens.services import issue_token
from billing.ledger.wallets import grant_credit
from billing.statements.groups import statement_groups
from billing.statements.selectors import statement_lines
from common.ids import public_id
from common.spreadsheets import escape_formula
from tests.billing.coupon_money import BEGIN, UNIT, Run, at, redeem
from tests.billing.funding import grant_all

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def morning() -> Iterator[Any]:
    with time_machine.travel(BEGIN, tick=False) as clock:
        yield clock


@pytest.fixture
def run(alice: User, hana: User, morning: Any) -> Run:
    """50.00 granted under a name that a spreadsheet would calculate; 40 min at 3.60 an hour = 2.40, 1.00 by coupon."""
    grant_credit(owner_id=alice.pk, amount_micros=50 * UNIT, actor="test", key="k", memo="=HYPERLINK(1)")
    redeem(alice, 1)
    run = Run(alice, hana).start()
    morning.move_to(at(minutes=40))
    run.prove(at(minutes=40))
    run.close()
    morning.move_to(at(minutes=41))
    return run


def rows_of(reply: Any) -> list[dict[str, str]]:
    text = b"".join(reply.streaming_content).decode()
    assert text.startswith("\ufeff")
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_formulas_become_text(text: str) -> None:
    assert escape_formula(text) == f"'{text}"


def test_other_text_stays_as_it_is() -> None:
    assert escape_formula("2 × RTX 4090 = fast") == "2 × RTX 4090 = fast"


def test_every_line_is_in_the_file(client: Client, alice: User, run: Run) -> None:
    client.force_login(alice)
    reply = client.get("/wallet/statement.csv")
    assert reply["Content-Type"] == "text/csv; charset=utf-8"
    assert "statement-2026-10-05.csv" in reply["Content-Disposition"]
    rows = rows_of(reply)
    assert [(row["kind"], row["amount"]) for row in rows] == [
        ("charge", "-2.40"),
        ("coupon", "1.00"),
        ("credit", "50.00"),
    ]
    charge = rows[0]
    assert (charge["seconds"], charge["rate"], charge["rate_hours"]) == ("2400", "3.60", "1")
    assert charge["source"] == public_id("inst", run.key)
    assert (charge["period_from"], charge["period_to"]) == (BEGIN.isoformat(), at(minutes=40).isoformat())
    assert Decimal(charge["balance_after"]) == sum(Decimal(row["amount"]) for row in rows)
    assert rows[-1]["what"] == "'=HYPERLINK(1)"


def test_filters_of_the_page_and_of_the_file_are_the_same(client: Client, alice: User, run: Run) -> None:
    client.force_login(alice)
    filters = {"kind": "charge", "source": public_id("inst", run.key), "day_from": "2026-10-05", "day_to": "2026-10-05"}
    assert len(rows_of(client.get("/wallet/statement.csv", filters))) == 1
    page = client.get("/wallet/statement", filters).content.decode()
    assert "1 × RTX 4090" in page
    assert "HYPERLINK" not in page
    assert rows_of(client.get("/wallet/statement.csv", {**filters, "day_from": "2026-10-06"})) == []


def test_the_api_gives_the_same_file(client: Client, alice: User, run: Run) -> None:
    _token, text = issue_token(user=alice, name="x", scopes=["billing:read"])
    headers = {"Authorization": f"Bearer {text}"}
    address = "/api/v1/wallet/entries.csv"
    assert len(rows_of(client.get(address, headers=headers))) == 3
    assert len(rows_of(client.get(address, {"kind": "coupon"}, headers=headers))) == 1
    assert len(rows_of(client.get(address, {"source": public_id("inst", run.key)}, headers=headers))) == 2
    assert rows_of(client.get(address, {"since": "2026-10-06T00:00:00Z"}, headers=headers)) == []
    assert client.get(address, {"kind": "nonsense"}, headers=headers).status_code == 400
    for path in (address, "/api/v1/wallet/entries"):
        assert client.get(path, {"source": "inst_x"}, headers=headers).status_code == 400


def test_a_long_statement_is_whole_and_in_order(alice: User, hana: User, client: Client, morning: Any) -> None:
    grant_all([(alice, number) for number in range(1, 1_205)], memo="one")
    client.force_login(alice)
    rows = rows_of(client.get("/wallet/statement.csv"))
    assert [row["amount"] for row in rows[:2]] == ["0.001204", "0.001203"]
    assert len(rows) == 1_204
    assert Decimal(rows[0]["balance_after"]) == Decimal(1_204 * 1_205 // 2) / UNIT
    first = client.get("/wallet/statement").content.decode()
    assert "cursor=" in first


@pytest.mark.parametrize("bucket", ["hour", "day", "month", "all"])
@pytest.mark.parametrize("by_source", [True, False])
def test_groups_add_up_to_the_lines(alice: User, hana: User, run: Run, bucket: str, by_source: bool) -> None:
    with time_machine.travel(at(hours=30), tick=False):
        other = Run(alice, hana).start(at(hours=30))
    other.stop_at(at(hours=31))
    groups = statement_groups(owner_id=alice.pk, bucket=bucket, by_source=by_source)
    lines = statement_lines(owner_id=alice.pk)
    assert sum(group.sum_micros for group in groups) == sum(line.amount_micros for line in lines)
    assert sum(group.lines for group in groups) == len(lines)
    moments = {"hour": 2, "day": 2, "month": 1, "all": 1}[bucket]
    assert len({group.begins for group in groups}) == moments
    if bucket == "day" and by_source:
        spent = {(group.begins, group.source_id): (group.spent_micros, group.seconds) for group in groups}
        assert spent[datetime(2026, 10, 5, tzinfo=UTC), run.key] == (-2_400_000, 2_400)
        assert spent[datetime(2026, 10, 6, tzinfo=UTC), other.key] == (-3_600_000, 3_600)


def test_groups_on_the_page(client: Client, alice: User, run: Run) -> None:
    client.force_login(alice)
    page = client.get("/wallet/statement", {"group": "day", "by_source": "on"}).content.decode()
    assert "2026-10-05" in page
    assert "−$2.40" in page
    part = client.get("/wallet/statement", {"group": "month"}, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    assert "2026-10" in part


@pytest.mark.parametrize(
    "filters", [{"day_from": "nonsense"}, {"kind": "x"}, {"source": "x"}, {"group": "x"}, {"page": "x", "group": "day"}]
)
def test_wrong_filters_are_told_not_raised(client: Client, alice: User, run: Run, filters: dict[str, str]) -> None:
    client.force_login(alice)
    assert client.get("/wallet/statement", filters).status_code == 200
