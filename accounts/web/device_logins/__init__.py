"""API and page of the logins of programs."""
