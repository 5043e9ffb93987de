"""Meters: opened on a hold, proven by reports, capped by a stop, closed once."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from billing.constants import FUNDED_AT_MOST
from billing.errors import NoOpenHold
from billing.metering.meters import prove_meters
from billing.models import Meter, Posting
from tests.billing.money import RATE, START, UNIT, Source, assert_sound, at, charged, grant, platform, settle, wallet

pytestmark = pytest.mark.django_db


@pytest.fixture
def source(alice: User, hana: User) -> Source:
    grant(alice, 100 * UNIT)
    return Source(alice, hana)


def test_a_meter_needs_a_hold(source: Source) -> None:
    with pytest.raises(NoOpenHold):
        source.open(START)
    assert not Meter.objects.exists()


def test_opening_freezes_rate_and_fee_and_is_funded_by_the_hold(source: Source) -> None:
    source.start()
    meter = source.meter
    assert (meter.rate_micros, meter.fee_bps, meter.label) == (RATE, 1000, "2 × RTX 4090")
    assert meter.opened_at == meter.proven_until == meter.settled_until == START
    assert meter.funded_until == at(hours=1)


def test_opening_again_while_open_changes_nothing(source: Source) -> None:
    source.start()
    source.open(at(seconds=5))
    assert [meter.opened_at for meter in source.meters] == [START]


def test_a_free_source_is_funded_for_good(source: Source) -> None:
    source.rate = 0
    source.start()
    assert source.meter.funded_until == START + FUNDED_AT_MOST
    source.prove(at(seconds=90))
    source.close()
    assert charged(source.key) == 0
    assert Posting.objects.filter(kind="usage").count() == 1
    assert_sound()


def test_proof_moves_forward_only(source: Source) -> None:
    source.start()
    source.prove(at(seconds=60))
    source.prove(at(seconds=30))
    assert source.meter.proven_until == at(seconds=60)


def test_proof_of_an_unknown_or_closed_source_changes_nothing(source: Source) -> None:
    source.prove(START)
    source.start()
    source.close()
    source.prove(at(seconds=10))
    assert [meter.proven_until for meter in source.meters] == [START]


def test_many_sources_are_proven_by_one_statement(alice: User, hana: User) -> None:
    grant(alice, 1000 * UNIT)
    sources = [Source(alice, hana).start() for _ in range(12)]
    with CaptureQueriesContext(
        connection,
    ) as queries:
        prove_meters(source_kind="instance", source_ids=[source.key for source in sources], at=at(seconds=20))
    assert len(queries) == 1
    assert {source.meter.proven_until for source in sources} == {at(seconds=20)}


@pytest.mark.parametrize(("gap", "stretches"), [(timedelta(seconds=120), 1), (timedelta(seconds=120, microseconds=1), 2)])
def test_a_gap_up_to_the_bridge_is_charged_and_a_longer_one_is_not(source: Source, gap: timedelta, stretches: int) -> None:
    source.start()
    source.prove(at(seconds=50))
    source.prove(at(seconds=50) + gap)
    source.prove(at(seconds=70) + gap)
    assert len(source.meters) == stretches
    source.close()
    seconds = 70 + (gap.total_seconds() if stretches == 1 else 0)
    assert charged(source.key) == round(RATE * seconds / 3600)
    assert_sound()


def test_the_stretch_after_a_gap_has_what_is_left_of_the_hold(source: Source) -> None:
    source.start()
    source.prove(at(seconds=100))
    source.prove(at(seconds=1000))
    before, after = source.meters
    assert before.closed_at == before.proven_until == at(seconds=100)
    assert after.opened_at == at(seconds=1000)
    assert after.funded_until == at(seconds=1000 + 3500)
    assert settle(at(seconds=1001)) == 1  # the interrupted stretch, by the sweep
    assert charged(source.key) == 85_000
    assert_sound()


def test_a_cap_outlives_a_gap(source: Source) -> None:
    source.start()
    source.prove(at(seconds=100))
    source.cap(at(seconds=110))
    source.prove(at(seconds=1000))
    source.prove(at(seconds=1100))
    source.close()
    assert charged(source.key) == 85_000
    assert_sound()


def test_the_earliest_cap_wins_and_nothing_later_is_charged(source: Source) -> None:
    source.start()
    source.prove(at(seconds=100))
    for seconds in (150, 110, 400):
        source.cap(at(seconds=seconds))
    source.prove(at(seconds=200))
    source.close()
    assert charged(source.key) == RATE * 110 // 3600
    assert_sound()


def test_a_cap_before_the_opening_charges_nothing(source: Source) -> None:
    source.start()
    source.cap(at(seconds=-30))
    source.prove(at(seconds=100))
    source.close()
    assert charged(source.key) == 0
    assert wallet(source.payer).spendable_micros == 100 * UNIT
    assert_sound()


def test_a_cap_cannot_take_back_what_is_settled(source: Source) -> None:
    source.start()
    source.run(START, at(hours=2))
    assert settle(at(hours=2)) == 2
    source.cap(at(minutes=90))
    source.close()
    assert charged(source.key) == 2 * RATE
    assert_sound()


def test_closing_charges_splits_and_releases_once(source: Source) -> None:
    source.start()
    source.prove(at(seconds=100))
    for _ in range(2):
        source.close()
    assert Posting.objects.filter(kind="usage").count() == 1
    payer = wallet(source.payer)
    assert (payer.balance_micros, payer.held_micros) == (100 * UNIT - 85_000, 0)
    assert wallet(source.payee, "host").balance_micros == 76_500
    assert platform().balance_micros == 8_500
    assert_sound()


def test_nothing_is_charged_beyond_the_hold_even_when_it_runs_on(source: Source) -> None:
    source.start()
    moment = START
    while moment < at(hours=3):
        moment += timedelta(seconds=100)
        source.prove(moment)
    source.close()
    assert charged(source.key) == RATE
    assert_sound()


def test_a_source_starts_again_after_it_was_closed(source: Source) -> None:
    for begin in (0, 5000):
        source.start(at(seconds=begin))
        source.prove(at(seconds=begin + 100))
        source.close()
    assert charged(source.key) == 2 * 85_000
    assert_sound()


def test_a_clock_that_went_back_opens_no_second_twice(source: Source) -> None:
    source.start()
    source.prove(at(seconds=100))
    source.close()
    source.start(at(seconds=40))
    assert source.meter.opened_at == at(seconds=100)
    source.prove(at(seconds=150))
    source.close()
    assert charged(source.key) == RATE * 150 // 3600
    assert_sound()


def test_overlapping_meters_of_one_source_are_refused_by_the_database(source: Source) -> None:
    source.start()
    source.prove(at(seconds=100))
    source.close()
    second = source.meter
    second.pk = None
    second.opened_at = second.settled_until = at(seconds=50)
    with pytest.raises(IntegrityError, match="meters_of_a_source_never_overlap"), transaction.atomic():
        second.save(force_insert=True)
