"""Secrets that come by other ways than an order's own settings: looked for in all that the market keeps, sends and shows.

By the inputs of a template, by the page of an order, in what a start script prints, by a change of the image, by a clone,
by a registry's login, and by the variables that clients of Vast keep.
"""

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.docker.browser_desk import Engine
from tests.docker.journeys.test_planted_secrets import (
    MARK,
    NO_SECRET,
    OPERATOR,
    api_answers,
    dump,
    found_in,
    pages_of,
    redis_commands,
    sign_in,
    uuid,
)
from tests.stack import renting
from tests.stack.harness import Stack
from tests.storage.stub_registry import StubRegistry
from tests.waiting import wait_until
from tests.web.html_forms import read_form

pytestmark = pytest.mark.docker

AS_INPUT, ON_PAGE, AT_REIMAGE, AT_CLONE, OF_REGISTRY, OF_VAST = (
    f"{MARK}{kind}9Zk" for kind in ("AsInput", "OnPage", "AtReimage", "AtClone", "OfRegistry", "OfVast")
)
WAITS = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n"
TEMPLATE: dict[str, Any] = {
    "title": "Secretive server",
    "image": "desk",
    "launch": {"env": {"OPEN": NO_SECRET}, "on_start": 'echo "it is $TOKEN"'},
    "inputs": [{"name": "TOKEN", "kind": "secret", "required": True}],
    "data_disk_gb": 1,
}


@pytest.fixture
def registry(tmp_path: Path, engine: Any) -> Iterator[StubRegistry]:
    """With one image, which a login alone reads; its program waits."""
    (tmp_path / "wait.c").write_text(WAITS)
    subprocess.run(["gcc", "-static", "-Os", "-s", "-o", tmp_path / "wait", tmp_path / "wait.c"], check=True)
    with StubRegistry() as running:
        running.add("team/app", "v1", layers=[{"wait": (tmp_path / "wait").read_bytes()}], Entrypoint=["/wait"])
        running.logins = {"ann": OF_REGISTRY}
        yield running
        for image in engine.images():
            if any(running.host in name for name in image["RepoDigests"] or []):
                engine.remove_image(image["Id"], force=True)


def test_no_secret_of_another_way_is_kept_sent_or_shown_in_clear(stack: Stack, here: Engine, registry: StubRegistry) -> None:
    alice = stack.client("alice")
    stack.manage("shell", "-c", OPERATOR)
    places: dict[str, bytes] = {}
    with redis_commands(stack) as redis_log:
        template = sent(alice, "launch-templates", TEMPLATE)
        mine = [by_input(alice, template), by_page(stack, alice, template)]
        mine += [by_registry(alice, registry), by_vast(alice)]
        for instance, secret in ((mine[0], AS_INPUT), (mine[1], ON_PAGE), (mine[3], OF_VAST)):
            assert f"TOKEN={secret}" in here.inside(uuid(instance), "bash", "-lc", "env"), "the renter's programs have it"
        places["log of the start script"] = start_script_log(alice, mine[0])
        places["database while they run"] = dump(stack)
        for instance in mine[1:]:
            renting.release(alice, instance)
        change_image(alice, here, mine[0])
        places["database with another image"] = dump(stack)
        renting.act(alice, mine[0], "stop")
        renting.wait_for_state(alice, mine[0], "stopped")
        clone = sent(alice, f"instances/{mine[0]['id']}/clone", {"name": "twin", "secrets": {"TOKEN": AT_CLONE}})
        renting.wait_for_state(alice, clone, "running", timeout=120)
        assert f"TOKEN={AT_CLONE}" in here.inside(uuid(clone), "bash", "-lc", "env")
        starts = ["/instances", f"/templates/{template['id']}", f"/templates/new?instance={clone['id']}", "/images"]
        places["alice's pages"] = pages_of(stack, "alice", [*starts, f"/instances/{clone['id']}"])
        places |= {f"{who}'s pages": pages_of(stack, who, [at]) for who, at in (("hana", "/hosts"), ("stella", "/admin/"))}
        places["the API"] = api_answers(alice, clone) + more_answers(alice, template)
        for instance in (mine[0], clone):
            renting.release(alice, instance)
        assert alice.request("DELETE", "/api/v0/secrets/", json={"key": "TOKEN"}).status_code == httpx.codes.OK
        places["database at the end"] = dump(stack)
    places |= {f"log of {path.stem}": path.read_bytes() for path in stack.folder.glob("*.log")}
    places["commands to Redis"] = redis_log.read_bytes()
    assert all(len(content) > 100_000 for name, content in places.items() if "database" in name or "pages" in name)
    for name in ("database while they run", "alice's pages", "the API"):
        assert NO_SECRET.encode() in places[name], f"{name}: not even what is no secret is found"
    assert {name: found for name, content in places.items() if (found := found_in(content, OF_REGISTRY))} == {}


