"""Web interface of workloads: API and pages."""
