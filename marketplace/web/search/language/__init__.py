"""The query language in OpenAPI."""