def sent(client: httpx.Client, path: str, body: dict[str, Any]) -> dict[str, Any]:
    reply = client.post(f"/api/v1/{path}", json=body)
    assert reply.status_code == httpx.codes.CREATED, reply.text
    made: dict[str, Any] = reply.json()
    return made


def ordered(client: httpx.Client, **wishes: Any) -> dict[str, Any]:
    offer = renting.offer_of(client, "one")
    quote = sent(client, "quotes", {"offer": offer["id"], **wishes})
    made = sent(client, "instances", {"quote_id": quote["id"], "name": "secretive"})
    return renting.wait_for_state(client, made, "running", timeout=120)


def by_input(client: httpx.Client, template: dict[str, Any]) -> dict[str, Any]:
    return ordered(client, launch_template=template["id"], inputs={"TOKEN": AS_INPUT})


def by_page(stack: Stack, client: httpx.Client, template: dict[str, Any]) -> dict[str, Any]:
    """As a browser does: the form, its bill, and the form again with what was typed."""
    offer = renting.offer_of(client, "one")
    with sign_in(stack, "alice") as browser:
        shown = browser.get(f"/offers/{offer['id']}/rent", params={"template": template["id"]}).raise_for_status()
        form = read_form(shown.text, "rent-form")
        [price] = [part for part in form.parts if part.endswith("/quote")]
        ours = {"Referer": f"{stack.url}/", "HX-Request": "true"}
        typed = {**form.fields, "input-TOKEN": [ON_PAGE]}
        bill = browser.post(price, data=typed, headers=ours).raise_for_status().text
        done = browser.post(form.action, data={**typed, **read_form(bill).fields}, headers={"Referer": f"{stack.url}/"})
        found = re.search(r"/instances/(inst_[0-9a-f]+)$", str(done.url))
        assert found, done.text[:3000]
    return renting.wait_for_state(client, {"id": found[1]}, "running", timeout=120)


def by_registry(client: httpx.Client, registry: StubRegistry) -> dict[str, Any]:
    sent(client, "registries", {"host": registry.host, "username": "ann", "password": OF_REGISTRY})
    image = sent(client, "images", {"name": f"{registry.host}/team/app:v1"})
    return ordered(client, image=image["slug"], data_disk_gb=1)


def by_vast(client: httpx.Client) -> dict[str, Any]:
    client.post("/api/v0/secrets/", json={"key": "TOKEN", "value": OF_VAST}).raise_for_status()
    asks = client.post("/api/v0/bundles/", json={"num_gpus": {"eq": 1}}).raise_for_status().json()["offers"]
    [ask] = [ask for ask in asks if ask["dph_base"] == 3.6]
    order = {"image": "desk", "disk": 1, "label": "of vast", "runtype": "ssh_direc"}
    client.put(f"/api/v0/asks/{ask['id']}/", json=order).raise_for_status()
    rows = client.get("/api/v1/instances").raise_for_status().json()["results"]
    [made] = [row for row in rows if row["name"] == "of vast"]
    return renting.wait_for_state(client, made, "running", timeout=120)


def start_script_log(client: httpx.Client, instance: dict[str, Any]) -> bytes:
    """What the script has printed, where the secret's value is replaced."""
    path = f"/api/v1/instances/{instance['id']}/logs"

    def read() -> bytes | None:
        answer = client.get(path, params={"source": "on_start"}).raise_for_status()
        return answer.content if "it is …" in answer.text or AS_INPUT in answer.text else None

    found: bytes = wait_until("the log of the start script", read)
    return found


def change_image(client: httpx.Client, here: Engine, instance: dict[str, Any]) -> None:
    body = {"image": "fresh", "secrets": {"TOKEN": AT_REIMAGE}}
    reply = client.post(f"/api/v1/instances/{instance['id']}/reimage", json=body)
    assert reply.status_code == httpx.codes.ACCEPTED, reply.text

    def changed() -> bool:
        runs = renting.read(client, instance)["state"] == "running" and here.runs(uuid(instance))
        return runs and f"TOKEN={AT_REIMAGE}" in here.inside(uuid(instance), "bash", "-lc", "env")

    wait_until("the other image", changed, timeout=120)


def more_answers(client: httpx.Client, template: dict[str, Any]) -> bytes:
    paths: list[str] = [f"launch-templates/{template['id']}", "launch-templates", "registries", "images", "quotes"]
    get: Callable[[str], httpx.Response] = client.get
    answers = [get(f"/api/v1/{path}") for path in paths] + [get("/api/v0/secrets/"), get("/api/v0/instances/")]
    return b"\n".join(answer.content for answer in answers if answer.status_code == httpx.codes.OK)
