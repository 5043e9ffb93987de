"""Two people's things, built through the services, and what must never reach anyone else."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from django.db import connection
from django.urls import URLPattern, URLResolver, get_resolver

from accounts.models import User
from accounts.policy import SCOPES
from accounts.services.ssh_keys import add_ssh_key
from accounts.services.tokens import issue_token
from common import clock
from common.ids import new_uuid, public_id
from instances.models import Instance
from instances.services.quote import create_quote
from instances.services.watch_orders import Order
from instances.services.watches import create_watch
from marketplace.models import Gpu
from marketplace.services.maintenance import announce_maintenance
from marketplace.services.saved_searches import save_search
from tests.billing.money import UNIT, grant
from tests.instances.fake_host import FakeHost, base_image, order_running

API = "api/v1/"
PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4"
SECRET_NAME = "alices-secret-plan"
# Tables whose rows belong to someone or to the market; a stranger's attempt may change or delete none of them.
_WATCHED = ("accounts_", "billing_", "instances_", "marketplace_", "storage_", "agent_gateway_")
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
    wanted = Order(image="berth-base", max_price_micros=UNIT, name=SECRET_NAME)
    watch = create_watch(user=renter, line="gpu=t4", action="rent", order=wanted)
    ids = {
        "watch_id": public_id("watch", watch.pk),
        "search_id": public_id("srch", search.pk),
        "token_id": public_id("tok", token.pk),
        "key_id": public_id("key", key.pk),
        "instance_id": public_id("inst", instance.pk),
        "quote_id": public_id("quot", quote.pk),
        "host_id": public_id("host", host.host.pk),
        "offer_id": public_id("offr", host.offer.pk),
        "gpu_slug": host.offer.gpu_model,
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
    private = [ids[name] for name in ("watch_id", "search_id", "token_id", "key_id", "instance_id", "quote_id")]
    marks = (*private, SECRET_NAME, renter.email, key.fingerprint, PUBLIC_KEY.split()[1], token.prefix, *gpus)
    return World(renter, host_owner, host, instance, ids, marks)


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
        parts = [ids[part[1:-1].rpartition(":")[2]] if part.startswith("<") else part for part in self.route.split("/")]
        return "/" + "/".join(parts)

    @property
    def names_a_thing(self) -> bool:
        return "<" in self.route


def discover() -> list[Endpoint]:
    """Every endpoint below /api/v1/."""
    return [endpoint for endpoint in _walk("", get_resolver().url_patterns) if endpoint.route.startswith(API)]


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
