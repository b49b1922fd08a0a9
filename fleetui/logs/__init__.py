"""Bytes to lines to facts: decoding, timestamps, rule matching. Pure."""
