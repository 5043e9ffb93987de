"""Requests and responses of access to instances."""

import shlex
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote as quote_url

from rest_framework import serializers

from common.addresses import HIGHEST_PORT, in_url
from common.resources import resource
from instances.access.web_links import WebLink
from instances.constants import (
    ALLOWED_NETWORKS_AT_MOST,
    EXTRA_PORTS_AT_MOST,
    JUPYTER_PORT,
    LOG_TAIL,
    LOG_TAIL_MOST,
    SSH_PORT,
    SSH_USER,
    TENSORBOARD_PORT,
)
from instances.core.endpoints import extra_ports, ports_pending, public_address, published_udp
from instances.models import Instance, LogRead
from instances.states import InstanceState

Text, Time, Whole = serializers.CharField, serializers.DateTimeField, serializers.IntegerField


class AccessIn(serializers.Serializer[Any]):
    """Settings to change; omitted fields stay unchanged."""

    ssh_key_ids = serializers.ListField(
        child=Text(),
        required=False,
        allow_null=True,
        max_length=100,
        help_text="key_…; null: all keys of the account, including those added later",
    )
    allow_from = serializers.ListField(
        child=Text(max_length=50),
        required=False,
        max_length=ALLOWED_NETWORKS_AT_MOST,
        help_text="IP allowlist of SSH, in CIDR notation; empty: any address",
    )
    ports = serializers.ListField(
        child=Whole(min_value=1, max_value=HIGHEST_PORT),
        required=False,
        max_length=EXTRA_PORTS_AT_MOST,
        help_text="All exposed container ports; changes take effect at the next start or restart",
    )
    udp_ports = serializers.ListField(
        child=Whole(min_value=1, max_value=HIGHEST_PORT),
        required=False,
        max_length=EXTRA_PORTS_AT_MOST,
        help_text="Ports published for UDP as well as TCP; default: those in `ports` that already had UDP",
    )


@resource
class PasswordOut:
    """Root's new password."""

    password: Annotated[str | None, "Shown only once; null in a repeated response"]
    set_at: datetime


class LogsIn(serializers.Serializer[Any]):
    """Which lines to return."""

    tail = Whole(
        min_value=1, max_value=LOG_TAIL_MOST, default=LOG_TAIL, help_text="Return the last matching lines, up to this many"
    )
    q = Text(max_length=100, allow_blank=True, default="", help_text="Only lines that contain this text, ignoring case")
    since = Time(required=False, allow_null=True, default=None)
    source = serializers.ChoiceField(  # type: ignore[assignment]  # a field, no attribute of one
        choices=["", "on_start"],
        default="",
        allow_blank=True,
        help_text="on_start: the log of the start script instead of the container",
    )


@resource
class LogLine:
    """One line of the log."""

    at: Annotated[str, "By the host's clock"]
    text: str


@resource
class LogsOut:
    """The log as far as it has been read.

    While `reading` is true, the host is still being queried; repeat the request.
    """

    lines: list[LogLine]
    cut: Annotated[bool, "There are more matching lines"]
    reading: Annotated[bool, "The host is being queried; repeat the request in a second"]
    read_at: datetime | None
    failure: Annotated[str | None, "Why the last read failed"]
    failure_code: Annotated[str | None, "`output_unreadable`, `no_answer` or another code of the same reason"]


class WebLinkIn(serializers.Serializer[Any]):
    """Which port to open."""

    port = Whole(
        min_value=1,
        max_value=HIGHEST_PORT,
        help_text="Container port, published or not: 8888 for JupyterLab, 6006 for TensorBoard",
    )


@resource
class WebLinkOut:
    """A link that gives access to anyone who has it.

    A session opened with it outlives the link.
    """

    url: str
    expires_at: datetime
    visit_ends_at: datetime


def password_resource(instance: Instance, password: str) -> PasswordOut:
    assert instance.password_set_at is not None  # it has just been set
    return PasswordOut(password=password, set_at=instance.password_set_at)


