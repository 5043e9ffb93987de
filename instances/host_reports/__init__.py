"""What agents report, applied to instances."""
