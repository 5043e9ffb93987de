"""Invoices over HTTP."""
