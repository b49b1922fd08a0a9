"""Connections to instances: host keys, resumable tails, probes, the daemon's status."""
