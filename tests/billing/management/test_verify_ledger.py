"""`manage.py verify_ledger` is silent on a sound ledger and names each corruption that is seeded into it."""

from io import StringIO

import pytest
import time_machine
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection

from accounts.models import User
from billing.ledger_checks import CHECKS
from tests.billing.money import RATE, START, UNIT, Source, at, execute, grant, settle, triggers_off

NOW = at(hours=3, seconds=100)
DROP_KEY = (
    "ALTER TABLE billing_posting DROP CONSTRAINT billing_posting_idempotency_key_key, "
    "DROP CONSTRAINT no_second_charged_twice"
)
A_USAGE = "(SELECT min(id) FROM billing_posting WHERE kind = 'usage')"
DOUBLE = (
    "INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, meter_id, period_from,"
    " period_to, rate_micros_per_hour, created_at) SELECT idempotency_key, kind, source_kind, source_id, memo, actor,"
    f" meter_id, period_from, period_to, rate_micros_per_hour, created_at FROM billing_posting WHERE id = {A_USAGE}"
)

# What is broken by hand, and which invariants must notice. The walls that would refuse it are down.
CORRUPTIONS = {
    "an entry changed": (["UPDATE billing_entry SET amount_micros = amount_micros + 1 WHERE kind = 'charge'"],
                         {"I01", "I02", "I03", "I06", "I07"}),
    "an entry deleted": (["DELETE FROM billing_entry WHERE kind = 'platform_fee'"], {"I01", "I02", "I03", "I06"}),
    "a charge and a share moved together": (
        [f"UPDATE billing_entry SET amount_micros = amount_micros - 5 WHERE kind = 'charge' AND posting_id = {A_USAGE}",
         f"UPDATE billing_entry SET amount_micros = amount_micros + 5 WHERE kind = 'host_share' AND posting_id = {A_USAGE}",
         "UPDATE billing_wallet SET balance_micros = balance_micros - 5 WHERE kind = 'renter'",
         "UPDATE billing_wallet SET balance_micros = balance_micros + 5 WHERE kind = 'host'"],
        {"I07"}),
    "a fee taken from the share": (
        ["UPDATE billing_entry SET amount_micros = amount_micros + 5 WHERE kind = 'platform_fee'",
         "UPDATE billing_entry SET amount_micros = amount_micros - 5 WHERE kind = 'host_share'"],
        {"I03", "I07"}),
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
        {"I03", "I05"}),
    "a meter said to be settled further": (
        ["UPDATE billing_meter SET settled_until = settled_until + interval '1 second'"], {"I05"}),
    "a posting without entries": ([f"DELETE FROM billing_entry WHERE posting_id = {A_USAGE}"], {"I03", "I06"}),
    "a posting twice": ([DROP_KEY, DOUBLE], {"I05", "I06", "I08", "I20"}),
    "a key of another meter": ([f"UPDATE billing_posting SET idempotency_key = 'x' WHERE id = {A_USAGE}"], {"I08"}),
    "a period moved": (
        [DROP_KEY, "UPDATE billing_posting SET period_from = period_from - interval '10 s',"
         " period_to = period_to - interval '10 s' WHERE kind = 'usage'"],
        {"I05", "I08"}),
    "a rate changed after the fact": (["UPDATE billing_meter SET rate_micros_per_hour = rate_micros_per_hour + 9"],
                                      {"I07", "I14"}),
    "a cap before what was charged": (["UPDATE billing_meter SET capped_at = opened_at + interval '90 minutes'"],
                                      {"I24"}),
    "a period in the future": (
        [DROP_KEY, "UPDATE billing_posting SET period_to = period_to + interval '2 days' WHERE kind = 'usage'"],
        {"I05", "I07", "I20", "I24", "I25"}),
    "a credit for what was never charged": (
        ["INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, period_from, period_to,"
         " rate_micros_per_hour, created_at) SELECT 'credit:x', 'credit', source_kind, source_id, memo, actor,"
         " period_from + interval '30 days', period_to + interval '30 days', rate_micros_per_hour, created_at"
         f" FROM billing_posting WHERE id = {A_USAGE}"],
        {"I12"}),
    "meters that overlap": (
        ["ALTER TABLE billing_meter DROP CONSTRAINT meters_of_a_source_never_overlap",
         "INSERT INTO billing_meter SELECT gen_random_uuid(), source_kind, source_id, label, rate_micros_per_hour, fee_bps,"
         " opened_at + interval '1 hour', proven_until, funded_until, capped_at, proven_until, now(), payee_id, payer_id"
         " FROM billing_meter"],
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
    assert verify() == (set(), "The ledger holds.\n")


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
