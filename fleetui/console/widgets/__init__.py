"""Own line-API widgets and small panels."""
