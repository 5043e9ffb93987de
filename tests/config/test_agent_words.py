"""What agents say while they work is known to the console."""

import ast
from collections.abc import Iterator
from pathlib import Path

from django.utils.translation import override

from agents.daemon.engine.pull_watch import Layers
from agents.gateway.host_words import PROGRESS_WORDS, as_said
from config.agent_words import agent_words

DAEMON = Path(__file__).resolve().parents[2] / "agents" / "daemon"


def sentences() -> Iterator[str]:
    """The whole sentences that operations hand to `progress`, and work on instances to `say`."""
    for path in DAEMON.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and _name_of(node.func) in ("progress", "_told", "say"):
                said = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
                yield from (word for word in said if isinstance(word, str) and word[:1].isupper() and word.endswith("."))


def _name_of(called: ast.expr) -> str:
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def test_every_sentence_of_an_operation_has_words() -> None:
    said = set(sentences())
    assert "Receiving." in said
    assert said <= PROGRESS_WORDS


def test_the_reader_s_language() -> None:
    with override("zh-hans"):
        assert all(agent_words(sentence) != sentence for sentence in PROGRESS_WORDS)
        assert "Dialling" not in agent_words("Cut off: timed out. Dialling again.")
        loading = agent_words(as_said("Loading the image: 43 of 210 MiB, 3 of 7 layers ready."))
        assert loading == "正在加载镜像：已下载 43 / 210 MiB，3 / 7 层已就绪。"
        assert agent_words(as_said("<b> of a later agent")) == "主机称：“<bdi>&lt;b&gt; of a later agent</bdi>”"


def test_the_sentence_of_a_pull_is_known() -> None:
    layers = Layers()
    sentence = layers.sentence
    assert as_said(sentence) == sentence
