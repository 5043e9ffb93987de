"""Settings of a user's webhooks: add, change, test, rotate, remove, and send a delivery again."""

import base64
import secrets
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from accounts.constants import MAX_WEBHOOKS, WEBHOOK_FORMER_VALID, WEBHOOK_KINDS, WEBHOOK_SECRET_BYTES, WEBHOOK_SECRET_MARK
from accounts.errors import TooMany
from accounts.event_log.services import record_event
from accounts.models import User, Webhook, WebhookDelivery, WebhookEvent
from accounts.selectors import delivery_of, webhook_of, webhooks_of
from common import clock
from common.db.transactions import use_case
from common.encryption import encrypt
from common.errors import wrong_field
from common.http.outbound import OutboundFault, parse_target, resolve
from common.jobs import enqueue


def add_webhook(*, user: User, url: str, kinds: Sequence[str] = (), description: str = "") -> tuple[Webhook, str]:
    """Add a webhook and return it with its secret.

    Raises:
        InvalidInput: the address must not be contacted.
        TooMany: the account has too many webhooks.
    """
    check_address(url=url)
    secret = _new_secret()
    with use_case():
        User.objects.select_for_update(of=("self",), no_key=True).get(pk=user.pk)  # so that two cannot pass the limit
        if webhooks_of(user).count() >= MAX_WEBHOOKS:
            raise TooMany(f"An account has at most {MAX_WEBHOOKS} webhooks; remove some first.")
        hook = Webhook.objects.create(
            user=user, url=url, kinds=_kinds(kinds), description=description, sealed_secret=encrypt(secret)
        )
        record_event(user_id=user.pk, kind="webhook.added", subject=url)
    return hook, secret


def change_webhook(
    *,
    user: User,
    webhook_id: UUID,
    url: str | None = None,
    kinds: Sequence[str] | None = None,
    description: str | None = None,
    paused: bool | None = None,
) -> Webhook:
    """Change the given fields.

    While paused, no delivery is written and none is sent; waiting ones go out afterwards.
    """
    if url is not None:
        check_address(url=url)
    wanted: dict[str, Any] = {"url": url, "description": description, "kinds": None if kinds is None else _kinds(kinds)}
    with use_case():
        hook = _locked(user, webhook_id)
        for name, value in wanted.items():
            if value is not None:
                setattr(hook, name, value)
        if paused is not None and paused != (hook.paused_at is not None):
            hook.paused_at, hook.failing_since = (clock.now() if paused else None), None
        hook.save()
        if hook.paused_at is None:
            enqueue("accounts.send_webhooks")
    return hook


def remove_webhook(*, user: User, webhook_id: UUID) -> None:
    """Remove a webhook with its log; nothing more is sent."""
    with use_case():
        webhook_of(user, webhook_id)
        hook = webhooks_of(user).select_for_update(of=("self",), no_key=False).get(pk=webhook_id)  # waits for emit
        record_event(user_id=user.pk, kind="webhook.removed", subject=hook.url)
        hook.delete()


def rotate_secret(*, user: User, webhook_id: UUID) -> tuple[Webhook, str]:
    """Replace the secret.

    For a day, messages are also signed with the former one, so that receivers can switch without a gap.
    """
    secret = _new_secret()
    with use_case():
        hook = _locked(user, webhook_id)
        hook.sealed_former, hook.former_until = hook.sealed_secret, clock.now() + WEBHOOK_FORMER_VALID
        hook.sealed_secret = encrypt(secret)
        hook.save(update_fields=["sealed_secret", "sealed_former", "former_until"])
        record_event(user_id=user.pk, kind="webhook.rotated", subject=hook.url)
    return hook, secret


def send_test(*, user: User, webhook_id: UUID) -> WebhookDelivery:
    """Send a message of kind webhook.test to this webhook only, whatever kinds it receives."""
    with use_case():
        hook = _locked(user, webhook_id)
        if hook.paused_at is not None:
            raise wrong_field("paused", _("The webhook is paused. Resume it first."))
        event = WebhookEvent.objects.create(
            user=user, kind="webhook.test", payload={"text": "This is a test: your webhook works."}
        )
        delivery = WebhookDelivery.objects.create(webhook=hook, event=event)
        enqueue("accounts.send_webhooks")
    return delivery


def send_again(*, user: User, webhook_id: UUID, delivery_id: UUID) -> WebhookDelivery:
    """Send a delivery again now, with the same id and body, and retry for another day if it fails."""
    now = clock.now()
    with use_case():
        _locked(user, webhook_id)
        delivery = delivery_of(user, webhook_id, delivery_id)
        delivery.due_at = delivery.first_due_at = now
        delivery.delivered_at = delivery.gave_up_at = None
        delivery.save(update_fields=["due_at", "first_due_at", "delivered_at", "gave_up_at"])
        enqueue("accounts.send_webhooks")
    return delivery


def check_address(*, url: str) -> None:
    """Refuse an address that the market must not contact; sending checks it again.

    Raises:
        InvalidInput: the address is not allowed; the error names the field.
    """
    try:
        resolve(parse_target(url))
    except OutboundFault as fault:
        raise wrong_field("url", fault.detail) from fault


def _kinds(kinds: Sequence[str]) -> list[str]:
    unknown = sorted(set(kinds) - set(WEBHOOK_KINDS))
    if unknown:
        raise wrong_field("kinds", f"Unknown: {', '.join(unknown)}. Choose from {', '.join(WEBHOOK_KINDS)}.")
    return sorted(set(kinds))


def _locked(user: User, webhook_id: UUID) -> Webhook:
    webhook_of(user, webhook_id)
    return Webhook.objects.select_for_update(of=("self",), no_key=True).get(pk=webhook_id)


def _new_secret() -> str:
    return WEBHOOK_SECRET_MARK + base64.b64encode(secrets.token_bytes(WEBHOOK_SECRET_BYTES)).decode()
