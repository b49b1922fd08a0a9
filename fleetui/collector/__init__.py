"""The one process that asks, tails, reads, writes and acts."""
