"""An account is disabled, or is to be deleted, amid a rent (fault 11)."""

import pytest
from django.db import connection
from django.db.models import ProtectedError

from accounts.models import User
from common.errors import Forbidden
from instances.enforcement.suspended_owners import stop_disabled_accounts
from instances.models import Instance, InstanceEvent, Quote
from instances.orders import quote_claims
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.states import InstanceState
from marketplace.errors import OfferClosed
from marketplace.models import Lease
from tests.billing.money import assert_sound, wallet
from tests.instances.fake_host import FakeHost, order, order_running, refused, reload
from tests.instances.fixtures import Clock


@pytest.fixture
def quote(rin: User, host: FakeHost) -> Quote:
    return create_quote(renter=rin, offer_id=host.offer.pk, image="berth-base", gpu_count=2, data_disk_gb=10)


def switch_off(user: User) -> None:
    """As staff do while the person's request is under way: that one knows nothing of it."""
    User.objects.filter(pk=user.pk).update(is_active=False)


def test_fault_011_a_renter_switched_off_mid_rent_gets_nothing(rin: User, host: FakeHost, quote: Quote) -> None:
    switch_off(rin)
    with refused(), pytest.raises(Forbidden, match="disabled"):
        rent_instance(renter=rin, quote_id=quote.pk)
    assert not Instance.objects.exists() and not Lease.objects.exists()
    assert wallet(rin).held_micros == 0
    assert Quote.objects.get().used_at is None


def test_fault_011_a_host_owner_switched_off_mid_rent_rents_nothing_out(rin: User, host: FakeHost, quote: Quote) -> None:
    switch_off(host.owner)
    with refused(), pytest.raises(OfferClosed, match="owner's account is disabled"):
        rent_instance(renter=rin, quote_id=quote.pk)
    assert not Instance.objects.exists() and not Lease.objects.exists()


def test_fault_011_one_switched_off_after_the_check_is_stopped_settled_and_freed_on_proof(
    rin: User, host: FakeHost, hours: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The order had passed the check when the account was disabled: the sweep finds what came of it."""
    claim = quote_claims.claim_quote

    def claim_then_switch_off(*args: object, **more: object) -> Quote:
        found = claim(*args, **more)  # type: ignore[arg-type]  # passed on
        with connection.cursor() as cursor:
            cursor.execute("UPDATE accounts_user SET is_active = false WHERE id = %s", [rin.pk])
        return found

    monkeypatch.setattr("instances.orders.rent.claim_quote", claim_then_switch_off)
    instance = order(rin, host)
    host.settle()
    hours.advance(seconds=60)
    host.sync()
    assert reload(instance).state == InstanceState.RUNNING
    assert stop_disabled_accounts() == 1
    assert reload(instance).state == InstanceState.STOPPING
    assert Lease.objects.filter(released_at=None).count() == 1, "not before its host has proven it"
    host.settle()
    assert reload(instance).state == InstanceState.STOPPED
    assert not Lease.objects.filter(released_at=None).exists()
    assert wallet(rin).held_micros == 0
    assert InstanceEvent.objects.filter(instance=instance, kind="account_switched_off").count() == 1
    assert stop_disabled_accounts() == 0
    assert_sound()


def test_fault_011_who_rents_from_an_owner_switched_off_goes_on(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    switch_off(host.owner)
    stop_disabled_accounts()
    host.offer.refresh_from_db()
    assert (reload(instance).state, host.offer.gpu_free, host.offer.draining) == (InstanceState.RUNNING, 0, True)


def test_fault_011_nobody_with_a_rent_or_a_host_can_be_deleted(rin: User, host: FakeHost) -> None:
    instance = order_running(rin, host)
    for person in (rin, host.owner):
        with refused(), pytest.raises(ProtectedError):
            person.delete()
    assert reload(instance).state == InstanceState.RUNNING
