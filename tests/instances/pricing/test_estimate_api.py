"""The calculator's API: worked examples to the cent, modes side by side, what is refused."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

HALF_CENT = Decimal("0.005")
TIERS = [{"from_hours": 720, "discount": "0.15"}]
EXAMPLES: list[tuple[dict[str, Any], str]] = [
    ({"billing_mode": "hourly", "unit_price": "3.06", "hours": 8760}, "26805.60"),
    ({"billing_mode": "reserved", "unit_price": "1.38", "hours": "8760"}, "12088.80"),
    ({"billing_mode": "reserved", "unit_price": "1.38", "hours": "8760", "term": "year"}, "12088.80"),
    ({"billing_mode": "reserved", "unit_price": 3.06, "discount": "0.58", "hours": 8760}, "11258.35"),
    (
        {
            "billing_mode": "reserved",
            "unit_price": "3.06",
            "discount": "58%",
            "hours": 8760,
            "term": "year3",
            "payment": "none",
        },
        "11258.35",
    ),
    ({"billing_mode": "tiered", "unit_price": "2.80", "hours": 720, "tiers": TIERS}, "2016.00"),
    ({"billing_mode": "tiered", "unit_price": "2.80", "hours": 1000, "tiers": TIERS}, "2682.40"),
    (
        {
            "billing_mode": "tiered",
            "unit_price": "2.80",
            "hours": 1000,
            "tiers": [{"from_hours": 720, "unit_price": "2.38"}],
        },
        "2682.40",
    ),
    ({"unit_price": "0.46", "hours": 100, "gpu_count": 8, "storage_total": "50", "peak_factor": "1.15"}, "480.70"),
]


def ask(body: Any) -> Any:
    return Client().post("/api/v1/estimates", body, content_type="application/json")


@pytest.mark.parametrize(("body", "total"), EXAMPLES)
def test_worked_examples_to_the_cent(body: dict[str, Any], total: str) -> None:
    reply = ask(body)
    assert reply.status_code == 200, reply.content
    found = reply.json()
    assert abs(Decimal(found["total"]) - Decimal(total)) < HALF_CENT
    assert sum(Decimal(line["amount"]) for line in found["lines"]) == Decimal(found["total"])


def test_the_lines_say_how() -> None:
    found = ask(EXAMPLES[-1][0]).json()
    assert found["lines"] == [
        {"item": "hourly", "quantity": "800", "unit": "GPU-hour", "unit_price": "0.46", "amount": "368.00"},
        {"item": "Storage", "quantity": "1", "unit": "total", "unit_price": "50.00", "amount": "50.00"},
        {"item": "Peak factor", "quantity": "0.15", "unit": "of the sum", "unit_price": "418.00", "amount": "62.70"},
    ]
    assert (found["billing_mode"], found["commitment_total"], found["currency"]) == ("hourly", None, "USD")
    assert (found["modes"], found["break_even"]) == ([], [])


def test_all_modes_side_by_side() -> None:
    body = {
        "unit_price": "1",
        "hours": 1000,
        "modes": ["hourly", "reserved", "tiered", "spot", "hourly"],
        "discount": "0.4",
        "term": "month",
        "tiers": TIERS,
        "spot_price": "0.5",
        "max_price": "0.7",
        "floor": "0.3",
    }
    found = ask(body).json()
    totals = {each["billing_mode"]: each["total"] for each in found["modes"]}
    assert totals == {"hourly": "1000.00", "reserved": "712.00", "tiered": "958.00", "spot": "500.00"}
    assert found["total"] == "1000.00"
    assert found["modes"][1]["commitment_total"] == "432.00"
    assert {"cheaper": "reserved", "dearer": "hourly", "hours": "432"} in found["break_even"]
    assert {"cheaper": "tiered", "dearer": "hourly", "hours": "720"} in found["break_even"]


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"unit_price": "dear"}, "unit_price"),
        ({"unit_price": "-1"}, "unit_price"),
        ({"unit_price": "0.0000001"}, "unit_price"),
        ({"unit_price": None}, "unit_price"),
        ({"hours": "NaN"}, "hours"),
        ({"hours": 1e9}, "hours"),
        ({"gpu_count": 0}, "gpu_count"),
        ({"gpu_count": 1.5}, "gpu_count"),
        ({"billing_mode": "free"}, "billing_mode"),
        ({"discount": "1"}, "discount"),
        ({"discount": "58"}, "discount"),
        ({"discount": True}, "discount"),
        ({"discount": "1e-999999"}, "discount"),
        ({"discount": []}, "discount"),
        ({"peak_factor": "101"}, "peak_factor"),
        ({"term": "decade"}, "term"),
        ({"billing_mode": "tiered", "tiers": [{"from_hours": 0, "discount": 0.1}]}, "tiers"),
        (
            {"billing_mode": "tiered", "tiers": [{"from_hours": 9, "discount": 0.1}, {"from_hours": 9, "discount": 0.2}]},
            "tiers",
        ),
        ({"tiers": [{"from_hours": 9}]}, "tiers.0"),
        ({"tiers": [{"from_hours": 9, "discount": "0.1", "unit_price": "1"}]}, "tiers.0"),
        ({"billing_mode": "spot", "max_price": "0.5"}, "max_price"),
        ({"billing_mode": "spot", "floor": "2"}, "unit_price"),
        ({"modes": ["free"]}, "modes.0"),
    ],
)
def test_what_makes_no_sense_is_named(wrong: dict[str, Any], field: str) -> None:
    reply = ask({"unit_price": "1", "hours": 10, **wrong})
    assert (reply.status_code, reply.headers["Content-Type"]) == (400, "application/problem+json"), reply.content
    assert [error["field"] for error in reply.json()["errors"]] == [field]


def test_a_body_that_is_none() -> None:
    assert ask("[]").status_code == 400
    assert ask("{").status_code == 400
