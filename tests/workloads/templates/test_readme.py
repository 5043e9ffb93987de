"""README texts can't run, load or imitate anything in a reader's page."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workloads.templates.readme import readme_html

ALLOWED = set(
    [
        "p",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "em",
        "strong",
        "s",
        "code",
        "pre",
        "blockquote",
        "hr",
        "br",
        "a",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    ]
)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def tags(text: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(readme_html(text))
    return parser.found


def check(text: str) -> None:
    for tag, attrs in tags(text):
        assert tag in ALLOWED
        assert set(attrs) <= {"href", "rel", "start"}
        if tag == "a":
            assert re.match(r"(https?://|mailto:)", attrs["href"] or "", re.IGNORECASE), attrs


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](java\tscript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](//evil.example/a)",
        "[x](/wallet/top-up)",
        "![x](https://evil.example/pixel.png)",
        '![x"><script>](https://e.example/"onerror=1)',
        "<https://e.example/><b>",
        "```html\n<script>\n```",
        "[a]: javascript:alert(1)\n[a]",
        "| a |\n|:-:|\n| <b> |",
        "- " * 500 + "deep",
        "[" * 3000,
    ],
)
def test_hostile_text_is_only_text(text: str) -> None:
    check(text)
    assert not any(tag == "img" for tag, _attrs in tags(text))


@given(st.text(max_size=300) | st.text("<>[]()!`*_|#-\n \"'&:/ajscriptx", max_size=300))
def test_any_text_is_only_text(text: str) -> None:
    check(text)


def test_plain_markdown_is_formatted() -> None:
    html = readme_html("# Title\n\n**bold** [link](https://example.org)")
    assert "<h3>Title</h3>" in html and "<strong>bold</strong>" in html
    assert 'rel="nofollow noopener noreferrer"' in html
