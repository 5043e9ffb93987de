"""A credit asked for by many at once, beside the sweep that settles: given once."""

import pytest
import time_machine

from billing.constants import INSTANCE_SOURCE
from billing.metering.holds import pause_source
from billing.metering.host_fault_credits import credit_source
from billing.metering.settle import settle_meters
from billing.models import Posting
from common.db.transactions import use_case
from tests.billing.money import RATE, START, UNIT, Source, assert_sound, at, charged, grant, in_parallel, make_user, wallet

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_run_is_given_back_once_however_many_ask() -> None:
    renter, owner = make_user("renter"), make_user("owner")
    grant(renter, 100 * UNIT)
    source = Source(renter, owner).start()
    source.run(START, at(minutes=90))
    end = at(minutes=90)
    with time_machine.travel(end, tick=False):
        source.close()

        def give_back() -> int:
            with use_case():
                return credit_source(
                    source_kind=INSTANCE_SOURCE,
                    source_id=source.key,
                    key="run",
                    since=START,
                    until=end,
                    reason="host fault",
                    actor="system",
                )

        outcomes = in_parallel([give_back, lambda: settle_meters(now=end)] * 6)
    assert sorted(each for each in outcomes[::2] if isinstance(each, int)) == [0] * 5 + [RATE], outcomes
    assert Posting.objects.filter(kind="credit").count() == 1
    assert wallet(renter).balance_micros == 100 * UNIT - RATE * 3 // 2 + RATE
    assert charged(source.key) == RATE * 3 // 2
    assert_sound(end)


def test_a_source_that_is_paused_by_many_at_once_is_charged_and_given_back_once() -> None:
    """As when a host falls silent and is written off at the same moment: each takes the wallets, then the meter."""
    renter, owner = make_user("renter"), make_user("owner")
    grant(renter, 100 * UNIT)
    source = Source(renter, owner).start()
    source.run(START, at(minutes=90))
    end = at(minutes=90)
    with time_machine.travel(end, tick=False):

        def pause() -> int:
            with use_case():
                pause_source(source_kind=INSTANCE_SOURCE, source_id=source.key, at=at(minutes=60))
                return credit_source(
                    source_kind=INSTANCE_SOURCE,
                    source_id=source.key,
                    key=f"{INSTANCE_SOURCE}:{source.key.hex}:silent",
                    since=at(minutes=30),
                    until=end,
                    reason="host fault",
                    actor="system",
                )

        outcomes = in_parallel([pause, lambda: settle_meters(now=end)] * 6)
    paid = charged(source.key)
    backs = sorted(each for each in outcomes[::2] if isinstance(each, int))
    assert backs[:-1] == [0] * 5 and backs[-1] == paid - RATE // 2, outcomes
    assert wallet(renter).balance_micros == 100 * UNIT - paid + backs[-1]
    assert Posting.objects.filter(kind="credit").count() == 1
    assert_sound(end)
