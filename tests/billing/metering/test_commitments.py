"""Terms without prepayment at random prices, lengths and wallets: deposit, early end and debt against the oracle."""

import uuid
from datetime import timedelta
from itertools import pairwise

import pytest
import time_machine
from hypothesis import given, settings
from hypothesis import strategies as st

from billing.constants import TERM_SOURCE
from billing.errors import InsufficientFunds
from billing.metering.commitments import commit, committed_micros, end_commitment
from billing.metering.escrow import charge_early_end, lock_parties, net_charged
from billing.metering.holds import hold_funds
from billing.metering.meters import close_meter, open_meter
from billing.metering.settle import extend_holds
from billing.models import Commitment, Hold, Wallet
from billing.pricing.rates import early_end as price_anew
from billing.pricing.tariffs import Tariff
from common.db.transactions import use_case
from tests.billing.money import START, assert_sound, at, make_user, pay_in, wallet
from tests.billing.oracle import deposit, early_end, early_end_split
from tests.instances.fake_host import refused

rates = st.integers(1, 5_000_000)


@pytest.mark.django_db
@given(
    rate=rates,
    off=st.integers(0, 9_000_000),
    term_hours=st.sampled_from([720, 8_760, 26_280]),
    used=st.integers(0, 12),
    extra_money=st.integers(-1, 30_000_000),
)
@settings(max_examples=30)
def test_deposit_and_debt_are_what_the_oracle_says(
    rate: int, off: int, term_hours: int, used: int, extra_money: int
) -> None:
    renter, host, term = make_user("renter"), make_user("host"), uuid.uuid4()
    list_rate, whole = rate + off, rate * term_hours
    aside, money = deposit(rate, whole), deposit(rate, whole) + rate * (used + 1) + extra_money
    with time_machine.travel(START, tick=False) as travel:
        pay_in(renter, max(1, money))
        begin = (renter.pk, term, rate, list_rate, whole)
        if money < aside + rate:
            with pytest.raises(InsufficientFunds), refused():
                order(*begin)
            return
        order(*begin)
        assert wallet(renter).held_micros == aside + rate
        with use_case():
            open_meter(
                source_kind=TERM_SOURCE, source_id=term, payer_id=renter.pk, payee_id=host.pk, label="term",
                tariff=Tariff(rate), at=START, calendar=True,
            )  # fmt: skip
        for before, now in pairwise([at(), *(at(hours=hour) - timedelta(seconds=30) for hour in range(1, used + 1))]):
            travel.move_to(now)
            extend_holds(now=now)
            assert before < now
        end = at(hours=used)
        travel.move_to(end)
        in_all = early_end(rate * used, rate, list_rate, whole)
        beyond = max(0, in_all - rate * used - aside)
        assert committed_micros(renter.pk) == beyond
        with use_case():
            lock_parties(renter_id=renter.pk, host_owner_id=host.pk)
            close_meter(source_kind=TERM_SOURCE, source_id=term, at=end)
            charged = net_charged(term)
            assert price_anew(charged, unit_micros=rate, list_unit_micros=list_rate, total_micros=whole) == in_all
            end_commitment(term_id=term)
            charge_early_end(
                renter_id=renter.pk, host_owner_id=host.pk, term_id=term, amount_micros=in_all - charged,
                prepaid=False, memo="early",
            )  # fmt: skip
        paid, owed = early_end_split(in_all - charged, aside, money - charged - aside)
        assert charged == rate * used
        assert wallet(renter).balance_micros == money - charged - paid
        assert -sum(Wallet.objects.filter(owner=renter, kind="debt").values_list("balance_micros", flat=True)) == owed
        earned = charged + (in_all - charged)
        assert abs(wallet(host, "host").balance_micros * 10 - 9 * earned) <= 10 * (used + 1)
        assert not Hold.objects.filter(wallet__owner=renter, released_at=None).exists()
        assert not Commitment.objects.filter(owner=renter, ended_at=None).exists()
    assert_sound(end + timedelta(days=1))


def order(renter_id: uuid.UUID, term: uuid.UUID, rate: int, list_rate: int, whole: int) -> None:
    with use_case():
        commit(owner_id=renter_id, term_id=term, rate_micros=rate, list_rate_micros=list_rate, total_micros=whole)
        hold_funds(owner_id=renter_id, amount_micros=rate, source_kind=TERM_SOURCE, source_id=term)
