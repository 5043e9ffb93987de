"""The spot market: orders that find their GPUs, the tick of the auction, notices, and bids."""
