"""Instances, volumes and templates that a file declares: read, compared with what is there, and made so."""
