"""Problem documents, cursor pages and the JSON form."""

import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404
from django.utils.translation import gettext_lazy
from rest_framework import exceptions, serializers
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from common.errors import Busy, DomainError, FieldError, InvalidInput
from common.http.problems import PROBLEM_TYPE, problem_handler
from common.json import to_json


def problem(error: Exception) -> Response:
    reply = problem_handler(error, {})
    assert reply is not None
    assert reply.content_type == PROBLEM_TYPE
    assert reply.data["status"] == reply.status_code
    return reply


def test_a_domain_error_tells_everything_it_knows() -> None:
    error = InvalidInput("Too much.", errors=[FieldError("amount", "max", "At most 5.")], needed="5.00", status=99)
    assert problem(error).data == {
        "type": "urn:berth:problem:invalid_input",
        "title": "The input is not valid",
        "status": 400,
        "detail": "Too much.",
        "code": "invalid_input",
        "errors": [{"field": "amount", "code": "max", "detail": "At most 5."}],
        "needed": "5.00",
    }


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Http404("secret path"), 404, "not_found"),
        (PermissionDenied("secret"), 403, "forbidden"),
        (OperationalError("secret host"), 503, "busy"),
        (exceptions.NotAuthenticated(), 401, "not_authenticated"),
        (exceptions.MethodNotAllowed("PUT"), 405, "method_not_allowed"),
        (exceptions.UnsupportedMediaType("text/csv"), 415, "unsupported_media_type"),
        (exceptions.ParseError("JSON parse error"), 400, "parse_error"),
        (exceptions.Throttled(wait=12.4), 429, "throttled"),
    ],
)
def test_known_errors_become_problems(error: Exception, status: int, code: str) -> None:
    reply = problem(error)
    assert (reply.status_code, reply.data["code"]) == (status, code)
    assert "secret" not in str(reply.data)
    assert "{" not in reply.data["title"]


def test_waits_are_told() -> None:
    assert problem(exceptions.Throttled(wait=12.4)).headers["Retry-After"] == "13"
    assert problem(exceptions.Throttled(wait=0.1)).headers["Retry-After"] == "1"
    assert problem(Busy()).headers["Retry-After"] == "1"


def test_an_unexpected_error_is_not_swallowed() -> None:
    assert problem_handler(ZeroDivisionError("secret"), {}) is None


class Line(serializers.Serializer[Any]):
    amount = serializers.IntegerField(max_value=5)


class Order(serializers.Serializer[Any]):
    name = serializers.CharField(max_length=3)
    lines = Line(many=True, required=False)
    tags = serializers.ListField(child=serializers.CharField(max_length=1), required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["name"] == "bad":
            raise serializers.ValidationError("Never bad.", code="bad")
        return attrs


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, [("name", "required")]),
        ({"name": "long"}, [("name", "max_length")]),
        ({"name": "bad"}, [("", "bad")]),
        ({"name": "ok", "lines": [{"amount": 1}, {"amount": 9}]}, [("lines.1.amount", "max_value")]),
        ({"name": "ok", "tags": ["a", "bb"]}, [("tags.1", "max_length")]),
        ({"name": "ok", "lines": "x"}, [("lines", "not_a_list")]),
        ([], [("", "invalid")]),
    ],
)
def test_field_errors_are_flat(body: Any, expected: list[tuple[str, str]]) -> None:
    form = Order(data=body)
    with pytest.raises(serializers.ValidationError) as refusal:
        form.is_valid(raise_exception=True)
    assert [(error["field"], error["code"]) for error in problem(refusal.value).data["errors"]] == expected


def test_a_bare_validation_error_is_about_the_whole_request() -> None:
    assert problem(exceptions.ValidationError("No.")).data["errors"] == [{"field": "", "code": "invalid", "detail": "No."}]


def test_one_json_form() -> None:
    value = {
        "at": datetime(2026, 1, 2, 3, 4, 5, 600000, tzinfo=UTC),
        "amount": Decimal("1.50"),
        "id": UUID(int=7),
        "text": gettext_lazy("yes"),
        "name": "算力",
    }
    assert json.loads(to_json(value)) == {
        "at": "2026-01-02T03:04:05.600000Z",
        "amount": "1.50",
        "id": str(UUID(int=7)),
        "text": "yes",
        "name": "算力",
    }


class Echo(APIView):
    permission_classes = (AllowAny,)

    def post(self, request: Request) -> Response:
        return Response({"got": request.data})


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "", "*/*", "nonsense"])
def test_whatever_is_accepted_the_reply_is_json(accept: str) -> None:
    reply = Echo.as_view()(APIRequestFactory().post("/", {"a": 1}, format="json", headers={"accept": accept}))
    reply.render()
    assert (reply.headers["Content-Type"], json.loads(reply.content)) == ("application/json", {"got": {"a": 1}})


@pytest.mark.parametrize(
    ("content_type", "status"),
    [
        ("application/json", 200),
        ("Application/JSON; charset=utf-8", 200),
        ("text/plain", 415),
        ("application/x-www-form-urlencoded", 415),
        ("multipart/form-data; boundary=x", 415),
    ],
)
def test_only_json_is_read(content_type: str, status: int) -> None:
    reply = Echo.as_view()(APIRequestFactory().generic("POST", "/", '{"a": 1}', content_type=content_type))
    assert reply.status_code == status


@pytest.mark.parametrize("body", [b"{", b'{"a": NaN}', b"\xff\xfe", b'{"a": 1}{"b": 2}'])
def test_broken_json_is_a_400(body: bytes) -> None:
    reply = Echo.as_view()(APIRequestFactory().post("/", body, content_type="application/json"))
    assert reply.status_code == 400


def test_a_domain_error_without_text_says_its_title() -> None:
    assert problem(DomainError()).data["detail"] == DomainError.title
