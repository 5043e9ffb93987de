"""Credit by staff: one person up to a sum within a day, above it two; each with a name and a reason."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import User
from billing.errors import GrantRefused
from billing.models import Grant, LedgerAudit, Posting
from billing.services.anchors import anchor_ledger, mail_audit
from billing.services.audits import audit_ledger
from billing.services.grants import confirm_grant, decline_grant, request_grant
from billing.services.seals import seal_ledger
from common.errors import InvalidInput
from tests.billing.money import UNIT, assert_sound, wallet
from tests.mails import killed_at, sent

pytestmark = pytest.mark.django_db


def ask(owner: User, units: int, key: str, actor: str = "staff:a") -> Grant:
    return request_grant(owner_id=owner.pk, amount_micros=units * UNIT, actor=actor, key=key, reason="a campaign")


def test_above_the_sum_of_a_day_a_second_person_is_asked(alice: User) -> None:
    assert ask(alice, 600, "one").state == "posted"
    waiting = ask(alice, 401, "two")
    assert (waiting.state, wallet(alice).balance_micros) == ("pending", 600 * UNIT)
    assert ask(alice, 400, "three").state == "posted"
    assert ask(alice, 401, "two").pk == waiting.pk
    with pytest.raises(GrantRefused, match="Somebody else"):
        confirm_grant(grant_id=waiting.pk, actor="staff:a")
    assert confirm_grant(grant_id=waiting.pk, actor="staff:b").state == "posted"
    assert wallet(alice).balance_micros == 1_401 * UNIT
    with pytest.raises(GrantRefused, match="settled"):
        confirm_grant(grant_id=waiting.pk, actor="staff:c")
    assert_sound()


def test_one_that_is_declined_never_counts(alice: User) -> None:
    waiting = ask(alice, 5_000, "big")
    decline_grant(grant_id=waiting.pk, actor="staff:b")
    with pytest.raises(GrantRefused):
        confirm_grant(grant_id=waiting.pk, actor="staff:c")
    assert not Posting.objects.exists()
    assert_sound()


def test_no_reason_no_grant(alice: User) -> None:
    with pytest.raises(InvalidInput):
        request_grant(owner_id=alice.pk, amount_micros=UNIT, actor="staff:a", key="k", reason="  ")


def test_staff_see_who_gave_what_and_the_second_one_confirms(client: Client, alice: User, stella: User) -> None:
    other = User.objects.create_superuser("stan@example.com", "correct-horse-battery")
    waiting = ask(alice, 5_000, "big", actor=f"staff:{stella.pk.hex}")
    body = {"action": "confirm", "_selected_action": [str(waiting.pk)]}
    address = reverse("admin:billing_grant_changelist")
    client.force_login(stella)
    assert "Somebody else of the staff" in client.post(address, body, follow=True).content.decode()
    client.force_login(other)
    page = client.get(address).content.decode()
    assert stella.email in page and "a campaign" in page and "5000.00" in page
    client.post(address, body)
    waiting.refresh_from_db()
    assert (waiting.state, waiting.confirmed_by) == ("posted", f"staff:{other.pk.hex}")
    assert wallet(alice).balance_micros == 5_000 * UNIT


def test_each_audit_counts_them_and_its_mail_has_the_head(alice: User, stella: User, settings: object) -> None:
    ask(alice, 5, "a")
    seal = seal_ledger()
    assert seal is not None
    run, _ = audit_ledger(asked_by="test")
    assert (run.grants, run.granted_micros) == (1, 5 * UNIT)
    assert audit_ledger(asked_by="test")[0].grants == 0
    assert mail_audit(LedgerAudit.objects.get(pk=run.pk))
    (message,) = sent("Ledger audit")
    assert message.to == [stella.email] and "The ledger holds." in message.subject
    assert f"verify_ledger --seal 1:{seal.head}" in message.body and "5.00 USD in 1 grants" in message.body
    assert not anchor_ledger()  # no folder is set


def test_an_audit_and_its_mail_are_kept_together(stella: User) -> None:
    with killed_at("billing.services.anchors.queue_mail"):
        audit_ledger(asked_by="nightly", mailed=True)
    assert not LedgerAudit.objects.exists()
    audit_ledger(asked_by="nightly", mailed=True)
    assert [message.to for message in sent("Ledger audit")] == [[stella.email]]
