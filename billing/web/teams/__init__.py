"""Teams and their money over HTTP."""
