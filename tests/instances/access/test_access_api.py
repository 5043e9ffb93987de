"""Ways into an instance through the doors of the market: keys, password, addresses, ports, the log, links."""

import json
import subprocess
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from django.test import Client, override_settings
from pytest_django import DjangoCaptureOnCommitCallbacks, Settings

from accounts.models import SshKey, User
from accounts.ssh_keys.services import add_ssh_key, remove_ssh_key
from agents.protocol.stream_grants import open_grant
from agents.protocol.tickets import read_stream_ticket, read_ticket
from common import change_counters, clock
from common.encryption import decrypt
from common.ids import public_id
from instances.access import credentials, extra_ports, logs
from instances.core.selectors import desired_instances
from instances.core.wakeup_payloads import early_order_key
from instances.host_reports.operation_results import apply_results
from instances.launch.settings import validate
from instances.launch.store import save_launch
from instances.models import Instance, InstanceEvent, InstancePort, LogRead
from instances.release.services import release_instance
from marketplace.models import Host
from storage.models import Operation
from storage.operations.services import OperationRow, fail_overdue, record_operations
from tests.host_messages import with_message
from tests.instances.fake_host import FakeHost, order_running, reload
from tests.instances.fixtures import Clock, Sign
from tests.instances.test_api import path, post, quoted
from tests.stored_rows import stored_text

SENT = "common.jobs._send"


@pytest.fixture
def api(rin: User, sign: Sign) -> Client:
    return sign(rin)


@pytest.fixture
def running(rin: User, host: FakeHost) -> Instance:
    return order_running(rin, host)


def key(user: User) -> SshKey:
    made = Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return add_ssh_key(user=user, name="a key", public_key=made.decode())


def change(client: Client, instance: Instance, **body: Any) -> Any:
    return client.patch(path(instance, "/access"), body, content_type="application/json")


def desired_row(host: FakeHost, instance: Instance) -> Any:
    """What the host's agent is told of it."""
    return next(row for row in desired_instances(host.host.pk) if row.id == instance.pk)


# -- keys


