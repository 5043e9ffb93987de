"""From what is and what should be to steps, and the workers that take them."""
