"""Translations without gettext: `python -m config.translations` compiles, `… gather` adds new texts."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import polib
from django.utils.translation.template import templatize

BASE_DIR = Path(__file__).resolve().parent.parent
LOCALES = ("zh_Hans",)
APPS = ("accounts", "agents", "billing", "common", "config", "instances", "marketplace", "storage", "vast", "workloads")

# Function → positions of (context, singular, plural) among its arguments.
_CALLS = {
    "_": (None, 0, None),
    "gettext": (None, 0, None),
    "gettext_lazy": (None, 0, None),
    "gettext_noop": (None, 0, None),
    "ngettext": (None, 0, 1),
    "ngettext_lazy": (None, 0, 1),
    "pgettext": (0, 1, None),
    "pgettext_lazy": (0, 1, None),
    "npgettext": (0, 1, 2),
    "npgettext_lazy": (0, 1, 2),
}
# What templatize() leaves of a template: calls with string literals, perhaps with `count` as the last argument.
_STRING = r"""u?(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")"""
_TEMPLATE_CALL = re.compile(rf"\b(?:_|n?p?gettext)\({_STRING}(?:, {_STRING})*(?:, count)?\)", re.DOTALL)

# (context, singular, plural); None for missing parts.
Text = tuple[str | None, str, str | None]


def texts() -> dict[Text, list[str]]:
    """Return every text that code or templates mark for translation, with the files that use it."""
    found: dict[Text, list[str]] = {}
    for path in sorted(_sources()):
        name = path.relative_to(BASE_DIR).as_posix()
        for text in _texts_in(path):
            places = found.setdefault(text, [])
            if name not in places:
                places.append(name)
    return found


def _sources() -> Iterator[Path]:
    for app in APPS:
        yield from (path for path in (BASE_DIR / app).rglob("*.py") if "migrations" not in path.parts)
    yield from (BASE_DIR / "templates").rglob("*.html")
    yield from (BASE_DIR / "templates").rglob("*.txt")


def _texts_in(path: Path) -> Iterator[Text]:
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield from _calls(ast.parse(source))
        return
    for call in _TEMPLATE_CALL.finditer(templatize(source)):
        yield from _calls(ast.parse(call.group()))


def _calls(tree: ast.AST) -> Iterator[Text]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        places = _CALLS.get(name)
        if places is None or not node.args:
            continue
        context, singular, plural = (None if at is None else _literal(node, at) for at in places)
        if singular:
            yield context, singular, plural


def _literal(call: ast.Call, at: int) -> str | None:
    argument = call.args[at] if at < len(call.args) else None
    return argument.value if isinstance(argument, ast.Constant) and isinstance(argument.value, str) else None


def catalogue_path(locale: str) -> Path:
    return BASE_DIR / "locale" / locale / "LC_MESSAGES" / "django.po"


def compile_all() -> None:
    for locale in LOCALES:
        source = catalogue_path(locale)
        polib.pofile(str(source)).save_as_mofile(str(source.with_suffix(".mo")))


def gather(locale: str) -> int:
    """Add missing texts to the catalogue and remove unused ones; return how many were added."""
    known = polib.pofile(str(catalogue_path(locale)))
    wanted = texts()
    kept = {(entry.msgctxt, entry.msgid, entry.msgid_plural or None): entry for entry in known}
    for text in kept.keys() - wanted.keys():
        known.remove(kept[text])
    for text in wanted.keys() - kept.keys():
        known.append(_new_entry(text))
    for entry in known:
        entry.occurrences = [(name, "") for name in wanted[entry.msgctxt, entry.msgid, entry.msgid_plural or None]]
    known.sort(key=lambda entry: (entry.occurrences[0][0], entry.msgid))
    known.save()
    return len(wanted.keys() - kept.keys())


def _new_entry(text: Text) -> polib.POEntry:
    context, singular, plural = text
    if plural is None:
        return polib.POEntry(msgctxt=context, msgid=singular)
    return polib.POEntry(msgctxt=context, msgid=singular, msgid_plural=plural, msgstr_plural={0: ""})


def main(arguments: list[str]) -> int:
    if arguments == ["gather"]:
        for locale in LOCALES:
            sys.stdout.write(f"{locale}: {gather(locale)} new texts\n")
        return 0
    compile_all()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
