"""Pages of budgets."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.web.decorators import SignedInRequest, login_required_page
from billing.budgets.selectors import budget_views, budgets_of
from billing.budgets.services import change_budget, remove_budget
from common import clock
from common.errors import DomainError
from common.ids import parse_public_id
from instances.enforcement.budgets import set_budget
from instances.web.enforcement.forms import BudgetForm, LimitForm


@login_required_page
def budgets(request: SignedInRequest) -> HttpResponse:
    """Show the budgets, or create the posted one."""
    form, fault = BudgetForm(request.POST or None, user=request.user), None
    if form.is_valid():
        try:
            set_budget(owner=request.user, **form.wanted())
            messages.success(request, _("Budget created"))
            return redirect("budgets")
        except DomainError as error:
            fault = error
    views = budget_views(budgets_of(owner_id=request.user.pk), now=clock.now())
    context = {"form": form, "refused": fault, "views": views}
    return render(request, "instances/budgets.html", context, status=fault.status if fault else 200)


@require_POST
@login_required_page
def budget_change(request: SignedInRequest, budget_id: str) -> HttpResponse:
    form, key = LimitForm(request.POST), parse_public_id("budg", budget_id)
    if form.is_valid():
        change_budget(owner_id=request.user.pk, budget_id=key, **form.cleaned_data)
        messages.success(request, _("Budget saved"))
    else:
        messages.error(request, str(form.errors["limit_micros"][0]))
    return redirect("budgets")


@require_POST
@login_required_page
def budget_remove(request: SignedInRequest, budget_id: str) -> HttpResponse:
    remove_budget(owner_id=request.user.pk, budget_id=parse_public_id("budg", budget_id))
    messages.success(request, _("Budget deleted"))
    return redirect("budgets")
