"""The text of a PDF that reportlab wrote, by its fonts: enough of the format to read our own papers without a tool."""

import re
import zlib
from base64 import a85decode

_STREAM = re.compile(rb"<<(.*?)>>\s*stream\r?\n(.*?)endstream", re.DOTALL)
_FONT = re.compile(rb"/(F\d+(?:\+\d+)?) (\d+) 0 R")
_TOKEN = re.compile(rb"/(F[\d+]+) [\d.]+ Tf|\((?P<text>(?:\\.|[^\\()])*)\) Tj|(?P<line>T\*)|(?P<end>ET)", re.DOTALL)
_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"}


def text_of(document: bytes) -> str:
    """Every string shown, in the order in which it is drawn; one line for each text object or line in it."""
    wide = _wide_fonts(document)
    return "\n".join(_text(content, wide) for content in _contents(document))


def _contents(document: bytes) -> list[bytes]:
    found = []
    for head, body in _STREAM.findall(document):
        raw = body.strip()
        if b"ASCII85Decode" in head:
            raw = (
                a85decode(raw, adobe=raw.startswith(b"<~")) if raw.startswith(b"<~") else a85decode(raw.removesuffix(b"~>"))
            )
        if b"FlateDecode" in head:
            raw = zlib.decompress(raw)
        if b" Tf" in raw:
            found.append(raw)
    return found


def _wide_fonts(document: bytes) -> set[bytes]:
    """Names of fonts whose strings are UTF-16: the composite ones."""
    names = dict(_FONT.findall(document))
    objects = dict(re.findall(rb"(\d+) 0 obj\s*(.*?)endobj", document, re.DOTALL))
    return {name for name, number in names.items() if b"/Type0" in objects.get(number, b"")}


def _text(content: bytes, wide: set[bytes]) -> str:
    parts: list[str] = []
    font = b""
    for token in _TOKEN.finditer(content):
        if token[1]:
            font = token[1]
        elif token["text"] is not None:
            raw = _ESCAPE.sub(_unescaped, token["text"])
            parts.append(raw.decode("utf-16-be" if font in wide else "cp1252"))
        else:
            parts.append("\n")
    return "".join(parts)


def _unescaped(match: re.Match[bytes]) -> bytes:
    code = match[1]
    return bytes([int(code, 8)]) if code[:1].isdigit() else _LETTERS.get(code, code)
