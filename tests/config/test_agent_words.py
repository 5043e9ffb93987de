"""What agents say while they work is known to the console."""

import ast
from collections.abc import Iterator
from pathlib import Path

from django.utils.translation import override

from config.agent_words import AGENT_WORDS, agent_words

DAEMON = Path(__file__).resolve().parents[2] / "agents" / "daemon"


def sentences() -> Iterator[str]:
    """The whole sentences that operations hand to `progress`."""
    for path in DAEMON.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "progress":
                said = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
                yield from (word for word in said if isinstance(word, str) and word[:1].isupper() and word.endswith("."))


def test_every_sentence_of_an_operation_has_words() -> None:
    said = set(sentences())
    assert "Receiving." in said
    assert said <= AGENT_WORDS


def test_the_reader_s_language() -> None:
    with override("zh-hans"):
        assert all(agent_words(sentence) != sentence for sentence in AGENT_WORDS)
        assert "Dialling" not in agent_words("Cut off: timed out. Dialling again.")
        assert agent_words("<b> of a later agent") == '<span lang="en">&lt;b&gt; of a later agent</span>'
