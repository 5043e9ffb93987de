"""The tests refuse undefined variables of our templates, and leave other people's alone."""

from contextlib import suppress
from typing import Any

import pytest
from django.template import Context, Engine, Origin, Template

from tests import strict_templates
from tests.strict_templates import TEMPLATES, UndefinedVariable

LOADED = "{% load i18n %}"


def rendered(source: str, names: dict[str, Any], folder: object = TEMPLATES) -> str:
    engine = Engine(builtins=["config.tags"], libraries={"i18n": "django.templatetags.i18n"})
    return Template(LOADED + source, Origin(f"{folder}/allauth/elements/page.html"), engine=engine).render(Context(names))


@pytest.fixture
def forgotten() -> Any:
    """What this test provokes is not held against it."""
    yield
    strict_templates._found.clear()


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize(
    "source",
    [
        "{{ missing }}",
        "{{ row.missing }}",
        "{{ row.known.missing }}",
        "{{ missing|default:'-' }}",
        "{{ row.known|default:missing }}",
        "{% if missing %}yes{% endif %}",
        "{% if not row.missing %}yes{% endif %}",
        "{% if row.missing is not None %}yes{% endif %}",
        "{% if row.known and row.missing %}yes{% endif %}",
        "{% for each in missing %}x{% empty %}none{% endfor %}",
        "{% with other=missing %}{{ other }}{% endwith %}",
        "{% firstof missing 'other' %}",
        "{% translate missing %}",
        "{% blocktranslate %}It is {{ missing }}.{% endblocktranslate %}",
        "{% blocktranslate count n=row.known %}{{ n }} {{ missing }}{% plural %}{{ n }}{% endblocktranslate %}",
    ],
)
def test_a_missing_name_is_refused_wherever_it_stands(source: str) -> None:
    """Raised, or remembered where an operator of `{% if %}` takes every exception for false."""
    with suppress(UndefinedVariable):
        rendered(source, {"row": {"known": 1}})
    assert [found.rpartition(".")[2].rpartition(" ")[2] for found in strict_templates._found] == ["missing"]


@pytest.mark.usefixtures("forgotten")
def test_an_operator_swallows_it_and_the_test_fails_all_the_same() -> None:
    """This is what hid the button of compare: `{% if 1 <= offer.gpu_orderable %}`."""
    assert rendered("{% if 1 <= offer.gpu_orderable %}Rent{% else %}not free{% endif %}", {"offer": {}}) == "not free"
    assert strict_templates._found == ["allauth/elements/page.html: offer.gpu_orderable"]


@pytest.mark.usefixtures("forgotten")
@pytest.mark.parametrize(
    "source", ["{{ row.known }}", "{% optional 'missing' %}{{ missing }}", "{{ row.known|default_if_none:row.known }}"]
)
def test_nobody_is_shown_none(source: str) -> None:
    """What is optional is None, which a page would print as a word."""
    with pytest.raises(UndefinedVariable, match="is None"):
        rendered(source, {"row": {"known": None}})


@pytest.mark.parametrize(
    ("source", "names", "shown"),
    [
        ("{{ row.known }}", {"row": {"known": 7}}, "7"),
        ("{{ row.known.more }}", {"row": {"known": None}}, ""),
        ("{% optional 'missing' %}{% if missing %}yes{% else %}no{% endif %}", {}, "no"),
        ("{% optional 'given' %}{{ given }}", {"given": 7}, "7"),
        ("{% if 'small' in attrs.tags %}yes{% else %}no{% endif %}", {"attrs": {}}, "no"),
        ("{% blocktranslate with n=row.known %}It is {{ n }}.{% endblocktranslate %}", {"row": {"known": 7}}, "It is 7."),
    ],
)
def test_what_is_defined_or_declared_is_shown(source: str, names: dict[str, Any], shown: str) -> None:
    assert rendered(source, names) == shown


def test_other_peoples_templates_are_left_alone() -> None:
    assert rendered("{{ missing }}{% if missing %}yes{% endif %}", {}, "/elsewhere") == ""
