"""Staff remove a link: it counts for nothing from then on, and nothing makes it again."""

import pytest
import time_machine
from django.db import IntegrityError, transaction

from accounts.models import User
from billing.errors import PayoutsFrozen
from billing.models import AccountLink
from billing.models.payout_destinations import parse_destination
from billing.payouts.accounts import save_payout_account
from billing.payouts.payouts import mark_sent, request_payout
from billing.people.account_links import prove_payout_account, record_card, remove_link
from billing.people.selectors import linked_accounts, person_of
from billing.people.self_rental import close_to
from common import clock
from common.errors import InvalidInput, NotFound
from tests.billing.money import UNIT
from tests.billing.payouts.test_http import as_user
from tests.billing.payouts.test_shared_accounts import is_paid, may_order, owes, types
from tests.billing.payouts.world import IBAN, NOW, days_ago, earn, payable

pytestmark = pytest.mark.django_db


@pytest.fixture
def link(hana: User, mallory: User) -> AccountLink:
    """The attack: mallory has 10 units paid out to hana's IBAN, and owes 500. What is mallory's now is hana's too."""
    types(hana, ago=60)
    is_paid(hana)
    types(mallory, ago=55)
    is_paid(mallory)
    earn(hana, 100, ago=40)
    owes(mallory, 500)
    assert (payable(hana).debt_micros, payable(hana).payable_micros, may_order(hana)) == (500 * UNIT, 0, False)
    return AccountLink.objects.get(owner=mallory, kind="payout")


def removed(link: AccountLink) -> AccountLink:
    return remove_link(link_id=link.pk, reason="the IBAN is hana's", actor="staff:test")


def test_staff_remove_it_with_a_reason(link: AccountLink, hana: User, mallory: User, stella: User) -> None:
    address = f"/admin/billing/accountlink/{link.pk}/change/"
    staff = as_user(stella)
    page = staff.get(address).content.decode()
    assert "Remove this link" in page and hana.email in page
    assert as_user(mallory).post(address, {"reason": "mine"}).status_code in (302, 403)
    assert staff.post(address, {"reason": " "}).status_code == 200
    assert not may_order(hana)
    assert staff.post(address, {"reason": "the bank says that it is hana's"}).status_code == 302
    link.refresh_from_db()
    assert (link.removed_by, link.removed_reason) == (f"staff:{stella.pk.hex}", "the bank says that it is hana's")
    assert (payable(hana).debt_micros, may_order(hana), may_order(mallory)) == (0, True, False)
    assert payable(hana).payable_micros >= 90 * UNIT
    page = staff.get(address).content.decode()
    assert "the bank says" in page and "Remove this link" not in page and stella.email in page


def test_the_same_evidence_makes_no_other(link: AccountLink, hana: User, mallory: User) -> None:
    first = removed(link)
    where = parse_destination(method="bank", holder="Somebody", iban=IBAN, bank="")
    with time_machine.travel(days_ago(1), tick=False):
        with pytest.raises(InvalidInput, match="isn't yours"):
            save_payout_account(owner_id=mallory.pk, destination=where, minimum_micros=UNIT, automatic=False)
        prove_payout_account(owner_id=mallory.pk, destination=where)
    assert person_of(hana.pk) == linked_accounts(hana.pk) == {hana.pk}
    assert removed(link).removed_at == first.removed_at
    assert AccountLink.objects.filter(owner=mallory, kind="payout").count() == 1


def test_nothing_more_is_paid_out_there(link: AccountLink, hana: User) -> None:
    """Hana's own link is removed too, as if staff had found that the account is neither's."""
    own = AccountLink.objects.get(owner=hana, kind="payout")
    removed(link)
    with time_machine.travel(NOW, tick=False):
        payout = request_payout(owner_id=hana.pk, requested_by="test", amount_micros=10 * UNIT)
        removed(own)
        assert not mark_sent(payout_id=payout.pk, actor="test")
        with pytest.raises(PayoutsFrozen, match="isn't yours"):
            request_payout(owner_id=hana.pk, requested_by="test", amount_micros=10 * UNIT)


def test_cards_and_teams_can_be_untied_too(alice: User, bob: User) -> None:
    for user in (alice, bob):
        record_card(owner_id=user.pk, fingerprint="fp_one")
        AccountLink.objects.create(owner=user, kind="team", value="a" * 32)
    assert person_of(alice.pk) == {alice.pk, bob.pk}
    assert close_to(frozenset({alice.pk})) == {bob.pk}
    for link in AccountLink.objects.filter(owner=bob):
        removed(link)
    record_card(owner_id=bob.pk, fingerprint="fp_one")
    assert person_of(alice.pk) == {alice.pk}
    assert not close_to(frozenset({alice.pk}))


def test_it_names_who_and_why(link: AccountLink) -> None:
    with pytest.raises(InvalidInput):
        remove_link(link_id=link.pk, reason="  ", actor="staff:test")
    with pytest.raises(NotFound):
        remove_link(link_id=0, reason="x", actor="staff:test")
    with pytest.raises(IntegrityError), transaction.atomic():
        AccountLink.objects.filter(pk=link.pk).update(removed_at=clock.now())
