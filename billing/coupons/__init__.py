"""Coupons: codes, redemption, bonuses for top-ups."""
