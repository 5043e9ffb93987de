"""The ground floor: money, time, errors, moves between states, jobs. No domain word, no concrete model."""
