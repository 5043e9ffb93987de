"""The API of Vast, so that its clients can use this market: it only translates to services of other apps."""
