"""`manage.py verify_ledger` is silent on a sound ledger and names each corruption that is seeded into it."""

from io import StringIO
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from accounts.models import User
from billing.ledger.checks import CHECKS
from tests.billing.money import RATE, START, UNIT, Source, at, execute, grant, settle, triggers_off

NOW = at(hours=3, seconds=100)
A_USAGE = "(SELECT min(id) FROM billing_posting WHERE kind = 'usage')"
FIRST = "id = (SELECT min(id) FROM billing_usage)"
LAST = "id = (SELECT max(id) FROM billing_usage)"
ANY_PERIOD = "ALTER TABLE billing_usage DROP CONSTRAINT no_second_charged_twice"
USAGE = (
    "posting_id, charge_entry_id, share_entry_id, meter_id, period_from, period_to, rate_micros, charge_micros, fee_micros"
)
POSTING = "kind, source_kind, source_id, memo, actor, created_at"
METER = (
    "payer_id, payee_id, source_kind, source_id, label, mode, gpu_model, calendar, rate_micros, rate_hours, steps_us,"
    " steps_micros, base_us, fee_bps, proven_until, funded_until"
)


def moved(kind: str, wallet: str, micros: int) -> list[str]:
    """An entry and the balance of its wallet, so that these two agree."""
    return [
        f"UPDATE billing_entry SET amount_micros = amount_micros + {micros} WHERE kind = '{kind}'",
        f"UPDATE billing_wallet SET balance_micros = balance_micros + {micros} WHERE kind = '{wallet}'",
    ]


# What is broken by hand, and which invariants must notice. The walls that would refuse it are down.
CORRUPTIONS = {
    "an entry changed": (["UPDATE billing_entry SET amount_micros = amount_micros + 1 WHERE kind = 'charge'"],
                         {"I01", "I02", "I03", "I06"}),
    "an entry deleted": (["DELETE FROM billing_entry WHERE kind = 'platform_fee'"], {"I01", "I02", "I03", "I06"}),
    "a charge and a share moved together": (
        [*moved("charge", "renter", -5), *moved("host_share", "host", 5)], {"I06"}),
    "a charge moved wherever it stands": (
        [*moved("charge", "renter", -5), *moved("host_share", "host", 5),
         f"UPDATE billing_usage SET charge_micros = charge_micros + 5 WHERE {FIRST}"],
        {"I07"}),
    "a fee taken from the share": (
        [*moved("platform_fee", "platform", 5), *moved("host_share", "host", -5),
         f"UPDATE billing_usage SET fee_micros = fee_micros + 5 WHERE {FIRST}"],
        {"I07"}),
    "a share paid to another wallet": (
        ["UPDATE billing_entry SET wallet_id = (SELECT id FROM billing_wallet WHERE kind = 'platform')"
         " WHERE kind = 'host_share'"],
        {"I03", "I06"}),
    "a balance changed": (["UPDATE billing_wallet SET balance_micros = balance_micros + 1 WHERE kind = 'renter'"],
                          {"I03"}),
    "a held amount changed": (["UPDATE billing_wallet SET held_micros = held_micros + 1 WHERE kind = 'renter'"],
                              {"I04"}),
    "more held than there is": (
        ["ALTER TABLE billing_wallet DROP CONSTRAINT wallet_never_overspent",
         "UPDATE billing_wallet SET held_micros = 1000000000 WHERE kind = 'renter'",
         "UPDATE billing_hold SET amount_micros = 1000000000 WHERE released_at IS NULL"],
        {"I04"}),
    "a hold shrunk": (
        ["UPDATE billing_hold SET amount_micros = amount_micros - 1",
         "UPDATE billing_wallet SET held_micros = held_micros - 1 WHERE kind = 'renter'"],
        {"I14"}),
    "a hold released under a running meter": (
        ["UPDATE billing_wallet SET held_micros = 0", "UPDATE billing_hold SET released_at = now()"], {"I14"}),
    "a posting deleted": (
        [f"DELETE FROM billing_entry WHERE posting_id = {A_USAGE}", f"DELETE FROM billing_posting WHERE id = {A_USAGE}"],
        {"I03", "I06"}),
    "a settled interval without its row": ([f"DELETE FROM billing_usage WHERE {LAST}"], {"I05", "I06"}),
    "a settled interval with two rows": (
        [ANY_PERIOD, f"INSERT INTO billing_usage ({USAGE}) SELECT {USAGE} FROM billing_usage WHERE {LAST}"],
        {"I05", "I06", "I20"}),
    "a meter said to be settled further": (
        ["UPDATE billing_meter SET settled_until = settled_until + interval '1 second'"], {"I05"}),
    "a usage row of no meter": ([f"UPDATE billing_usage SET meter_id = gen_random_uuid() WHERE {LAST}"], {"I05", "I06"}),
    "a key twice": (
        ["ALTER TABLE billing_posting DROP CONSTRAINT billing_posting_idempotency_key_key",
         f"INSERT INTO billing_posting (idempotency_key, {POSTING}) SELECT idempotency_key, {POSTING} FROM billing_posting"],
        {"I08"}),
    "a gap between two rows": (
        [f"UPDATE billing_usage SET period_from = period_from + interval '10 s' WHERE {LAST}"], {"I05", "I07", "I20"}),
    "an overlap of two rows": (
        [f"UPDATE billing_usage SET period_from = period_from - interval '10 s' WHERE {LAST}"], {"I05", "I07", "I20"}),
    "a gap made good by an overlap": (
        [f"UPDATE billing_usage SET period_to = period_to + interval '10 s' WHERE {FIRST}",
         f"UPDATE billing_usage SET period_from = period_from + interval '10 s' WHERE {LAST}"],
        {"I07", "I20"}),
    "all periods moved": (
        [ANY_PERIOD, "UPDATE billing_usage SET period_from = period_from - interval '10 s',"
         " period_to = period_to - interval '10 s'"],
        {"I05"}),
    "a price changed after the fact": (["UPDATE billing_meter SET rate_micros = rate_micros + 9"], {"I07", "I14"}),
    "a step put in after the fact": (
        ["UPDATE billing_meter SET steps_us = '{1800000000}', steps_micros = '{1}'"], {"I07"}),
    "a row that says another rate": ([f"UPDATE billing_usage SET rate_micros = rate_micros - 1 WHERE {LAST}"], {"I07"}),
    "a cap before what was charged": (["UPDATE billing_meter SET capped_at = opened_at + interval '90 minutes'"],
                                      {"I24"}),
    "a period in the future": (
        [f"UPDATE billing_usage SET period_to = period_to + interval '2 days' WHERE {LAST}"], {"I05", "I07", "I24", "I25"}),
    "a credit for what was never charged": (
        ["INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, period_from, period_to,"
         " rate_micros_per_hour, created_at) SELECT 'credit:x', 'credit', source_kind, source_id, 'back', 'test',"
         " opened_at + interval '30 days', opened_at + interval '31 days', rate_micros, now() FROM billing_meter"],
        {"I12"}),
    "meters that overlap": (
        [f"INSERT INTO billing_meter (id, {METER}, opened_at, settled_until, closed_at) SELECT gen_random_uuid(), {METER},"
         " opened_at + interval '1 hour', proven_until, now() FROM billing_meter"],
        {"I05", "I20"}),
}  # fmt: skip


