"""Aggregates of rows: exact totals, released through one mechanism."""

__all__: list[str] = []
