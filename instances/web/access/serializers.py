"""Serializers of access to instances: networks, keys, password, log and web links."""

from typing import Any

from rest_framework import serializers

from common.addresses import HIGHEST_PORT
from instances.access.web_links import WebLink
from instances.constants import ALLOWED_NETWORKS_AT_MOST, EXTRA_PORTS_AT_MOST, LOG_TAIL, LOG_TAIL_MOST
from instances.models import Instance, LogRead
from instances.web.serializers import Shape


def password_shape(instance: Instance, password: str) -> Shape:
    return {"password": password, "set_at": instance.password_set_at}


def log_shape(row: LogRead) -> Shape:
    return {
        "lines": [{"at": at, "text": text} for at, text in row.lines],
        "cut": row.cut,
        "reading": row.operation is not None,
        "read_at": row.read_at,
        "failure": row.failure or None,
    }


def web_link_shape(link: WebLink) -> Shape:
    return {"url": link.url, "expires_at": link.expires_at, "visit_ends_at": link.visit_ends_at}


Text, Time, Whole = serializers.CharField, serializers.DateTimeField, serializers.IntegerField


class AccessIn(serializers.Serializer[Any]):
    """What to change; what you leave out stays as it is."""

    ssh_key_ids = serializers.ListField(
        child=Text(),
        required=False,
        allow_null=True,
        max_length=100,
        help_text="key_…; null: all of the account, those added later too",
    )
    allow_from = serializers.ListField(
        child=Text(max_length=50),
        required=False,
        max_length=ALLOWED_NETWORKS_AT_MOST,
        help_text="Networks in CIDR from which SSH answers; empty: from everywhere",
    )
    ports = serializers.ListField(
        child=Whole(min_value=1, max_value=HIGHEST_PORT),
        required=False,
        max_length=EXTRA_PORTS_AT_MOST,
        help_text="All extra container ports; they change at the next start or restart",
    )


class PasswordOut(serializers.Serializer[Any]):
    """Root's new password."""

    password = Text(allow_null=True, help_text="Told this once; null when the request is repeated")
    set_at = Time()


class LogsIn(serializers.Serializer[Any]):
    """Which lines to return."""

    tail = Whole(min_value=1, max_value=LOG_TAIL_MOST, default=LOG_TAIL, help_text="The last so many that match")
    q = Text(max_length=100, allow_blank=True, default="", help_text="Only lines that hold this, whatever the case")
    since = Time(required=False, allow_null=True, default=None)


class LogLine(serializers.Serializer[Any]):
    """One line of the log."""

    at = Text(help_text="By the host's clock")
    text = Text(allow_blank=True)


class LogsOut(serializers.Serializer[Any]):
    """The log as far as known.

    While `reading` is true the host is being asked, so repeat the request.
    """

    lines = LogLine(many=True)
    cut = serializers.BooleanField(help_text="There are more lines that match")
    reading = serializers.BooleanField(help_text="The host is being asked: look again in a second")
    read_at = Time(allow_null=True)
    failure = Text(allow_null=True, help_text="Why the last reading brought nothing")


class WebLinkIn(serializers.Serializer[Any]):
    """Which port to open."""

    port = Whole(
        min_value=1,
        max_value=HIGHEST_PORT,
        help_text="Of the container, published or not: 8888 is JupyterLab, 6006 TensorBoard",
    )


class WebLinkOut(serializers.Serializer[Any]):
    """A link that anybody who has it can open.

    The session that it opens outlives it.
    """

    url = Text()
    expires_at = Time()
    visit_ends_at = Time()
