"""Pages of coupons, orders and invoices."""

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import redirect
from django.shortcuts import render as render_page
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from accounts.web.decorators import SignedInRequest, login_required_page
from billing.coupons.codes import redeem_code
from billing.coupons.selectors import coupon_views, coupons_of
from billing.invoices.invoices import set_address
from billing.invoices.lines import lines_from_json
from billing.invoices.selectors import address_of, invoice_of, invoices_of, orders_of
from billing.models import Invoice
from billing.web.invoices.forms import AddressForm, CodeForm, OrdersForm
from billing.web.invoices.serializers import pdf_reply
from common import clock
from common.errors import DomainError
from common.http.htmx import render
from common.http.problems import add_retry_after
from common.ids import parse_public_id

_PAGE = 30


@login_required_page
def coupons(request: SignedInRequest) -> HttpResponse:
    """Show the coupons page; a POST redeems a code."""
    form, fault = CodeForm(request.POST or None), None
    if form.is_valid():
        try:
            coupon = redeem_code(owner_id=request.user.pk, **form.cleaned_data)
            messages.success(request, _("%(code)s redeemed") % {"code": coupon.code})
            return redirect("coupons")
        except DomainError as error:
            fault = error
    now = clock.now()
    page = Paginator(coupons_of(owner_id=request.user.pk), _PAGE).get_page(request.GET.get("page"))
    context = {"form": form, "refused": fault, "page": page, "coupons": coupon_views(page.object_list, now=now)}
    return add_retry_after(
        render_page(request, "billing/coupons.html", context, status=fault.status if fault else 200), fault
    )


@require_safe
@login_required_page
def orders(request: SignedInRequest) -> HttpResponse:
    form = OrdersForm(request.GET)
    found = orders_of(owner_id=request.user.pk, wanted=form.wanted())
    page = Paginator(found, _PAGE).get_page(request.GET.get("page"))
    context = {"form": form, "page": page, "asked": any(form.data.get(name) for name in form.fields)}
    return render(request, page="billing/orders.html", part="billing/_orders.html", context=context)


@require_safe
@login_required_page
def invoices(request: SignedInRequest) -> HttpResponse:
    page = Paginator(invoices_of(owner_id=request.user.pk), _PAGE).get_page(request.GET.get("page"))
    context = {"page": page, "address": address_of(owner_id=request.user.pk)}
    return render_page(request, "billing/invoices.html", context)


@require_safe
@login_required_page
def invoice(request: SignedInRequest, invoice_id: str) -> HttpResponse:
    paper = _invoice(request, invoice_id)
    corrections = invoices_of(owner_id=request.user.pk).filter(corrects=paper)
    nothing = {"address": "", "country": "", "email": "", "tax_id": ""}
    parties = {"seller": nothing | paper.seller, "buyer": nothing | paper.buyer}
    context = {"invoice": paper, "lines": lines_from_json(paper.lines), "corrections": corrections, **parties}
    return render_page(request, "billing/invoice.html", context)


@require_safe
@login_required_page
def invoice_file(request: SignedInRequest, invoice_id: str) -> HttpResponse:
    """Return an invoice as PDF in the language of the page."""
    return pdf_reply(_invoice(request, invoice_id), get_language() or "en")


@login_required_page
def billing_address(request: SignedInRequest) -> HttpResponse:
    form = AddressForm(request.POST or None, instance=address_of(owner_id=request.user.pk))
    if request.method == "POST" and form.is_valid():
        set_address(owner_id=request.user.pk, **form.cleaned_data)
        messages.success(request, _("Address saved. It appears on future invoices."))
        return redirect("invoices")
    return render_page(request, "billing/billing_address.html", {"form": form})


def _invoice(request: SignedInRequest, invoice_id: str) -> Invoice:
    return invoice_of(owner_id=request.user.pk, invoice_id=parse_public_id("invc", invoice_id))
