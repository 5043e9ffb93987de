"""API and pages of launch templates."""
