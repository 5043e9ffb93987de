"""Endpoints for operators: liveness, readiness and metrics."""

import hmac
import ipaddress
import logging
from functools import cache

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from accounts.selectors import acts_as_staff
from billing.ledger.currency import currency_difference
from common.errors import Forbidden
from common.http.problems import problem_response
from common.redis_client import connect
from common.unfinished_restore import TOLD as RESTORE_TOLD
from common.unfinished_restore import restore_is_unfinished
from config.metrics import registry

logger = logging.getLogger(__name__)


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Return 200 if the database is migrated and Redis answers, else 503 naming what is wrong."""
    checks = {"database": _database_state(), "redis": _redis_state()}
    if checks["database"] == "ok" and (difference := currency_difference()):
        checks["ledger"] = difference
    ready = all(state == "ok" for state in checks.values())
    return JsonResponse({"status": "ok" if ready else "not ready", **checks}, status=200 if ready else 503)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Return metrics for Prometheus to this machine, to staff, or to holders of METRICS_TOKEN."""
    if not (_from_this_machine(request) or _has_metrics_token(request) or acts_as_staff(request.user)):
        return problem_response(Forbidden("Metrics are for staff, this machine, or holders of the metrics token."))
    return HttpResponse(generate_latest(registry()), content_type=CONTENT_TYPE_LATEST)


def _database_state() -> str:
    try:
        if restore_is_unfinished():
            return RESTORE_TOLD
        missing = _newest_migrations() - set(MigrationRecorder(connection).applied_migrations())
    except DatabaseError as error:
        logger.warning("not ready: %s", error)
        return "unreachable"
    return f"not migrated: {', '.join(sorted(app for app, _ in missing))}" if missing else "ok"


@cache
def _newest_migrations() -> frozenset[tuple[str, str]]:
    return frozenset(MigrationLoader(None).graph.leaf_nodes())


def _redis_state() -> str:
    try:
        _redis().ping()
    except redis.RedisError as error:
        logger.warning("not ready: %s", error)
        return "unreachable"
    return "ok"


@cache
def _redis() -> redis.Redis:
    return connect(timeout_s=1)


def _from_this_machine(request: HttpRequest) -> bool:
    # Behind a proxy on the same machine all requests come from loopback, so a forwarded request does not count.
    address = request.META.get("REMOTE_ADDR", "")
    forwarded = "HTTP_X_FORWARDED_FOR" in request.META or "HTTP_FORWARDED" in request.META
    return bool(address) and not forwarded and ipaddress.ip_address(address).is_loopback


def _has_metrics_token(request: HttpRequest) -> bool:
    shown = request.headers.get("Authorization", "").removeprefix("Bearer ")
    wanted: str = settings.METRICS_TOKEN
    return bool(wanted) and hmac.compare_digest(shown.encode(), wanted.encode())
