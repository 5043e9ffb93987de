"""The command line against a whole market with a simulated host: every daily verb, its JSON, its exit codes."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.terminal import Terminal
from tests.stack.harness import Stack

pytestmark = pytest.mark.stack

RENT = ("rent", "rtx-4090", "--disk", "10", "--yes", "--timeout", "120")


@pytest.fixture
def box(alice: Terminal) -> Iterator[str]:
    """A running instance, released afterwards."""
    instance = alice.json(*RENT, "--name", "box")
    yield instance["id"]
    alice.run("rm", instance["id"], "--yes", "--wait")


def test_from_the_login_to_the_release(market: Stack, signed_out: Terminal) -> None:
    token = market.people["bob"]["token"]
    assert "Log in with `berth login" in signed_out.run("ls").stderr
    signed_out.must("login", market.url, "--token-stdin", text=token + "\n")
    config = signed_out.home / "config" / "config.toml"
    assert config.stat().st_mode & 0o777 == 0o600
    assert "bob@example.com" in signed_out.must("whoami")
    assert token not in signed_out.must("whoami", "--json")

    assert "RTX 4090" in signed_out.must("search", "4090", "price<10")
    rented = signed_out.run(*RENT, "--name", "train", "--output", "name")
    assert (rented.returncode, rented.stdout) == (0, "train\n"), rented.stderr
    assert "per hour in total" in rented.stderr and "running" in rented.stderr
    assert signed_out.json("ls")[0]["name"] == "train"
    assert signed_out.json("show", "tra")["state"] == "running"
    assert "simulated" in signed_out.must("logs", "train").lower()
    assert signed_out.json("stop", "train", "--wait")["state"] == "stopped"
    assert signed_out.json("start", "train")["state"] == "running"
    signed_out.must("rename", "train", "eval")
    assert signed_out.json("rm", "eval", "--yes", "--wait")[0]["state"] == "gone"
    assert signed_out.json("ls") == []

    signed_out.must("logout")
    assert signed_out.run("whoami").returncode == 3
    assert token not in config.read_text()


def test_a_dry_run_rents_nothing(alice: Terminal) -> None:
    before = alice.json("ls")
    quote = json.loads(alice.must("rent", "4090", "--dry-run", "--json"))
    assert quote["id"].startswith("quot_")
    assert alice.json("ls") == before


def test_a_price_that_is_too_high_is_refused(alice: Terminal) -> None:
    done = alice.run("rent", "4090", "--max-price", "0.01", "--yes")
    assert (done.returncode, done.stdout) == (6, "")
    assert "more than --max-price 0.01" in done.stderr


def test_an_order_is_repeated_by_quote_and_key_without_a_second_instance(alice: Terminal) -> None:
    quote = json.loads(alice.must("rent", "4090", "--dry-run", "--json"))["id"]
    again = ("rent", "--quote", quote, "--idempotency-key", "order-7", "--yes", "--no-wait")
    first, second = alice.json(*again), alice.json(*again)
    assert first["id"] == second["id"]
    assert [each["id"] for each in alice.json("ls")].count(first["id"]) == 1
    alice.must("rm", first["id"], "--yes", "--wait")


def test_what_it_runs_is_said_on_the_line(alice: Terminal) -> None:
    script, variables = alice.home / "start.sh", alice.home / "variables"
    script.write_text("echo ready\n")
    variables.write_text("# of the model\nMODEL=tiny\n\nPATH_IN=/data/in=out\n")
    alice.settings = {"API_TOKEN": "s3cret-value", "HERE": "from here"}
    settings: tuple[str, ...] = (
        "-e",
        "GREETING=hello world",
        "-e",
        "HERE",
        "--env-file",
        str(variables),
        "--secret",
        "API_TOKEN",
    )
    settings += ("--on-start", str(script), "--shm", "64", "--workdir", "/root", "--name", "launched")
    done = alice.run("rent", "4090", "--yes", "--no-wait", "--json", *settings, "--", "python", "train.py", "--json")
    assert done.returncode == 0, done.stderr
    assert "s3cret-value" not in done.stdout + done.stderr
    launch = json.loads(done.stdout)["launch"]
    env = {"GREETING": "hello world", "HERE": "from here", "MODEL": "tiny", "PATH_IN": "/data/in=out"}
    assert (launch["env"], launch["secrets"]) == (env, ["API_TOKEN"])
    assert launch["command"] == ["python", "train.py", "--json"]
    assert (launch["on_start"], launch["shm_mb"], launch["workdir"]) == ("echo ready\n", 64, "/root")
    alice.must("rm", "launched", "--yes", "--wait")

    refused = alice.run("rent", "4090", "--yes", "--secret", "NOWHERE")
    assert (refused.returncode, "NOWHERE has no value" in refused.stderr) == (2, True)
    assert alice.run("rent", "4090", "--yes", "-e", "1X=2").returncode == 2


def test_a_quote_is_ordered_as_it_is(alice: Terminal) -> None:
    quote = json.loads(alice.must("rent", "4090", "--dry-run", "--json"))["id"]
    commands: tuple[tuple[str, ...], ...] = (
        ("--template", "pytorch"),
        ("-e", "A=1"),
        ("--secret", "A=1"),
        ("--gpus", "1"),
        ("--image", "berth-base"),
        ("4090",),
        ("--", "python", "train.py"),
    )
    for words in commands:
        done = alice.run("rent", "--quote", quote, "--yes", *words)
        assert (done.returncode, "--quote orders what the quote says" in done.stderr) == (2, True), f"{words}: {done.stderr}"
    assert alice.json("ls") == []
    order = ("--name", "by quote", "--max-price", "100", "--port", "8000", "--json")
    assert json.loads(alice.must("rent", "--quote", quote, "--dry-run", *order))["id"] == quote


def test_no_input_reads_no_secret(alice: Terminal) -> None:
    words = ("rent", "4090", "--dry-run", "--secret", "API_TOKEN")
    assert alice.run(*words, text="s3cret\n").returncode == 0
    done = alice.run(*words, "--no-input", text="s3cret\n")
    assert (done.returncode, "API_TOKEN has no value" in done.stderr) == (2, True), done.stderr


def test_names_ids_and_beginnings(alice: Terminal, box: str) -> None:
    for text in ("box", box, box[:12], box.removeprefix("inst_")[:8], "bo"):
        assert alice.json("show", text)["id"] == box, text
    assert alice.run("show", "nobody").returncode == 4
    other = alice.json(*RENT, "--name", "boy", "--no-wait")["id"]
    ambiguous = alice.run("show", "bo")
    assert (ambiguous.returncode, "means several" in ambiguous.stderr) == (2, True)
    alice.must("rm", other, "--yes", "--wait")


def test_nothing_waits_for_an_answer_that_can_not_come(alice: Terminal, signed_out: Terminal, market: Stack) -> None:
    for words in (("rent", "4090"), ("rm", "x"), ("login",)):
        done = alice.run(*words, timeout=30)
        assert done.returncode in (2, 4), words
    done = alice.run("rent", "4090")
    assert (done.returncode, "--yes" in done.stderr) == (2, True)
    assert alice.json("ls") == []
    assert "--token-stdin" in signed_out.run("login", market.url).stderr


def test_errors_are_json_where_the_output_is(alice: Terminal) -> None:
    done = alice.run("search", "prise<1", "--json")
    assert (done.returncode, done.stdout) == (5, "")
    error = json.loads(done.stderr)["error"]
    assert (error["code"], error["status"], error["hint"]) == ("search_syntax", 400, "Did you mean price?")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("frobnicate",), 2),
        (("show",), 2),
        (("show", "nobody"), 4),
        (("rent", "4090 price<0.0001", "--yes"), 4),
        (("api", "GET", "/instances/inst_1"), 4),
        (("api", "POST", "/tokens", "-f", "name="), 5),
        (("cp", "a", "b"), 2),
        (("port-forward", "x", "99999"), 2),
        (("ssh-key", "add", "/nowhere.pub"), 4),
    ],
)
def test_exit_codes(alice: Terminal, words: tuple[str, ...], code: int) -> None:
    done = alice.run(*words)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert done.stderr and "Traceback" not in done.stderr


def test_exit_codes_of_access_money_network_and_time(alice: Terminal, market: Stack, box: str, tmp_path: Path) -> None:
    poor = Terminal(tmp_path / "poor", market.url, market.fund("poor@example.com", "0"))
    assert poor.run("rent", "4090", "--yes").returncode == 6
    wrong = Terminal(tmp_path / "wrong", market.url, "berth_000000000000_" + "x" * 43)
    assert wrong.run("ls").returncode == 3
    narrow = alice.json("token", "create", "narrow", "--scope", "billing:read")["token"]
    refused = Terminal(tmp_path / "narrow", market.url, narrow).run("ls")
    assert (refused.returncode, "instances:read" in refused.stderr) == (3, True)
    assert alice.run("wait", box, "--for", "stopped", "--timeout", "0.1").returncode == 8
    lost = Terminal(tmp_path / "lost", "http://127.0.0.1:1", "berth_x").run("search", "x")
    assert (lost.returncode, "can't be reached" in lost.stderr) == (7, True)
    simulated = alice.run("ssh", box)
    assert (simulated.returncode, "simulated" in simulated.stderr) == (5, True)


READS = (
    ("whoami",),
    ("profile", "ls"),
    ("search", "4090"),
    ("ls",),
    ("wallet",),
    ("wallet", "--entries"),
    ("cost",),
    ("cost", "--by", "day"),
    ("ssh-key", "ls"),
    ("token", "ls"),
    ("team", "ls"),
    ("volume", "ls"),
    ("volume", "hosts"),
    ("snapshot", "ls"),
    ("image", "ls"),
    ("host", "ls"),
    ("host", "earnings"),
    ("api", "GET", "/me"),
)


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_every_reading_verb_has_clean_output_in_every_format(market: Stack, alice: Terminal, words: tuple[str, ...]) -> None:
    who = Terminal(alice.home, market.url, market.people["hana" if words[0] == "host" else "alice"]["token"])
    json.loads(who.must(*words, "--json"))
    for form in ("table", "wide", "name"):
        text = who.must(*words, "--output", form)
        assert "\x1b" not in text, "no colour in a pipe"


def test_keys_tokens_and_teams(alice: Terminal) -> None:
    key = alice.home / "k"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "desk", "-f", key], check=True)
    assert "private key" in alice.run("ssh-key", "add", str(key)).stderr
    added = alice.json("ssh-key", "add", f"{key}.pub", "--name", "desk")
    assert added["id"] in alice.must("ssh-key", "ls", "-o", "name")
    alice.must("ssh-key", "rm", "desk")
    assert added["id"] not in alice.must("ssh-key", "ls", "-o", "name")

    made = alice.json("token", "create", "ci", "--scope", "instances:read", "--days", "7")
    assert made["token"].startswith("berth_") and made["expires_at"]
    alice.must("token", "revoke", made["id"])
    assert made["id"] not in alice.must("token", "ls", "-o", "name")

    team = alice.json("team", "create", "lab")
    assert alice.must("team", "ls", "-o", "name") == "lab\n"
    assert alice.json("team", "members", "lab")[0]["email"] == "alice@example.com"
    alice.must("api", "DELETE", f"/teams/{team['id']}")


def test_volumes(alice: Terminal) -> None:
    (host,) = alice.json("volume", "hosts")
    made = alice.json("volume", "create", "data", "--size", "1", "--host", host["id"])
    assert made["name"] == "data"
    assert alice.must("volume", "ls", "-o", "name") == "data\n"
    alice.must("volume", "rm", "data", "--yes")


def test_owners_verbs(market: Stack, alice: Terminal) -> None:
    hana = Terminal(alice.home, market.url, market.people["hana"]["token"])
    assert hana.json("host", "show", "sim")["name"] == "sim"
    assert hana.json("host", "price", "sim", "3.70")["offers"][0]["price_hourly"] == "3.70"
    assert hana.json("host", "price", "sim", "3.60")["offers"][0]["price_hourly"] == "3.60"
    hana.must("host", "drain", "sim")
    assert hana.json("host", "show", "sim")["draining"] is True
    hana.must("host", "drain", "sim", "--stop")
    command = hana.must("host", "add", "rack-7", "--region", "local", "--price", "1.20")
    assert re.search(r"berth-agent enrol|curl ", command)


def test_the_completion_script(signed_out: Terminal) -> None:
    assert "_BERTH_COMPLETE" in signed_out.must("completion", "bash")
    environment = {"_BERTH_COMPLETE": "bash_complete", "COMP_WORDS": "berth sea", "COMP_CWORD": "1"}
    signed_out.settings = environment
    assert "search" in signed_out.run().stdout
