"""The query language in URLs and in OpenAPI."""
