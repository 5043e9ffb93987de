"""Settings: `base` has what is the same everywhere; `dev`, `test` and `prod` only override it."""
