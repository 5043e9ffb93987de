"""Wallets, ledger, holds, price rules and meters; knows no instance and no host."""
