"""Links to programs of an instance in the browser.

They are signed and short-lived, and each program has its own host name.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from urllib.parse import quote, urlsplit
from uuid import UUID

from django.conf import settings

from accounts.models import User
from accounts.selectors import ticket_credentials_of
from common import clock
from common.errors import NotFound
from instances.constants import JUPYTER_PORT, SSH_PORT, WEB_LINK_LIFETIME, WEB_VISIT_LIFETIME
from instances.core.selectors import instance_of
from instances.core.stream_tickets import PORT, stream_ticket, topic_ticket
from instances.errors import NotRunning, WebLinksOff
from instances.models import Instance
from instances.states import InstanceState

OPEN_PATH: Final = "/relay/v1/web/"


@dataclass(frozen=True)
class WebLink:
    """A link that anybody who has it can open until `expires_at`.

    The session that it opens ends at `visit_ends_at`.
    """

    url: str
    expires_at: datetime
    visit_ends_at: datetime


def create_web_link(*, renter: User, instance_id: UUID, port: int) -> WebLink:
    """Return a link to the program that listens on this port in the renter's running instance.

    The host need not publish the port. The link leads to the relay under a host name of this instance and port alone,
    which receives no cookie of the market and can set none for it. Raises NotFound, NotRunning or WebLinksOff.
    """
    instance = instance_of(renter, instance_id)
    if port == SSH_PORT:
        raise NotFound("SSH can't be opened in a browser: use the terminal.")
    if instance.state != InstanceState.RUNNING:
        raise NotRunning("This requires a running instance. Start it first.")
    if not settings.RELAY_WEB_HOST:
        raise WebLinksOff
    now, label = clock.now(), f"{instance.pk.hex}-{port}"
    visit = stream_ticket(
        instance=instance, kind=PORT, port=port, lifetime=WEB_VISIT_LIFETIME, once=False, bonds=ticket_credentials_of(renter)
    )
    ticket = topic_ticket(f"open:{label}:{visit}", WEB_LINK_LIFETIME)
    scheme = urlsplit(settings.RELAY_URL or settings.SITE_URL).scheme
    url = f"{scheme}://{label}.{settings.RELAY_WEB_HOST}{OPEN_PATH}{ticket}{_first_page(instance, port)}"
    return WebLink(url, now + WEB_LINK_LIFETIME, now + WEB_VISIT_LIFETIME)


def _first_page(instance: Instance, port: int) -> str:
    if port != JUPYTER_PORT or not instance.jupyter_token:
        return "/"
    return f"/lab?token={quote(instance.jupyter_token)}"