def verify() -> tuple[set[str], str]:
    """The codes found, and all that was printed."""
    out = StringIO()
    with time_machine.travel(NOW, tick=False):
        try:
            call_command("verify_ledger", stdout=out)
        except CommandError as error:
            assert error.returncode == 1
            return {line.split()[0] for line in out.getvalue().splitlines()}, out.getvalue()
    return set(), out.getvalue()


@pytest.fixture(autouse=True)
def _books_alone(settings: Any) -> None:
    """These sources are no instances: what other apps know of theirs is tests/instances/test_sabotage.py."""
    settings.LEDGER_CHECKS_BESIDE = []


@pytest.fixture
def ledger(alice: User, hana: User) -> Source:
    """Three settled hours, 100 seconds accrued, and the hold for the fourth hour."""
    grant(alice, 100 * UNIT)
    source = Source(alice, hana).start()
    source.run(START, NOW)
    assert settle(NOW) == 3
    assert source.open_hold is not None
    assert source.open_hold.amount_micros == RATE
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")  # as a commit would: nothing is left to check
    return source


@pytest.mark.django_db
def test_an_empty_and_a_sound_ledger_hold(ledger: Source) -> None:
    assert verify() == (set(), "The ledger is consistent.\n")


@pytest.mark.django_db
@pytest.mark.parametrize("name", CORRUPTIONS)
def test_each_corruption_is_found(ledger: Source, name: str) -> None:
    statements, expected = CORRUPTIONS[name]
    with triggers_off():
        for statement in statements:
            execute(statement)
    found, printed = verify()
    assert expected <= found, printed


def test_every_check_is_made_red_by_some_corruption() -> None:
    assert {code for _, codes in CORRUPTIONS.values() for code in codes} == {check.code for check in CHECKS}
