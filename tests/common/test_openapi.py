"""The contract for programs: whole, valid, honest about errors, and fast to fetch."""

from typing import Any

import jsonschema_rs
import pytest
from django.test import Client
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from common.http.openapi import operations, schema, schema_json
from common.http.problems import PROBLEM_TYPE


def test_the_document_is_valid_openapi_31() -> None:
    assert schema()["openapi"] == "3.1.0"
    validate_schema(schema())  # type: ignore[no-untyped-call]  # the library is untyped here


def test_making_it_raises_no_warning() -> None:
    GENERATOR_STATS.reset()
    generator: Any = SchemaGenerator
    with GENERATOR_STATS.silence():
        generator().get_schema(request=None, public=True)
    found = [*GENERATOR_STATS._warn_cache, *GENERATOR_STATS._error_cache]
    assert not found, "\n".join(found)


def test_each_operation_is_described(subtests: pytest.Subtests) -> None:
    rows = operations()
    assert rows
    for row in rows:
        with subtests.test(f"{row.method} {row.path}"):
            statuses = dict(row.replies)
            assert row.summary
            assert row.name
            assert any(status.startswith("2") for status in statuses)
            assert statuses["429"] == statuses["503"] == "Problem"
            if not row.public:
                assert statuses["401"] == statuses["403"] == "Problem"
            if "{" in row.path:
                assert "404" in statuses
            if row.method == "POST":
                assert {"Idempotency-Key", "dry_run"} <= {parameter["name"] for parameter in row.parameters}


def test_operation_names_are_unique() -> None:
    names = [row.name for row in operations()]
    assert len(set(names)) == len(names)


def test_every_problem_has_the_shape_of_the_document(client: Client, db: None) -> None:
    reply = client.get("/api/v1/me")
    assert reply.headers["Content-Type"] == PROBLEM_TYPE
    jsonschema_rs.validate(schema()["components"]["schemas"]["Problem"], reply.json())


def test_it_is_served_to_everyone_and_not_twice(client: Client, db: None) -> None:
    first = client.get("/api/v1/openapi.json")
    assert (first.status_code, first.headers["Content-Type"]) == (200, "application/json")
    assert first.content == schema_json()
    again = client.get("/api/v1/openapi.json", headers={"if-none-match": first.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert "max-age" in first.headers["Cache-Control"]
    assert client.post("/api/v1/openapi.json").status_code == 405
