"""The walls of PostgreSQL around the money: whoever writes, also the owner of the tables, is refused by the triggers."""

import pytest
from django.db import DatabaseError, connection, transaction
from django.db.utils import IntegrityError

from accounts.models import User
from tests.billing.money import START, UNIT, Source, at, execute, grant, settle, triggers_off
from tests.roles import as_owner

pytestmark = pytest.mark.django_db

TRUNCATED = [
    "posting",
    "entry",
    "usage",
    "seal",
    "invoice",
    "record",
    "ledgeraudit",
    "wallet",
    "hold",
    "meter",
    "order",
    "payment",
    "refund",
    "dispute",
    "payout",
    "grant",
    "coupon",
    "tie",
]
# What was agreed when a meter opened, each with another value.
FIXED = {
    "rate_micros": "1", "fee_bps": "0", "rate_hours": "24", "base_us": "9", "label": "'x'", "mode": "'spot'",
    "gpu_model": "'x'", "calendar": "true", "source_kind": "'disk'", "source_id": "gen_random_uuid()",
    "payer_id": "payee_id", "payee_id": "payer_id", "opened_at": "opened_at - interval '1 hour'",
}  # fmt: skip
BACKWARDS = {
    "the proof": "proven_until = proven_until - interval '1 second'",
    "a price of what is charged": "steps_us = ARRAY[0], steps_micros = ARRAY[1]",
    "a most price put in": "most_micros = 9",
}
# What no amount can be, with the word of PostgreSQL's refusal.
IMPOSSIBLE = {
    "hold SET amount_micros = -1": "hold_not_negative",
    "wallet SET held_micros = -1": "wallet_held_not_negative",
    "wallet SET held_micros = balance_micros + 1 WHERE kind = 'renter'": "wallet_never_overspent",
    "meter SET rate_micros = -1": "meter_rate_not_negative",
    "meter SET fee_bps = 10001": "meter_fee_at_most_all",
    "usage SET fee_micros = -1": "usage_fee_within_charge",
    "usage SET fee_micros = charge_micros + 1": "usage_fee_within_charge",
    "grant SET amount_micros = 0": "grant_is_positive",
    "wallet SET balance_micros = balance_micros + 9223372036854775807 WHERE kind = 'renter'": "out of range",
    "entry SET amount_micros = 'NaN'": "invalid input syntax",
    "entry SET amount_micros = 'Infinity'": "invalid input syntax",
    "entry SET amount_micros = NULL": "not-null",
}


@pytest.fixture
def source(alice: User, hana: User) -> Source:
    """Two hours settled, 100 s not."""
    grant(alice, 100 * UNIT)
    source = Source(alice, hana).start()
    source.run(START, at(hours=2, seconds=100))
    assert settle(at(hours=2, seconds=100)) == 2
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    return source


def refused(statement: str, words: str) -> None:
    with as_owner(), pytest.raises(IntegrityError, match=words), transaction.atomic():
        execute(statement)


@pytest.mark.parametrize(("change", "words"), IMPOSSIBLE.items(), ids=IMPOSSIBLE.keys())
def test_fault_070_an_amount_that_cannot_be_is_refused(source: Source, change: str, words: str) -> None:
    """Below the triggers, which refuse most of it before: by the type of the column and its CHECK."""
    with triggers_off(), pytest.raises(DatabaseError, match=words), transaction.atomic():
        execute(f"UPDATE billing_{change}")


@pytest.mark.parametrize("name", TRUNCATED)
def test_nothing_is_truncated(source: Source, name: str) -> None:
    refused(f"TRUNCATE billing_{name} CASCADE", "TRUNCATE refused")


@pytest.mark.parametrize(
    "name",
    ["wallet", "hold", "meter", "payment", "refund", "dispute", "payout", "order", "grant", "coupon", "couponcode",
     "coupondraw", "tie"],
)  # fmt: skip
def test_what_is_kept_is_not_deleted(source: Source, name: str) -> None:
    refused(f"DELETE FROM billing_{name}", "DELETE refused")


