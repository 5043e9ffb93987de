"""Sweeps that hold instances to rules: debts, budgets, disputes, deadlines."""
