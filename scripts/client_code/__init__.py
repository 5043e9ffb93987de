"""Generator of the Python client's models and resources from the OpenAPI document."""
