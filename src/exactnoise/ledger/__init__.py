"""Budgets that outlive a process: an append-only SQLite file, shared by all that publish from the same data.

Standard library only: a ledger can be read, verified and exported without the compiled core or NumPy.
"""

from exactnoise.ledger.book import Reservation
from exactnoise.ledger.budget import LedgerBudget
from exactnoise.ledger.ledger import Ledger
from exactnoise.ledger.store import Entry

__all__ = ["Entry", "Ledger", "LedgerBudget", "Reservation"]
