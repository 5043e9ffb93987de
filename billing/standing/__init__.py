"""What happens to a renter whose money runs out."""
