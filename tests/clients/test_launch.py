"""`berth launch`: a template by its name on the cheapest offer that suits it, verified hosts first."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from berth import models
from tests.clients.lying_server import Market, lying_market
from tests.clients.samples import answers, sample
from tests.clients.terminal import Terminal


@pytest.fixture
def pytorch(carol: Terminal) -> Iterator[Terminal]:
    """Someone with a template of that name: this market has no official ones."""
    carol.must("template", "create", "PyTorch", "--image", "berth-base", "--filter", "vram>=8")
    yield carol
    carol.must("template", "rm", "pytorch", "--yes")


@pytest.mark.stack
def test_a_template_runs_on_a_fitting_offer(pytorch: Terminal) -> None:
    done = pytorch.run("launch", "pytorch", "--gpu", "4090", "--name", "study", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    instance = json.loads(done.stdout)
    assert (instance["state"], instance["launch_template"]["title"]) == ("running", "PyTorch")
    assert "per hour in total" in done.stderr


@pytest.mark.stack
def test_words_and_options_reach_the_quote(pytorch: Terminal) -> None:
    words = ("launch", "PyTorch", "price<100", "--gpu", "RTX 4090", "--gpus", "2", "--disk", "5", "-e", "MODE=fast")
    quote = json.loads(pytorch.must(*words, "--dry-run", "--json", "--", "python", "train.py"))
    assert (quote["gpu_count"], quote["data_disk_gb"]) == (2, 5)
    assert (quote["launch"]["env"]["MODE"], quote["launch"]["command"]) == ("fast", ["python", "train.py"])
    none = pytorch.run("launch", "pytorch", "price<0.01", "--gpu", "4090", "--yes")
    assert (none.returncode, "No offer matches" in none.stderr) == (4, True)


@pytest.mark.stack
@pytest.mark.parametrize(("wrong", "near"), [("pytroch", "Similar: pytorch"), ("zzz", "`berth template ls` lists them")])
def test_a_name_of_no_template_says_which_are_near(pytorch: Terminal, wrong: str, near: str) -> None:
    done = pytorch.run("launch", wrong, "--gpu", "4090", "--yes")
    assert (done.returncode, f"There is no template '{wrong}'" in done.stderr, near in done.stderr) == (4, True, True)
    assert near in pytorch.run("template", "show", wrong).stderr


@pytest.fixture
def scripted() -> Iterator[Market]:
    with lying_market() as running:
        yield running


def offers(*names: str) -> dict[str, Any]:
    rows = [sample(models.PlacedOffer) | {"id": f"offr_{name}"} for name in names]
    found: dict[str, Any] = sample(models.OfferPage)
    return found | {"results": rows, "total": len(rows)}


@pytest.mark.parametrize(
    ("found", "lines"),
    [([offers("a")], ["verified"]), ([offers(), offers("b")], ["verified", ""])],
    ids=["one", "none"],
)
def test_a_verified_host_comes_first(
    scripted: Market, tmp_path: Path, found: list[dict[str, Any]], lines: list[str]
) -> None:
    template = sample(models.TemplateOut)
    template["version"] |= {"filter": "", "min_vram_gb": None, "min_cuda": "", "inputs": []}
    answers(scripted, template, *found)
    done = Terminal(tmp_path, scripted.url, "berth_t").run("launch", "tiny", "--yes")
    asked = [parse_qs(urlsplit(path).query) for _, path, _, _ in scripted.requests if path.startswith("/api/v1/offers?")]
    assert [each.get("q", [""])[0] for each in asked] == lines, done.stderr
    assert [each["sort"] for each in asked] == [["price"]] * len(lines)
    assert ("this host isn't verified" in done.stderr) == (len(lines) > 1)
