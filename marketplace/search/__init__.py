"""Search of the market: what can be asked, how it is written, and how it is answered."""
