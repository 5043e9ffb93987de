"""One currency: a known one, and the one that the ledger has been in since it was made."""

from io import StringIO
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError, SystemCheckError
from django.test import Client

from billing.ledger.currency import record_currency
from billing.models import LedgerCurrency
from config.celery import _same_currency
from config.env import read_currency


@pytest.mark.parametrize("code", ["banana", "", "US", "USDT", "XAU", "XXX"])
def test_what_is_no_currency_does_not_start(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    monkeypatch.setenv("MARKET_CURRENCY", code)
    with pytest.raises(ImproperlyConfigured, match="ISO 4217"):
        read_currency("MARKET_CURRENCY", "USD")


@pytest.mark.parametrize(("code", "read"), [("USD", "USD"), ("cny", "CNY"), ("JPY", "JPY")])
def test_a_currency_is_read(monkeypatch: pytest.MonkeyPatch, code: str, read: str) -> None:
    monkeypatch.setenv("MARKET_CURRENCY", code)
    assert read_currency("MARKET_CURRENCY", "USD") == read


@pytest.mark.django_db
def test_fault_070_a_ledger_stays_in_its_currency(settings: Any, client: Client) -> None:
    record_currency()
    settings.MARKET_CURRENCY = "JPY"
    record_currency()
    assert LedgerCurrency.objects.get().code == "USD"
    with pytest.raises(SystemCheckError, match=r"billing\.E001"):
        call_command("check", databases=["default"], stderr=StringIO())
    reply = client.get("/readyz")
    assert reply.status_code == 503 and "USD" in reply.json()["ledger"]
    with pytest.raises(SystemExit, match="set it back to USD"):
        _same_currency()
    out = StringIO()
    with pytest.raises(CommandError):
        call_command("verify_ledger", stdout=out)
    assert "I33" in out.getvalue()


@pytest.mark.django_db
def test_the_same_currency_is_fine(client: Client) -> None:
    record_currency()
    call_command("check", databases=["default"])
    _same_currency()
    assert "ledger" not in client.get("/readyz").json()
