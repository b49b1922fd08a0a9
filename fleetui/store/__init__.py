"""The interface between collector and consoles, on SQLite."""
