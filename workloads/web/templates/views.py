"""Pages of launch templates: gallery, one template, and the forms of its owner."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.models import User
from accounts.web.decorators import SignedInRequest, login_required_page
from common.errors import DomainError
from common.ids import parse_public_id
from workloads.models import LaunchTemplate
from workloads.templates.imports import content_from_instance, preview_import, stored_image
from workloads.templates.selectors import PREFIX, own_template, template_key
from workloads.templates.services import (
    create_template,
    create_version,
    delete_template,
    set_share_link,
    set_visibility,
    update_template,
)
from workloads.web.templates.context import gallery_context, image_choices, template_context
from workloads.web.templates.forms import ImportForm, TemplateForm, first_values


def templates(request: HttpRequest) -> HttpResponse:
    """Show the gallery; it needs no login."""
    filters = {name: request.GET.get(name, "")[:100] for name in ("category", "source")}
    context = gallery_context(
        _reader(request), words=request.GET.get("q", "")[:100], page=request.GET.get("page"), **filters
    )
    return render(request, "templates/gallery.html", context)


def template(request: HttpRequest, template_id: str) -> HttpResponse:
    """Show a template that the reader may see, or one by its share link."""
    return render(request, "templates/template.html", template_context(_reader(request), template_id))


@login_required_page
def template_new(request: SignedInRequest) -> HttpResponse:
    """Show the form for a template, filled from an instance if one is named, or create what was posted."""
    if request.method == "POST":
        return _saved(request, None, {})
    content: Mapping[str, Any] = {}
    about: dict[str, Any] = {}
    if request.GET.get("instance"):
        instance_id = parse_public_id("inst", request.GET["instance"])
        about["title"], content = content_from_instance(owner=request.user, instance_id=instance_id)
    return _form_page(request, _filled(content, about), None, None)


@login_required_page
def template_import(request: SignedInRequest) -> HttpResponse:
    """Read a docker run line, and show what becomes of it in the form of a new template."""
    form, fault = ImportForm(request.POST if request.method == "POST" else None), None
    if form.is_valid():
        try:
            preview = preview_import(owner=request.user, line=form.cleaned_data["line"])
            image = stored_image(owner=request.user, examined=preview.examined)
            filled = _filled({**preview.content, "image": image.slug}, {"title": preview.title})
            return _form_page(request, filled, None, None, notes=preview.read.notes)
        except DomainError as error:
            fault = error
    context = {"form": form, "refused": fault}
    return render(request, "templates/import.html", context, status=fault.status if fault else 200)


@login_required_page
def template_edit(request: SignedInRequest, template_id: str) -> HttpResponse:
    """Show the form of one's own template, or store what was posted as its next version."""
    row = own_template(request.user, parse_public_id(PREFIX, template_id))
    assert row.newest is not None
    about = {name: getattr(row, name) for name in ("title", "icon", "category", "description")}
    if request.method == "POST":
        return _saved(request, row, about)
    return _form_page(request, _filled(row.newest.content, about), row, None)


@require_POST
@login_required_page
def template_visibility(request: SignedInRequest, template_id: str) -> HttpResponse:
    row = own_template(request.user, parse_public_id(PREFIX, template_id))
    team, wanted = request.POST.get("team", ""), request.POST.get("visibility", "")
    try:
        team_id = parse_public_id("team", team) if team and wanted == "team" else None
        set_visibility(owner=request.user, template_id=row.pk, visibility=wanted, team_id=team_id)
        message = (
            _("Submitted for review. Others see it once it is approved.") if wanted == "public" else _("Visibility changed")
        )
        messages.success(request, message)
    except DomainError as error:
        messages.error(request, error.detail)
    return redirect("template", template_id)


@require_POST
@login_required_page
def template_link(request: SignedInRequest, template_id: str) -> HttpResponse:
    row, on = own_template(request.user, parse_public_id(PREFIX, template_id)), bool(request.POST.get("on"))
    try:
        set_share_link(owner=request.user, template_id=row.pk, on=on)
        messages.success(request, _("Share link created") if on else _("Share link withdrawn"))
    except DomainError as error:
        messages.error(request, error.detail)
    return redirect("template", template_id)


@require_POST
@login_required_page
def template_delete(request: SignedInRequest, template_id: str) -> HttpResponse:
    delete_template(owner=request.user, template_id=parse_public_id(PREFIX, template_id))
    messages.success(request, _("Template deleted. Instances keep what they were rented with."))
    return redirect("templates")


def _reader(request: HttpRequest) -> User | None:
    return request.user if isinstance(request.user, User) else None


def _filled(content: Mapping[str, Any], about: Mapping[str, Any]) -> TemplateForm:
    first, shown = first_values(content, about)
    form = TemplateForm(initial=first)
    form.based_on(shown)
    return form


def _saved(request: SignedInRequest, row: LaunchTemplate | None, about: Mapping[str, Any]) -> HttpResponse:
    form, fault = TemplateForm(request.POST), None
    if form.is_valid():
        try:
            return redirect("template", _save(request.user, row, form, about))
        except DomainError as error:
            fault = error
    return _form_page(request, form, row, fault)


def _save(owner: User, row: LaunchTemplate | None, form: TemplateForm, about: Mapping[str, Any]) -> str:
    if row is None:
        return template_key(create_template(owner=owner, content=form.content, **form.described))
    create_version(owner=owner, template_id=row.pk, content=form.content)
    if form.described != about:
        update_template(owner=owner, template_id=row.pk, **form.described)
    return template_key(row)


def _form_page(
    request: SignedInRequest,
    form: TemplateForm,
    row: LaunchTemplate | None,
    fault: DomainError | None,
    *,
    notes: list[tuple[str, str]] | None = None,
) -> HttpResponse:
    context = {
        "form": form,
        "template": row,
        "key": template_key(row) if row else "",
        "refused": fault,
        "notes": notes or [],
        "images": image_choices(request.user),
    }
    return render(request, "templates/form.html", context, status=fault.status if fault else 200)
