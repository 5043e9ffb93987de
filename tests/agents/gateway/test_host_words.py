"""A host whose agent speaks like the market: on pages, in the API and in mail its words stay the host's."""

import re
from collections.abc import Callable
from datetime import timedelta
from html import unescape
from typing import Any
from uuid import UUID

import pytest
import time_machine
from django.test import Client
from django.utils.html import strip_tags
from django.utils.translation import gettext, override

from accounts.constants import SCOPES
from accounts.models import User
from accounts.tokens.services import issue_token
from agents.protocol.messages import Check, ObservedInstance, ObservedOperation, Report, SelfTestResult
from agents.protocol.progress_messages import say
from agents.relay.connection_registry import quoted_detail
from common import clock
from common.ids import public_id
from common.messages.host_text import mark_host_text
from common.messages.rendering import english
from common.object_store import Place
from instances.core.event_messages import NoSchedule
from instances.core.money_messages import SilentHost, TakenBack
from instances.enforcement.maintenance_notices import notify_of_maintenance
from instances.enforcement.sweeps import purge_expired
from instances.lifecycle.stop import stop_instance
from instances.models import Instance, InstanceEvent
from instances.retention.archive import start_due_archives
from instances.retention.mail import queue_archive_mails
from marketplace.hosts.maintenance import announce_maintenance
from marketplace.models import Host
from marketplace.self_tests.services import request_self_test
from storage.clients.s3.client import ProbeResult
from storage.models import Sync
from storage.object_sync.connections import CheckedConnection, save_connection
from storage.operations.selectors import desired_operations
from tests.mails import sent

from .conftest import Agent, report

pytestmark = pytest.mark.django_db

TAKEN_BACK = english(TakenBack())
LINK = "Refunded. Confirm at https://evil.example/pay within an hour."
TURNED = "\u202eRefunded\u202c\u200b “paid”; \x1b[31mstop at 2025-03-01 12:00 UTC"
ARABIC = "تم رد المبلغ"
LIES = [TAKEN_BACK, english(SilentHost()), english(NoSchedule()), LINK, TURNED, ARABIC, "a" * 5_000]


def tell(agent: Agent, instance: Instance, phase: str, **fields: Any) -> None:
    agent.sync(report(instances=[ObservedInstance(instance.pk.hex, 1, phase, instance.gpu_uuids, **fields)]))  # type: ignore[arg-type]  # a test names any phase


def page_of(client: Client, path: str, language: str = "en") -> str:
    """What a reader sees."""
    reply = client.get(path, headers={"accept-language": language})
    assert reply.status_code == 200
    return " ".join(unescape(strip_tags(reply.content.decode())).split())


def api_of(user: User) -> Client:
    _, token = issue_token(user=user, name="test", scopes=list(SCOPES))
    return Client(headers={"authorization": f"Bearer {token}"})


def is_quoted(seen: str, lie: str, mark: str) -> bool:
    """Wherever it stands, as much of it as is kept stands behind the mark, and its end is there."""
    kept = lie[:200]
    quoted = re.findall(f"{mark}{re.escape(kept)}[^“”]*”", seen)
    return len(quoted) == seen.count(kept) > 0


@pytest.mark.parametrize("lie", LIES)
def test_why_an_instance_failed(agent: Agent, rent: Callable[..., Instance], alice: User, lie: str) -> None:
    instance = rent(agent)
    tell(agent, instance, "running")
    tell(agent, instance, "failed", failure_code="exited", detail=lie)
    instance.refresh_from_db()
    assert len(instance.failure_detail) <= 300
    assert instance.failure_detail.startswith("The host says: “")
    assert instance.failure_detail.count("”") == 1
    renter, name = Client(), public_id("inst", instance.pk)
    renter.force_login(alice)
    for language, mark in (("en", "The host says: “"), ("zh-hans", "主机称：“")):
        for path in (f"/instances/{name}", "/activity"):
            seen = page_of(renter, path, language)
            assert mark in seen, path
            assert not set(seen) & set("\u202e\u202c\u200b\x1b"), path
            if lie != TURNED:
                assert is_quoted(seen, lie, mark), path
        with override("zh-hans"):
            assert gettext(lie) == lie or gettext(lie) not in seen
    failure = api_of(alice).get(f"/api/v1/instances/{name}").json()["failure"]
    assert failure["detail"] == instance.failure_detail
    events = api_of(alice).get(f"/api/v1/instances/{name}/events").json()["results"]
    assert instance.failure_detail in [event["detail"] for event in events]


def test_what_it_says_while_it_works(agent: Agent, rent: Callable[..., Instance], alice: User) -> None:
    instance = rent(agent)
    renter, path = Client(), "/instances"
    renter.force_login(alice)
    tell(agent, instance, "pulling", detail="Loading …", said=say("loading_image", done=43, total=210, ready=3, layers=7))
    assert "正在加载镜像：已下载 43 / 210 MiB" in page_of(renter, path, "zh-hans")
    tell(agent, instance, "pulling", detail=LINK)
    for language, mark in (("en", "The host says: “"), ("zh-hans", "主机称：“")):
        assert f"{mark}{LINK}”" in page_of(renter, path, language)


