"""Hostile words (fault 97): what programs, hosts and people say is shown, and does nothing to who reads it."""

import html
import json
import re

import pytest
from django.test import Client

from accounts.models import User
from agents.daemon.operations.read_log import last_matching, split_lines
from common import clock
from instances.host_reports.operation_results import apply_results
from instances.models import Instance
from storage.models import Operation
from storage.operations.services import OperationRow, record_operations
from tests.instances.fake_host import FakeHost, order, order_running, refused, reload

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(1)>"
# Clears the screen, retitles the window, writes to the clipboard, asks the terminal to type for it, hides a link.
ESCAPES = "\x1b[2J\x1b]0;pwned\x07\x1b]52;c;cm0gLXJmIC8=\x07\x1b[6n\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\\x9b31m\u202eevil"


def read_log(client: Client, host: FakeHost, instance: Instance, raw: bytes) -> tuple[str, str]:
    """The page and the API's answer, after the host's agent has read this from its engine."""
    address = f"/api/v1/instances/inst_{instance.pk.hex}/logs"
    client.get(address)
    operation = Operation.objects.get(kind="read_log", ended_at=None)
    lines, _ = last_matching(split_lines(raw), q="", tail=50)
    row = OperationRow(operation.pk, "done", outcome={"lines": json.dumps(lines), "cut": ""})
    record_operations(host_id=host.host.pk, rows=[row], at=clock.now())
    apply_results()
    page = client.get(f"/instances/inst_{instance.pk.hex}/logs")
    assert page.status_code == 200
    return page.content.decode(), client.get(address).content.decode()


def test_fault_097_a_log_that_would_drive_a_terminal_or_a_page(rin: User, host: FakeHost, client: Client) -> None:
    instance = order_running(rin, host)
    client.force_login(rin)
    raw = f"2026-11-25T00:00:00.0Z {ESCAPES} {SCRIPT}\n2026-11-25T00:00:01.0Z 10%\r20%\rdone\n".encode()
    page, answer = read_log(client, host, instance, raw)
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page, "it is shown as what it is"
    assert "click" in page
    lines = [line["text"] if isinstance(line, dict) else str(line) for line in json.loads(answer)["lines"]]
    assert not any(CONTROL.search(line) for line in lines), lines
    assert not any("pwned" in line or "cm0g" in line for line in lines)


def test_fault_097_a_host_that_lies_about_the_lines_is_cleaned_again(rin: User, host: FakeHost, client: Client) -> None:
    """An agent of its owner's making sends the escapes as they are."""
    instance = order_running(rin, host)
    client.force_login(rin)
    client.get(f"/api/v1/instances/inst_{instance.pk.hex}/logs")
    operation = Operation.objects.get(kind="read_log", ended_at=None)
    lines = json.dumps([["2026-11-25T00:00:00.0Z", f"{ESCAPES}{SCRIPT}"]])
    row = OperationRow(operation.pk, "done", outcome={"lines": lines, "cut": ""})
    record_operations(host_id=host.host.pk, rows=[row], at=clock.now())
    apply_results()
    page = client.get(f"/instances/inst_{instance.pk.hex}/logs").content.decode()
    assert "<script>alert" not in page
    assert not CONTROL.search(page), "nothing in the page drives a terminal it is copied into"


@pytest.mark.parametrize("name", [SCRIPT, "'\"><svg onload=alert(1)>", "{{ 7*7 }}{% debug %}"])
def test_fault_097_names_are_text_on_every_page(rin: User, host: FakeHost, client: Client, name: str) -> None:
    instance = order(rin, host, name=name[:80])
    host.settle()
    client.force_login(rin)
    for path in ("/instances", f"/instances/inst_{instance.pk.hex}", "/activity"):
        reply = client.get(path)
        assert reply.status_code == 200, path
        text = reply.content.decode()
        assert "<script>alert" not in text and "<svg onload" not in text and "<img src=x" not in text
        assert html.escape(name[:80]) in text or path == "/activity", "shown as what it is, and no template of ours"
    assert reload(instance).name == name[:80]


@pytest.mark.parametrize("name", ["a\x1b[31mb", "a\nb", "a\u202eb", "a\x00b"])
def test_fault_097_names_that_drive_a_terminal_are_refused(rin: User, host: FakeHost, sign: object, name: str) -> None:
    instance = order_running(rin, host)
    client: Client = sign(rin)  # type: ignore[operator]  # the fixture's function
    with refused():
        reply = client.patch(
            f"/api/v1/instances/inst_{instance.pk.hex}", json.dumps({"name": name}), content_type="application/json"
        )
    assert reply.status_code == 400
    assert reload(instance).name == "box"
