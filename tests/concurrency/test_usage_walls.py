"""The walls of the metered ledger, each paired: up it refuses, down the harm is done."""

import uuid
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import datetime, timedelta

import pytest
from django.db import DatabaseError, connection

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.models import Entry, Posting, Usage
from common.db.transactions import use_case
from tests.billing.money import (
    RATE,
    START,
    UNIT,
    Source,
    at,
    charged,
    execute,
    execute_as_owner,
    grant,
    in_parallel,
    platform,
    settle,
    triggers_off,
)
from tests.roles import as_owner

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def source(alice: User, hana: User) -> Source:
    """Three hours proven and paid for, nothing charged."""
    grant(alice, 100 * UNIT)
    source = Source(alice, hana).start()
    source.run(START, at(hours=3))
    return source


def charge_by_hand(
    source: Source, begins: datetime, ends: datetime, *, charge: int = RATE, entry: int | None = None
) -> None:
    """What a settlement writes, past every service; `entry` is what the entry says, by default what the row says."""
    meter, fee = source.meter, charge // 10
    with use_case():
        posting = Posting.objects.create(
            idempotency_key=uuid.uuid4().hex, kind="usage", source_kind="settlement", source_id=uuid.uuid4(), actor="hand"
        )
        amount = charge if entry is None else entry
        paid, earned, _ = Entry.objects.bulk_create(
            [
                Entry(posting=posting, wallet_id=meter.payer_id, kind="charge", amount_micros=-amount),
                Entry(posting=posting, wallet_id=meter.payee_id, kind="host_share", amount_micros=amount - fee),
                Entry(posting=posting, wallet=platform(), kind="platform_fee", amount_micros=fee),
            ]
        )
        Usage.objects.create(
            posting=posting,
            charge_entry=paid,
            share_entry=earned,
            meter=meter,
            period_from=begins,
            period_to=ends,
            rate_micros=meter.rate_micros,
            charge_micros=charge,
            fee_micros=fee,
        )


def test_two_transactions_at_once_charge_a_period_once(source: Source) -> None:
    outcomes = in_parallel([lambda: charge_by_hand(source, START, at(hours=1))] * 2)
    assert sorted(outcome is None for outcome in outcomes) == [False, True], outcomes
    assert charged(source.key) == RATE
    assert source.meter.settled_until == at(hours=1)


def test_with_the_walls_down_they_charge_it_twice_and_the_audit_tells(source: Source) -> None:
    definition = constraint("no_second_charged_twice")
    execute_as_owner("ALTER TABLE billing_usage DROP CONSTRAINT no_second_charged_twice")
    try:
        outcomes = in_parallel([lambda: _unguarded(source)] * 2)
        assert outcomes == [None, None]
        assert charged(source.key) == 2 * RATE
        assert {"I05", "I20"} <= {finding.code for finding in ledger_findings()}
    finally:
        execute_as_owner("TRUNCATE billing_usage")
        execute_as_owner(f"ALTER TABLE billing_usage ADD CONSTRAINT no_second_charged_twice {definition}")


def _unguarded(source: Source) -> None:
    with triggers_off():
        charge_by_hand(source, START, at(hours=1))


@pytest.mark.parametrize(
    ("begins", "ends", "what"),
    [
        (timedelta(minutes=1), timedelta(hours=1), "a gap at the opening"),
        (timedelta(hours=-1), timedelta(hours=1), "before the opening"),
        (timedelta(0), timedelta(hours=4), "beyond the proof"),
    ],
)
@pytest.mark.parametrize("up", [True, False])
def test_usage_begins_where_the_meter_was_settled_and_ends_within_its_proof(
    source: Source, begins: timedelta, ends: timedelta, what: str, up: bool
) -> None:
    expectation = pytest.raises(DatabaseError, match="must begin where its meter was settled") if up else nullcontext()
    with expectation, nullcontext() if up else triggers_off():
        charge_by_hand(source, START + begins, START + ends)
    assert charged(source.key) == (0 if up else RATE), what


@pytest.mark.parametrize("up", [True, False])
def test_after_the_first_hour_neither_a_gap_nor_an_overlap_goes_in(source: Source, up: bool) -> None:
    settle(at(hours=1))
    for minutes in (59, 61):
        with pytest.raises(DatabaseError, match="settled") if up else triggers_off():
            charge_by_hand(source, at(minutes=minutes), at(hours=2))
    assert charged(source.key) == (RATE if up else 3 * RATE)


def test_one_statement_cannot_hide_a_gap_among_its_rows(source: Source) -> None:
    settle(at(hours=1))
    row = Usage.objects.get()
    execute_as_owner("ALTER SEQUENCE billing_entry_id_seq RESTART 1000")
    begin_and_end = [(at(hours=1), at(hours=1, minutes=20)), (at(hours=1, minutes=40), at(hours=2))]
    rows = [_like(row, begin, end) for begin, end in begin_and_end]
    with pytest.raises(DatabaseError, match="must begin where"):
        Usage.objects.bulk_create(rows)


@pytest.mark.parametrize("up", [True, False])
def test_entries_say_what_their_usage_rows_say(source: Source, up: bool) -> None:
    with pytest.raises(DatabaseError, match="entries differ") if up else triggers_off():
        charge_by_hand(source, START, at(hours=1), entry=RATE - 10)
    assert Usage.objects.exists() is not up
    assert ("I06" in {finding.code for finding in ledger_findings()}) is not up


@pytest.mark.parametrize("up", [True, False])
def test_only_usage_rows_move_a_meter(source: Source, up: bool) -> None:
    with pytest.raises(DatabaseError, match="only usage rows") if up else triggers_off():
        execute("UPDATE billing_meter SET settled_until = opened_at + interval '1 hour'")
    assert source.meter.settled_until == (START if up else at(hours=1))
    assert ("I05" in {finding.code for finding in ledger_findings()}) is not up


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE billing_usage SET charge_micros = 0, fee_micros = 0",
        "DELETE FROM billing_usage",
        "DELETE FROM billing_meter",
    ],
)
def test_usage_and_meters_stay(source: Source, statement: str) -> None:
    settle(at(hours=1))
    with as_owner(), pytest.raises(DatabaseError, match="is append-only"):
        execute(statement)


def _like(row: Usage, begins: datetime, ends: datetime) -> Usage:
    return Usage(
        posting_id=row.posting_id,
        charge_entry_id=row.charge_entry_id,
        share_entry_id=row.share_entry_id,
        meter_id=row.meter_id,
        period_from=begins,
        period_to=ends,
        rate_micros=row.rate_micros,
        charge_micros=RATE // 3,
        fee_micros=RATE // 30,
    )


def constraint(name: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = %s", [name])
        return str(cursor.fetchone()[0])


@pytest.fixture(autouse=True)
def _triggers_on_again() -> Iterator[None]:
    yield
    with as_owner(), connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = DEFAULT")
