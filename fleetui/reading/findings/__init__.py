"""Diagnosis rules, grouped by what they look at. Pure."""