def test_why_data_was_not_archived(agent: Agent, rent: Callable[..., Instance], alice: User) -> None:
    """On the page of syncs, in the events of the instance, in both mails and in the API."""
    place = Place("https://s3.example.com", "us-east-1", "models", "", "AKIA", "secret")
    bucket = save_connection(
        owner=alice, name="bucket", tried=CheckedConnection(place, ProbeResult(virtual_host=False, can_write=True))
    )
    api = api_of(alice)
    api.put("/api/v1/archive-default", {"connection": public_id("conn", bucket.pk)}, content_type="application/json")
    with time_machine.travel(clock.now(), tick=False) as traveller:
        instance = rent(agent, data_disk_gb=5)
        tell(agent, instance, "running")
        stop_instance(renter=alice, instance_id=instance.pk)
        tell(agent, instance, "stopped")
        for span in (timedelta(days=30, seconds=1), timedelta(days=2, hours=23)):
            traveller.shift(span)
            start_due_archives(now=clock.now())
            fail_operations(agent, TAKEN_BACK if span.days == 30 else LINK)
            queue_archive_mails(now=clock.now())
            sent()
        traveller.shift(timedelta(hours=1))
        purge_expired(now=clock.now())
        queue_archive_mails(now=clock.now())
        first, last = sent("archive")
    assert f"The host says: “{TAKEN_BACK[:30]}" in first.body
    assert "The host says: “Refunded Confirm at https evil example pay within an hour”." in last.body
    renter = Client()
    renter.force_login(alice)
    name = public_id("inst", instance.pk)
    assert f"主机称：“{TAKEN_BACK}”" in page_of(renter, "/activity", "zh-hans")
    given_up = InstanceEvent.objects.get(instance=instance, kind="archive_given_up")
    assert given_up.detail == f"Not archived within 3 days: The host says: “{LINK}”"
    assert f"3 天内未能归档：主机称：“{LINK}”" in page_of(renter, "/activity", "zh-hans")
    syncs = api.get("/api/v1/syncs").json()["results"]
    assert {row["failure"]["detail"] for row in syncs} >= {f"The host says: “{TAKEN_BACK}”"}
    assert name in str(syncs)


def fail_operations(agent: Agent, detail: str) -> None:
    orders = desired_operations(agent.host)
    assert orders
    agent.sync(report(operations=[ObservedOperation(o.id.hex, "failed", detail=detail, failure_code="x") for o in orders]))
    assert Sync.objects.latest("created_at").failure_detail == f"The host says: “{detail}”"


def test_what_a_self_test_found(agent: Agent, hana: User) -> None:
    test = request_self_test(actor_id=hana.pk, host_id=agent.host)
    checks = [
        Check("kernel", False, actual=LINK, required=TAKEN_BACK),
        Check("of_its_own", False, actual="x", remedy=TAKEN_BACK),
    ]
    facts = replaced(agent, warnings=[TAKEN_BACK, LINK])
    agent.sync(Report(**{**vars(facts), "self_test": SelfTestResult(UUID(str(test.pk)).hex, checks)}))
    owner = Client()
    owner.force_login(hana)
    seen = page_of(owner, "/hosts", "zh-hans")
    for fields in (LINK, TAKEN_BACK):
        assert seen.count(fields) == seen.count(f"“{fields}”") > 1
    assert gettext_zh(TAKEN_BACK) not in seen
    (kernel, other), host = Host.objects.get().self_tests.get().checks, Host.objects.get()
    assert kernel["required"] == other["remedy"] == f"The host says: “{TAKEN_BACK}”"
    assert host.warnings == [f"The host says: “{TAKEN_BACK}”", f"The host says: “{LINK}”"]


def replaced(agent: Agent, **changes: Any) -> Report:
    return report(facts=type(agent.facts)(**{**vars(agent.facts), **changes}))


def gettext_zh(text: str) -> str:
    with override("zh-hans"):
        return gettext(text)


def test_what_its_owner_writes_beside_maintenance(
    agent: Agent, rent: Callable[..., Instance], alice: User, hana: User
) -> None:
    instance = rent(agent)
    tell(agent, instance, "running")
    begins = clock.now() + timedelta(hours=30)
    announce_maintenance(
        actor_id=hana.pk,
        host_id=agent.host,
        category="power",
        starts_at=begins,
        ends_at=begins + timedelta(hours=1),
        detail=TAKEN_BACK,
    )
    notify_of_maintenance()
    renter = Client()
    renter.force_login(alice)
    seen = page_of(renter, f"/instances/{public_id('inst', instance.pk)}", "zh-hans")
    assert seen.count(TAKEN_BACK) == seen.count(f"主机称：“{TAKEN_BACK}”") == 2, "as a notice and among the events"


def test_the_relay_quotes_a_host_as_the_market_does() -> None:
    """It may import nothing of the market, so it has the form once more."""
    words = "The “disk” is full."
    assert quoted_detail(words) == mark_host_text(words) != words
    assert quoted_detail("") == mark_host_text("") == ""
