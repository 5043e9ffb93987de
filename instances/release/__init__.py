"""The end of an instance."""
