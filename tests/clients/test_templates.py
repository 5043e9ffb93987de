"""`berth template` and `berth rent --template`: list, make, import, share, rent, delete."""

import json
from collections.abc import Iterator

import pytest

from berth.cli.framework import Refused
from berth.cli.template_options import suiting
from tests.clients.terminal import Terminal
from tests.stack.harness import Stack

pytestmark = pytest.mark.stack

SECRET = "s3cret-of-a-template"


@pytest.fixture
def tiny(alice: Terminal) -> Iterator[str]:
    made = json.loads(
        alice.must(
            *("template", "create", "Tiny server", "--image", "berth-base", "--port", "8000", "--port", "51820/udp"),
            *("--disk", "3", "--json"),
            *(
                "--filter",
                "4090",
                "--min-vram",
                "24",
                "-e",
                "MODEL=tiny",
                "--secret",
                "HF_TOKEN",
                "--",
                "python",
                "serve.py",
            ),
        )
    )
    yield made["id"]
    alice.must("template", "rm", made["id"], "--yes")


def test_a_template_is_made_listed_and_shown(alice: Terminal, tiny: str) -> None:
    assert "tiny-server\n" in alice.must("template", "ls", "-o", "name", "--source", "own")
    assert alice.must("template", "ls", "no such words", "-o", "name") == ""
    made = alice.json("template", "show", "tiny-server")
    version = made["version"]
    assert (made["id"], version["image"], version["data_disk_gb"], version["min_vram_gb"]) == (tiny, "berth-base", 3, 24)
    assert version["launch"]["env"] == {"MODEL": "tiny"}
    assert [(each["name"], each["kind"], each["required"]) for each in version["inputs"]] == [("HF_TOKEN", "secret", True)]
    assert version["launch"]["command"] == ["python", "serve.py"]
    assert [(port["port"], port["protocol"]) for port in version["ports"]] == [(8000, "http"), (51820, "udp")]
    shown = alice.must("template", "show", tiny)
    assert "MODEL=tiny" in shown and "python serve.py" in shown and "HF_TOKEN (required)" in shown


def test_it_is_rented_with_what_it_needs(market: Stack, alice: Terminal, tiny: str) -> None:
    refused = alice.run("rent", "--template", "tiny-server", "--yes")
    assert (refused.returncode, "--input HF_TOKEN=" in refused.stderr) == (2, True)
    wrong = alice.run("rent", "--template", "tiny-server", "--yes", "--input", "OTHER=1")
    assert (wrong.returncode, "no input 'OTHER'" in wrong.stderr) == (2, True)
    assert alice.run("rent", "4090", "--yes", "--input", "A=1").returncode == 2
    port = alice.run("rent", "4090", "--yes", "--port", "70000/udp")
    assert (port.returncode, "isn't a port like 8000 or 51820/udp" in port.stderr) == (2, True)
    alice.settings = {"HF_TOKEN": SECRET}
    done = alice.run(
        *("rent", "--template", "tiny-server", "--input", "HF_TOKEN", "-e", "MODE=fast", "--port", "53/UDP"),
        *("--yes", "--no-wait", "--json"),
    )
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stdout + done.stderr
    instance = json.loads(done.stdout)
    try:
        assert instance["launch"]["env"] == {"MODEL": "tiny", "MODE": "fast"}
        assert (instance["launch"]["secrets"], instance["launch"]["command"]) == (["HF_TOKEN"], ["python", "serve.py"])
        assert instance["launch_template"]["id"] == tiny
        assert instance["data_disk_gb"] == 3
        access = market.client("alice").get(f"/api/v1/instances/{instance['id']}/access").json()
        extra = {(row["container"], row["udp"]) for row in access["ports"] if row["extra"]}
        assert extra == {(8000, False), (51820, True), (53, True)}
    finally:
        alice.must("rm", instance["id"], "--yes", "--wait")


def test_offers_that_do_not_suit_it_are_not_found(alice: Terminal) -> None:
    made = alice.json("template", "create", "Huge", "--image", "berth-base", "--min-vram", "80")
    try:
        none = alice.run("rent", "--template", "huge", "--yes")
        assert (none.returncode, "No offer matches 'vram>=80'" in none.stderr) == (4, True)
    finally:
        alice.must("template", "rm", made["id"], "--yes")


def test_a_template_chooses_neither_the_host_nor_the_number_of_gpus(alice: Terminal) -> None:
    host = alice.json("search", "4090")[0]["host"]["id"]
    for line in (
        f"host={host}",
        f"verified host in [{host}]",
        "4090 count>=2",
        "gpu_count = 2",
        f'region="x" HOST == {host}',
    ):
        refused = alice.run("template", "create", "Chooser", "--image", "berth-base", "--filter", line)
        assert (refused.returncode, "the renter chooses the host" in refused.stderr) == (5, True), refused.stderr
        with pytest.raises(Refused, match="not a template's choice"):  # of a market that stored it before
            suiting(line)
    made = alice.json("template", "create", "Quoter", "--image", "berth-base", "--filter", 'region="host=1 count=2"')
    try:
        assert alice.run("rent", "--template", "quoter", "--dry-run").returncode == 4
    finally:
        alice.must("template", "rm", made["id"], "--yes")


def test_a_link_opens_it_to_others_until_it_is_withdrawn(market: Stack, alice: Terminal, tiny: str) -> None:
    bob = Terminal(alice.home, market.url, market.people["bob"]["token"])
    assert bob.run("template", "show", tiny).returncode == 4
    link = alice.json("template", "share", "tiny-server")["share_token"]
    address = f"{market.url}/templates/share_{link}"
    assert address in alice.must("template", "show", tiny)
    assert bob.json("template", "show", address)["id"] == tiny
    quote = ("rent", "--template", address, "--input", f"HF_TOKEN={SECRET}", "--dry-run", "--json")
    assert json.loads(bob.must(*quote))["launch"]["secrets"] == ["HF_TOKEN"]
    alice.must("template", "share", "tiny-server", "--stop")
    assert bob.run("template", "show", f"share_{link}").returncode == 4


