"""Base package: money, time, errors, transitions, jobs; no terms of the domain, no concrete models."""
