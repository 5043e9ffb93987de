"""PostgreSQL beside the ORM: transactions, prepared statements, roles, client programs."""
