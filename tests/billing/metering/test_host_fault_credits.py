"""What a host's fault gives back: at most the run's last hour, from whom it went to, once, never more than was charged."""

import random
import uuid
from datetime import datetime, timedelta

import pytest
import time_machine
from django.db import IntegrityError, connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from accounts.models import User
from billing.audit.selectors import ledger_findings
from billing.constants import INSTANCE_SOURCE
from billing.errors import StillMetered
from billing.metering import host_fault_credits
from billing.metering.costs import costs_of
from billing.metering.host_fault_credits import credit_source
from billing.metering.settle import extend_holds, settle_meters
from billing.models import Entry, Posting, Usage
from billing.payouts.earnings_selectors import earnings_of
from billing.statements.selectors import statement_lines
from common.db.transactions import use_case
from tests.billing.money import (
    RATE,
    START,
    UNIT,
    Source,
    assert_sound,
    at,
    charged,
    execute,
    grant,
    make_user,
    platform,
    settle,
    triggers_off,
    wallet,
)
from tests.profiles import examples

pytestmark = pytest.mark.django_db


def give_back(source: Source, moment: datetime, *, since: datetime = START, key: str = "run-1", of: str = "") -> int:
    with time_machine.travel(moment, tick=False), use_case():
        return credit_source(
            source_kind=INSTANCE_SOURCE,
            source_id=source.key,
            key=f"{of or source.key}:{key}",
            since=since,
            until=moment,
            reason="host fault",
            actor="system",
        )


def run(alice: User, hana: User, end: datetime) -> Source:
    """Ran from START to `end`, and is closed."""
    grant(alice, 1000 * UNIT)
    source = Source(alice, hana).start()
    source.run(START, end)
    with time_machine.travel(end, tick=False):
        source.close()
    return source


def given_back(source: Source) -> int:
    entries = Entry.objects.filter(kind="refund", posting__source_id=source.key)
    return sum(entries.values_list("amount_micros", flat=True))


