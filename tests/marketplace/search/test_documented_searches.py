"""Every search that README and docs show can be asked as it stands there."""

import re
from pathlib import Path

import pytest
from django.test import Client

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHOWN = re.compile(r"/offers\?([^\s`'\")\]]+)")
# What curl sends as it is and servers take in a query; the test client would quote the rest by itself.
SENDABLE = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:@/?%-]+")
SEARCHES = [
    (page.name, query)
    for page in PAGES
    for query in SHOWN.findall(page.read_text())
    if "…" not in query and "$" not in query
]


def test_some_are_shown() -> None:
    assert {name for name, _ in SEARCHES} >= {"README.md"}


@pytest.mark.django_db
@pytest.mark.parametrize(("page", "query"), SEARCHES)
def test_a_documented_search_is_answered(client: Client, page: str, query: str) -> None:
    assert SENDABLE.fullmatch(query), (page, query)
    reply = client.get(f"/api/v1/offers?{query}")
    assert reply.status_code == 200, (page, reply.content)
    assert "total" in reply.json()
