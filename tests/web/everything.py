"""Instances in every state and with every failure, events and incidents of every kind: for a walk over all pages."""

from datetime import timedelta
from typing import Any

from django.contrib.admin import AdminSite
from django.db.models import Model
from django.urls import NoReverseMatch, reverse

from accounts.web.admin_sites import host_panel, staff_panel
from common import clock
from common.ids import new_uuid, public_id
from common.messages.message import Name
from common.messages.rendering import columns
from config.failure_messages import FAILURES
from instances.core.incident_messages import ForeignContainers, names_of
from instances.models import Instance, InstanceEvent, Quote
from instances.states import InstanceState
from instances.web.context import EVENT_LABELS
from marketplace.hosts.incidents import close_incident, open_incident
from marketplace.incident_messages import CLOSERS, KINDS
from tests.web.world import World

Pages = dict[str, tuple[str, str]]


def add_everything(world: World) -> Pages:
    like, now = world.instances["stopped"], clock.now()
    like.refresh_from_db()
    shown = [_copy(like, name=state.value, state=state, **_due(state)) for state in InstanceState]
    shown += [_copy(like, name=code, state="failed", failure_code=code) for code in FAILURES]
    shown += [_copy(like, name=f"back-{code}", state="stopped", setback_code=code) for code in FAILURES]
    for number, kind in enumerate(EVENT_LABELS):
        at = now - timedelta(minutes=number)
        InstanceEvent.objects.create(instance=like, kind=kind, actor="system", at=at, **columns("detail", Name(name="x-1")))
    for kind in KINDS:
        open_incident(kind=kind, subject="host_1", detail=ForeignContainers(names=names_of(["x-1"])))
    for kind, closer in zip(KINDS, CLOSERS, strict=False):
        close_incident(kind=kind, subject="host_1", closed_by=closer)
    return {f"every-{each.name}": ("alice", f"/instances/{public_id('inst', each.pk)}") for each in shown}


def _due(state: InstanceState) -> dict[str, Any]:
    return {"desired": "gone", "released_at": clock.now()} if state == InstanceState.GONE else {}


def _copy(like: Instance, **fields: Any) -> Instance:
    """An instance like this one, in another state; it holds nothing."""
    quote = Quote.objects.create(**{**_values(like.quote), "id": new_uuid()})
    return Instance.objects.create(**{**_values(like), "id": new_uuid(), "quote_id": quote.pk, **fields})


def _values(row: Model) -> dict[str, object]:
    return {field.attname: getattr(row, field.attname) for field in row._meta.concrete_fields}


def panel_pages() -> Pages:
    """Return each list of both panels, the form for a new row where there is one, and the page of one row."""
    return {**_pages_of(staff_panel, "stella"), **_pages_of(host_panel, "hana")}


def _pages_of(site: AdminSite, who: str) -> Pages:
    found = {f"{site.name} index": (who, reverse(f"{site.name}:index"))}
    for model in site._registry:
        name = f"{site.name}:{model._meta.app_label}_{model._meta.model_name}"
        row = model._default_manager.first()
        for view, args in (("changelist", []), ("add", []), ("change", [row.pk] if row else None)):
            if args is None:
                continue
            try:
                found[f"{name} {view}"] = (who, reverse(f"{name}_{view}", args=args))
            except NoReverseMatch:
                continue
    return found
