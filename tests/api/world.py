"""Two people's things, built through the services, and what must never reach anyone else."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from django.db import connection
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.constants import SCOPES
from accounts.models import User
from accounts.notification_channels.formats.parts import Credentials
from accounts.notification_channels.settings import add_channel
from accounts.notification_channels.settings import send_test as send_channel_test
from accounts.ssh_keys.services import add_ssh_key
from accounts.teams.invitations import invite_member
from accounts.teams.services import create_team
from accounts.tokens.services import issue_token
from accounts.webhooks.settings import add_webhook, send_test
from billing.invoices.lines import InvoiceLine
from billing.models import Entry, Invoice, Payment, Payout
from billing.payouts.payouts import request_payout
from common import clock
from common.ids import new_uuid, public_id
from common.object_store import Place
from instances.enforcement.budgets import set_budget
from instances.models import Alert, CommandRun, Instance
from instances.orders.quotes import create_quote
from instances.wait_list.entries import EntryOrder
from instances.wait_list.wait_list import create_entry
from marketplace.hosts.maintenance import announce_maintenance
from marketplace.models import Gpu
from marketplace.search.saved_searches import save_search
from storage.clients.s3.client import ProbeResult
from storage.images.credentials import save_registry
from storage.models import Image, Registry, Snapshot, Sync, SyncSchedule, Volume
from storage.object_sync.connections import CheckedConnection, save_connection
from storage.volumes.snapshots import snapshot_volume
from storage.volumes.volumes import create_volume
from tests.billing.money import UNIT, grant
from tests.billing.payouts.world import account, earn
from tests.instances.fake_host import FakeHost, base_image, order_running
from tests.instances.volume_world import carry_out
from workloads.templates.selectors import template_key
from workloads.templates.services import create_template

API = "api/v1/"
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
SECRET_NAME = "alices-secret-plan"
# Tables whose rows belong to someone or to the market; a stranger's attempt may change or delete none of them.
_WATCHED = ("accounts_", "billing_", "instances_", "marketplace_", "storage_", "workloads_", "vast_", "agent_gateway_")
_COLUMNS_OF_READING = {"last_used_at", "last_login"}


@dataclass(frozen=True)
class World:
    """The victims' things: a renter with a running instance, on the host of a host owner."""

    renter: User
    host_owner: User
    host: FakeHost
    instance: Instance
    ids: dict[str, str]
    marks: tuple[str, ...]


def a_bucket(renter: User, volume: Volume) -> dict[str, str]:
    """A connection to object storage, a schedule of syncs, and one that ended."""
    place = Place("https://10.0.0.1", "us-east-1", SECRET_NAME, "", SECRET_NAME, SECRET_NAME)  # refused unasked
    connection = save_connection(owner=renter, name=SECRET_NAME, tried=CheckedConnection(place, ProbeResult(False, True)))
    terms = {"subject_kind": "volume", "subject_id": volume.pk, "subject_name": volume.name, "direction": "up"}
    common: dict[str, Any] = {"owner": renter, "connection": connection, **terms}
    schedule = SyncSchedule.objects.create(**common, every_hours=24, next_at=clock.now() + timedelta(days=1))
    ended = {"state": "failed", "failure_code": "out_of_time", "ended_at": clock.now(), "host_id": volume.host_id}
    run = Sync.objects.create(**common, connection_name=connection.name, **ended)
    return {
        "connection_id": public_id("conn", connection.pk),
        "schedule_id": public_id("plan", schedule.pk),
        "sync_id": public_id("sync", run.pk),
    }


