"""docs/apply.md: its example runs as it stands, and its tables are what the program has."""

import re
from pathlib import Path

import pytest

from berth.cli.declared.kinds import INSTANCE, TEMPLATE, VOLUME
from berth.cli.declared.plans import SIGNS
from tests.clients.terminal import Terminal

pytestmark = pytest.mark.stack

PAGE = (Path(__file__).resolve().parent.parent.parent / "docs" / "apply.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"<!-- test: (\w+) -->\n```yaml\n(.*?)```", PAGE, re.DOTALL))


def test_the_example_runs(alice: Terminal, tmp_path: Path) -> None:
    assert PAGE.count("```yaml") == len(EXAMPLES) == 1
    file = tmp_path / "berth.yaml"
    file.write_text(EXAMPLES["train"], encoding="utf-8")
    alice.settings = {"HF_TOKEN": "s3cret-value"}
    assert "3 to create" in alice.must("plan", "-f", str(file))
    alice.must("apply", "-f", str(file), "--yes")
    launch = alice.json("show", "train")["launch"]
    assert (launch["env"], launch["secrets"]) == ({"MODE": "fast"}, ["HF_TOKEN"])
    assert alice.run("plan", "-f", str(file), "--exit-code").returncode == 0
    alice.must("destroy", "-f", str(file), "--yes")
    assert alice.json("ls") == []


@pytest.mark.parametrize(("kind", "fields"), [("instance", INSTANCE), ("volume", VOLUME), ("template", TEMPLATE)])
def test_the_table_names_every_field(kind: str, fields: dict[str, object]) -> None:
    (row,) = re.findall(rf"^\| `{kind}` \|.*\| (.*) \|$", PAGE, re.MULTILINE)
    assert re.findall(r"`(\w+)`", row) == list(fields)


def test_the_table_explains_every_sign() -> None:
    explained = set(re.findall(r"^\| `(.)` \|", PAGE, re.MULTILINE))
    assert explained == set(SIGNS.values()) - {"-"}
