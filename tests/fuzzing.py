"""How hypothesis makes the cases of fuzz/."""

from __future__ import annotations

from hypothesis import HealthCheck, Phase

# Cases are the same in every run, so that one that fails needs no making smaller to be seen again.
FIXED = {"derandomize": True, "database": None, "deadline": None, "phases": [Phase.generate]}
FIXED |= {"report_multiple_bugs": False, "suppress_health_check": list(HealthCheck)}
