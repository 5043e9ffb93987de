"""The ways in, clicked: a password that is shown once, ports with their addresses, a log that comes by itself."""

import json

from playwright.sync_api import expect

from common import clock
from common.ids import public_id
from instances.host_reports.operation_results import apply_results
from instances.models import Instance
from storage.models import Operation
from storage.operations.services import OperationRow, record_operations
from tests.web.conftest import Site, has_copied
from tests.web.world import World, order, report


def answer(instance: Instance, q: str, *lines: str) -> None:
    """The host's agent reads the log."""
    operation = Operation.objects.get(kind="read_log", ended_at=None, args__q=q)
    outcome = {"lines": json.dumps([[f"2026-11-21T10:00:0{n}.0Z", line] for n, line in enumerate(lines)]), "cut": ""}
    row = OperationRow(operation.pk, "done", outcome=outcome)
    record_operations(host_id=instance.host_id, rows=[row], at=clock.now())
    apply_results()


def test_ways_in_are_changed_by_clicking(site: Site, world: World) -> None:
    instance = order(world.alice, world.hosts["lab-03"], gpus=1, name="box")
    report(instance, "running")
    page = site.sign_in("alice@example.com")
    page.goto(f"/instances/{public_id('inst', instance.pk)}")
    page.get_by_role("link", name="Manage").click()
    page.get_by_role("button", name="Set password").click()
    password = page.locator("#new-password").inner_text()
    page.get_by_role("button", name="Copy the password").click()
    has_copied(page, password)
    assert len(password) == 20
    page.get_by_role("button", name="Reset password").click()
    page.locator("#ask").get_by_role("button", name="Reset password").click()
    expect(page.locator("#new-password")).not_to_have_text(password)

    page.get_by_role("radio", name="Selected keys only").check()
    page.get_by_role("checkbox", name="alice@laptop").uncheck()
    with page.expect_response("**/access"):
        page.get_by_role("button", name="Save keys").click()
    expect(page.get_by_role("checkbox", name="alice@laptop")).not_to_be_checked()
    page.get_by_label("Allowed IPs and ranges").fill("203.0.113.0/24\nhome")
    page.get_by_role("button", name="Save allowlist").click()
    expect(page.get_by_role("alert")).to_contain_text("home")
    expect(page.get_by_label("Allowed IPs and ranges")).to_have_value("203.0.113.0/24\nhome")
    page.get_by_label("Ports of the container").fill("7860")
    page.get_by_role("button", name="Save ports").click()
    expect(page.get_by_text("Takes effect after the next restart")).to_be_visible()
    instance.refresh_from_db()
    assert instance.ssh_keys == [] and instance.allow_from == []
    expect(page.locator("#port-7860")).to_contain_text(str(dict(instance.ports)[7860]))
    assert len(site.complaints) == 0


def test_a_log_comes_by_itself_and_is_searched(site: Site, world: World) -> None:
    instance = order(world.alice, world.hosts["lab-03"], gpus=1, name="box")
    report(instance, "running")
    page = site.sign_in("alice@example.com")
    page.goto(f"/instances/{public_id('inst', instance.pk)}/logs")
    expect(page.get_by_text("Loading logs from the host…")).to_be_visible()
    answer(instance, "", "Epoch 1 <b>", "日志", "epoch 2")
    expect(page.get_by_text("Epoch 1 <b>")).to_be_visible()  # nobody reloaded the page
    page.get_by_label("Contains").fill("EPOCH")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_text("Loading logs from the host…")).to_be_visible()
    answer(instance, "EPOCH", "Epoch 1", "epoch 2")
    expect(page.locator("mark")).to_have_text(["Epoch", "epoch"])
