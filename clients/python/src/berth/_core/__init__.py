"""The client without input and output: requests, answers, retries and waits as data and pure functions."""
