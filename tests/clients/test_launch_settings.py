"""Launch settings by the same options when renting, restarting, changing the image and cloning."""

import json
from collections.abc import Iterator

import pytest

from tests.clients.terminal import Terminal

pytestmark = pytest.mark.stack

SETTINGS = (
    *("-e", "MODE=slow", "-e", "SIZE=tiny", "--secret", "HF_TOKEN", "--args", "--epochs 3 'two words'"),
    *("--readiness", "http:8000/health", "--readiness-grace", "30"),
)


@pytest.fixture
def box(carol: Terminal) -> Iterator[str]:
    carol.must("rent", "4090", "--name", "box", "--yes", *SETTINGS, "--", "python", "train.py")
    yield "box"


def test_all_settings_are_rented_with(carol: Terminal, box: str) -> None:
    launch = carol.json("show", box)["launch"]
    assert (launch["command"], launch["args"]) == (["python", "train.py"], ["--epochs", "3", "two words"])
    assert launch["readiness"] == {"type": "http", "port": 8000, "path": "/health", "grace_seconds": 30}


def test_what_is_not_named_stays(carol: Terminal, box: str) -> None:
    words = ("restart", box, "-e", "MODE=fast", "--unset", "SIZE", "--readiness", "none")
    rehearsed = carol.json(*words, "--dry-run")["launch"]
    assert (rehearsed["env"], rehearsed["readiness"]) == ({"MODE": "fast"}, None)
    assert carol.json("show", box)["launch"]["env"] == {"MODE": "slow", "SIZE": "tiny"}

    launch = carol.json(*words, "--wait")["launch"]
    assert (launch["env"], launch["secrets"], launch["readiness"]) == ({"MODE": "fast"}, ["HF_TOKEN"], None)
    assert (launch["command"], launch["args"]) == (["python", "train.py"], ["--epochs", "3", "two words"])

    carol.must(
        "reimage", box, "berth-base", "--yes", "--unset", "HF_TOKEN", "--secret", "OTHER=1", "--", "python", "serve.py"
    )
    carol.must("wait", box)
    launch = carol.json("show", box)["launch"]
    assert (launch["env"], launch["secrets"]) == ({"MODE": "fast"}, ["OTHER"])
    assert launch["command"] == ["python", "serve.py"]

    carol.must("stop", box, "--wait")
    copy = json.loads(carol.must("clone", box, "--dry-run", "--json", "-e", "MODE=slow", "--args", "--seed 1"))["launch"]
    assert (copy["env"], copy["secrets"], copy["args"]) == ({"MODE": "slow"}, ["OTHER"], ["--seed", "1"])


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--args", "'open"), "No closing quotation"),
        (("--readiness", "ftp:21"), "isn't a check like http:8000/health"),
        (("--readiness", "tcp:5432/path"), "isn't a check like"),
        (("--readiness", "http:70000"), "isn't a check like"),
        (("--readiness-grace", "30"), "goes with a --readiness check"),
    ],
    ids=str,
)
def test_what_is_no_setting_is_refused(carol: Terminal, words: tuple[str, ...], why: str) -> None:
    done = carol.run("rent", "4090", "--dry-run", *words)
    assert (done.returncode, why in done.stderr) == (2, True), done.stderr


def test_only_what_is_there_is_removed(carol: Terminal, box: str) -> None:
    done = carol.run("restart", box, "--unset", "NOWHERE")
    assert (done.returncode, "no such variable or secret" in done.stderr) == (2, True), done.stderr
