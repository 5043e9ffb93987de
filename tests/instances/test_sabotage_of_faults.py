"""Sabotage of what hosts' faults leave in the books: `verify_ledger` names it, and the market's own role is refused."""

import pytest
from django.db import DatabaseError, connection, transaction

from accounts.models import User
from billing.ledger.freezes import freeze_money, lift_freeze
from billing.ledger.seals import seal_ledger
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Posting
from common import clock
from instances.enforcement.fault_reports import decide_report, report_fault
from instances.enforcement.silent_hosts import charge_meters, update_meters_of_silent_hosts
from instances.models import FaultReport
from instances.write_offs.services import settle_write_offs
from marketplace.hosts.write_offs import write_off_host
from storage.volumes.volumes import create_volume
from tests.billing.money import execute, triggers_off
from tests.instances.fake_host import FakeHost, marked_block, order, order_running, reload
from tests.instances.fixtures import Clock
from tests.instances.modes import sell
from tests.instances.test_sabotage import HELD, MOVED, found
from tests.instances.volume_world import carry_out

pytestmark = pytest.mark.django_db

RUN = "kind = 'credit' AND source_kind = 'instance'"
SILENT = "kind = 'credit' AND source_kind = 'volume'"
PAUSED = "source_kind = 'volume' AND closed_at IS NOT NULL"
RESUMED = "source_kind = 'disk' AND closed_at IS NULL"
BALANCES = MOVED[-1]
SIDE = "posting_id IN (SELECT id FROM billing_posting WHERE {0}) AND kind = '{1}'"


def moved_credit(which: str, first: str, second: str) -> list[str]:
    """Five micro-units more or less on two of a credit's sides, with all balances right."""
    return [
        f"UPDATE billing_entry SET amount_micros = amount_micros + 5 WHERE {SIDE.format(which, first)}",
        f"UPDATE billing_entry SET amount_micros = amount_micros - 5 WHERE {SIDE.format(which, second)}",
        BALANCES,
    ]


def without_credit(which: str) -> list[str]:
    entries = f"DELETE FROM billing_entry WHERE posting_id IN (SELECT id FROM billing_posting WHERE {which})"
    return [entries, f"DELETE FROM billing_posting WHERE {which}", BALANCES]


