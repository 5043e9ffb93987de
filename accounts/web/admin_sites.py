"""Admin panels: staff see everything, host owners their own rows; both log in on the site's own page."""

import re
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.auth import REDIRECT_FIELD_NAME
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from unfold.admin import ModelAdmin, TabularInline
from unfold.sites import UnfoldAdminSite

from accounts.models import User
from accounts.selectors import acts_as_staff
from common.db.transactions import joining
from common.errors import DomainError, wrong_field
from common.refusals import error_message


def panel_user(request: HttpRequest) -> User:
    """Return the user of a panel's request; the panels admit nobody else.

    Raises:
        TypeError: the request has no user.
    """
    user = request.user
    if isinstance(user, AnonymousUser):
        raise TypeError("a panel was reached without signing in")
    return user


class Panel(UnfoldAdminSite):  # type: ignore[misc]  # unfold has no type information
    """Admin site without a log-in form of its own: users log in on the site, with their second factor."""

    index_template = "panels/index.html"
    index_title = _("Overview")

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        if request.user.is_authenticated:
            return self.refuse(request)
        return redirect_to_login(request.GET.get(REDIRECT_FIELD_NAME, reverse(f"{self.name}:index")))

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        """Redirect to the site's page.

        Django's own form would keep tickets and tokens alive and notify nobody.
        """
        return redirect("account_change_password")

    def password_change_done(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        return redirect("security")

    def refuse(self, request: HttpRequest) -> HttpResponse:
        raise PermissionDenied("You don't have access to this panel.")


class StaffPanel(Panel):
    settings_name = "UNFOLD"

    def has_permission(self, request: HttpRequest) -> bool:
        return acts_as_staff(request.user)

    def refuse(self, request: HttpRequest) -> HttpResponse:
        """Redirect staff without a second factor to its setup; refuse everybody else."""
        if not (request.user.is_active and request.user.is_staff):
            return super().refuse(request)
        messages.warning(
            request, _("Staff accounts need two-factor authentication. Turn it on here, then open the panel again.")
        )
        return redirect("mfa_activate_totp")


class HostPanel(Panel):
    settings_name = "UNFOLD_HOST"

    def has_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.is_active and getattr(request.user, "is_host_owner", False))


_ID = re.compile(r"\b(?:[a-z]+_)?([0-9a-f]{32})\b")


def with_dashed_ids(text: str) -> str:
    """Return the text with public ids and ids in hex as PostgreSQL writes UUIDs."""
    return _ID.sub(lambda found: str(UUID(hex=found[1])), text)


staff_panel = StaffPanel(name="admin")
host_panel = HostPanel(name="host_panel")


class PanelAdmin(ModelAdmin):  # type: ignore[misc]  # unfold has no type information
    """Rows that are also found by their public ids, with help in the reader's language alone."""

    def get_form(self, request: HttpRequest, obj: Model | None = None, change: bool = False, **options: Any) -> Any:
        """Show only help that is translated: the rest are notes on columns for whoever reads the code."""
        notes = {field.name: "" for field in self.opts.get_fields() if isinstance(getattr(field, "help_text", None), str)}
        return super().get_form(request, obj, change, **{**options, "help_texts": notes | options.get("help_texts", {})})

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Model], search_term: str
    ) -> tuple[QuerySet[Model], bool]:
        """Find rows also by their public ids, such as `inst_01a2…`: incidents, events, logs and renters name those."""
        found, may_repeat = super().get_search_results(request, queryset, search_term)
        dashed = with_dashed_ids(search_term)
        if dashed == search_term:
            return found, may_repeat
        more, more_may_repeat = super().get_search_results(request, queryset, dashed)
        return found | more, may_repeat or more_may_repeat


class ReadOnlyAdmin(PanelAdmin):
    """Rows that services write; what the panel saves is written by a service called from `save_model`."""

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> Any:
        """Join the admin's transaction with that of a service called in `save_model`.

        A refusal of the service becomes a message in place of an error page.
        """
        if request.method != "POST":
            return super().changeform_view(request, object_id, form_url, extra_context)
        try:
            with joining():
                return super().changeform_view(request, object_id, form_url, extra_context)
        except DomainError as error:
            messages.error(request, error_message(error))
            return HttpResponseRedirect(request.get_full_path())

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, str] | None = None) -> Any:
        """Refuse chosen ids that are not valid: Django would query the database with them and fail."""
        key: Any = self.model._meta.pk
        try:
            for chosen in request.POST.getlist(ACTION_CHECKBOX_NAME):
                key.clean(chosen, None)
        except ValidationError:
            raise wrong_field(ACTION_CHECKBOX_NAME, "Choose rows of this list.") from None
        return super().changelist_view(request, extra_context)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnlyInline(TabularInline):  # type: ignore[misc]  # unfold has no type information
    extra = 0
    can_delete = False
    show_change_link = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class OwnRowsAdmin(ReadOnlyAdmin):
    """Rows of one host owner: `owner_path` leads to the owner; others' rows return 404."""

    owner_path = "owner"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Model]:
        rows: QuerySet[Model] = super().get_queryset(request)
        return rows.filter(**{self.owner_path: panel_user(request).pk})

    def has_module_permission(self, request: HttpRequest) -> bool:
        return True

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True


class OwnRowsInline(ReadOnlyInline):
    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return True