def build_world(renter: User, host_owner: User) -> World:
    base_image()
    grant(renter, 1000 * UNIT)
    key = add_ssh_key(user=renter, name=f"{SECRET_NAME}-key", public_key=PUBLIC_KEY)
    token, _ = issue_token(user=renter, name=f"{SECRET_NAME}-token", scopes=list(SCOPES))
    host = FakeHost(host_owner)
    instance = order_running(renter, host)
    Instance.objects.filter(pk=instance.pk).update(name=SECRET_NAME)
    quote = create_quote(renter=renter, offer_id=host.offer.pk, image="berth-base")
    search = save_search(user=renter, name=f"{SECRET_NAME}-search", line="t4 price<1")
    wanted = EntryOrder(image="berth-base", max_price_micros=UNIT, name=SECRET_NAME)
    watch = create_entry(user=renter, line="gpu=t4", action="rent", order=wanted)
    team = create_team(user=renter, name=f"{SECRET_NAME}-team")
    login, image = an_image(renter)
    member, _ = invite_member(user=renter, team_id=team.pk, email=f"{SECRET_NAME}@example.com")
    budget = set_budget(owner=renter, scope="team", subject_id=team.pk, period="month", limit_micros=500 * UNIT, hard=False)
    hook, _ = add_webhook(user=renter, url=f"https://9.9.9.9/{SECRET_NAME}")
    volume, snapshot = a_volume(renter, host)
    ids = {
        **a_bucket(renter, volume),
        **a_channel(renter),
        "template_id": template_key(create_template(owner=renter, title=SECRET_NAME, content={"image": "berth-base"})),
        "volume_id": public_id("vol", volume.pk),
        "snapshot_id": public_id("snap", snapshot.pk),
        "slug": "no-such-set",
        "command_id": public_id("exec", CommandRun.objects.create(instance=instance, timeout_s=60, ended_at=clock.now()).pk),
        "alert_id": public_id("alrt", Alert.objects.create(instance=instance, kind="gpu_idle", facts={"minutes": 30}).pk),
        "webhook_id": public_id("hook", hook.pk),
        "delivery_id": public_id("dlv", send_test(user=renter, webhook_id=hook.pk).pk),
        "team_id": public_id("team", team.pk),
        "image_id": public_id("img", image.pk),
        "registry_id": public_id("reg", login.pk),
        "member_id": public_id("memb", member.pk),
        "budget_id": public_id("budg", budget.pk),
        "watch_id": public_id("watch", watch.pk),
        "search_id": public_id("srch", search.pk),
        "token_id": public_id("tok", token.pk),
        "key_id": public_id("key", key.pk),
        "instance_id": public_id("inst", instance.pk),
        "quote_id": public_id("quot", quote.pk),
        "host_id": public_id("host", host.host.pk),
        "offer_id": public_id("offr", host.offer.pk),
        "gpu_slug": host.offer.gpu_model,
        "payout_id": public_id("payout", a_payout(host_owner).pk),
        "invoice_id": public_id("invc", an_invoice(renter).pk),
        "topup_id": public_id("topup", Payment.objects.create(owner=renter, amount_micros=UNIT).pk),
        "line_id": str(Entry.objects.filter(wallet__owner=renter).values_list("pk", flat=True)[0]),
    }
    begin = clock.now() + timedelta(days=2)
    maintenance = announce_maintenance(
        actor_id=host_owner.pk,
        host_id=host.host.pk,
        category="power",
        starts_at=begin,
        ends_at=begin + timedelta(hours=1),
    )
    ids["maintenance_id"] = public_id("mtn", maintenance.pk)
    gpus = Gpu.objects.filter(host=host.host).values_list("uuid", flat=True)
    mine = (
        *("connection", "schedule", "sync", "volume", "snapshot", "image", "registry", "payout", "topup", "invoice"),
        *("watch", "search", "token", "key", "instance", "quote", "template", "command"),
    )
    private = [ids[f"{name}_id"] for name in mine]
    marks = (*private, SECRET_NAME, renter.email, key.fingerprint, PUBLIC_KEY.split()[1], token.prefix, *gpus)
    return World(renter, host_owner, host, instance, ids, marks)


def a_channel(renter: User) -> dict[str, str]:
    """A chat that receives notifications, and a test that waits to be sent there."""
    key = Credentials(url="0123456789abcdef-0123456789abcdef")
    channel = add_channel(user=renter, service="wecom", name=SECRET_NAME, credentials=key)
    waiting = send_channel_test(user=renter, channel_id=channel.pk)
    return {"channel_id": public_id("chan", channel.pk), "notification_id": public_id("ntf", waiting.pk)}


