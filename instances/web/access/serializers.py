"""JSON of passwords, logs and web links."""

from instances.access.web_links import WebLink
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
