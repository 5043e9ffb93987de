"""Settings: `base` holds what is the same everywhere; `dev`, `test` and `prod` only override."""
