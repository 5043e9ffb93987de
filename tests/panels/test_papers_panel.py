"""Staff make and withdraw coupon codes, and correct invoices; nothing is edited."""

from datetime import UTC, datetime

import pytest
import time_machine
from django.test import Client
from django.urls import reverse

from accounts.models import User
from billing.coupons.codes import redeem_code
from billing.invoices.invoices import issue_invoices
from billing.models import Coupon, CouponCode, Invoice
from tests.billing.coupon_money import BEGIN, UNIT, Run, at, make_code
from tests.billing.money import grant

pytestmark = pytest.mark.django_db
ADD = "admin:billing_couponcode_add"


@pytest.fixture
def staff(stella: User) -> Client:
    client = Client()
    client.force_login(stella)
    return client


def a_code(**fields: str) -> dict[str, str]:
    return {"code": "new-10", "kind": "fixed", "amount": "10.50", "per_user": "1", "gpu_models": "", **fields}


def test_a_code_is_made_with_all_that_it_promises(staff: Client) -> None:
    assert staff.get(reverse(ADD)).status_code == 200
    big_code = a_code(
        modes="spot",
        gpu_models="T4, rtx-4090",
        valid_days="30",
        total_limit="7",
        expires_at_0="2027-01-01",
        expires_at_1="00:00:00",
    )
    assert staff.post(reverse(ADD), big_code).status_code == 302
    code = CouponCode.objects.get()
    assert (code.code, code.amount_micros, code.modes, code.gpu_models) == (
        "NEW-10",
        10_500_000,
        ["spot"],
        ["t4", "rtx-4090"],
    )
    assert (code.valid_days, code.per_user, code.total_limit) == (30, 1, 7)
    assert code.expires_at == datetime(2027, 1, 1, tzinfo=UTC)
    assert code.created_by.startswith("staff:")


def test_a_percent_code(staff: Client) -> None:
    staff.post(reverse(ADD), a_code(kind="percent", amount="", percent="12.5", most="15"))
    code = CouponCode.objects.get()
    assert (code.percent_bps, code.most_micros, code.amount_micros) == (1_250, 15 * UNIT, None)


def test_a_senseless_code_is_refused_and_told(staff: Client) -> None:
    reply = staff.post(reverse(ADD), a_code(amount=""), follow=True)
    assert "Enter an amount above zero." in reply.content.decode()
    assert not CouponCode.objects.exists()


def test_withdrawing_and_offering_again_changes_nothing_else(staff: Client) -> None:
    make_code("OLD", 10)
    code = CouponCode.objects.get()
    address = reverse("admin:billing_couponcode_change", args=[code.pk])
    assert staff.get(address).status_code == 200
    staff.post(address, {"amount": "99", "code": "OTHER"})
    code.refresh_from_db()
    assert (code.code, code.amount_micros, code.active) == ("OLD", 10 * UNIT, False)
    staff.post(address, {"active": "on"})
    code.refresh_from_db()
    assert code.active


def test_lists_open_for_staff_alone(staff: Client, alice: User, hana: User) -> None:
    make_code("TEN", 10)
    redeem_code(owner_id=alice.pk, code="TEN")
    anonymous = Client()
    anonymous.force_login(alice)
    for model in ("couponcode", "coupon", "order", "invoice"):
        address = reverse(f"admin:billing_{model}_changelist")
        assert staff.get(address).status_code == 200
        assert anonymous.get(address).status_code in (302, 403)
    assert staff.get(reverse("admin:billing_coupon_change", args=[Coupon.objects.get().pk])).status_code == 200


def test_an_invoice_is_corrected_by_papers(staff: Client, alice: User, hana: User) -> None:
    with time_machine.travel(BEGIN, tick=False):
        grant(alice, 50 * UNIT)
        Run(alice, hana).start().stop_at(at(minutes=30))
    after = datetime(2026, 11, 1, 6, tzinfo=UTC)
    with time_machine.travel(after, tick=False):
        issue_invoices(now=after)
        invoice = Invoice.objects.get()
        address = reverse("admin:billing_invoice_change", args=[invoice.pk])
        staff.cookies.clear()
        staff.force_login(User.objects.get(email="stella@example.com"))
        text = staff.get(address).content.decode()
        for words in ("1 × RTX 4090", "1800 s × 3.60 / 1 h: 1.80", "alice@example.com"):
            assert words in text, words
        staff.post(address, {"because": "", "reissue": "on"})
        assert Invoice.objects.count() == 1
        staff.post(address, {"because": "wrong name", "reissue": "on"})
        assert sorted(map(str, Invoice.objects.all())) == ["CN-2026-000002", "INV-2026-000001", "INV-2026-000003"]
        assert staff.post(address, {"because": "again"}).status_code in (302, 403)
        assert Invoice.objects.count() == 3
        anew = Invoice.objects.get(number=3)
        page = staff.get(reverse("admin:billing_invoice_change", args=[anew.pk]))
        assert page.context["adminform"].form["because"].value() is None
