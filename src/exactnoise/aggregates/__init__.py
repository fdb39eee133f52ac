"""Aggregates."""