def test_new_keys_of_the_account_reach_instances_with_all_keys(
    rin: User, api: Client, host: FakeHost, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    first = key(rin)
    every = order_running(rin, host)
    some = order_running(rin, host)
    assert change(api, some, ssh_key_ids=[public_id("key", first.pk)]).json()["all_keys"] is False
    with patch(SENT) as sent, django_capture_on_commit_callbacks(execute=True):
        second = key(rin)
    sent.assert_any_call("instances.follow_keys", (rin.pk.hex,))  # its owner is written to, too
    assert credentials.apply_account_keys(user_id=rin.pk) == 1
    assert set(desired_row(host, every).ssh_keys) == {second.public_key, first.public_key}
    assert desired_row(host, some).ssh_keys == [first.public_key]

    with patch(SENT) as sent, django_capture_on_commit_callbacks(execute=True):
        remove_ssh_key(user=rin, key_id=first.pk)
    sent.assert_called_once_with("instances.follow_keys", (rin.pk.hex,))
    assert credentials.apply_all_account_keys() == 2  # the hint was lost: the sweep finds both
    assert credentials.apply_all_account_keys() == 0
    assert (desired_row(host, every).ssh_keys, desired_row(host, some).ssh_keys) == ([second.public_key], [])
    assert change(api, some, ssh_key_ids=None).json()["ssh_keys"] == [second.public_key]
    kinds = InstanceEvent.objects.filter(instance=some, kind__startswith="keys_").order_by("pk")
    assert list(kinds.values_list("kind", "actor")) == [
        ("keys_changed", "renter"),
        ("keys_followed", "system"),
        ("keys_changed", "renter"),
    ]


def test_keys_are_the_renters_own(rin: User, api: Client, running: Instance, bob: User) -> None:
    assert change(api, running, ssh_key_ids=[public_id("key", key(bob).pk)]).status_code == 404
    assert change(api, running, ssh_key_ids=["key_1"]).status_code == 404
    assert reload(running).ssh_keys == []


def test_a_change_wakes_the_host(
    api: Client, running: Instance, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    before = change_counters.version_of(f"host:{running.host_id.hex}")
    with django_capture_on_commit_callbacks(execute=True):
        change(api, running, allow_from=["203.0.113.7"])
    assert change_counters.version_of(f"host:{running.host_id.hex}") > before


# -- the password


def test_a_password_is_told_once_and_is_what_crypt_knows(api: Client, host: FakeHost, running: Instance) -> None:
    reply = post(api, path(running, "/password"), key="one")
    password = reply.json()["password"]
    assert (reply.status_code, len(password)) == (201, 20)
    hashed = desired_row(host, running).password_hash
    script = "print crypt($ARGV[0], $ARGV[1])"
    crypt = subprocess.run(["perl", "-e", script, password, hashed], capture_output=True, text=True, check=True)
    assert crypt.stdout == hashed
    repeated = post(api, path(running, "/password"), key="one").json()
    assert repeated == {**reply.json(), "password": None}
    assert desired_row(host, running).password_hash == hashed
    assert post(api, path(running, "/password?dry_run=true")).json()["password"] is None

    stored = reload(running)
    assert password not in stored.sealed_password and hashed not in stored.sealed_password
    assert decrypt(stored.sealed_password) == hashed
    assert api.get(path(running, "/access")).json()["password_set_at"] is not None
    assert password not in api.get(path(running, "/events")).content.decode()

    assert post(api, path(running, "/password")).json()["password"] != password
    assert desired_row(host, running).password_hash != hashed
    for _ in range(2):
        assert api.delete(path(running, "/password")).json()["password_set_at"] is None
    assert desired_row(host, running).password_hash == ""


# -- addresses


def test_addresses_are_networks(api: Client, host: FakeHost, running: Instance) -> None:
    reply = change(api, running, allow_from=["203.0.113.7", " 2001:db8::/32", "203.0.113.7/32"])
    assert reply.json()["allow_from"] == ["203.0.113.7/32", "2001:db8::/32"]
    assert desired_row(host, running).allow_from == ["203.0.113.7/32", "2001:db8::/32"]
    wrong = change(api, running, allow_from=["203.0.113.0/24", "203.0.113.1/24", "everyone"])
    assert wrong.status_code == 400
    assert [error["field"] for error in wrong.json()["errors"]] == ["allow_from.1", "allow_from.2"]
    assert change(api, running, allow_from=["10.0.0.1"] * 33).status_code == 400
    assert desired_row(host, running).allow_from == ["203.0.113.7/32", "2001:db8::/32"]
    assert change(api, running, allow_from=[]).json()["allow_from"] == []


# -- ports


def test_extra_ports_keep_their_numbers_and_change_with_the_next_start(
    rin: User, api: Client, host: FakeHost, running: Instance
) -> None:
    opened = change(api, running, ports=[7860, 8000]).json()
    numbers = {row["container"]: row["host"] for row in opened["ports"] if row["extra"]}
    assert set(numbers) == {7860, 8000} and opened["ports_pending"] is True
    closed = change(api, running, ports=[8000]).json()
    assert {row["container"]: row["host"] for row in closed["ports"] if row["extra"]} == {8000: numbers[8000]}
    taken = InstancePort.objects.filter(instance=running)
    assert extra_ports.free_closed_ports() == 0  # its container may have it still
    assert numbers[7860] in taken.values_list("host_port", flat=True)

    post(api, path(running, "/restart"))
    host.settle()
    after = api.get(path(running, "/access")).json()
    assert after["ports"] == closed["ports"] and after["ports_pending"] is False
    assert extra_ports.free_closed_ports() == 1
    assert sorted(taken.values_list("host_port", flat=True)) == sorted(row["host"] for row in after["ports"])
    release_instance(renter=rin, instance_id=running.pk)
    host.settle()
    assert not taken.exists()


def test_what_cannot_be_an_extra_port(api: Client, running: Instance) -> None:
    for ports in ([22], [8888], [0], [65536], list(range(3000, 3009))):
        assert change(api, running, ports=ports).status_code == 400, ports
    assert change(api, running, ports=[3000, 3000]).json()["ports"][-1]["container"] == 3000


def test_all_of_a_change_or_nothing(api: Client, running: Instance) -> None:
    assert change(api, running, allow_from=["203.0.113.7"], ports=[22]).status_code == 400
    assert reload(running).allow_from == []


def test_ports_can_be_ordered_with_the_rent(api: Client, host: FakeHost) -> None:
    body = {"quote_id": quoted(api, host), "name": "served", "ports": [7860]}
    made = post(api, "/api/v1/instances", body).json()
    shown = api.get(f"/api/v1/instances/{made['id']}/access").json()
    assert [row["container"] for row in shown["ports"] if row["extra"]] == [7860]
    assert shown["ports_pending"] is False


def udp_of(access: dict[str, Any]) -> list[int]:
    return [row["container"] for row in access["ports"] if row["udp"]]


def test_udp_ports_are_published_for_both_protocols_at_one_number(api: Client, host: FakeHost, running: Instance) -> None:
    Host.objects.update(publishes_udp=True)
    change(api, running, ports=[7860])
    opened = change(api, running, udp_ports=[51820]).json()
    assert [row["container"] for row in opened["ports"] if row["extra"]] == [7860, 51820]
    assert udp_of(opened) == [51820] and opened["ports_pending"] is True
    assert desired_row(host, running).udp_ports == [51820]
    # `ports` lists all of them: one that stays keeps its protocols, one that is left out is closed.
    assert udp_of(change(api, running, ports=[51820]).json()) == [51820]
    assert change(api, running, udp_ports=[22]).json()["errors"][0]["field"] == "udp_ports.0"
    assert change(api, running, ports=list(range(1, 8)), udp_ports=[8, 9]).status_code == 400
    closed = change(api, running, ports=[7860]).json()
    assert udp_of(closed) == [] and desired_row(host, running).udp_ports == []
    details = [event["detail"] for event in api.get(path(running, "/events")).json()["results"]]
    assert any("51820/udp" in text for text in details)


def test_a_host_that_udp_does_not_reach_is_refused(api: Client, host: FakeHost, running: Instance) -> None:
    Host.objects.update(publishes_udp=True, udp_reached=True)
    assert udp_of(change(api, running, udp_ports=[51820]).json()) == [51820]
    Host.objects.update(udp_reached=False)  # as its last self-test found
    order = {"quote_id": quoted(api, host), "name": "served", "udp_ports": [51820]}
    for reply in (change(api, running, udp_ports=[51820, 53]), post(api, "/api/v1/instances", order)):
        assert (reply.status_code, reply.json()["code"]) == (409, "udp_unsupported")
        assert "self-test" in reply.json()["detail"]
    assert desired_row(host, running).udp_ports == [51820], "what it has stays open"


@pytest.mark.parametrize("changes", [{"publishes_udp": False}, {"publishes_udp": True, "address": ""}])
def test_a_host_that_would_lose_udp_is_refused(
    api: Client, host: FakeHost, running: Instance, changes: dict[str, Any]
) -> None:
    order = {"quote_id": quoted(api, host), "name": "served", "udp_ports": [51820]}
    Host.objects.update(**changes)
    before = reload(running).ports
    for reply in (change(api, running, udp_ports=[51820]), post(api, "/api/v1/instances", order)):
        assert (reply.status_code, reply.json()["code"]) == (409, "udp_unsupported")
    assert reload(running).ports == before and Instance.objects.count() == 1
    Host.objects.update(publishes_udp=True, address="127.0.0.1")
    made = post(api, "/api/v1/instances", order).json()
    Host.objects.update(**changes)  # it comes behind NAT later, or gets an older agent
    assert udp_of(api.get(f"/api/v1/instances/{made['id']}/access").json()) == []
    other = Instance.objects.exclude(pk=running.pk).get()
    assert change(api, other, ports=[51820, 8000]).status_code == 200, "what it has needs no leave"
    Host.objects.update(publishes_udp=True, address="127.0.0.1")
    assert udp_of(api.get(f"/api/v1/instances/{made['id']}/access").json()) == [51820]


def test_an_ending_instance_has_no_ways_in(rin: User, api: Client, running: Instance) -> None:
    release_instance(renter=rin, instance_id=running.pk)
    for reply in (change(api, running, ports=[1]), post(api, path(running, "/password"))):
        assert (reply.status_code, reply.json()["code"]) == (409, "unlawful_action")


# -- the log


def answer(host: FakeHost, lines: object, **more: Any) -> Operation:
    """The host's agent ends the reading that it was asked for."""
    operation = record(host, lines, **more)
    apply_results()
    return operation


def record(host: FakeHost, lines: object, **more: Any) -> Operation:
    """The end is reported, and not applied yet."""
    operation = Operation.objects.get(kind="read_log", ended_at=None)
    outcome = {"lines": json.dumps(lines), "cut": ""}
    row = OperationRow(operation.pk, **with_message({"phase": "done", "outcome": outcome, **more}))
    record_operations(host_id=host.host.pk, rows=[row], at=clock.now())
    return operation


def test_a_log_is_asked_of_the_host_and_told_when_it_has_come(
    api: Client, host: FakeHost, running: Instance, hours: Clock
) -> None:
    address = path(running, "/logs?tail=50&q=Epoch")
    first = api.get(address).json()
    assert first == {"lines": [], "cut": False, "reading": True, "read_at": None, "failure": None, "failure_code": None}
    assert api.get(address).json() == first  # one question is asked once
    operation = answer(host, [["2026-11-21T10:00:00Z", "epoch 1\0"], ["2026-11-21T10:00:01Z", "epoch 2"], "nonsense", [1]])
    assert operation.args == {"instance": running.pk.hex, "tail": "2000", "show": "50", "q": "Epoch", "since": ""}
    assert not Operation.objects.filter(pk=operation.pk).exists()  # what it brought is nobody else's
    known = api.get(address).json()
    assert [line["text"] for line in known["lines"]] == ["epoch 1", "epoch 2"]
    assert known["reading"] is False
    hours.advance(seconds=3)
    host.sync()
    older = api.get(address).json()
    assert (older["reading"], len(older["lines"])) == (True, 2)

    answer(host, [], phase="failed", failure_code="no_container", detail="It has no container.")
    assert api.get(address).json()["failure"] == "It has no container."
    hours.advance(minutes=11)
    assert logs.delete_old_logs(now=clock.now()) == 1
    assert not LogRead.objects.exists()


def test_a_log_is_never_stored_with_a_secret_in_it(api: Client, rin: User, host: FakeHost, running: Instance) -> None:
    """It is recorded with the report, and its secrets are hidden in a transaction of its own."""
    launch = save_launch(rin, validate({"secrets": {"KEY": "hunter22"}}))
    Instance.objects.filter(pk=running.pk).update(launch=launch)
    address = path(running, "/logs")
    api.get(address)
    record(host, [["2026-11-21T10:00:00Z", "KEY=hunter22"]])
    assert stored_text("storage_operation", "hunter22") == []
    apply_results()
    assert stored_text("instances_logread", "hunter22") == []
    assert [line["text"] for line in api.get(address).json()["lines"]] == ["KEY=…"]


def test_a_log_that_cannot_be_decrypted_is_not_an_empty_one(
    api: Client, rin: User, host: FakeHost, running: Instance
) -> None:
    address = path(running, "/logs")
    api.get(address)
    record(host, [["2026-11-21T10:00:00Z", "epoch 1"]])
    with override_settings(SECRET_KEY="another"):
        assert apply_results() == 1
    known = api.get(address).json()
    assert (known["lines"], known["reading"], known["failure_code"]) == ([], False, "output_unreadable")
    assert "can't be decrypted" in known["failure"]
    browser = Client()
    browser.force_login(rin)
    page = browser.get(f"/instances/{public_id('inst', running.pk)}/logs").content.decode()
    assert "be read" in page and "be decrypted" in page and "No output yet." not in page


def test_a_log_whose_secrets_cannot_be_hidden_is_not_shown(
    api: Client, rin: User, host: FakeHost, running: Instance
) -> None:
    with override_settings(SECRET_KEY="another"):
        launch = save_launch(rin, validate({"secrets": {"KEY": "hunter22"}}))
    Instance.objects.filter(pk=running.pk).update(launch=launch)
    address = path(running, "/logs")
    api.get(address)
    answer(host, [["2026-11-21T10:00:00Z", "KEY=hunter22"]])
    known = api.get(address).json()
    assert (known["lines"], known["reading"], known["failure_code"]) == ([], False, "output_unreadable")
    assert stored_text("instances_logread", "hunter22") == []


def test_a_search_does_not_find_out_a_secret(api: Client, rin: User, host: FakeHost, running: Instance) -> None:
    """Who may read logs, but not connect, would otherwise learn it letter by letter: by lines, their number or `cut`."""
    launch = save_launch(rin, validate({"secrets": {"KEY": "hunter22"}}))
    Instance.objects.filter(pk=running.pk).update(launch=launch)
    at, token = "2026-11-21T10:00:00Z", running.jupyter_token
    for q, lines, shown in (
        ("hunt", [[at, "own hunt"], [at, "KEY=hunter22"], [at, "HUNTER22 hunter22"]], ["own hunt", "HUNTER22 …"]),
        (token[:3], [[at, f"lab?token={token}"]], []),
        ("KEY", [[at, "KEY=hunter22"]], ["KEY=…"]),
    ):
        address = path(running, f"/logs?tail=2&q={q}")
        api.get(address)
        answer(host, lines, outcome={"lines": json.dumps(lines), "cut": "" if shown else "yes"})
        known = api.get(address).json()
        assert ([line["text"] for line in known["lines"]], known["cut"]) == (shown, False)


def test_a_log_that_nobody_answers_fails_and_is_asked_again(
    api: Client, host: FakeHost, running: Instance, hours: Clock
) -> None:
    api.get(path(running, "/logs"))
    hours.advance(seconds=31)
    host.sync()
    assert fail_overdue(now=clock.now()) == 1
    apply_results()
    known = api.get(path(running, "/logs")).json()
    assert (known["failure"], known["reading"]) == ("It took too long.", False)
    hours.advance(minutes=5)
    silent = api.get(path(running, "/logs"))
    assert (silent.status_code, silent.json()["code"]) == (409, "log_unavailable")
    host.sync()
    assert api.get(path(running, f"/logs?q={'训' * 100}")).json()["reading"] is True
    for wrong in ("tail=0", "tail=2001", "since=yesterday", "q=" + "x" * 101):
        assert api.get(path(running, f"/logs?{wrong}")).status_code == 400


# -- programs in the browser


def test_a_link_names_this_instance_and_port_and_ends(api: Client, running: Instance, settings: Settings) -> None:
    settings.RELAY_WEB_HOST, settings.RELAY_URL = "apps.example.org", "https://relay.example.org"
    link = post(api, path(running, "/web-links"), {"port": 8888}, key="link").json()
    label = f"{running.pk.hex}-8888"
    head, _, tail = link["url"].partition("/relay/v1/web/")
    assert head == f"https://{label}.apps.example.org"
    leave, _, page = tail.partition("/")
    assert page == f"lab?token={running.jupyter_token}"
    now = clock.now().timestamp()
    ticket = read_ticket(settings.RELAY_SECRET, leave, now=now)
    kind, named, visit = ticket.topic.split(":", 2)
    assert (kind, named, ticket.expires_at) == ("open", label, int(now) + 300)
    stream = read_stream_ticket(settings.RELAY_SECRET, visit, now=now)
    grant = open_grant(early_order_key(running.host_id, 0).hex(), stream.grant, now=now)
    assert (grant.instance, grant.kind, grant.port, grant.once) == (running.pk.hex, "port", 8888, False)
    assert grant.expires_at == int((clock.now() + timedelta(hours=8)).timestamp())
    assert post(api, path(running, "/web-links"), {"port": 8888}, key="link").json()["url"] is None


def test_what_no_link_leads_to(rin: User, api: Client, running: Instance, settings: Settings) -> None:
    settings.RELAY_WEB_HOST = ""
    off = post(api, path(running, "/web-links"), {"port": 8888})
    assert (off.status_code, off.json()["code"]) == (409, "web_links_off")
    settings.RELAY_WEB_HOST = "apps.example.org"
    for port, status in ((22, 404), (70000, 400)):
        assert post(api, path(running, "/web-links"), {"port": port}).status_code == status
    post(api, path(running, "/stop"))
    assert post(api, path(running, "/web-links"), {"port": 8888}).json()["code"] == "not_running"


def test_a_list_that_the_host_cannot_keep_is_refused(api: Client, running: Instance) -> None:
    assert api.get(path(running, "/access")).json()["allow_from_kept"] is None
    Host.objects.filter(pk=running.host_id).update(keeps_ssh_list=False)
    reply = change(api, running, allow_from=["203.0.113.7"])
    assert (reply.status_code, reply.json()["code"]) == (409, "allow_list_not_kept")
    shown = api.get(path(running, "/access")).json()
    assert (shown["allow_from"], shown["allow_from_kept"]) == ([], False)
    order = {"offer": f"offr_{running.offer_id.hex}"}
    for networks, status in ((["203.0.113.7"], 409), (["10.0.0.1/8"], 400), ([], 201)):
        assert post(api, "/api/v1/quotes", {**order, "allow_from": networks}).status_code == status
    assert change(api, running, allow_from=[]).status_code == 200
    Host.objects.filter(pk=running.host_id).update(keeps_ssh_list=True)
    assert change(api, running, allow_from=["203.0.113.7"]).json()["allow_from_kept"] is True
