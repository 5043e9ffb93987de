"""Every text is in both languages. No gettext tools are needed, here or at set-up."""

import re
import string
from pathlib import Path

import polib
import pytest
from django.utils import translation
from django.utils.translation import trans_real

from config import translations

CATALOGUE = polib.pofile(str(translations.catalogue_path("zh_Hans")))
ENTRIES = {(entry.msgctxt, entry.msgid, entry.msgid_plural or None): entry for entry in CATALOGUE}
_PLACES = re.compile(r"%\([a-z_]+\)[sd]|\{[a-z_]*\}")


def _translated(entry: polib.POEntry) -> list[str]:
    return list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]


def test_every_text_is_in_the_catalogue() -> None:
    missing = translations.texts().keys() - ENTRIES.keys()
    assert missing == set(), "run `python -m config.translations gather` and translate"


def test_no_alias_hides_a_text_from_the_gatherer() -> None:
    """It knows the functions by their names; `_` alone may stand for one of them."""
    aliases = re.compile(r"\b(n?p?gettext(?:_lazy|_noop)?) as (?!_\b)(\w+)")
    found = {path.name: aliases.findall(path.read_text(encoding="utf-8")) for path in translations._sources()}
    assert {name: names for name, names in found.items() if names} == {}


def test_catalogue_has_nothing_that_nobody_asks_for() -> None:
    assert ENTRIES.keys() - translations.texts().keys() == set()


def test_every_entry_is_translated() -> None:
    assert [key for key, entry in ENTRIES.items() if not all(_translated(entry)) or entry.fuzzy] == []


def test_translations_keep_the_places_of_values() -> None:
    for entry in CATALOGUE:
        wanted = set(_PLACES.findall(entry.msgid_plural or entry.msgid))
        for text in _translated(entry):
            assert set(_PLACES.findall(text)) <= wanted, entry.msgid
            assert (not entry.msgid_plural and wanted == set(_PLACES.findall(text))) or entry.msgid_plural, entry.msgid


def test_chinese_is_chinese() -> None:
    """Only names and units may read the same in both languages."""
    same = {entry.msgid for entry in CATALOGUE if not entry.msgid_plural and entry.msgstr == entry.msgid}
    assert {text for text in same if set(text) & set(string.ascii_lowercase)} <= {
        "GPUs",
        "Stripe",
        "Webhook",
        "%(percent)s%%",
    }


def test_compiled_catalogue_is_used() -> None:
    translations.compile_all()
    trans_real._translations.clear()  # type: ignore[attr-defined]  # private: what was read before
    with translation.override("zh-hans"):
        assert translation.gettext("My instances") == "我的实例"
        assert translation.ngettext("%(total)s offer", "%(total)s offers", 3) == "%(total)s 个可租资源"
        assert translation.pgettext("days, short", "d") == "天"


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ('{% translate "One (two)" %}', [(None, "One (two)", None)]),
        ("{% translate 'It is' context 'short' %}", [("short", "It is", None)]),
        (
            "{% blocktranslate count n=x %}{{ n }} offer{% plural %}{{ n }} offers{% endblocktranslate %}",
            [(None, "%(n)s offer", "%(n)s offers")],
        ),
        ('{% include "a" with b=_("Said") %}', [(None, "Said", None)]),
    ],
)
def test_texts_of_templates(tmp_path: Path, source: str, wanted: list[translations.Text]) -> None:
    path = tmp_path / "page.html"
    path.write_text(source, encoding="utf-8")
    assert list(translations._texts_in(path)) == wanted


def test_texts_of_code(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text('a = _("One")\nb = ngettext("x", "y", n)\nc = _(name)\nd = pgettext("k", "v")\n', encoding="utf-8")
    assert set(translations._texts_in(path)) == {(None, "One", None), (None, "x", "y"), ("k", "v", None)}
