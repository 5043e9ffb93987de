"""README texts: Markdown as HTML that cannot run, load or imitate anything.

HTML in the text is shown as text, and every image becomes a link, so that opening a page tells nobody that it was
opened. Links lead to http, https or mail addresses only. What the parser makes is checked once more by its tags.
"""

from collections.abc import MutableMapping, Sequence
from functools import cache
from typing import Any, Final
from urllib.parse import urlsplit

from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

_TAGS: Final = frozenset(
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
_ATTRIBUTES: Final = frozenset({"href", "rel", "start"})
_SCHEMES: Final = frozenset({"http", "https", "mailto"})
_NESTING: Final = 20


def readme_html(text: str) -> SafeString:
    """Return the text as HTML; headings begin at the third level, since the page has its own above."""
    parser = _parser()
    tokens = parser.parse(text)
    _clean(tokens)
    html: str = parser.renderer.render(tokens, parser.options, {})
    return mark_safe(html)  # noqa: S308  (built from checked tokens)


@cache
def _parser() -> MarkdownIt:
    options = {"html": False, "linkify": False, "maxNesting": _NESTING}
    parser = MarkdownIt("commonmark", options).enable(["table", "strikethrough"])
    parser.validateLink = _is_link  # type: ignore[method-assign]  # the parser's own hook
    parser.add_render_rule("image", _image_as_link)
    return parser


def _is_link(url: str) -> bool:
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return False
    return parts.scheme.lower() in _SCHEMES and (parts.scheme.lower() == "mailto" or bool(parts.netloc))


def _image_as_link(
    renderer: RendererHTML, tokens: Sequence[Token], at: int, options: Any, env: MutableMapping[str, Any]
) -> str:
    token = tokens[at]
    words = renderer.renderInlineAsText(token.children or [], options, env) or str(token.attrs.get("src", ""))
    link = Token("link_open", "a", 1, attrs={"href": str(token.attrs.get("src", "")), "rel": "nofollow noopener noreferrer"})
    return f"{renderer.renderToken([link], 0, options, env)}{escape(words)}</a>"


def escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")


def _clean(tokens: Sequence[Token]) -> None:
    for token in tokens:
        if token.tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
            token.tag = f"h{min(6, int(token.tag[1]) + 2)}"
        _check(token)
        if token.children and token.type != "image":
            _clean(token.children)


def _check(token: Token) -> None:
    """Keep allowed tags and attributes only; a fence's info string is dropped, since it would become a class."""
    if token.type == "image":
        return
    if token.tag and token.tag not in _TAGS:
        token.type, token.tag, token.content = "text", "", ""
    token.info = ""
    token.attrs = {name: value for name, value in token.attrs.items() if _is_allowed(name, str(value))}
    if token.type == "link_open":
        token.attrs["rel"] = "nofollow noopener noreferrer"


def _is_allowed(name: str, value: str) -> bool:
    if name == "href":
        return _is_link(value)
    return name in _ATTRIBUTES