@pytest.mark.parametrize("column", FIXED)
def test_what_a_meter_was_opened_with_is_fixed(source: Source, column: str) -> None:
    refused(f"UPDATE billing_meter SET {column} = {FIXED[column]}", "opened with is fixed")


@pytest.mark.parametrize("change", BACKWARDS.values(), ids=BACKWARDS.keys())
def test_what_is_proven_and_charged_does_not_go_back(source: Source, change: str) -> None:
    refused(f"UPDATE billing_meter SET {change}", "only grows|is fixed")


@pytest.mark.parametrize("change", ["proven_until = proven_until + interval '1 second'", "closed_at = NULL",
                                    "steps_us = ARRAY[90000000000], steps_micros = ARRAY[1]"])  # fmt: skip
def test_a_closed_meter_stays_as_it_is(source: Source, change: str) -> None:
    source.close()
    refused(f"UPDATE billing_meter SET {change}", "closed it stays|is fixed")


def test_a_cap_only_shrinks(source: Source) -> None:
    source.cap(at(hours=3))
    refused("UPDATE billing_meter SET capped_at = capped_at + interval '1 second'", "only shrinks")
    refused("UPDATE billing_meter SET capped_at = NULL", "only shrinks")


def test_a_posting_without_entries_does_not_commit(source: Source) -> None:
    refused(
        "INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, created_at)"
        " VALUES ('x', 'transfer', 'x', gen_random_uuid(), '', 'x', now()); SET CONSTRAINTS ALL IMMEDIATE",
        "has no entries",
    )


@pytest.mark.parametrize(
    "change",
    ["wallet SET owner_id = owner_id", "wallet SET kind = 'losses'", "hold SET wallet_id = gen_random_uuid()",
     "hold SET source_id = gen_random_uuid()", "couponcode SET amount_micros = 9", "couponcode SET per_user = 9",
     "coupon SET owner_id = gen_random_uuid()"],
)  # fmt: skip
def test_whose_it_is_and_what_a_code_gives_is_fixed(source: Source, change: str) -> None:
    refused(f"UPDATE billing_{change}", "is fixed")


FORGED_GRANT = """
    WITH given AS (
        INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, created_at)
        VALUES ('grant:forged', 'grant', 'grant', gen_random_uuid(), 'a gift', 'nobody', now()) RETURNING id
    )
    INSERT INTO billing_entry (posting_id, wallet_id, kind, amount_micros)
    SELECT given.id, wallet.id, 'credit', CASE kind WHEN 'renter' THEN 5000000 ELSE -5000000 END
    FROM given, billing_wallet wallet WHERE kind IN ('renter', 'funding');
    SET CONSTRAINTS ALL IMMEDIATE
"""


def test_credit_without_a_grant_does_not_commit(source: Source) -> None:
    refused(FORGED_GRANT, "no grant says")


@pytest.mark.parametrize(
    ("values", "constraint"),
    [
        ("5000000, '', 'k', 'stella', '', 'posted'", "grant_names_who_and_why"),
        ("5000000, 'why', 'k', ' ', '', 'posted'", "grant_names_who_and_why"),
        ("1000000001, 'why', 'k', 'stella', '', 'posted'", "large_grant_has_two_people"),
        ("1000000001, 'why', 'k', 'stella', 'stella', 'posted'", "large_grant_has_two_people"),
        ("0, 'why', 'k', 'stella', '', 'posted'", "grant_is_positive"),
    ],
)
def test_a_grant_names_who_and_why_and_above_a_sum_two_people(alice: User, values: str, constraint: str) -> None:
    columns = "owner_id, amount_micros, reason, key, requested_by, confirmed_by, state, id, created_at"
    refused(
        f"INSERT INTO billing_grant ({columns}) SELECT id, {values}, gen_random_uuid(), now() FROM accounts_user", constraint
    )
