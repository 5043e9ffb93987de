"""A form of a page as a browser would send it, read from the HTML."""

from dataclasses import dataclass, field
from html.parser import HTMLParser

_NOT_SENT = ("submit", "button", "reset", "file", "image")


@dataclass
class SentForm:
    """Its address, its successful controls, and the addresses that its parts are fetched from."""

    action: str = ""
    fields: dict[str, list[str]] = field(default_factory=dict)
    parts: list[str] = field(default_factory=list)


class _Reader(HTMLParser):
    def __init__(self, wanted: str) -> None:
        super().__init__()
        self.form, self._wanted, self._inside = SentForm(), wanted, not wanted
        self._text: str | None = None
        self._select: str | None = None
        self._chosen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        if tag == "form" and self._wanted in (named.get("id"), named.get("action")):
            self._inside, self.form.action = True, named["action"]
        if self._inside and "hx-post" in named:
            self.form.parts.append(named["hx-post"])
        if self._inside and tag == "option":
            self._option(named)
        elif self._inside and named.get("name") and "disabled" not in named:
            self._control(tag, named)

    def _control(self, tag: str, named: dict[str, str]) -> None:
        match tag:
            case "input":
                self._input(named)
            case "textarea":
                self._text = named["name"]
                self._keep(self._text, "")
            case "select":
                self._select, self._chosen = named["name"], []

    def _option(self, named: dict[str, str]) -> None:
        if "selected" in named or not self._chosen:
            self._chosen = [named.get("value", "")]

    def _input(self, named: dict[str, str]) -> None:
        kind = named.get("type", "text")
        ticked = kind not in ("checkbox", "radio") or "checked" in named
        if ticked and kind not in _NOT_SENT:
            self._keep(named["name"], named.get("value", "on" if kind == "checkbox" else ""))

    def handle_data(self, data: str) -> None:
        if self._text is not None:
            self.form.fields[self._text][-1] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form" and self._wanted:
            self._inside = False
        elif tag == "textarea" and self._text is not None:
            # A browser leaves out the line break after the tag.
            self.form.fields[self._text][-1] = self.form.fields[self._text][-1].removeprefix("\n")
            self._text = None
        elif tag == "select" and self._select is not None:
            for value in self._chosen:
                self._keep(self._select, value)
            self._select = None

    def _keep(self, name: str, value: str) -> None:
        self.form.fields.setdefault(name, []).append(value)


def read_form(page: str, wanted: str = "") -> SentForm:
    """Read the form with this id or address, or without one all controls of a part of a page."""
    reader = _Reader(wanted)
    reader.feed(page)
    return reader.form
