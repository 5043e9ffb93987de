"""Launch settings on the pages: rented with, shown, changed; secrets are sent and never come back."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from common.errors import InvalidInput
from common.ids import public_id
from instances.launch.dotenv import parse_dotenv
from instances.launch.store import secrets_of
from instances.models import Instance, Launch, Quote
from marketplace.models import Host
from tests.instances.fake_host import FakeHost, order_running

PLANTED = "s3cret-planted"
ROWS = {
    "with_launch": "1",
    "env-0-name": "MODEL",
    "env-0-value": "tiny",
    "env-1-name": "TOKEN",
    "env-1-value": PLANTED,
    "env-1-secret": "on",
    "command": "python serve.py --port 8000",
    "on_start": "echo hi\r\n",
    "dotenv": "# mine\nexport A='x y'\nB=\"1\\n2\"\nC=3 # three\n",
    "ready_type": "http",
    "ready_port": "8000",
    "ready_path": "/health",
}


@pytest.fixture
def page(client: Client, rin: User, host: FakeHost) -> Client:
    Host.objects.update(launch_settings=True)
    client.force_login(rin)
    return client


def choices(**changes: Any) -> dict[str, Any]:
    return {"gpu_count": "1", "image": "berth-base", "data_disk_gb": "0", "hours": "1", "name": "train", **changes}


def quoted(page: Client, host: FakeHost, **changes: Any) -> Quote:
    page.post(f"/offers/{public_id('offr', host.offer.pk)}/rent/quote", choices(**changes), headers={"HX-Request": "true"})
    return Quote.objects.latest("created_at", "id")


def rented(page: Client, host: FakeHost, quote: Quote, **changes: Any) -> Any:
    body = choices(quote_id=public_id("quot", quote.pk), **changes)
    return page.post(f"/offers/{public_id('offr', host.offer.pk)}/rent", body)


def test_the_rent_page_has_the_section(page: Client, host: FakeHost) -> None:
    text = page.get(f"/offers/{public_id('offr', host.offer.pk)}/rent").content.decode()
    for name in ("env-0-name", "env-0-value", "env-0-secret", "dotenv", "command", "on_start", "ready_type", "shm_mb"):
        assert f'name="{name}"' in text


def test_rented_as_typed(page: Client, host: FakeHost) -> None:
    assert rented(page, host, quoted(page, host, **ROWS), **ROWS).status_code == 302
    launch = Instance.objects.get().launch
    assert launch is not None
    assert launch.env == {"MODEL": "tiny", "A": "x y", "B": "1\n2", "C": "3"}
    assert secrets_of(launch) == {"TOKEN": PLANTED}
    assert launch.command == ["/bin/sh", "-c", "python serve.py --port 8000", "sh"]
    assert launch.on_start == "echo hi\n"
    assert launch.readiness == {"type": "http", "port": 8000, "path": "/health", "grace_seconds": 60}


def test_what_was_typed_last_counts_where_the_quote_is_older(page: Client, host: FakeHost) -> None:
    assert rented(page, host, quoted(page, host), **ROWS).status_code == 302
    assert Instance.objects.get().launch is not None


def test_a_wrong_name_is_shown_and_no_secret_comes_back(page: Client, host: FakeHost) -> None:
    answer = rented(page, host, quoted(page, host), **{**ROWS, "env-0-name": "BERTH_X"})
    text = answer.content.decode()
    assert answer.status_code == 400
    assert "env.BERTH_X" in text
    assert PLANTED not in text
    assert not Instance.objects.exists()


@pytest.fixture
def running(page: Client, host: FakeHost, rin: User) -> Instance:
    rented(page, host, quoted(page, host, **ROWS), **ROWS)
    host.settle()
    return Instance.objects.get()


def test_the_page_shows_all_but_the_secret(page: Client, running: Instance) -> None:
    for path in ("", "/launch"):
        text = page.get(f"/instances/{public_id('inst', running.pk)}{path}").content.decode()
        assert "MODEL" in text
        assert "TOKEN" in text
        assert PLANTED not in text
    assert "python serve.py" in text
    assert 'name="source"' in page.get(f"/instances/{public_id('inst', running.pk)}/logs").content.decode()


def test_a_running_one_is_restarted_with_changes(page: Client, running: Instance) -> None:
    path = f"/instances/{public_id('inst', running.pk)}/launch"
    body = {
        "with_launch": "1",
        "env-0-name": "MODEL",
        "env-0-value": "large",
        "env-1-name": "TOKEN",
        "env-1-value": "",
        "env-1-secret": "on",
        "command": "python serve.py --port 8000",
    }
    assert page.post(path, body).status_code == 302
    changed = Instance.objects.get()
    assert changed.state == "restarting"
    assert changed.launch is not None
    assert (changed.launch.env, secrets_of(changed.launch)) == ({"MODEL": "large"}, {"TOKEN": PLANTED})
    assert (changed.launch.on_start, changed.launch.readiness) == ("", None)
    assert changed.launch.command[2] == "python serve.py --port 8000"


def test_others_see_nothing(client: Client, running: Instance, mallory: User) -> None:
    client.force_login(mallory)
    assert client.get(f"/instances/{public_id('inst', running.pk)}/launch").status_code == 404
    assert client.post(f"/instances/{public_id('inst', running.pk)}/launch", {"with_launch": "1"}).status_code == 404
    assert Instance.objects.get().launch_id == running.launch_id


def test_a_form_without_the_fields_changes_nothing(page: Client, running: Instance) -> None:
    page.post(f"/instances/{public_id('inst', running.pk)}/reimage", {"image": "berth-base", "understood": "on"})
    assert Instance.objects.get().launch_id == running.launch_id


def test_an_instance_without_settings_shows_so(page: Client, host: FakeHost, rin: User) -> None:
    instance = order_running(rin, host)
    path = f"/instances/{public_id('inst', instance.pk)}/launch"
    assert page.get(path).status_code == 200
    assert page.post(path, {"with_launch": "1", "env-0-name": "A", "env-0-value": "1"}).status_code == 302
    assert Launch.objects.get().env == {"A": "1"}


@pytest.mark.parametrize("line", ["no equals", "=x", "A B=1"])
def test_a_wrong_line_is_numbered_and_not_repeated(line: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        parse_dotenv(f"A=1\n{line} {PLANTED}")
    assert "2" in refusal.value.detail
    assert PLANTED not in refusal.value.detail


def test_a_dotenv_file() -> None:
    text = 'A=\nB=plain # note\nC="a \\"b\\" $x"\nD=\'a # b\'\nE=a=b\n'
    assert parse_dotenv(text) == {"A": "", "B": "plain", "C": 'a "b" $x', "D": "a # b", "E": "a=b"}
