"""docs/search.md and the OpenAPI parameters are what the table of terms says."""

import re
from pathlib import Path

import pytest

from marketplace.search.language.fields import TERMS
from marketplace.search.language.options import OPTIONS
from marketplace.search.language.parser import parse_line
from marketplace.web.search.language.openapi_parameters import page_parameters, search_parameters
from marketplace.web.search.language.reference_table import ABOUT, Row, option_rows, term_rows

PAGE = Path(__file__).parents[3] / "docs" / "search.md"
TEXT = PAGE.read_text(encoding="utf-8")


def table_after(heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    lines = TEXT.split(f"\n### {heading}\n", 1)[1].strip().splitlines()
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows[2:]


def _listed(words: tuple[str, ...]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def test_the_page_tells_every_term() -> None:
    def cells(row: Row) -> list[str]:
        choices = "catalog slugs" if row.name == "gpu" else _listed(row.choices)
        return [f"`{row.name}`", row.about, row.kind, row.unit, _listed(row.units), choices]

    assert table_after("Fields") == [cells(row) for row in term_rows()]


def test_the_page_tells_every_wish() -> None:
    wanted = [
        [f"`{row.name}`", row.about, f"`{row.parameters[0]}`", row.unit, _listed(row.choices)] for row in option_rows()
    ]
    assert table_after("Options") == wanted


@pytest.mark.parametrize("line", re.findall(r"^\| `([^`]+)` \| [^|]+ \|$", TEXT.split("### Examples")[1], re.MULTILINE))
def test_the_examples_of_the_page_can_be_read(line: str) -> None:
    assert parse_line(line) != parse_line("")


def test_every_term_is_explained() -> None:
    assert list(ABOUT) == list(TERMS)
    assert [row.name for row in option_rows()] == list(OPTIONS)


def test_every_parameter_is_in_the_contract_with_words() -> None:
    parameters = [*search_parameters(), *page_parameters()]
    names = [each.name for each in parameters]
    assert len(names) == len(set(names))
    wanted = {name for row in [*term_rows(), *option_rows()] for name in row.parameters}
    assert set(names) == wanted | {"q", "limit", "cursor"}
    assert all(each.description for each in parameters)
