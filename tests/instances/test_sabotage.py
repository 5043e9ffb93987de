"""Sabotage of the ledger by SQL, past every trigger, as only the owner of the tables could: `verify_ledger` names each.

The market's own role is refused all of it before (tests/common/test_roles.py,
tests/billing/ledger/test_database_constraints.py).
"""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction

from accounts.models import User
from billing.audit.services import audit_ledger
from billing.ledger.publish_anchors import anchor_ledger
from billing.ledger.seals import seal_ledger
from billing.metering.escrow import prepay
from billing.metering.settle import extend_holds, settle_meters
from billing.payouts.payouts import request_payout
from billing.pricing.tariffs import Scope
from billing.staff_credit.services import confirm_grant, request_grant
from common import clock
from common.db.transactions import use_case
from instances.lifecycle.stop import stop_instance
from instances.models import Instance
from tests.billing.coupon_money import redeem
from tests.billing.money import UNIT, execute, grant, pay_in, triggers_off
from tests.billing.payments.conftest import SECRET, Market, stand_in
from tests.billing.payouts.world import account
from tests.instances.fake_host import FakeHost, marked_block, order_running
from tests.instances.fixtures import Clock

__all__ = ["stand_in"]

pytestmark = pytest.mark.django_db

LAST_SEAL = "(SELECT max(number) FROM billing_seal)"
A_USAGE = "(SELECT min(id) FROM billing_posting WHERE kind = 'usage')"
FIRST_ROW, LAST_ROW = "id = (SELECT min(id) FROM billing_usage)", "id = (SELECT max(id) FROM billing_usage)"
OPEN = "closed_at IS NULL"
USAGE = (
    "posting_id, charge_entry_id, share_entry_id, meter_id, period_from, period_to, rate_micros, charge_micros, fee_micros"
)
POSTING = "idempotency_key, kind, source_kind, source_id, memo, actor, created_at"
A_GIFT = """
    WITH given AS (
        INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, created_at)
        VALUES ('{key}', '{kind}', 'grant', gen_random_uuid(), 'a gift', 'nobody', now()) RETURNING id
    ), moved AS (
        UPDATE billing_wallet SET balance_micros = balance_micros + CASE kind WHEN 'renter' THEN 7 ELSE -7 END
        WHERE id IN (SELECT min(id::text)::uuid FROM billing_wallet WHERE kind IN ('renter', '{other}') GROUP BY kind)
        RETURNING id, kind
    )
    INSERT INTO billing_entry (posting_id, wallet_id, kind, amount_micros)
    SELECT given.id, moved.id, 'credit', CASE moved.kind WHEN 'renter' THEN 7 ELSE -7 END FROM given, moved
"""
HOLD = """
    INSERT INTO billing_hold (id, wallet_id, source_kind, source_id, mode, gpu_model, amount_micros, created_at)
    SELECT gen_random_uuid(), id, '{kind}', gen_random_uuid(), '', '', 5, now() FROM billing_wallet
    WHERE kind = 'renter' AND balance_micros > held_micros + 5 LIMIT 1
"""
HELD = (
    "UPDATE billing_wallet w SET held_micros = COALESCE((SELECT sum(amount_micros) FROM billing_hold"
    " WHERE wallet_id = w.id AND released_at IS NULL), 0)"
)
MOVED = [
    "UPDATE billing_entry SET amount_micros = amount_micros {0} 5"
    " WHERE id = (SELECT min(charge_entry_id) FROM billing_usage)",
    "UPDATE billing_entry SET amount_micros = amount_micros {1} 5"
    " WHERE id = (SELECT min(share_entry_id) FROM billing_usage)",
    "UPDATE billing_wallet w SET balance_micros = (SELECT sum(amount_micros) FROM billing_entry WHERE wallet_id = w.id)"
    " WHERE EXISTS (SELECT FROM billing_entry WHERE wallet_id = w.id)",
]


