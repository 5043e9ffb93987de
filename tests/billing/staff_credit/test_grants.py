"""Credit by staff: one person up to a sum within a day, above it two; each with a name and a reason."""

from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from accounts.models import User
from billing.audit.services import audit_ledger
from billing.coupons.codes import create_code, redeem_code, set_code_active
from billing.errors import CouponWithdrawn, GrantRefused
from billing.ledger.publish_anchors import anchor_ledger, mail_audit
from billing.ledger.seals import seal_ledger
from billing.models import CouponCode, Grant, LedgerAudit, Posting
from billing.staff_credit.services import confirm_grant, decline_grant, request_grant
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
    with pytest.raises(GrantRefused, match="Another staff member"):
        confirm_grant(grant_id=waiting.pk, actor="staff:a")
    assert confirm_grant(grant_id=waiting.pk, actor="staff:b").state == "posted"
    assert wallet(alice).balance_micros == 1_401 * UNIT
    with pytest.raises(GrantRefused, match="processed"):
        confirm_grant(grant_id=waiting.pk, actor="staff:c")
    assert_sound()


# -- coupon codes give credit too


def a_code(actor: str = "staff:a", **options: Any) -> CouponCode:
    fixed = {"kind": "fixed", "amount_micros": 100 * UNIT, "total_limit": 4}
    return create_code(code=f"C-{uuid4().hex[:12]}", actor=actor, **{**fixed, **options})


@pytest.mark.parametrize(
    "options",
    [
        {"total_limit": None},
        {"total_limit": 11},
        {"amount_micros": 5_000 * UNIT, "total_limit": 1},
        {"kind": "percent", "amount_micros": None, "percent_bps": 10_000},
        {"kind": "percent", "amount_micros": None, "percent_bps": 100, "most_micros": 500 * UNIT, "total_limit": 3},
    ],
)
def test_a_code_that_can_give_more_than_one_person_may_waits_for_a_second_one(alice: User, options: dict[str, Any]) -> None:
    code = a_code(**options)
    assert (code.waits, code.active) == (True, False)
    with pytest.raises(CouponWithdrawn):
        redeem_code(owner_id=alice.pk, code=code.code)
    with pytest.raises(GrantRefused, match="Another staff member"):
        set_code_active(code_id=code.pk, active=True, actor="staff:a")
    with pytest.raises(IntegrityError, match="two_people"), transaction.atomic():
        CouponCode.objects.filter(pk=code.pk).update(active=True, waits=False)
    set_code_active(code_id=code.pk, active=True, actor="staff:b")
    assert redeem_code(owner_id=alice.pk, code=code.code).code_id == code.pk
    code.refresh_from_db()
    assert code.confirmed_by == "staff:b"
    for active in (False, True):
        set_code_active(code_id=code.pk, active=active, actor="staff:a")
    assert_sound()


def test_codes_and_grants_of_a_day_count_together(alice: User) -> None:
    assert a_code().active  # 400
    assert ask(alice, 500, "one").state == "posted"
    assert not a_code().active
    assert ask(alice, 101, "two").state == "pending"
    assert ask(alice, 100, "three").state == "posted"
    assert a_code("staff:b").active


def test_staff_put_a_large_code_of_somebody_else_in_use(client: Client, stella: User) -> None:
    other = User.objects.create_superuser("stan@example.com", "correct-horse-battery")
    client.force_login(stella)
    form = {"code": "BIG-CAMPAIGN-1", "kind": "fixed", "amount": "5000", "per_user": "1", "gpu_models": ""}
    page = client.post(reverse("admin:billing_couponcode_add"), form, follow=True).content.decode()
    assert "A second one must activate it" in page
    code = CouponCode.objects.get()
    address = reverse("admin:billing_couponcode_change", args=[code.pk])
    assert "Another staff member" in client.post(address, {"active": "on"}, follow=True).content.decode()
    client.force_login(other)
    client.post(address, {"active": "on"})
    code.refresh_from_db()
    assert (code.active, code.confirmed_by) == (True, f"staff:{other.pk.hex}")


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
    assert "Another staff member" in client.post(address, body, follow=True).content.decode()
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
    assert message.to == [stella.email] and "The ledger is consistent." in message.subject
    assert f"verify_ledger --seal 1:{seal.head}" in message.body and "5.00 USD in 1 grants" in message.body
    assert not anchor_ledger()  # no folder is set


def test_an_audit_and_its_mail_are_kept_together(stella: User) -> None:
    with killed_at("billing.ledger.publish_anchors.queue_mail"):
        audit_ledger(asked_by="nightly", mailed=True)
    assert not LedgerAudit.objects.exists()
    audit_ledger(asked_by="nightly", mailed=True)
    assert [message.to for message in sent("Ledger audit")] == [[stella.email]]
