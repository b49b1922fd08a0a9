"""The headless twin: the same core, printed."""