# As the owner of the tables, past every trigger: what must be named, and by which invariant.
SABOTAGES: dict[str, tuple[list[str], str]] = {
    "a run's credit made larger": (moved_credit(RUN, "refund", "host_share"), "I12"),
    "a run's credit made larger by the market's fee": (moved_credit(RUN, "refund", "platform_fee"), "I12"),
    "a run's credit taken from the fee instead": (moved_credit(RUN, "host_share", "platform_fee"), "I12"),
    "a silence's credit made larger": (moved_credit(SILENT, "refund", "host_share"), "I12"),
    "a silence's credit made smaller": (moved_credit(SILENT, "host_share", "refund"), "I12"),
    "a run's credit deleted": (without_credit(RUN), "I09"),
    "a silence's credit deleted": (without_credit(SILENT), "I09"),
    "a credit of more time": (
        [f"UPDATE billing_posting SET period_from = period_from - interval '1 minute' WHERE {RUN}"], "I12"),
    "a credit of less time": (
        [f"UPDATE billing_posting SET period_to = period_to - interval '1 second' WHERE {SILENT}"], "I12"),
    "a credit of time that was never charged": (
        [f"UPDATE billing_posting SET period_to = period_to + interval '1 day' WHERE {SILENT}"], "I12"),
    "a credit at another rate": (
        [f"UPDATE billing_posting SET rate_micros_per_hour = rate_micros_per_hour + 1 WHERE {SILENT}"], "I12"),
    "a credit of another source": (
        [f"UPDATE billing_posting SET source_id = gen_random_uuid() WHERE {SILENT}"], "I12"),
    "a credit for another fault": ([f"UPDATE billing_posting SET memo = 'x' WHERE {RUN}"], "I09"),
    "a credit that was posted another day": (
        [f"UPDATE billing_posting SET created_at = created_at - interval '1 day' WHERE {RUN}"], "I09"),
    "a credit by another hand": ([f"UPDATE billing_posting SET actor = 'x' WHERE {RUN}"], "I09"),
    "a credit without its fee": ([f"DELETE FROM billing_entry WHERE {SIDE.format(RUN, 'platform_fee')}"], "I01"),
    "a credit to another renter": (
        ["UPDATE billing_entry SET wallet_id = (SELECT id FROM billing_wallet WHERE kind = 'platform')"
         f" WHERE {SIDE.format(RUN, 'refund')}", BALANCES], "I12"),
    "a paused meter proven through the silence": (
        [f"UPDATE billing_meter SET proven_until = proven_until + interval '1 hour' WHERE {PAUSED}"], "I28"),
    "a paused meter closed later": (
        [f"UPDATE billing_meter SET closed_at = closed_at + interval '1 hour' WHERE {PAUSED}"], "I28"),
    "a paused meter repriced": ([f"UPDATE billing_meter SET rate_micros = rate_micros + 1 WHERE {PAUSED}"], "I07"),
    "a paused meter's payee": (
        ["UPDATE billing_meter SET payee_id = (SELECT id FROM billing_wallet WHERE kind = 'platform')"
         f" WHERE {PAUSED}"], "I28"),
    "a paused meter settled further": (
        ["ALTER TABLE billing_meter DROP CONSTRAINT meter_settles_only_proof, DROP CONSTRAINT meter_settles_only_funded",
         f"UPDATE billing_meter SET settled_until = settled_until + interval '1 s' WHERE {PAUSED}"], "I05"),
    "a paused meter deleted": ([f"DELETE FROM billing_meter WHERE {PAUSED}"], "I05"),
    "a line of a paused meter deleted": (
        [f"DELETE FROM billing_usage WHERE meter_id IN (SELECT id FROM billing_meter WHERE {PAUSED})"], "I05"),
    "a paused source's hold forgotten": (
        ["UPDATE billing_hold SET released_at = now() WHERE source_kind = 'volume' AND released_at IS NULL"], "I04"),
    "a paused source's hold raised": (
        ["UPDATE billing_hold SET amount_micros = amount_micros + 9 WHERE source_kind = 'disk' AND released_at IS NULL"],
        "I04"),
    "a paused source's hold of another thing": (
        ["UPDATE billing_hold SET source_id = gen_random_uuid() WHERE source_kind = 'volume' AND released_at IS NULL"],
        "I32"),
    "a resumed meter opened in the silence": (
        [f"UPDATE billing_meter SET opened_at = opened_at - interval '30 s', settled_until = opened_at WHERE {RESUMED}"],
        "I28"),
    "a resumed meter repriced": ([f"UPDATE billing_meter SET rate_micros = rate_micros * 2 WHERE {RESUMED}"], "I28"),
    "a resumed meter's fee": ([f"UPDATE billing_meter SET fee_bps = 0 WHERE {RESUMED}"], "I28"),
    "a resumed meter's hold shrunk": (
        ["UPDATE billing_hold SET amount_micros = 0 WHERE source_kind = 'disk' AND released_at IS NULL", HELD], "I14"),
    "a balance that a credit has moved": (
        ["UPDATE billing_wallet SET balance_micros = balance_micros - 5 WHERE kind = 'host'"], "I03"),
}  # fmt: skip

