"""Messages as data: stored as codes with parameters, and written in the reader's language when read."""
