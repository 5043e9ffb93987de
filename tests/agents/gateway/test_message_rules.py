"""Whatever an agent says, what is kept and shown keeps to the rules; and one bad word costs itself alone."""

import copy
import dataclasses
import json
import math
import re
import typing
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
import time_machine
from django.db import DatabaseError, transaction
from django.test import Client, override_settings
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import User
from accounts.tokens.services import issue_token
from agents.gateway.message_rules import BOUNDS, OUTCOMES
from agents.protocol.codec import encode
from agents.protocol.messages import (
    DiskUse,
    EnrolRequest,
    GpuSample,
    InstanceSample,
    LayerProgress,
    ObservedInstance,
    ObservedOperation,
    Report,
)
from agents.protocol.telemetry_messages import GpuEvent, SecondTrace
from billing.ledger.wallets import grant_credit, open_wallet
from common import clock
from common.ids import public_id
from common.printable import is_printable
from instances.models import Instance
from instances.orders.quotes import create_quote
from instances.orders.rent import rent_instance
from instances.states import InstanceState
from marketplace.models import Host, HostEvent, Incident, Offer
from marketplace.self_tests.services import request_self_test
from tests.profiles import examples

from .conftest import PRICE, Agent, code_of, facts, report
from .test_self_tests import good_checks

pytestmark = pytest.mark.django_db

ADDRESSES = [
    "x.com; touch pwned #",
    "$(id).x.com",
    "`id`",
    "-oProxyCommand=id",
    "x.com\n",
    "x.com\ny",
    "javascript:alert(1)//",
    "user@evil",
    "<b>",
    "a" * 300,
    ".".join(["a" * 60] * 5),
    "x.com.",
    ".x.com",
    "x..com",
    "x_y.com",
    "x.com:22",
    "http://x.com/",
    "[x.com]",
    "127.1",
    "0x7f.0.0.1",
    "2130706433",
    "256.1.1.1",
    "0.0.0.0",
    "255.255.255.255",
    "224.0.0.1",
    "169.254.169.254",
    "::",
    "fe80::1",
    "fe80::1%eth0",
    "::ffff:10.0.0.1",
    "x\u202ecom",
    "１２７.1",
    " ",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_host_is_enrolled_with_what_is_no_address(client: Client, join_token: Callable[[], str], address: str) -> None:
    token = join_token()
    newcomer = Agent(client, facts=facts(address=address))
    assert code_of(newcomer.enrol(token)) == (400, "invalid_input")
    assert not Host.objects.exists()
    newcomer.facts = facts(address="", hostname=f"{address}-")  # its name stands in for the address that it does not give
    assert code_of(newcomer.enrol(token)) == (400, "invalid_input")
    newcomer.facts = facts()
    assert newcomer.enrol(token).status_code == 201


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_host_keeps_its_address_when_the_agent_gives_none_that_is_one(agent: Agent, address: str) -> None:
    agent.sync(report(facts=facts(address=address, driver="999.1"), engine_age_s=3.5))
    host = Host.objects.get(pk=agent.host)
    assert (host.address, host.driver, host.engine_age_s) == ("127.0.0.1", "999.1", 3.5)
    assert "Report.facts.address" in Incident.objects.get(kind="report_refused_in_part").detail
    assert "Report.facts.address" in HostEvent.objects.get(kind="report_refused_in_part").detail
    with pytest.raises(DatabaseError), transaction.atomic():
        Host.objects.filter(pk=agent.host).update(address=address or "-")
        if re.fullmatch(r"[0-9a-f:.x]+", address):  # the last wall knows forms alone: nothing that a shell would read
            raise DatabaseError


@pytest.mark.parametrize(
    ("given_as", "kept"),
    [
        ("Rig-7.Example.COM", "rig-7.example.com"),
        ("203.0.113.9", "203.0.113.9"),
        ("10.0.0.7", "10.0.0.7"),
        ("2001:DB8::1", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("localhost", "localhost"),
    ],
)
def test_an_address_is_kept_in_one_spelling(agent: Agent, given_as: str, kept: str) -> None:
    agent.sync(report(facts=facts(address=given_as)))
    assert Host.objects.get(pk=agent.host).address == kept
    assert not Incident.objects.exists()


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "localhost", "a.localhost"])
def test_loopback_is_for_a_market_on_loopback(client: Client, join_token: Callable[[], str], address: str) -> None:
    token = join_token()
    newcomer = Agent(client, facts=facts(address=address))
    with override_settings(SITE_URL="https://market.example.org"):
        assert code_of(newcomer.enrol(token)) == (400, "invalid_input")
    assert newcomer.enrol(token).status_code == 201