def log_resource(row: LogRead) -> LogsOut:
    return LogsOut(
        lines=[LogLine(at=at, text=text) for at, text in row.lines],
        cut=row.cut,
        reading=row.operation is not None,
        read_at=row.read_at,
        failure=row.failure or None,
        failure_code=row.failure_message.code if row.failure_message else None,
    )


def web_link_resource(link: WebLink) -> WebLinkOut:
    return WebLinkOut(url=link.url, expires_at=link.expires_at, visit_ends_at=link.visit_ends_at)


@resource
class SshAccess:
    """Address and command for SSH."""

    host: str
    port: int
    user: str
    command: str


@resource
class InstanceAccess:
    """Addresses of the instance.

    They are fixed when it is ordered and reachable while it runs.
    """

    ssh: SshAccess | None
    jupyter_url: Annotated[str | None, "Contains its token; null without the scope instances:connect"]
    tensorboard_url: Annotated[str | None, "null without the scope instances:connect"]


@resource
class PortPair:
    """A port of the container, and the host port that it is published on."""

    container: int
    host: int
    extra: Annotated[bool, "Exposed by the renter, in addition to the image's own"]
    udp: Annotated[bool, "Published for UDP as well as TCP"]


@resource
class AccessOut(InstanceAccess):
    """Access to the instance: addresses, ports, keys, password, IP allowlist."""

    jupyter_token: Annotated[str | None, "null without the scope instances:connect"]
    ports: list[PortPair]
    ports_pending: Annotated[bool, "The ports change at the next start or restart"]
    ssh_keys: Annotated[list[str], "Public keys that can log in now"]
    all_keys: Annotated[bool, "All keys of the account can log in, including those added later"]
    password_set_at: Annotated[datetime | None, "null: password login is disabled"]
    allow_from: Annotated[list[str], "IP allowlist of SSH; empty: any address"]
    allow_from_kept: Annotated[
        bool | None, "Whether its host supports an IP allowlist; false: setting one fails; null: unknown (older agent)"
    ]


def access_resource(instance: Instance, *, opens: bool) -> InstanceAccess:
    """Return the addresses of an instance, empty when it is gone or its host has no address.

    They are fixed from the order on and answer while it runs. Links that let in whoever has them are included only
    with `opens`.
    """
    address, ports = public_address(instance), dict(instance.ports)
    if instance.state == InstanceState.GONE or not address:
        return InstanceAccess(ssh=None, jupyter_url=None, tensorboard_url=None)
    web = in_url(address)
    jupyter, tensorboard = (ports.get(port) if opens else None for port in (JUPYTER_PORT, TENSORBOARD_PORT))
    return InstanceAccess(
        ssh=SshAccess(
            host=address,
            port=ports[SSH_PORT],
            user=SSH_USER,
            command=shlex.join(["ssh", "-p", str(ports[SSH_PORT]), f"{SSH_USER}@{address}"]),
        ),
        jupyter_url=jupyter and f"http://{web}:{jupyter}/lab?token={quote_url(instance.jupyter_token)}",
        tensorboard_url=tensorboard and f"http://{web}:{tensorboard}/",
    )


def access_detail(instance: Instance, *, opens: bool) -> AccessOut:
    """Return everything about access to an instance: addresses, ports, keys, allowed networks."""
    gone = instance.state == InstanceState.GONE
    return AccessOut(
        **vars(access_resource(instance, opens=opens)),
        jupyter_token=None if gone or not opens else instance.jupyter_token or None,
        ports=[] if gone else port_resources(instance),
        ports_pending=ports_pending(instance),
        ssh_keys=instance.ssh_keys,
        all_keys=instance.all_keys,
        password_set_at=instance.password_set_at,
        allow_from=instance.allow_from,
        allow_from_kept=instance.host.keeps_ssh_list,
    )


def port_resources(instance: Instance) -> list[PortPair]:
    extra, udp = dict(extra_ports(instance)), published_udp(instance)
    return [
        PortPair(container=inside, host=outside, extra=inside in extra, udp=inside in udp)
        for inside, outside in instance.ports
    ]
