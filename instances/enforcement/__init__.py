"""Sweeps that enforce rules on instances: debts, budgets, disputes, deadlines."""