# -- every other word and figure

LONG = "a number of 5,001 digits"
HOSTILE: list[Any] = [
    None,
    True,
    -1,
    0,
    LONG,
    2**53,
    2**63,
    1e15,
    -1e300,
    math.nan,
    math.inf,
    "",
    "$(id)",
    "x" * 5000,
    "a\u202eb",
    "\u200b\ufeff",
    "\x00",
    "\x1b[31m\r\n",
    "\ud800",
    "javascript:alert(1)",
    "<script>alert(1)</script>",
    "2999-01-01T00:00:00Z",
    "٣٤٥",
    [],
    [None],
    [[[]]],
    {},
    {"a": 1},
    ["x"] * 200,
]


@pytest.fixture
def rented(agent: Agent, alice: User) -> Instance:
    open_wallet(owner_id=alice.pk)
    grant_credit(owner_id=alice.pk, amount_micros=100 * PRICE, actor="staff", key="first", memo="welcome")
    quote = create_quote(renter=alice, offer_id=Offer.objects.get(host=agent.host).pk, image="berth-base", gpu_count=1)
    instance = rent_instance(renter=alice, quote_id=quote.pk, name="train", ssh_key_ids=[])
    agent.sync(report(facts=agent.facts, instances=[ObservedInstance(instance.pk.hex, 1, "running", instance.gpu_uuids)]))
    return instance


def full_report(agent: Agent, instance: Instance, test_id: str) -> dict[str, Any]:
    """A report in which everything is said that can be."""
    gpu = instance.gpu_uuids[0]
    trace = SecondTrace([60, 100], [1, 2], [300, 310], [70, 71], [50, 51], [900, 901])
    use = InstanceSample(50.0, 900, 10, 1, 2, [GpuSample(gpu, 80, 4_000, 71, 310)], trace=trace)
    seen = ObservedInstance(
        id=instance.pk.hex,
        generation=1,
        phase="running",
        gpu_uuids=[gpu],
        container="c0ffee",
        run_seconds=5.0,
        detail="Runs.",
        sample=use,
        layers=[LayerProgress("abcdef012345", 5, 10, "downloading")],
    )
    reported = report(
        facts=dataclasses.replace(agent.facts, warnings=["A sentence."], images=["berth/base:1"]),
        instances=[seen],
        absent=[uuid4().hex],
        foreign=["berth-x"],
        operations=[ObservedOperation(uuid4().hex, "done", outcome={"checksum": "ab", "bytes": "5"})],
        gpu_events=[GpuEvent(gpu, 31)],
        disks=[DiskUse(instance.pk.hex, 5, 10, 1, 10)],
    )
    body: dict[str, Any] = json.loads(encode(reported))
    body["self_test"] = {"id": test_id, "checks": [dataclasses.asdict(check) for check in good_checks(agent.facts)]}
    return body


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every node of a message but those without which it is none."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in below:
        if key != "versions":
            yield (*path, key)
            yield from places(inner, (*path, key))


def changed(message: dict[str, Any], path: tuple[Any, ...], value: Any) -> None:
    node: Any = message
    for key in path[:-1]:
        node = node[key] if isinstance(node, list | dict) and _has(node, key) else {}
    if isinstance(node, list | dict) and _has(node, path[-1]):
        node[path[-1]] = value