FORGED = """
    WITH given AS (
        INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, created_at)
        VALUES ('{key}', '{kind}', '{kind}', '01900000-0000-7000-8000-000000000001', 'forged', '{actor}', now()) RETURNING id
    ), side AS (
        SELECT DISTINCT ON (kind) id, CASE kind WHEN '{source}' THEN -7 ELSE 7 END AS amount
        FROM billing_wallet WHERE kind IN ('{source}', '{target}') ORDER BY kind, balance_micros DESC
    ), paid AS (
        UPDATE billing_wallet wallet SET balance_micros = balance_micros + amount FROM side WHERE side.id = wallet.id
    )
    INSERT INTO billing_entry (posting_id, wallet_id, kind, amount_micros)
    SELECT given.id, side.id, '{entry}', amount FROM given CROSS JOIN side
"""
FORGED_TRANSFER = """
    WITH given AS (
        INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, created_at)
        VALUES ('transfer:01900000000070008000000000000001', 'transfer', 'transfer', '01900000-0000-7000-8000-000000000001',
                'forged', 'user:nobody', now()) RETURNING id
    ), side AS (
        SELECT id, CASE row_number() OVER (ORDER BY balance_micros - held_micros DESC) WHEN 1 THEN -7 ELSE 7 END AS amount
        FROM billing_wallet WHERE kind = 'renter' ORDER BY balance_micros - held_micros DESC LIMIT 2
    ), paid AS (
        UPDATE billing_wallet wallet SET balance_micros = balance_micros + amount FROM side WHERE side.id = wallet.id
    )
    INSERT INTO billing_entry (posting_id, wallet_id, kind, amount_micros)
    SELECT given.id, side.id, 'transfer', amount FROM given CROSS JOIN side
"""
GIVEN_AGAIN = [
    "UPDATE billing_coupon SET granted_micros = granted_micros + 7, remaining_micros = remaining_micros + 7",
    FORGED.format(key="coupon:x", kind="coupon", actor="coupons", source="gifts", target="coupon", entry="coupon"),
]


def forged(kind: str, source: str, target: str, entry: str) -> list[str]:
    return [FORGED.format(key="x", kind=kind, actor="nobody", source=source, target=target, entry=entry)]


def moved(first: str, second: str) -> list[str]:
    return [statement.format(first, second) for statement in MOVED]


