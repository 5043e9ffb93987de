"""Up, ready, measured: and who may look."""

import pytest
import redis
from django.db import DatabaseError
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client
from pytest_django.fixtures import Settings

from accounts.models import User
from common.messages.message import English
from config import health
from marketplace.hosts.incidents import close_incident, open_incident
from tests.roles import as_owner


def test_healthz_asks_nobody(client: Client) -> None:
    assert (client.get("/healthz").status_code, client.get("/healthz").json()) == (200, {"status": "ok"})


def test_readyz_when_all_is_well(client: Client, db: None) -> None:
    reply = client.get("/readyz")
    assert (reply.status_code, reply.json()) == (200, {"status": "ok", "database": "ok", "redis": "ok"})


def test_readyz_names_the_unmigrated_app(client: Client, db: None) -> None:
    with as_owner():
        MigrationRecorder.Migration.objects.filter(app="billing").delete()
    reply = client.get("/readyz")
    assert (reply.status_code, reply.json()["database"]) == (503, "not migrated: billing")


def test_readyz_without_redis(client: Client, db: None, settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    health._redis.cache_clear()
    try:
        reply = client.get("/readyz")
    finally:
        health._redis.cache_clear()
    assert (reply.status_code, reply.json()["redis"], reply.json()["database"]) == (503, "unreachable", "ok")


def test_readyz_without_database(client: Client, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: MigrationRecorder) -> None:
        raise DatabaseError("password for user berth is secret")

    monkeypatch.setattr(MigrationRecorder, "applied_migrations", refuse)
    reply = client.get("/readyz")
    assert (reply.status_code, reply.json()["database"]) == (503, "unreachable")
    assert b"secret" not in reply.content


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics"])
def test_only_reading(client: Client, db: None, path: str) -> None:
    assert client.post(path).status_code == 405


def away(**headers: str) -> Client:
    """A client on another machine."""
    return Client(headers=headers, REMOTE_ADDR="192.0.2.7")


def test_metrics_on_this_machine(db: None, alice: User) -> None:
    reply = Client(REMOTE_ADDR="127.0.0.1").get("/metrics")
    assert reply.status_code == 200
    assert reply.headers["Content-Type"].startswith("text/plain; version=")
    assert b"berth_users 1.0" in reply.content
    assert b"process_resident_memory_bytes" in reply.content
    assert b'berth_instances{state="running"} 0.0' in reply.content
    assert b'berth_hosts{state="online"} 0.0' in reply.content
    assert b"berth_open_incidents 0.0" in reply.content
    assert b'berth_mails{state="waiting"} 0.0' in reply.content
    assert b'berth_mails{state="given_up"} 0.0' in reply.content
    assert b'berth_notifications{state="waiting"} 0.0' in reply.content
    assert b"berth_notification_lag_seconds 0.0" in reply.content
    assert Client(REMOTE_ADDR="::1").get("/metrics").status_code == 200


def test_metrics_name_the_kinds_of_open_incidents(db: None) -> None:
    """So that an alert can say what is wrong, and a person finds it in docs/operations.md."""
    open_incident(kind="sweeps_late", subject="jobs", detail=English(sentence="something"))
    for host in ("host_a", "host_b"):
        open_incident(kind="gpu_fault", subject=host, detail=English(sentence="something"))
    close_incident(kind="gpu_fault", subject="host_b")
    metrics = Client(REMOTE_ADDR="127.0.0.1").get("/metrics").content
    assert b"berth_open_incidents 2.0" in metrics
    assert b'berth_incidents{kind="gpu_fault"} 1.0' in metrics
    assert b'berth_incidents{kind="sweeps_late"} 1.0' in metrics


def test_metrics_are_closed_to_others(db: None, alice: User) -> None:
    anonymous, renter = away(), away()
    renter.force_login(alice)
    for client in (anonymous, renter):
        reply = client.get("/metrics")
        assert (reply.status_code, reply.json()["code"]) == (403, "forbidden")
        assert b"berth_users" not in reply.content


def test_a_forwarded_request_is_not_from_this_machine(db: None) -> None:
    proxied = Client(REMOTE_ADDR="127.0.0.1", headers={"x-forwarded-for": "127.0.0.1"})
    assert proxied.get("/metrics").status_code == 403


def test_metrics_for_staff_and_for_the_token(stella: User, settings: Settings) -> None:
    staff = away()
    staff.force_login(stella)
    assert staff.get("/metrics").status_code == 200
    empty = away(authorization="Bearer ")
    assert empty.get("/metrics").status_code == 403  # no token is set: none opens
    settings.METRICS_TOKEN = "prometheus-secret"
    statuses = [
        away(authorization=f"Bearer {token}").get("/metrics").status_code for token in ("prometheus-secret", "wrong", "é")
    ]
    assert statuses == [200, 403, 403]


def test_redis_is_asked_with_a_short_patience() -> None:
    kwargs = health._redis().connection_pool.connection_kwargs
    assert kwargs["socket_timeout"] <= 1
    assert isinstance(health._redis(), redis.Redis)