def test_a_docker_run_line_is_read_by_the_market(alice: Terminal) -> None:
    """Here no registry can be reached, which the image is asked of once the options are read."""
    unknown = alice.run("template", "import", "docker run -d -e MODEL=tiny -p 8000:8000 registry.invalid/serve:1 --fast")
    assert (unknown.returncode, "registry.invalid can't be reached" in unknown.stderr) == (5, True), unknown.stderr
    refused = alice.run("template", "import", "docker run --privileged registry.invalid/serve:1", "--save", "Serve")
    assert (refused.returncode, "--privileged" in refused.stderr) == (5, True), refused.stderr
    assert alice.json("template", "ls", "--source", "own") == []


def test_secrets_have_no_values_and_names_are_whole(alice: Terminal, tiny: str) -> None:
    refused = alice.run("template", "create", "X", "--image", "berth-base", "--secret", f"A={SECRET}")
    assert (refused.returncode, SECRET not in refused.stderr) == (2, True)
    assert alice.run("template", "rm", "tiny", "--yes").returncode == 4
    assert alice.json("template", "publish", tiny)["version"]["review"] == "submitted"
    assert alice.json("template", "publish", tiny, "--private")["visibility"] == "private"


INPUTS = ("--input", "SIZE:small|large=small", "--input", "STEPS:number=10", "--input", "KEY:secret", "--input", "TITLE")


def test_everything_that_a_template_has_is_set(alice: Terminal) -> None:
    readme = alice.home / "readme.md"
    readme.write_text("# Tiny\n")
    made = alice.json(
        *("template", "create", "Tiny all", "--image", "berth-base", "--min-cuda", "12.1", "--min-driver", "535.54"),
        *("--readme", str(readme), "--icon", "🚀", "--readiness", "http:8000/health", *INPUTS),
    )
    try:
        version = made["version"]
        assert (made["icon"], version["readme"]) == ("🚀", "# Tiny\n")
        assert (version["min_cuda"], version["min_driver"]) == ("12.1", "535.54")
        assert version["launch"]["readiness"]["port"] == 8000
        found = [(each["name"], each["kind"], each["default"], each["required"]) for each in version["inputs"]]
        assert found == [
            ("SIZE", "choice", "small", False),
            ("STEPS", "number", "10", False),
            ("KEY", "secret", "", True),
            ("TITLE", "text", "", True),
        ]
        assert version["inputs"][0]["choices"] == ["small", "large"]
    finally:
        alice.must("template", "rm", made["id"], "--yes")
    for wrong in ("1X", "SIZE:colour=red", ""):
        refused = alice.run("template", "create", "X", "--image", "berth-base", "--input", wrong)
        assert (refused.returncode, "isn't like NAME" in refused.stderr) == (2, True), refused.stderr


def test_a_change_is_a_new_version_with_the_rest_as_it_was(alice: Terminal, tiny: str) -> None:
    before = alice.json("template", "show", tiny)["version"]
    rehearsed = alice.run("template", "update", "tiny-server", "-e", "MODE=fast", "--dry-run")
    assert (rehearsed.returncode, "Nothing was done" in rehearsed.stderr) == (0, True), rehearsed.stderr
    assert alice.json("template", "show", tiny)["version"] == before

    words = ("template", "update", "tiny-server", "--title", "Tiny!", "-e", "MODE=fast", "--min-cuda", "12.1", "--disk", "5")
    changed = alice.json(*words)
    after = changed["version"]
    assert (changed["title"], after["number"], after["min_cuda"], after["data_disk_gb"]) == ("Tiny!", 2, "12.1", 5)
    assert after["launch"]["env"] == {"MODEL": "tiny", "MODE": "fast"}
    for name in ("image", "inputs", "ports", "filter", "min_vram_gb"):
        assert after[name] == before[name], name
    again = alice.run("template", "update", "tiny-server", "--disk", "5")
    assert "It is as the present version." in again.stderr

    without = alice.json("template", "update", "tiny-server", "--unset", "MODE", "--unset", "HF_TOKEN")["version"]
    assert (without["launch"]["env"], without["inputs"]) == ({"MODEL": "tiny"}, [])
    assert alice.run("template", "update", "tiny-server", "--unset", "NOWHERE").returncode == 2
    assert alice.run("template", "update", "tiny-server").returncode == 2


def test_an_instance_becomes_a_template(carol: Terminal) -> None:
    settings = ("-e", "MODE=slow", "--secret", "HF_TOKEN", "--port", "8000", "--port", "51820/udp", "--disk", "4")
    carol.must("rent", "4090", "--name", "box", "--yes", *settings, "--", "python", "serve.py")
    made = carol.json("template", "create", "From a box", "--from", "box", "-e", "SIZE=tiny")
    version = made["version"]
    assert (version["image"], version["data_disk_gb"]) == ("berth-base", 4)
    assert version["launch"]["env"] == {"MODE": "slow", "SIZE": "tiny"}
    assert version["launch"]["command"] == ["python", "serve.py"]
    assert [(each["name"], each["kind"]) for each in version["inputs"]] == [("HF_TOKEN", "secret")]
    ports = {(each["port"], each["protocol"]) for each in version["ports"]}
    assert ports == {(8000, "http"), (51820, "udp")}
    carol.must("template", "rm", "from-a-box", "--yes")
    assert carol.run("template", "create", "Of nothing").returncode == 2
