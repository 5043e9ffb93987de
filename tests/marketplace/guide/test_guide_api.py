"""The API of the catalogue and the advisor, as a script without an account uses it."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from marketplace.gpu_catalogue.catalogue import MODELS
from tests.marketplace.shapes import enrolled

pytestmark = pytest.mark.django_db


def get(client: Client, path: str, **query: str) -> Any:
    return client.get(f"/api/v1{path}", query).json()


def ask(client: Client, **work: Any) -> Any:
    return client.post("/api/v1/advice", work, content_type="application/json")


def test_every_model_with_its_sources(client: Client) -> None:
    body = get(client, "/gpu-models")
    assert len(body["results"]) == len(MODELS)
    assert body["next"] is None
    assert body["results"][0]["slug"] == "b200"
    rtx = get(client, "/gpu-models/rtx-3090")
    assert (rtx["vram_gb"], rtx["fp16_tflops"], rtx["fp16_approximate"]) == ([24], 71.0, True)
    assert rtx["sources"] == {"rates": "S", "others": "D"}
    assert rtx["cuda"] == {"min": "11", "last": None}
    assert rtx["market"] == {"free": 0, "offers": 0, "price_low": None, "value": None, "simulated": False}
    assert get(client, "/gpu-models/mlu-200")["trains"] is False


def test_prices_of_the_market(client: Client, hana: User) -> None:
    enrolled(hana, 3, price=400_000)
    market = get(client, "/gpu-models/rtx-4090")["market"]
    assert market == {"free": 3, "offers": 1, "price_low": "0.40", "value": 412.5, "simulated": False}
    assert get(client, "/gpu-models", sort="value")["results"][0]["slug"] == "rtx-4090"


def test_unknown_model_and_order(client: Client) -> None:
    missing = client.get("/api/v1/gpu-models/none-such")
    assert (missing.status_code, missing.json()["code"]) == (404, "not_found")
    wrong = client.get("/api/v1/gpu-models", {"sort": "luck"})
    assert (wrong.status_code, wrong.json()["errors"][0]["field"]) == (400, "sort")


def test_advice_with_offers(client: Client, hana: User) -> None:
    enrolled(hana, 2, price=400_000)
    reply = ask(client, task="lora", precision="int4", parameters=7_000_000_000, items=1_000_000)
    assert reply.status_code == 200
    body = reply.json()
    assert body["needs"]["gpu_count"] == 1
    assert body["needs"]["vram_total_gb"] <= 12
    assert body["offers_total"] == 1
    run = body["offers"][0]
    assert run["offer"]["gpu"]["slug"] == "rtx-4090"
    assert run["hours"] > 0
    assert {cost["mode"] for cost in run["costs"]} >= {"hourly", "tiered"}
    assert [plan["gpu_count"] for plan in body["plans"]] == [1, 2, 4, 8, 16]
    assert {"weights", "training", "activations", "gpus", "time", "cpu", "ram", "disk"} <= {
        s["topic"] for s in body["steps"]
    }
    assert all(step["sources"] for step in body["steps"])


def test_the_search_of_the_advice_finds_the_same_offers(client: Client, hana: User) -> None:
    enrolled(hana, 2, price=400_000)
    body = ask(client, task="infer", parameters=7_000_000_000).json()
    listed = client.get(f"/api/v1/offers?{body['search']}")
    assert listed.status_code == 200
    assert [row["id"] for row in listed.json()["results"]] == [run["offer"]["id"] for run in body["offers"]]


@pytest.mark.parametrize(
    ("work", "status", "code", "field"),
    [
        ({"task": "dream"}, 400, "invalid_input", "task"),
        ({"parameters": 5}, 400, "invalid_input", "parameters"),
        ({"deadline_hours": 0}, 400, "invalid_input", "deadline_hours"),
        ({"deadline_hours": 5}, 400, "invalid_input", "items"),
        ({"task": "train", "precision": "int4"}, 400, "invalid_input", "precision"),
        ({"task": "lora", "family": "vision"}, 400, "invalid_input", "task"),
    ],
)
def test_contradictions_are_typed(client: Client, work: dict[str, Any], status: int, code: str, field: str) -> None:
    reply = ask(client, **work)
    assert (reply.status_code, reply.json()["code"]) == (status, code)
    assert [error["field"] for error in reply.json()["errors"]] == [field]


@pytest.mark.parametrize(
    ("work", "code", "extra"),
    [
        ({"task": "train", "parameters": 1_000_000_000_000}, "too_large", "largest_gb"),
        ({"items": 10**12, "deadline_hours": 1}, "deadline_too_short", "least_hours"),
        ({"family": "vision", "parameters": 1_000_000, "dataset_gb": 1_000_000}, "disk_too_large", "most_gb"),
    ],
)
def test_impossible_wishes_are_told_with_what_would_be_possible(
    client: Client, work: dict[str, Any], code: str, extra: str
) -> None:
    reply = ask(client, **work)
    assert (reply.status_code, reply.json()["code"]) == (422, code)
    assert reply.json()[extra]
    assert reply["Content-Type"] == "application/problem+json"