@pytest.mark.parametrize(("minutes", "back"), [(150, RATE), (60, RATE), (61, RATE), (20, RATE // 3)])
def test_the_last_hour_comes_back_or_the_whole_run_where_it_was_shorter(
    alice: User, hana: User, minutes: int, back: int
) -> None:
    source = run(alice, hana, at(minutes=minutes))
    before = wallet(alice).balance_micros
    assert give_back(source, at(minutes=minutes)) == back == given_back(source)
    assert wallet(alice).balance_micros == before + back
    cost = charged(source.key) - back
    assert platform().balance_micros + wallet(hana, "host").balance_micros == cost
    assert abs(platform().balance_micros - cost // 10) <= 1
    assert costs_of(source_kind=INSTANCE_SOURCE, source_ids=[source.key], now=at(hours=3))[source.key].total_micros == cost
    assert_sound(at(hours=3))


def test_both_sides_see_what_and_why(alice: User, hana: User) -> None:
    source = run(alice, hana, at(minutes=90))
    give_back(source, at(minutes=90))
    line = statement_lines(owner_id=alice.pk)[0]
    assert (line.kind, line.amount_micros, line.seconds, line.rate_micros_per_hour) == ("refund", RATE, 3600, RATE)
    assert (line.what, line.source_id) == ("2 × RTX 4090: host fault", source.key)
    earned = statement_lines(owner_id=hana.pk, kind="host")[0]
    assert (earned.amount_micros, earned.charge_micros, earned.fee_micros) == (-RATE * 9 // 10, -RATE, -RATE // 10)
    back, use = sorted(earnings_of(owner_id=hana.pk).lines, key=lambda each: each.charge_micros)
    assert (back.is_given_back, back.charge_micros, back.why) == (True, -RATE, "2 × RTX 4090: host fault")
    assert (use.is_given_back, use.charge_micros, use.why) == (False, charged(source.key), "")
    assert earnings_of(owner_id=hana.pk).share_micros == wallet(hana, "host").balance_micros


def test_the_same_run_again_changes_nothing_even_when_the_source_runs_anew(alice: User, hana: User) -> None:
    source = run(alice, hana, at(minutes=90))
    assert give_back(source, at(minutes=90)) == RATE
    source.start(at(minutes=100))
    source.run(at(minutes=100), at(minutes=130))
    assert give_back(source, at(minutes=90)) == 0
    assert source.meter.closed_at is None
    assert given_back(source) == RATE
    assert_sound(at(minutes=130))


def test_what_ran_before_the_run_stays_charged(alice: User, hana: User) -> None:
    source = run(alice, hana, at(minutes=50))
    with time_machine.travel(at(minutes=60), tick=False):
        source.start(at(minutes=60))
    source.run(at(minutes=60), at(minutes=70))
    with time_machine.travel(at(minutes=70), tick=False):
        source.close()
    assert give_back(source, at(minutes=70), since=at(minutes=60)) == RATE // 6


def test_a_gap_in_the_proof_is_not_given_back_and_the_time_before_it_is(alice: User, hana: User) -> None:
    grant(alice, 1000 * UNIT)
    source = Source(alice, hana).start()
    source.run(START, at(minutes=30))
    source.run(at(minutes=40), at(minutes=70))
    source.run(at(minutes=80), at(minutes=90))
    with time_machine.travel(at(minutes=90), tick=False):
        source.close()
    assert len(source.meters) == 3
    covered = sum((meter.settled_until - meter.opened_at for meter in source.meters), timedelta(0))
    assert give_back(source, at(minutes=90)) == given_back(source) > 0
    lines = Posting.objects.filter(kind="credit", source_id=source.key)
    assert sum(
        (line.period_to - line.period_from for line in lines if line.period_to and line.period_from), timedelta(0)
    ) == min(covered, timedelta(hours=1))
    assert_sound(at(minutes=90))


def test_while_it_is_metered_nothing_can_be_given_back(alice: User, hana: User) -> None:
    grant(alice, 1000 * UNIT)
    source = Source(alice, hana).start()
    source.run(START, at(minutes=30))
    with pytest.raises(StillMetered):
        give_back(source, at(minutes=30))


def test_a_run_that_cost_nothing_gives_nothing_back(alice: User, hana: User) -> None:
    grant(alice, UNIT)
    source = Source(alice, hana, rate=0).start()
    source.run(START, at(minutes=30))
    source.close()
    assert give_back(source, at(minutes=30)) == 0
    nobody = Source(alice, hana)
    assert give_back(nobody, at(minutes=30)) == 0
    assert not Posting.objects.filter(kind="credit").exists()


def test_two_faults_of_one_time_give_it_back_once(alice: User, hana: User) -> None:
    source = run(alice, hana, at(minutes=90))
    assert give_back(source, at(minutes=90)) > 0
    assert give_back(source, at(minutes=90), key="run-2") == 0


def test_the_table_refuses_to_give_a_second_back_twice(alice: User, hana: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wall behind the key, and behind the look at what was given back already."""
    monkeypatch.setattr(host_fault_credits, "_credited_until", lambda _sources, since, _until: since)
    source = run(alice, hana, at(minutes=90))
    give_back(source, at(minutes=90))
    with pytest.raises(IntegrityError, match="no_second_given_back_twice"):
        give_back(source, at(minutes=90), key="run-2")


def fail_runs(alice: User, hana: User, count: int, minutes: int) -> tuple[Source, list[int]]:
    """So many runs, ten minutes apart, each ended by the host's fault; what each gave back."""
    grant(alice, 1000 * UNIT)
    source, back = Source(alice, hana), []
    for number in range(count):
        begin = at(minutes=number * (minutes + 10))
        end = begin + timedelta(minutes=minutes)
        with time_machine.travel(begin, tick=False):
            source.start(begin)
        source.run(begin, end)
        with time_machine.travel(end, tick=False):
            source.close()
        back.append(give_back(source, end, since=begin, key=str(number)))
    return source, back


def test_two_hours_of_a_source_are_given_back_in_a_day(alice: User, hana: User) -> None:
    source, back = fail_runs(alice, hana, 5, 45)
    assert back == [RATE * 3 // 4, RATE * 3 // 4, RATE // 2, 0, 0]
    assert_sound(at(minutes=275))
    other, back = fail_runs(alice, hana, 1, 45)
    assert (back, other.key != source.key) == ([RATE * 3 // 4], True), "each source by itself"


def test_sources_of_one_instance_are_bounded_together(alice: User, hana: User) -> None:
    """By the hour, then by a term, then by the hour: the key names what they all are of, and not another's."""
    instance, back = uuid.uuid4(), []
    for number in range(4):
        source = run(alice, hana, at(minutes=45))
        back.append(give_back(source, at(minutes=45), key=str(number), of=f"instance:{instance.hex}"))
    assert back == [RATE * 3 // 4, RATE * 3 // 4, RATE // 2, 0]
    other = run(alice, hana, at(minutes=45))
    assert give_back(other, at(minutes=45), of=f"instance:{uuid.uuid4().hex}") == RATE * 3 // 4
    with time_machine.travel(at(hours=24), tick=False):
        later = Source(alice, hana).start(at(hours=24))
    later.run(at(hours=24), at(hours=25))
    with time_machine.travel(at(hours=25), tick=False):
        later.close()
    assert give_back(later, at(hours=25), key="later", of=f"instance:{instance.hex}") == RATE
    assert_sound(at(hours=25))


def test_the_table_refuses_more_than_two_hours_of_one_instance(alice: User, hana: User) -> None:
    instance, moment = uuid.uuid4(), at(minutes=45)
    for number in range(3):
        give_back(run(alice, hana, moment), moment, key=str(number), of=f"instance:{instance.hex}")

    def insert(of: uuid.UUID) -> None:
        execute(
            "INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, period_from,"
            " period_to, rate_micros_per_hour, created_at)"
            f" VALUES ('credit:instance:{of.hex}:9', 'credit', 'term', gen_random_uuid(), 'm', 'a',"
            f" '{at(days=9).isoformat()}', '{at(days=9, seconds=1).isoformat()}', 1, '{at(hours=20).isoformat()}')"
        )

    with pytest.raises(IntegrityError, match="more than 2 hours given back within a day"), transaction.atomic():
        insert(instance)
    with transaction.atomic():
        insert(uuid.uuid4())
        transaction.set_rollback(True)  # a posting without entries is not let to its end


def test_the_table_refuses_more_than_two_hours_in_a_day(alice: User, hana: User) -> None:
    """The wall behind the service: whoever posts it."""
    source, _ = fail_runs(alice, hana, 3, 45)

    def insert(created: datetime, key: str, begin: datetime) -> None:
        execute(
            "INSERT INTO billing_posting (idempotency_key, kind, source_kind, source_id, memo, actor, period_from,"
            " period_to, rate_micros_per_hour, created_at)"
            f" VALUES ('{key}', 'credit', '{INSTANCE_SOURCE}', '{source.key}', 'm', 'a',"
            f" '{begin.isoformat()}', '{(begin + timedelta(seconds=1)).isoformat()}', 1, '{created.isoformat()}')"
        )

    with pytest.raises(IntegrityError, match="more than 2 hours given back within a day"), transaction.atomic():
        insert(at(hours=20), "more", at(days=9))
    with transaction.atomic():
        insert(at(hours=48), "the day after", at(days=9))
        transaction.set_rollback(True)  # a posting without entries is not let to its end


@pytest.mark.parametrize(
    "sabotage",
    [
        "UPDATE billing_entry SET amount_micros = amount_micros + 1 WHERE kind = 'refund'",
        "UPDATE billing_posting SET period_from = period_from - interval '1 second' WHERE kind = 'credit'",
        "UPDATE billing_posting SET period_to = period_to + interval '1 second' WHERE kind = 'credit'",
        "UPDATE billing_posting SET source_id = gen_random_uuid() WHERE kind = 'credit'",
        "UPDATE billing_entry SET amount_micros = 0 WHERE kind = 'platform_fee'",
    ],
)
def test_the_audit_sees_a_credit_that_is_not_what_was_charged(alice: User, hana: User, sabotage: str) -> None:
    source = run(alice, hana, at(minutes=90))
    give_back(source, at(minutes=90))
    assert_sound(at(minutes=90))
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    with triggers_off():
        execute(sabotage)
    with time_machine.travel(at(minutes=90), tick=False):
        assert "I12" in {finding.code for finding in ledger_findings()}


class TimelineTest(TestCase):
    """Random lives, ended by the host's fault, settled before, between and after: the same to the micro-unit."""

    @settings(max_examples=examples(15, long=80), deadline=None)
    @given(seed=st.integers(0, 2**32), rate=st.sampled_from([1, 59, 3_060_000, 98_765_431]))
    def test_never_more_than_was_charged_in_any_order(self, seed: int, rate: int) -> None:
        payer, payee = make_user("payer"), make_user("payee")
        grant(payer, rate * 300)
        outcomes = {self._live(seed, rate, payer, payee, eager=eager) for eager in (False, True)}
        assert len(outcomes) == 1, outcomes

    def _live(self, seed: int, rate: int, payer: User, payee: User, *, eager: bool) -> tuple[int, int]:
        """One life; `eager` settles at every step, else only what the end needs. Costs and credits in all."""
        rng, source, now = random.Random(seed), Source(payer, payee, rate=rate, key=uuid.uuid4()), START
        total = 0
        for number in range(rng.randrange(1, 4)):
            begin = now
            with time_machine.travel(now, tick=False):
                source.start(now)
            for _ in range(rng.randrange(0, 60)):
                now += timedelta(microseconds=rng.choice([rng.randrange(1, 120_000_000), rng.randrange(1, 3_000_000_000)]))
                with time_machine.travel(now, tick=False):
                    source.prove(now)
                    extend_holds(now=now)
                    if eager:
                        settle_meters(now=now)
            total += self._fail(source, begin, now, number)
            now += timedelta(seconds=rng.randrange(1, 4000))
        settle(now)
        assert charged(source.key) - given_back(source) >= 0
        assert given_back(source) == total
        assert_sound(now)
        return charged(source.key), total

    def _fail(self, source: Source, begin: datetime, now: datetime, number: int) -> int:
        before = charged_since(source, begin)
        with time_machine.travel(now, tick=False):
            source.close()
        back = give_back(source, now, since=begin, key=str(number))
        assert give_back(source, now, since=begin, key=str(number)) == 0
        of_the_run = charged_since(source, begin)
        assert 0 <= back <= of_the_run
        assert before <= of_the_run
        assert back <= source.rate + 2  # an hour's price; each cut may round
        return back


def charged_since(source: Source, begin: datetime) -> int:
    rows = Usage.objects.filter(meter__source_id=source.key, period_from__gte=begin)
    return sum(rows.values_list("charge_micros", flat=True))