def _has(node: Any, key: Any) -> bool:
    return key in node if isinstance(node, dict) else isinstance(key, int) and key < len(node)


PATTERNS = {
    "address": r"[a-z0-9:.-]{1,253}",
    "cuda": r"[0-9]{1,2}\.[0-9]{1,2}",
    "driver": r"[0-9A-Za-z.+~:_ -]{1,40}",
    "kernel": r"[0-9A-Za-z.+~:_-]{1,120}",
    "runtime_version": r"[0-9A-Za-z.+~:_ -]{1,40}",
    "agent_version": r"[0-9A-Za-z.+-]{1,20}",
    "uuid": r"[A-Za-z0-9._:/-]{1,80}",
    "code": r"[a-z_]{1,40}",
    "unit": r"[A-Za-z/]{0,10}",
    "command": r"ssh -p [0-9]{1,5} root@[a-z0-9:.-]{1,253}",
}


def check_shown(value: Any, name: str = "") -> None:
    """A JSON value of the API: text is printable and of a length, codes and words of their form, figures bounded."""
    if isinstance(value, dict):
        for key, inner in value.items():
            check_shown(inner, key)
    elif isinstance(value, list):
        for inner in value:
            check_shown(inner, name)
    elif isinstance(value, str):
        assert is_printable(value), (name, value)
        assert len(value) <= 500, (name, value)
        assert re.fullmatch(PATTERNS.get(name, r".*"), value), (name, value)
    elif isinstance(value, int | float):
        assert math.isfinite(value), name
        assert abs(value) <= 2**50, (name, value)


def test_whatever_an_agent_says_api_and_pages_keep_to_the_rules(
    agent: Agent, rented: Instance, alice: User, hana: User
) -> None:
    """One report in which several values are replaced by hostile ones: it is always taken, and what is shown is lawful."""
    script = Client()
    own = {"authorization": f"Bearer {issue_token(user=alice, name='t', scopes=['instances:read'])[1]}"}
    hosts = {"authorization": f"Bearer {issue_token(user=hana, name='t', scopes=['hosts:read'])[1]}"}
    host, instance = public_id("host", agent.host), public_id("inst", rented.pk)
    seen_by_renter = [f"/api/v1/instances/{instance}{part}" for part in ("", "/access", "/events", "/metrics")]
    seen_by_owner = [f"/api/v1/hosts/{host}", f"/api/v1/hosts/{host}/self-test", f"/api/v1/hosts/{host}/reliability"]
    began = clock.now()

    @settings(max_examples=examples(25, long=150), deadline=None, suppress_health_check=list(HealthCheck))
    @given(data=st.data(), turn=st.integers(1, 10**6))
    def attack(data: st.DataObject, turn: int) -> None:
        test = request_self_test(actor_id=hana.pk, host_id=agent.host)
        body = full_report(agent, rented, test.pk.hex)
        every = list(places(body))
        for path in data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=5)):
            changed(body, path, copy.deepcopy(data.draw(st.sampled_from(HOSTILE))))
        with time_machine.travel(began + timedelta(seconds=turn), tick=False):
            reply = agent.send(as_sent(body))
            assert reply.status_code == 200, reply.content
            for address in seen_by_renter:
                check_shown(script.get(address, headers=own).json())
            for address in seen_by_owner:
                answer = script.get(address, headers=hosts)
                assert answer.status_code == 200, answer.content
                check_shown(answer.json())
            pages = ((f"/instances/{instance}", alice), ("/hosts", hana)) if turn % 5 == 0 else ()  # they take long
            for page, reader in pages:
                browser = Client()
                browser.force_login(reader)  # at this moment: no session lasts for all these days
                shown = browser.get(page)
                assert shown.status_code == 200, page
                text = shown.content.decode()
                assert not set(text) & set("\u202e\u200b\ufeff\x00\x1b"), page
                assert "<script>alert" not in text

    attack()
    assert Host.objects.get(pk=agent.host).last_seen_at >= began


