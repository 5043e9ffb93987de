"""Invoices and credit notes: lines, addresses, PDF."""
