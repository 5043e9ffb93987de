"""The panels in Chinese: every column, field, filter, action and title; only abbreviations stay as they are."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.templatetags.admin_list import result_headers
from django.contrib.admin.utils import flatten_fieldsets, label_for_field
from django.db.models import Model
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import translation
from django.utils.html import strip_tags

from accounts.models import User
from accounts.web.admin_sites import Panel, host_panel, staff_panel

pytestmark = pytest.mark.django_db
SAME_IN_CHINESE = {"CPU", "CUDA", "GPU", "GPU UUID", "ID", "IP", "NVLink", "README", "UUID"}
PAGES = [(site, model) for site in (staff_panel, host_panel) for model in site._registry]


@pytest.fixture(autouse=True)
def chinese() -> Iterator[None]:
    with translation.override("zh-hans"):
        yield


@pytest.fixture
def browser(site: Panel, stella: User, hana: User) -> Client:
    client = Client(headers={"accept-language": "zh-hans"})
    client.force_login(stella if site is staff_panel else hana)
    return client


@pytest.fixture
def request_of(site: Panel, stella: User, hana: User) -> HttpRequest:
    request = RequestFactory().get("/")
    request.user = stella if site is staff_panel else hana
    return request


def untranslated(words: list[Any]) -> set[str]:
    shown = {strip_tags(str(word)).strip() for word in words}
    return {word for word in shown if re.search("[A-Za-z]", word) and word.isascii()} - SAME_IN_CHINESE


def names(model: type[Model]) -> list[Any]:
    return [
        model._meta.verbose_name,
        model._meta.verbose_name_plural,
        apps.get_app_config(model._meta.app_label).verbose_name,
    ]


@pytest.mark.parametrize(("site", "model"), PAGES)
def test_lists(site: Panel, model: type[Model], browser: Client) -> None:
    page = browser.get(reverse(f"{site.name}:{model._meta.app_label}_{model._meta.model_name}_changelist"))
    shown = page.context["cl"]
    headings = [header["text"] for header in result_headers(shown)]
    actions = [words for name, words in shown.model_admin.get_action_choices(page.wsgi_request) if name]
    filters = [each.title for each in shown.filter_specs]
    assert untranslated([*headings, *actions, *filters, *names(model), shown.title]) == set()


@pytest.mark.parametrize(("site", "model"), PAGES)
def test_forms(site: Panel, model: type[Model], request_of: HttpRequest) -> None:
    panel = site._registry[model]
    words: list[Any] = []
    for row in (None, model()):
        sets = panel.get_fieldsets(request_of, row)
        words += [title for title, _options in sets if title]
        words += labels(panel, flatten_fieldsets(sets), panel.get_form(request_of, row))
    for inline in panel.inlines:
        words += names(inline.model)
        words += labels(inline(model, site), inline.fields or [], None)
    assert untranslated(words) == set()


def labels(panel: Any, fields: Any, form: Any) -> list[Any]:
    """As the form says them, else as its read-only fields do. A field that people cannot change has no row."""
    own = getattr(form, "base_fields", {})
    return [own[name].label if name in own else label_for_field(name, panel.model, panel) for name in fields]
