"""Faults in accounts: tokens, scopes, repeated requests, device logins, webhooks, notifications."""

from typing import Final

from tests.seeded_faults.fault import Fault

_TOKENS: Final = ("tests/accounts/tokens",)
_IDEMPOTENCY: Final = ("tests/accounts/idempotency/test_idempotency.py",)
_DEVICES: Final = ("tests/accounts/device_logins/test_device_logins.py",)
_CHANNELS: Final = ("tests/accounts/notification_channels/test_sending.py",)
_WEBHOOKS: Final = ("tests/accounts/webhooks/test_webhooks.py",)

FAULTS: Final = (
    Fault(
        name="scopes: a token may do what it has no scope for",
        path="accounts/web/permissions.py",
        old="return token is None or scope in token.scopes",
        new="return token is None or bool(token.scopes)",
        tests=_TOKENS,
    ),
    Fault(
        name="scopes: a method without a scope is open",
        path="accounts/web/permissions.py",
        old="        if needed is None:\n            return False\n",
        new="        if needed is None:\n            return True\n",
        tests=_TOKENS,
    ),
    Fault(
        name="scopes: a token grants what it lacks",
        path="accounts/tokens/services.py",
        old="beyond = sorted(set(scopes) - set(issuer.scopes)) if issuer is not None else []",
        new="beyond = sorted(set(scopes) - set(SCOPES)) if issuer is not None else []",
        tests=_TOKENS,
    ),
    Fault(
        name="tokens: an expired token is live",
        path="accounts/selectors.py",
        old="return None if token.revoked_at or expired or not token.user.is_active else token",
        new="return None if token.revoked_at or not token.user.is_active else token",
        tests=_TOKENS,
    ),
    Fault(
        name="tokens: the secret of a token is not compared",
        path="accounts/selectors.py",
        old="if token is None or not hmac.compare_digest(token.secret_hash, secret_digest(secret)):",
        new="if token is None or not secret:",
        tests=_TOKENS,
    ),
    Fault(
        name="idempotency: a key serves another request",
        path="accounts/idempotency/services.py",
        old="if reply.request_hash != request_hash:",
        new="if not reply.request_hash:",
        tests=(
            "tests/accounts/idempotency/test_idempotency.py::test_fault_002_same_key_other_body_is_refused_and_changes_nothing",
        ),
    ),
    Fault(
        name="idempotency: a secret that is shown once is kept",
        path="accounts/idempotency/services.py",
        old="kept = {**shown, **dict.fromkeys(once)} if once else shown",
        new="kept = shown",
        tests=_IDEMPOTENCY,
    ),
    Fault(
        name="idempotency: a dry run changes something",
        path="accounts/idempotency/services.py",
        old="        transaction.set_rollback(True)\n",
        new="",
        tests=_IDEMPOTENCY,
    ),
    Fault(
        name="device login: a code is redeemed twice",
        path="accounts/device_logins/logins.py",
        old='if not cache.add(f"device-redeemed:{digest}", 1, LIFETIME_S):',
        new='if cache.add(f"device-redeemed:{digest}", 1, LIFETIME_S) is None:',
        tests=_DEVICES,
    ),
    Fault(
        name="device login: a refusal gives a token",
        path="accounts/device_logins/logins.py",
        old="        if allow:\n            try:\n",
        new="        if waiting:\n            try:\n",
        tests=_DEVICES,
    ),
    Fault(
        name="device login: codes can be guessed without end",
        path="accounts/device_logins/logins.py",
        old="        _count_wrong(user)\n    raise DeviceUnknown",
        new="    raise DeviceUnknown",
        tests=_DEVICES,
    ),
    Fault(
        name="webhooks: the signature leaves the time out",
        path="accounts/webhooks/signed_message.py",
        old='f"{message_id}.{stamp}.".encode() + body',
        new='f"{message_id}.".encode() + body',
        tests=_WEBHOOKS,
    ),
    Fault(
        name="webhooks: a former secret is valid for good",
        path="accounts/webhooks/signed_message.py",
        old="webhook.former_until is not None and at < webhook.former_until:",
        new="webhook.former_until is not None:",
        tests=_WEBHOOKS,
    ),
    Fault(
        name="notifications: two senders claim one delivery",
        path="accounts/notification_channels/sending.py",
        old="            due_at=now + NOTIFICATION_CLAIM, attempts",
        new="            due_at=now, attempts",
        tests=_CHANNELS,
    ),
    Fault(
        name="notifications: a late result replaces that of the next attempt",
        path="accounts/notification_channels/sending.py",
        old="pk=delivery.pk, attempts=delivery.attempts, due_at__isnull=False, delivered_at=None",
        new="pk=delivery.pk, due_at__isnull=False, delivered_at=None",
        tests=_CHANNELS,
    ),
    Fault(
        name="notifications: a repetition does not say that it may be one",
        path="accounts/notification_channels/sending.py",
        old='attempts=F("attempts") + 1, uncertain=True',
        new='attempts=F("attempts") + 1',
        tests=_CHANNELS,
    ),
)
