"""docs/pricing.md is true: every worked example in it is asked of the API."""

import json
import re
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

PAGE = (Path(settings.BASE_DIR) / "docs" / "pricing.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^\| `(\{.*\})` \| ([\d,.]+) \|$", PAGE, re.MULTILINE)


def test_all_examples_are_there() -> None:
    assert [total for _body, total in EXAMPLES] == ["26,805.60", "12,088.80", "11,258.35", "2,016.00", "2,682.40", "480.70"]


@pytest.mark.parametrize(("body", "total"), EXAMPLES)
def test_an_example(body: str, total: str) -> None:
    reply = Client().post("/api/v1/estimates", json.loads(body), content_type="application/json")
    cents = Decimal(reply.json()["total"]).quantize(Decimal("0.01"), ROUND_HALF_UP)
    assert f"{cents:,}" == total
