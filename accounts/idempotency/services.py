"""Idempotency keys: a repeated request is executed once and gets the same response, without expiry."""

from collections.abc import Callable, Sequence
from typing import Any

import orjson
from django.db import connection, transaction

from accounts.errors import IdempotencyConflict
from accounts.models import RememberedReply, User
from common import clock
from common.db.transactions import joining
from common.json import as_plain, to_json

Work = Callable[[], tuple[int, Any]]

# Waits while a parallel transaction holds the same key; returns no row once that one has committed.
_CLAIM = """
    INSERT INTO accounts_rememberedreply (user_id, key, request_hash, body, created_at)
    VALUES (%s, %s, %s, '', %s) ON CONFLICT (user_id, key) DO NOTHING RETURNING id
"""


def run_once(*, user: User, key: str | None, request_hash: str, work: Work, once: Sequence[str] = ()) -> tuple[int, Any]:
    """Return status and JSON body of `work`, executed at most once for each key of a user.

    `work` and the stored response share one transaction, so a DomainError leaves the key free. Fields named in
    `once` (a secret shown once) are stored as null.

    Raises:
        IdempotencyConflict: the key belongs to another request.
    """
    if key is None:
        return work()
    with joining():
        claimed = _claim(user, key, request_hash)
        if claimed is None:
            return _stored_response(user, key, request_hash)
        status, body = work()
        shown = as_plain(body)
        kept = {**shown, **dict.fromkeys(once)} if once else shown
        RememberedReply.objects.filter(pk=claimed).update(status=status, body=to_json(kept).decode())
        return status, shown


def run_and_roll_back(*, work: Work) -> tuple[int, Any]:
    """Run `work` with all its checks and roll everything back, as a dry run.

    No hint or wake-up is sent.
    """
    with joining():
        status, body = work()
        transaction.set_rollback(True)
    return status, as_plain(body)


def _claim(user: User, key: str, request_hash: str) -> int | None:
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM, [user.pk, key, request_hash, clock.now()])
        row = cursor.fetchone()
    return None if row is None else int(row[0])


def _stored_response(user: User, key: str, request_hash: str) -> tuple[int, Any]:
    reply = RememberedReply.objects.get(user=user, key=key)
    if reply.request_hash != request_hash:
        raise IdempotencyConflict("Use a new Idempotency-Key for a request with a different URL or body.")
    assert reply.status is not None  # a row becomes visible to others only together with its response
    return reply.status, orjson.loads(reply.body)