# What is done, and which invariant must name it.
SABOTAGES: dict[str, tuple[list[str], str]] = {
    # the chain
    "the last seal deleted": ([f"DELETE FROM billing_seal WHERE number = {LAST_SEAL}"], "I10"),
    "all seals deleted": (["DELETE FROM billing_seal"], "I10"),
    "all seals and audits deleted": (["DELETE FROM billing_seal", "DELETE FROM billing_ledgeraudit"], "I11"),
    "the last seals deleted and a covered memo rewritten": (
        ["DELETE FROM billing_seal", "UPDATE billing_posting SET memo = 'x' WHERE kind = 'grant'"], "I10"),
    "a first seal deleted": (["DELETE FROM billing_seal WHERE number = 1"], "I09"),
    "a seal's head rewritten": ([f"UPDATE billing_seal SET head = repeat('0', 64) WHERE number = {LAST_SEAL}"], "I09"),
    "a sealed memo rewritten": (["UPDATE billing_posting SET memo = 'x' WHERE kind = 'grant'"], "I09"),
    "who has acted rewritten": (["UPDATE billing_posting SET actor = 'x' WHERE kind = 'usage'"], "I09"),
    "when it was booked rewritten": (
        [f"UPDATE billing_posting SET created_at = created_at - interval '1 day' WHERE id = {A_USAGE}"], "I09"),
    "a record deleted": (["DELETE FROM billing_record WHERE id = (SELECT min(id) FROM billing_record)"], "I09"),
    "a record rewritten": (["UPDATE billing_record SET at = now() WHERE id = (SELECT min(id) FROM billing_record)"], "I09"),
    # entries and balances
    "an entry changed": (["UPDATE billing_entry SET amount_micros = amount_micros + 1 WHERE kind = 'charge'"], "I01"),
    "an entry deleted": (["DELETE FROM billing_entry WHERE kind = 'platform_fee'"], "I01"),
    "a posting without entries": (
        [f"INSERT INTO billing_posting ({POSTING}) VALUES ('x', 'transfer', 'x', gen_random_uuid(), '', 'x', now())"],
        "I27"),
    "a posting's entries deleted with it": (
        [f"DELETE FROM billing_entry WHERE posting_id = {A_USAGE}", f"DELETE FROM billing_posting WHERE id = {A_USAGE}"],
        "I06"),
    "a balance raised": (["UPDATE billing_wallet SET balance_micros = balance_micros + 9 WHERE kind = 'renter'"], "I03"),
    "a charge and a share moved with their balances": (moved("-", "+"), "I06"),
    "held money forgotten": (["UPDATE billing_wallet SET held_micros = 0"], "I04"),
    "an orphan hold": ([HOLD.format(kind="instance"), HELD], "I32"),
    "an orphan hold of a kind nobody knows": ([HOLD.format(kind="nothing"), HELD], "I32"),
    "a posting that gives a renter the market's fees": (forged("transfer", "platform", "renter", "transfer"), "I35"),
    "a posting that gives a host the market's fees": (forged("transfer", "platform", "host", "host_share"), "I35"),
    "a posting that gives a renter what came over cards": (forged("transfer", "stripe", "renter", "transfer"), "I35"),
    "a prepaid term that was never prepaid comes back": (forged("term", "escrow", "renter", "prepaid"), "I36"),
    "coupon money past the coupons": (forged("coupon", "gifts", "renter", "coupon"), "I35"),
    "coupon money that no coupon was drawn for": (forged("coupon", "coupon", "renter", "coupon"), "I37"),
    "a coupon that gives more than its code": (GIVEN_AGAIN, "I37"),
    "what a coupon code gives": (["UPDATE billing_couponcode SET amount_micros = amount_micros * 2"], "I28"),
    "a transfer that its sender has not made": ([FORGED_TRANSFER], "I35"),
    "a wallet given to somebody else": (
        ["UPDATE billing_wallet SET owner_id = (SELECT id FROM accounts_user WHERE email LIKE 'bob%%') WHERE kind = 'host'"],
        "I28"),
    "a hold moved to another renter's wallet": (
        ["UPDATE billing_hold SET wallet_id = (SELECT id FROM billing_wallet WHERE kind = 'renter' AND owner_id ="
         " (SELECT id FROM accounts_user WHERE email LIKE 'bob%%')) WHERE released_at IS NULL", HELD], "I14"),
    "a hold shrunk": (
        ["UPDATE billing_hold SET amount_micros = 1 WHERE released_at IS NULL AND source_kind = 'instance'", HELD], "I14"),
    # use
    "a usage row deleted": ([f"DELETE FROM billing_usage WHERE {LAST_ROW}"], "I05"),
    "a usage row charged again": (
        ["ALTER TABLE billing_usage DROP CONSTRAINT no_second_charged_twice",
         f"INSERT INTO billing_usage ({USAGE}) SELECT {USAGE} FROM billing_usage WHERE {LAST_ROW}"], "I20"),
    "a period made longer": ([f"UPDATE billing_usage SET period_to = period_to + interval '9 s' WHERE {FIRST_ROW}"], "I07"),
    "a rate on a line": ([f"UPDATE billing_usage SET rate_micros = rate_micros - 1 WHERE {LAST_ROW}"], "I07"),
    "the fee moved": ([f"UPDATE billing_usage SET fee_micros = 0 WHERE {FIRST_ROW}"], "I06"),
    # meters
    "a settled meter repriced": (["UPDATE billing_meter SET rate_micros = 1 WHERE closed_at IS NOT NULL"], "I07"),
    "an open meter repriced before its first line": (
        [f"UPDATE billing_meter SET rate_micros = 1 WHERE {OPEN} AND settled_until = opened_at"], "I28"),
    "an open meter repriced by a step": (
        [f"UPDATE billing_meter SET steps_us = ARRAY[base_us], steps_micros = ARRAY[1] WHERE {OPEN}"], "I28"),
    "the platform's fee of an open meter": ([f"UPDATE billing_meter SET fee_bps = 0 WHERE {OPEN}"], "I28"),
    "an open meter's payee": (
        ["UPDATE billing_meter SET payee_id = (SELECT id FROM billing_wallet WHERE kind = 'platform')"
         f" WHERE {OPEN}"], "I28"),
    "a running instance's meter closed": (
        [f"UPDATE billing_meter SET closed_at = proven_until WHERE {OPEN}"], "I30"),
    "a running instance's meter capped": ([f"UPDATE billing_meter SET capped_at = proven_until WHERE {OPEN}"], "I30"),
    "a running instance's meter deleted": ([f"DELETE FROM billing_meter WHERE {OPEN}"], "I30"),
    "proof moved ahead": (
        [f"UPDATE billing_meter SET proven_until = proven_until + interval '10 minutes' WHERE {OPEN}"], "I31"),
    "proof of a closed meter moved": (
        ["UPDATE billing_meter SET proven_until = proven_until + interval '1 s' WHERE closed_at IS NOT NULL"], "I28"),
    "a meter settled further": (
        ["ALTER TABLE billing_meter DROP CONSTRAINT meter_settles_only_proof",
         "UPDATE billing_meter SET settled_until = settled_until + interval '1 s' WHERE closed_at IS NOT NULL"], "I05"),
    "a settled meter deleted": (["DELETE FROM billing_meter WHERE closed_at IS NOT NULL"], "I28"),
    # card payments
    "a payment deleted": (["DELETE FROM billing_payment WHERE id NOT IN (SELECT payment_id FROM billing_refund UNION"
                           " SELECT payment_id FROM billing_dispute)"], "I26"),
    "a payment's amount": (["UPDATE billing_payment SET amount_micros = amount_micros + 1"], "I26"),
    "a payment's owner": (
        ["UPDATE billing_payment SET owner_id = (SELECT id FROM accounts_user WHERE email LIKE 'hana%%')"], "I26"),
    "a payment said to be unpaid": (["UPDATE billing_payment SET state = 'expired'"], "I26"),
    "a payment's charge at Stripe": (["UPDATE billing_payment SET charge_id = 'ch_x' || id"], "I28"),
    "a refund deleted": (["DELETE FROM billing_refund"], "I26"),
    "a refund's amount": (["UPDATE billing_refund SET amount_micros = 1"], "I26"),
    "a dispute deleted": (["DELETE FROM billing_dispute"], "I26"),
    "a dispute's amount": (["UPDATE billing_dispute SET amount_micros = 1"], "I26"),
    "a dispute said to be won": (["UPDATE billing_dispute SET state = 'won'"], "I26"),
    "a forged top-up": ([A_GIFT.format(key="topup:x", kind="top_up", other="stripe")], "I26"),
    # payouts
    "a payout deleted": (["DELETE FROM billing_payout"], "I13"),
    "a payout's destination": (["UPDATE billing_payout SET destination = '{\"iban\": \"XX\"}'"], "I28"),
    # grants
    "a forged grant": ([A_GIFT.format(key="grant:x", kind="grant", other="funding")], "I29"),
    "a grant's row deleted": (["DELETE FROM billing_grant"], "I29"),
    "a grant's amount": (["UPDATE billing_grant SET amount_micros = amount_micros - 1"], "I29"),
    "a grant's second person": (["UPDATE billing_grant SET confirmed_by = 'somebody' WHERE amount_micros > 1"], "I28"),
    "a grant's reason": (["UPDATE billing_grant SET reason = 'x'"], "I28"),
    # papers
    "what one has granted posted by another": (
        ["UPDATE billing_posting SET actor = 'x' WHERE kind = 'grant'"], "I29"),
}  # fmt: skip


