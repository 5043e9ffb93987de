"""A market that means harm: addresses that are options of ssh, names that steer terminals, answers that never end."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import msgspec
import pytest

from berth import Client, RetryPolicy, errors, models
from berth._core.calls import Call
from berth._core.wire import Site, build
from berth.cli import device, lookup, profiles
from berth.cli.commands import cp, logs
from berth.cli.output import as_json
from tests.clients.lying_server import Market, lying_market, status
from tests.clients.samples import OWN, answers, instance, sample
from tests.clients.terminal import WITH_CTRL_C, Terminal


@pytest.fixture
def market() -> Iterator[Market]:
    with lying_market() as running:
        yield running


@pytest.fixture
def victim(market: Market, tmp_path: Path) -> Terminal:
    return Terminal(tmp_path, market.url, "berth_t")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("user", "-oProxyCommand=touch owned #"),
        ("user", "root\nProxyCommand touch owned"),
        ("user", ""),
        ("host", "-oProxyCommand=touch owned"),
        ("host", "a b"),
        ("host", "h\n    ProxyCommand touch owned"),
        ("host", "[::1]/x"),
        ("port", 0),
        ("port", 70000),
    ],
)
@pytest.mark.parametrize("words", [("ssh", OWN, "nvidia-smi"), ("ssh", OWN, "--config"), ("cp", f"{OWN}:x", "y")])
def test_an_address_of_ssh_is_an_address(
    market: Market, victim: Terminal, words: tuple[str, ...], field: str, value: Any
) -> None:
    bad = instance()
    bad["access"]["ssh"][field] = value
    answers(market, bad, sample(models.AccessOut))
    victim.settings["SSH_AUTH_SOCK"] = "/nowhere"  # an agent that may have a key, or cp uses the API
    done = victim.run(*words)
    assert (done.returncode, "isn't one" in done.stderr) == (5, True), done.stderr
    assert not (victim.home / ".ssh").exists()


def test_the_address_of_an_honest_market_is_used(market: Market, victim: Terminal) -> None:
    answers(market, instance(), sample(models.AccessOut))
    assert "-p 41000 root@203.0.113.1" in victim.must("ssh", OWN, "--print")


def test_an_id_is_one_word(market: Market, victim: Terminal) -> None:
    answers(market, instance(id="a\nProxyCommand x"), sample(models.AccessOut))
    assert victim.run("ssh", OWN, "--config").returncode == 5


@pytest.mark.parametrize("body", [b"[" * 200_000, b'{"a":' * 100_000])
@pytest.mark.parametrize("code", [200, 400])
def test_brackets_without_end_are_an_error_of_the_client(market: Market, code: int, body: bytes) -> None:
    market.tricks = [lambda handler, _: handler.send(code, body)] * 2
    with (
        Client(market.url, "berth_t", retries=RetryPolicy(retries=1, first_pause=0.01)) as client,
        pytest.raises(errors.BerthError),
    ):
        client.me.get()


@pytest.mark.parametrize("text", ["a\x1b[2J", "a\x7fb", "a\x9b2Jb", "a\u202eb", "\U000e0041"])
def test_json_says_the_same_and_steers_no_terminal(market: Market, victim: Terminal, text: str) -> None:
    assert all(each.isprintable() or each == "\n" for each in as_json({"name": text}))
    answers(market, instance(name=text))
    printed = victim.must("show", OWN, "--json")
    assert json.loads(printed)["name"] == text
    assert all(each.isprintable() or each == "\n" for each in printed)


@pytest.mark.parametrize("words", [("show", OWN), ("rm", OWN), ("ls",), ("ls", "-o", "name"), ("show", "box")])
def test_nothing_of_a_name_steers_the_terminal(market: Market, victim: Terminal, words: tuple[str, ...]) -> None:
    bad = instance(name="box\x1b]0;owned\x07\u202e", progress="\x1b[2J", image="\x9b2J")
    one = bad if words[-1] == OWN else {"results": [bad, {**bad, "id": OWN[:-1] + "2"}], "next": None, "previous": None}
    answers(market, one)
    done = victim.run(*words)
    assert all(each.isprintable() or each in "\n\t" for each in done.stdout + done.stderr), done


def test_nothing_of_an_error_steers_the_terminal(market: Market, victim: Terminal) -> None:
    problem = {"code": "\x1b[2J", "title": "", "detail": "\x9b2J", "errors": [{"field": "\x1b", "detail": "\x1b"}]}
    market.tricks = [lambda handler, _: handler.send(400, problem, X_Request_Id="a\x1b[2Jb")]
    done = victim.run("whoami")
    assert all(each.isprintable() or each == "\n" for each in done.stderr), done.stderr


# -- what is meant


class Thing(msgspec.Struct):
    id: str
    name: str


def test_what_is_deleted_without_a_question_is_named_in_full() -> None:
    things = [Thing("vol_abc", "train-2"), Thing("vol_xyz", "")]
    assert lookup.pick(things, "train", "volume", name=lambda each: each.name) is things[0]
    with pytest.raises(Exception, match="whole name: train-2"):
        lookup.pick(things, "train", "volume", name=lambda each: each.name, exact=True)
    things = [Thing("vol_0123456789", "train-2")]
    assert lookup.pick(things, "vol_01234567", "volume", name=lambda each: each.name, exact=True) is things[0]
    for text in ("vol_", "v", "0", "01234567", "vol_0123456"):  # `berth rm vol_$ID --yes` without an ID, among them
        with pytest.raises(Exception, match="There is no volume"):
            lookup.pick(things, text, "volume", name=lambda each: each.name, exact=True)


def test_an_empty_text_means_nothing() -> None:
    """As `berth rm "$NAME" --yes` in a script that never set it."""
    with pytest.raises(click.UsageError, match="empty"):
        lookup.pick([Thing("vol_abc", "")], "", "volume", name=lambda each: each.name)


# -- profiles


def test_a_keyring_that_never_answers_does_not_keep_the_process(victim: Terminal) -> None:
    (victim.home / "keyring.py").write_text("import time\ndef get_password(*words): time.sleep(60)\n")
    (victim.home / "config").mkdir()
    (victim.home / "config" / "config.toml").write_text('[profile.default]\nurl = "http://127.0.0.1:1"\nkeyring = true\n')
    victim.url, victim.token = "", ""
    victim.settings["PYTHONPATH"] = f"{victim.home}:{victim.env['PYTHONPATH']}"
    began = time.monotonic()
    assert "doesn't answer" in victim.run("whoami").stderr
    assert time.monotonic() - began < 30


@pytest.mark.parametrize("name", ["laboratory\U0001f600", 'a"]\n[profile.b', "a\x7f", "é\\"])
def test_a_profile_of_any_name_is_read_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    monkeypatch.setenv("BERTH_CONFIG_DIR", str(tmp_path / "config"))
    profiles.save_place(name, "https://a.example", "berth_t", in_keyring=False)
    assert list(profiles.read_profiles().by_name) == [name]
    assert profiles.config_file().stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("url", ["https://[::1", "https://a:99999", "https://a b/", "https://x\n/", "https://a:b"])
def test_what_is_no_address_is_said_at_once(url: str, victim: Terminal) -> None:
    victim.url = ""
    done = victim.run("login", url, "--token-stdin", text="berth_t")
    assert (done.returncode, "Not an address of a market" in done.stderr) == (2, True), done.stderr


def test_a_token_in_the_clear_is_warned_of(victim: Terminal) -> None:
    done = victim.run("login", "http://market.invalid", "--token-stdin", text="berth_t")
    assert "isn't encrypted" in done.stderr


@pytest.mark.parametrize("text", ['profile = "x"', '[profile]\ndefault = "x"', "default = ["])
def test_a_file_that_makes_no_sense_is_named(victim: Terminal, text: str) -> None:
    (victim.home / "config").mkdir()
    (victim.home / "config" / "config.toml").write_text(text)
    victim.url, victim.token = "", ""
    done = victim.run("profile", "ls")
    assert (done.returncode, "config.toml can't be read" in done.stderr) == (2, True), done.stderr


def test_a_format_that_is_none_is_said(victim: Terminal) -> None:
    victim.settings["BERTH_OUTPUT"] = "jsn"
    done = victim.run("profile", "ls")
    assert (done.returncode, done.stdout, "BERTH_OUTPUT" in done.stderr) == (2, "", True)


def test_reports_of_faults_show_no_token() -> None:
    request = build(
        Call("POST", "/api/v1/x", dict, body={"secrets": {"A": "hidden"}}), Site("https://a.example", "berth_hidden")
    )
    assert "hidden" not in f"{request!r} {Call('POST', '/', dict, body={'a': 'hidden'})!r}"


def test_drives_of_windows_are_local(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cp._local("C:\\x") == "./C:\\x"
    monkeypatch.setattr(cp, "_HAS_DRIVES", True)
    assert (cp._local("C:\\x"), cp._local("x")) == ("C:\\x", "./x")


# -- what a market can no longer decrypt


UNREADABLE = {"failure": "It can't be decrypted.", "failure_code": "output_unreadable"}


def test_a_log_that_the_market_cannot_read_is_not_an_empty_one(market: Market, victim: Terminal) -> None:
    answers(market, instance(), {**sample(models.LogsOut), **UNREADABLE})
    done = victim.run("logs", OWN)
    assert (done.returncode, done.stdout, UNREADABLE["failure"] in done.stderr) == (5, "", True), done.stderr
    older = [{"at": "2026-11-26T00:00:00Z", "text": "epoch 1"}]
    answers(market, instance(), {**sample(models.LogsOut), **UNREADABLE, "lines": older})
    done = victim.run("logs", OWN)
    assert (done.returncode, done.stdout, UNREADABLE["failure"] in done.stderr) == (0, "epoch 1\n", True), done.stderr


def test_an_output_that_the_market_cannot_read_is_said_beside_the_exit_code(market: Market, victim: Terminal) -> None:
    pending = {**sample(models.CommandOut), "state": "pending", "timeout_seconds": 5}
    failure = {"code": "output_unreadable", "detail": "It can't be decrypted."}
    answers(market, instance(), pending, {**pending, "state": "exited", "exit_code": 3, "failure": failure})
    done = victim.run("exec", "--api", OWN, "--", "true")
    assert (done.returncode, done.stdout, failure["detail"] in done.stderr) == (3, "", True), done.stderr


# -- a market that is away for a while


def test_a_log_is_followed_past_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    line = models.LogLine(at="2", text="after")
    outcomes = iter([errors.ConnectionFailed("away"), errors.ConnectionFailed("away"), [line]])

    def read(*_: Any) -> SimpleNamespace:
        outcome = next(outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return SimpleNamespace(lines=outcome)

    monkeypatch.setattr(logs, "read_log", read)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert next(logs._follow("inst_1", {}, [])) == [line]


def test_a_login_goes_on_after_an_outage(market: Market, monkeypatch: pytest.MonkeyPatch) -> None:
    login = {**sample(models.DeviceLoginOut), "interval": 1, "expires_in": 600, "verification_uri": "https://a"}
    token = {**sample(models.DeviceTokenOut), "access_token": "berth_new"}
    answers(market, login, token)
    market.tricks.insert(1, status(500))
    monkeypatch.setattr(time, "sleep", lambda _: None)
    assert device.token_by_device(market.url, ["instances:read"]) == "berth_new"


# -- Ctrl-C


def test_who_interrupts_an_order_learns_how_to_find_it(market: Market, victim: Terminal) -> None:
    quote = {**sample(models.QuoteOut), "id": "quote_1", "hourly_rate": "1.00"}
    market.tricks = [lambda handler, _: handler.send(200, quote), lambda handler, _: time.sleep(20)]
    line = [victim.program[0], "-c", WITH_CTRL_C, "rent", "--quote", "quote_1", "--yes", "--json"]
    with subprocess.Popen(line, env=victim.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as renting:
        ends = time.monotonic() + 30
        while len(market.requests) < 2 and time.monotonic() < ends:
            time.sleep(0.05)
        renting.send_signal(signal.SIGINT)
        out, err = renting.communicate(timeout=30)
    assert (renting.returncode, out) == (130, "")
    key = market.keys()[-1]
    assert f"--quote quote_1 --idempotency-key {key}" in err
    assert json.loads(err.splitlines()[-1])["error"]["exit_code"] == 130


def test_who_stops_waiting_learns_what_is_theirs(market: Market, victim: Terminal) -> None:
    quote = {**sample(models.QuoteOut), "id": "quote_1", "hourly_rate": "1.00"}
    answers(market, quote, *[instance(state="starting")] * 9)
    done = victim.run("rent", "--quote", "quote_1", "--yes", "--timeout", "0.1")
    assert (done.returncode, f"berth rm {OWN}" in done.stderr) == (8, True), done.stderr


@pytest.mark.parametrize("interval", [-1, 10**9])
def test_a_pause_of_the_market_is_bounded(market: Market, victim: Terminal, interval: int) -> None:
    login = {**sample(models.DeviceLoginOut), "interval": interval, "expires_in": 1, "verification_uri": "https://a"}
    answers(market, login)
    began = time.monotonic()
    with subprocess.Popen([*victim.program, "login", market.url, "--device"], env=victim.env, stderr=subprocess.PIPE) as run:
        try:
            if interval > 0:
                time.sleep(1)
            else:
                assert run.wait(30) != 1
        finally:
            run.kill()
    assert time.monotonic() - began < 40
