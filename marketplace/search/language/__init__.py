"""The query language: fields, values, parser."""
