"""The Vast API: typed rows, errors, one limiter per identity."""