def a_volume(renter: User, host: FakeHost) -> tuple[Volume, Snapshot]:
    """Both ready."""
    volume = create_volume(owner=renter, name=SECRET_NAME, size_gb=1, host_id=host.host.pk)
    carry_out(host)
    snapshot = snapshot_volume(owner=renter, volume_id=volume.pk, name=f"{SECRET_NAME}-snapshot")
    carry_out(host)
    return volume, snapshot


def an_image(renter: User) -> tuple[Registry, Image]:
    """Of a private registry."""
    login = save_registry(owner=renter, host="registry.example", username=SECRET_NAME, password=SECRET_NAME)
    image = Image.objects.create(
        slug=f"{SECRET_NAME}-image",
        title=SECRET_NAME,
        reference=f"registry.example/{SECRET_NAME}@sha256:1",
        owner=renter,
        source="named",
        official=False,
        private=True,
        registry=login,
        checked_at=clock.now(),
    )
    return login, image


def a_payout(host_owner: User) -> Payout:
    """Of earnings that have matured, to an account of the host owner."""
    earn(host_owner, 20, ago=40, now=clock.now())
    account(host_owner)
    return request_payout(owner_id=host_owner.pk, requested_by="test")


def an_invoice(renter: User) -> Invoice:
    begin, source = clock.now() - timedelta(days=31), new_uuid().hex
    hour = InvoiceLine(
        "charge", "T4", "instance", source, "hourly", begin.isoformat(), begin.isoformat(), 3600, UNIT, 1, UNIT
    )
    return Invoice.objects.create(
        owner=renter,
        year=2020,
        number=1,
        period_from=begin,
        period_to=begin + timedelta(days=30),
        currency="USD",
        total_micros=UNIT,
        buyer={"name": SECRET_NAME, "address": "", "tax_id": ""},
        seller={"name": "Berth", "address": "", "tax_id": ""},
        lines=[hour.frozen()],
    )


def strange_ids(ids: dict[str, str]) -> dict[str, str]:
    """Ids of the same kinds that nothing has."""
    return {name: public_id(text.partition("_")[0], new_uuid()) for name, text in ids.items()}


@dataclass(frozen=True)
class Endpoint:
    """One method of one address of the API, as the URL conf has it."""

    method: str
    route: str
    name: str
    view: Any

    @property
    def label(self) -> str:
        return f"{self.method} {self.name}"

    def address(self, ids: dict[str, str]) -> str:
        return "/" + re.sub(r"<(?:\w+:)?(\w+)>", lambda place: ids[place[1]], self.route)

    @property
    def names_a_thing(self) -> bool:
        return "<" in self.route


def discover() -> list[Endpoint]:
    """Every endpoint of our own API; what clients of Vast ask for below /api/v1/ is in tests/vast."""
    found = _walk("", get_resolver().url_patterns)
    return [each for each in found if each.route.startswith(API) and not each.name.startswith("vast_")]


def _walk(prefix: str, patterns: list[URLPattern | URLResolver]) -> Iterator[Endpoint]:
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            if route.startswith(API) or API.startswith(route):
                yield from _walk(route, pattern.url_patterns)
            continue
        view: Any = getattr(pattern.callback, "view_class", None) or getattr(pattern.callback, "cls", None)
        methods = [m for m in getattr(view, "http_method_names", ["get"]) if view is None or hasattr(view, m)]
        for method in methods:
            if method not in ("options", "head"):
                yield Endpoint(method.upper(), route, str(pattern.name), view)


def rows() -> set[tuple[str, str]]:
    """Every row of every watched table, as text."""
    with connection.cursor() as cursor:
        cursor.execute(_rows_sql())
        return set(cursor.fetchall())


@cache
def _rows_sql() -> str:
    parts = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table.startswith(_WATCHED):
                columns = [column.name for column in connection.introspection.get_table_description(cursor, table)]
                listed = ", ".join(f'"{name}"' for name in columns if name not in _COLUMNS_OF_READING)
                parts.append(f"SELECT '{table}', ROW({listed})::text FROM \"{table}\"")
    return " UNION ALL ".join(parts)
