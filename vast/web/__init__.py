"""Views of the API of Vast."""
