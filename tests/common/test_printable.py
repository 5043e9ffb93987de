"""One rule for names, in Python and in PostgreSQL."""

import unicodedata

import pytest
from django.apps import apps
from django.core.exceptions import ValidationError
from django.db import IntegrityError, connection
from rest_framework import serializers

from common.errors import InvalidInput
from common.http.fields import NameField, NameText
from common.printable import (
    Printable,
    PrintableField,
    check_printable,
    cut_printable,
    is_printable,
    is_printable_sql,
    replace_unprintable,
    validate_printable,
)

KEPT = ["", "T4 in Kraków", "深度学习 一号", "\u3000", "a\u00a0b", "naïve", "名字（甲）", "👍🏽", "✌️", "नमस्ते", "O'Neil <b>"]
REFUSED = {
    "line feed": "a\nBcc: x@y.z",
    "carriage return": "a\rb",
    "tab": "a\tb",
    "escape": "\x1b[31mred",
    "delete": "a\x7f",
    "C1 control": "a\x85b",
    "soft hyphen": "a\xadb",
    "zero width space": "\u200b",
    "zero width joiner": "a\u200db",
    "right-to-left mark": "a\u200f",
    "right-to-left override": "exe\u202ecod",
    "isolate": "a\u2066b\u2069",
    "line separator": "a\u2028b",
    "byte order mark": "\ufeffa",
    "Hangul filler": "\u3164",
    "braille blank": "\u2800",
    "tag": "a\U000e0041",
    "no character": "a\uffff",
}
OF_PYTHON_ALONE = {"NUL": "a\x00b", "half a surrogate pair": "a\ud800b"}


@pytest.mark.parametrize("text", KEPT)
def test_what_people_write_is_kept(text: str) -> None:
    assert is_printable(text)
    check_printable("name", text)


@pytest.mark.parametrize("text", [*REFUSED.values(), *OF_PYTHON_ALONE.values()], ids=[*REFUSED, *OF_PYTHON_ALONE])
def test_what_does_not_show_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_printable("name", text)
    assert [error.field for error in caught.value.errors] == ["name"]
    with pytest.raises(ValidationError):
        validate_printable(text)
    with pytest.raises(InvalidInput):
        PrintableField(name="name").get_db_prep_save(text, connection)
    assert is_printable(replace_unprintable(text))


def test_no_control_character_and_no_surrogate_is_printable() -> None:
    unseen = [chr(code) for code in range(0x110000) if unicodedata.category(chr(code)) in ("Cc", "Cs", "Zl", "Zp")]
    assert [character for character in unseen if is_printable(character)] == []


@pytest.mark.django_db
def test_the_database_draws_the_same_line() -> None:
    codes = [code for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT code FROM unnest(%s) AS code WHERE NOT ({is_printable_sql('chr(code)')})", [codes])
        refused = {row[0] for row in cursor.fetchall()}
    assert refused == {code for code in codes if not is_printable(chr(code))}


NAMES = ["T4 in Kraków", "深度学习 一号", "👍🏽", "✌️", "नमस्ते", "機　械", "O'Neil <b>"]
NO_NAMES = {**REFUSED, **OF_PYTHON_ALONE, "spaces": "  ", "variation selectors": "\ufe0f\ufe0f", "combining marks": "\u0301"}


@pytest.mark.parametrize("text", NAMES)
def test_a_name_that_people_write_passes_every_form(text: str) -> None:
    assert NameText(max_length=80).run_validation(text) == NameField(max_length=80).clean(text) == text


@pytest.mark.parametrize("text", [*NO_NAMES.values(), "x" * 81], ids=[*NO_NAMES, "too long"])
def test_a_name_that_does_not_show_passes_none(text: str) -> None:
    # At an end, white space is not part of a name.
    text = f"a{text}b" if text.strip() not in ("", text) else text
    with pytest.raises(serializers.ValidationError):
        NameText(max_length=80).run_validation(text)
    with pytest.raises(ValidationError):
        NameField(max_length=80).clean(text)


def test_names_that_look_alike_are_the_same_text() -> None:
    assert (
        NameText().run_validation("Cafe\u0301")
        == NameField().clean("Cafe\u0301")
        == cut_printable("Cafe\u0301", 80)
        == "Café"
    )


@pytest.mark.django_db
@pytest.mark.parametrize("character", ["\n", "\u200b", "\u202e", "\ufeff"])
def test_the_tables_hold_the_rule(character: str) -> None:
    rules = {
        rule.name: rule for model in apps.get_models() for rule in model._meta.constraints if isinstance(rule, Printable)
    }
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT conname, pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE convalidated AND conname = ANY(%s)",
            [list(rules)],
        )
        found = dict(cursor.fetchall())
        assert found.keys() == rules.keys()
        assert len(rules) >= 20
        for name, expression in found.items():
            tried = f"SELECT {expression} FROM (SELECT %s::varchar AS {rules[name].column}) AS row"
            cursor.execute(tried, [f"a{character}b"])
            assert cursor.fetchone() == (False,), name
            cursor.execute(tried, ["深度学习 一号 👍🏽"])
            assert cursor.fetchone() == (True,), name


@pytest.mark.django_db
def test_a_row_with_another_name_is_refused_past_every_model() -> None:
    with pytest.raises(IntegrityError, match="team_name_is_printable"), connection.cursor() as cursor:
        cursor.execute("INSERT INTO accounts_team (id, name, created_at) VALUES (gen_random_uuid(), 'a\nb', now())")
