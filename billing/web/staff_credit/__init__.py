"""Staff panel of credit grants."""
