"""Search of the market: fields, query language, and execution."""
