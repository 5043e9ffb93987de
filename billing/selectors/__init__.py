"""Reads of the money: live wallets, costs of sources, statements, usage, earnings, and the ledger's audit."""

from billing.findings import Finding
from billing.selectors.audit import ledger_findings
from billing.selectors.costs import Cost, costs_of, exhausted_sources, open_holds
from billing.selectors.earnings import EarningLine, Earnings, earnings_of
from billing.selectors.spend import Spend, spend_by
from billing.selectors.statement import StatementLine, statement_lines
from billing.selectors.usage import UsageLine, usage_lines
from billing.selectors.wallet import WalletView, wallet_of

__all__ = [
    "Cost",
    "EarningLine",
    "Earnings",
    "Finding",
    "Spend",
    "StatementLine",
    "UsageLine",
    "WalletView",
    "costs_of",
    "earnings_of",
    "exhausted_sources",
    "ledger_findings",
    "open_holds",
    "spend_by",
    "statement_lines",
    "usage_lines",
    "wallet_of",
]
