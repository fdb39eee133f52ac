"""From a table to a frozen, accounted snapshot."""
