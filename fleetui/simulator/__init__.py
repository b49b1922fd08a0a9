"""A pretend Vast and pretend hosts, for the demo, the tests and other clients."""
