"""Stripe Connect played by a server of our own."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.billing.payouts.connect import Connect, serve_connect


@pytest.fixture
def connect(settings: Any) -> Iterator[Connect]:
    with serve_connect() as server:
        settings.STRIPE_SECRET_KEY = "sk_test_payouts"
        settings.STRIPE_API_BASE = server.base
        yield server
