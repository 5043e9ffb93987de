"""Serializers of budgets, for forms and the API alike."""

from typing import Final

from billing.models import Budget

SCOPES: Final = Budget.Scope.choices
PERIODS: Final = Budget.Period.choices
