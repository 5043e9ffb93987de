"""How long data of stopped instances stays."""