@pytest.fixture
def books(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> Instance:
    """Forty days: use that was charged, cards, a payout, grants, audits, anchors; and an instance that runs and was never
    charged yet."""
    names = ("stand_in", "hours", "host", "rin", "bob", "hana")
    (stripe, base), hours, host, rin, bob, hana = map(request.getfixturevalue, names)
    settings.STRIPE_SECRET_KEY, settings.STRIPE_WEBHOOK_SECRETS, settings.STRIPE_API_BASE = "sk_test_berth", [SECRET], base
    settings.LEDGER_ANCHOR_DIR = str(tmp_path / "anchors")
    first = order_running(rin, host)
    run(host, hours, 130)
    stop_instance(renter=rin, instance_id=first.pk)
    host.settle()
    hours.advance(days=40)
    host.sync()
    cards(Market(stripe), bob)
    account(hana)
    request_payout(owner_id=hana.pk, requested_by="test")
    redeem(bob, 20)
    prepaid(hana)
    big = request_grant(owner_id=bob.pk, amount_micros=2_000 * UNIT, actor="staff:a", key="big", reason="a campaign")
    confirm_grant(grant_id=big.pk, actor="staff:b")
    seal()
    grant(bob, UNIT)
    running = order_running(rin, host)
    run(host, hours, 10)
    seal()
    connection.check_constraints()
    return running


def run(host: FakeHost, hours: Clock, minutes: int) -> None:
    for _ in range(minutes):
        hours.advance(minutes=1)
        host.sync()
        extend_holds(now=clock.now())
    settle_meters(now=clock.now())


def cards(market: Market, owner: User) -> None:
    """One payment that stays, one that is refunded in part, one in dispute."""
    market.paid(owner, 25)
    refunded, disputed = market.paid(owner, 50), market.paid(owner, 100)
    market.stripe.refund_by_hand(str(refunded.intent_id), 1000)
    market.stripe.dispute(str(disputed.intent_id))
    market.deliver_all()


def prepaid(renter: User) -> None:
    """In escrow, as for a term."""
    pay_in(renter, 10 * UNIT)
    with use_case():
        prepay(renter_id=renter.pk, term_id=uuid4(), amount_micros=10 * UNIT, memo="a term", scope=Scope())


def seal() -> None:
    assert seal_ledger() is not None
    assert anchor_ledger()
    assert audit_ledger(asked_by="test")[1] == []


def found() -> set[str]:
    """The codes that the command prints."""
    import io

    out = io.StringIO()
    try:
        call_command("verify_ledger", stdout=out)
    except CommandError:
        return {line.split()[0] for line in out.getvalue().splitlines()}
    return set()


def test_each_sabotage_is_named(books: Instance, subtests: pytest.Subtests) -> None:
    """Each is taken back before the next one, which begins with books that are sound again."""
    for name, (statements, code) in SABOTAGES.items():
        with subtests.test(name), marked_block():
            assert found() == set()
            before = counted()
            with triggers_off():
                for statement in statements:
                    execute(statement)
            assert counted() != before, "the sabotage has changed nothing"
            assert code in found()
            transaction.set_rollback(True)


def counted() -> str:
    """What all of it looks like, in one word."""
    tables = (
        *("posting", "entry", "usage", "seal", "record", "ledgeraudit", "wallet", "hold", "meter"),
        *("payment", "refund", "dispute", "payout", "grant", "couponcode", "coupon", "coupondraw"),
    )
    rows = "(SELECT COALESCE(md5(string_agg(t::text, '' ORDER BY t::text)), '') FROM billing_{} t)"
    parts = " || ".join(rows.format(table) for table in tables)
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {parts}")
        return str(cursor.fetchone()[0])


def test_there_are_as_many_as_the_audit_tried() -> None:
    assert len(SABOTAGES) >= 38