# By the market's own role, as a bug of the market would: refused by PostgreSQL.
REFUSED = {
    "a credit changed": f"UPDATE billing_posting SET period_to = period_to + interval '1 s' WHERE {RUN}",
    "a credit deleted": f"DELETE FROM billing_posting WHERE {RUN}",
    "a second of a credit given back again": (
        "INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, created_at, period_from,"
        " period_to, rate_micros_per_hour) SELECT idempotency_key || ':again', kind, source_kind, source_id, memo, actor,"
        f" created_at, period_from, period_to, rate_micros_per_hour FROM billing_posting WHERE {RUN}"),
    "an entry of a credit changed": f"UPDATE billing_entry SET amount_micros = 0 WHERE {SIDE.format(RUN, 'refund')}",
    "a paused meter opened again": f"UPDATE billing_meter SET closed_at = NULL WHERE {PAUSED}",
    "a paused meter proven further": (
        f"UPDATE billing_meter SET proven_until = proven_until + interval '1 hour' WHERE {PAUSED}"),
    "a resumed meter repriced": f"UPDATE billing_meter SET rate_micros = 1 WHERE {RESUMED}",
    "a resumed meter settled by hand": f"UPDATE billing_meter SET settled_until = now() WHERE {RESUMED}",
    "a freeze deleted": "DELETE FROM billing_moneyfreeze",
    "a freeze put back": "UPDATE billing_moneyfreeze SET lifted_at = NULL",
    "a freeze's beginning": "UPDATE billing_moneyfreeze SET since = now()",
    "a freeze's reason": "UPDATE billing_moneyfreeze SET reason = 'x'",
    "a holdback deleted": "DELETE FROM billing_holdback",
    "a holdback opened again": "UPDATE billing_holdback SET closed_at = NULL",
    "a holdback of another source": "UPDATE billing_holdback SET source_id = gen_random_uuid()",
    "a report decided again": "UPDATE instances_faultreport SET verdict = 'upheld'",
    "a report deleted": "DELETE FROM instances_faultreport",
    "a report's words": "UPDATE instances_faultreport SET detail = 'x'",
    "a write-off deleted": "DELETE FROM marketplace_hostwriteoff",
    "a write-off's reason": "UPDATE marketplace_hostwriteoff SET reason = 'x'",
    "a write-off's last report": "UPDATE marketplace_hostwriteoff SET last_seen_at = now()",
    "a write-off taken up again": "UPDATE marketplace_hostwriteoff SET settled_at = NULL",
    "all postings": "TRUNCATE billing_posting CASCADE",
    "all write-offs": "TRUNCATE marketplace_hostwriteoff CASCADE",
}  # fmt: skip


@pytest.fixture
def books(rin: User, stella: User, host: FakeHost, hana: User, hours: Clock) -> None:
    """A run that its host broke, a report that was rejected, a silence that gave a full hour back, one that goes on, and a
    host that was written off; money was frozen once."""
    sell(host, disk_micros_gb_day=4_800_000)
    broken = order(rin, host, disk=60)
    host.settle()
    volume = create_volume(owner=rin, name="models", size_gb=20, host_id=host.host.pk)
    carry_out(host)
    reported = order_running(rin, host)
    stay(host, hours, 59)
    host.end(reload(broken), "gpu_lost")
    report_fault(renter=rin, instance_id=reported.pk, detail="It hangs.")
    host.settle()
    decide_report(staff=stella, report_id=FaultReport.objects.get().pk, upheld=False)
    hours.advance(seconds=100)
    settle_meters(now=clock.now())  # the volume's full hour ends in the bridge
    hours.advance(seconds=100)
    update_meters_of_silent_hosts(now=clock.now())
    host.sync()
    update_meters_of_silent_hosts(now=clock.now())
    stay(host, hours, 10)
    dead = FakeHost(hana)
    order_running(rin, dead)
    stay(host, hours, 20)
    write_off_host(staff=stella, host_id=dead.host.pk, reason="Its data centre burnt down.", now=clock.now())
    settle_write_offs(now=clock.now())
    freeze_money(reason="restored")
    lift_freeze(by="test")
    seal_ledger()
    connection.check_constraints()
    assert Posting.objects.filter(kind="credit", source_id=volume.pk).count() == 1
    assert Posting.objects.filter(kind="credit", source_id=broken.pk, source_kind="instance").count() == 1


def stay(host: FakeHost, hours: Clock, minutes: int) -> None:
    for _ in range(minutes):
        hours.advance(minutes=1)
        host.sync()
        extend_holds(now=clock.now())
    charge_meters(now=clock.now())


def test_each_sabotage_of_a_fault_is_named(books: None, subtests: pytest.Subtests) -> None:
    """Each is taken back before the next one, which begins with books that are sound again."""
    for name, (statements, code) in SABOTAGES.items():
        with subtests.test(name), marked_block():
            assert found() == set()
            with triggers_off():
                for statement in statements:
                    execute(statement)
            assert code in found()
            transaction.set_rollback(True)


def test_the_market_itself_is_refused(books: None) -> None:
    for name, statement in REFUSED.items():
        with pytest.raises(DatabaseError), transaction.atomic():
            execute(statement)
            execute("SET CONSTRAINTS ALL IMMEDIATE")
            pytest.fail(f"{name}: not refused")
    assert found() == set()