def as_sent(value: Any) -> bytes:
    """JSON as a hostile agent writes it: with NaN, and with a number that is longer than Python reads."""
    return json.dumps(value).replace(json.dumps(LONG), "1" + "0" * 5000).encode()


def test_every_field_of_what_an_agent_sends_has_a_rule() -> None:
    kinds, pending = set(), [Report, EnrolRequest]
    while pending:
        kind = pending.pop()
        if kind in kinds:
            continue
        kinds.add(kind)
        assert set(BOUNDS[kind]) == {item.name for item in dataclasses.fields(kind)}, kind
        pending += [found for hint in typing.get_type_hints(kind).values() for found in messages_in(hint)]
    assert set(BOUNDS) == kinds


def messages_in(hint: Any) -> list[Any]:
    if dataclasses.is_dataclass(hint):
        return [hint]
    return [found for inner in typing.get_args(hint) for found in messages_in(inner)]


@pytest.mark.parametrize("code", ["", "start_failed", "<b>", "no_such_code", "x" * 80])
def test_an_unknown_failure_is_called_so(agent: Agent, rented: Instance, code: str) -> None:
    agent.sync(
        report(instances=[ObservedInstance(rented.pk.hex, 1, "failed", failure_code=code, detail="It\u202e ended.\n")])
    )
    rented.refresh_from_db()
    assert rented.state == InstanceState.FAILED
    shown = {"": "failed", "start_failed": "start_failed"}.get(code, "unknown")
    assert (rented.failure_code, rented.failure_detail) == (shown, "The host says: “It  ended.”")


@pytest.mark.parametrize("name", ["instances", "disks", "operations", "gpu_events", "absent", "foreign"])
def test_what_is_said_twice_does_not_end_the_report(agent: Agent, rented: Instance, name: str) -> None:
    body = full_report(agent, rented, uuid4().hex)
    body[name] = body[name] * 3
    assert agent.send(body).status_code == 200


def test_facts_that_are_refused_as_a_whole_leave_a_trace(agent: Agent) -> None:
    """Stale facts stay, and the staff and the owner can see why; the agent is not asked for them without end."""
    body = json.loads(encode(report(facts=facts(driver="1.2"))))
    body["facts"]["ram_mb"] = "much"
    reply = agent.send(body)
    assert reply.status_code == 200
    assert not json.loads(reply.content)["need_facts"]
    assert Host.objects.get(pk=agent.host).driver == "550.54"
    assert "Report.facts.ram_mb" in Incident.objects.get(kind="report_refused_in_part").detail
    agent.send(body)
    assert HostEvent.objects.filter(kind="report_refused_in_part").count() == 1


@pytest.mark.parametrize("key", ["\x00", "\ud800", "a\nb\x1b[31m\u202e", "x" * 500_000])
def test_what_is_refused_is_named_in_plain_letters(agent: Agent, rented: Instance, key: str) -> None:
    """The keys of a table are words of the agent too: the staff and the owner read them with what was wrong."""
    body = full_report(agent, rented, uuid4().hex)
    body["operations"][0]["outcome"] = {key: 5}
    assert agent.send(body).status_code == 200
    incident, event = (
        Incident.objects.get(kind="report_refused_in_part"),
        HostEvent.objects.get(kind="report_refused_in_part"),
    )
    for reported in (incident.detail, event.detail):
        assert reported.startswith("Report.operations[0].outcome.")
        assert is_printable(reported)
        assert len(reported) <= 200


def test_outcomes_hold_no_number_that_a_column_cannot(agent: Agent) -> None:
    for key in ("bytes", "copied_files", "size_bytes", "stored_bytes"):
        for text in ("9" * 16, "٣", "-1", "1e9", ""):
            with pytest.raises(ValueError, match="of the form"):
                OUTCOMES[key].read(text)
