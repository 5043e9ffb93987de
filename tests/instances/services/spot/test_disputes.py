"""Fault 77: spot rents of a renter whose payment is disputed stop, with their data kept; everything else goes on."""

import pytest

from accounts.models import User
from billing.models import Dispute, Payment
from common import clock
from instances.services.disputes import stop_disputed
from tests.billing.money import UNIT
from tests.instances.fake_host import FakeHost, again, order
from tests.instances.services.spot.bidders import bid, events, seen, turn

pytestmark = pytest.mark.usefixtures("sound")


def disputed(owner: User, state: str) -> None:
    payment = Payment.objects.create(owner=owner, amount_micros=UNIT)
    Dispute.objects.create(payment=payment, amount_micros=UNIT, stripe_id=f"du_{payment.pk.hex}", state=state)


def test_only_the_spot_rents_of_who_is_in_dispute_stop(spot: FakeHost, rin: User, bo: User) -> None:
    mine, others = bid(rin, spot, 2.00), bid(bo, spot, 2.00)
    waiting = bid(rin, spot, 0.60, gpus=4)
    hourly = order(rin, spot)
    spot.settle()
    disputed(bo, "won")
    assert stop_disputed(now=clock.now()) == 0
    disputed(rin, "open")
    assert stop_disputed(now=clock.now()) == 2
    turn(spot)
    assert (seen(mine), seen(waiting)) == (("stopped", "ended", None), ("stopped", "ended", None))
    assert "payment_disputed" in events(mine)
    assert (again(others).state, again(hourly).state) == ("running", "running")
    assert stop_disputed(now=clock.now()) == 0
