"""Release counts from Python: plan, spend once, read off the accuracy."""

import numpy as np

from exactnoise import BudgetExceeded, DiscreteLaplace, PrivacyBudget

# How many people visited each site today. Nobody is in more than two of the counts, so one person
# more or fewer changes them by 2 in total.
visits = np.array([312, 87, 41, 5, 0])

budget = PrivacyBudget(neighbors="add-remove", unit="person", epsilon=1)
mechanism = DiscreteLaplace(sensitivity=2, epsilon=0.8)

# Known before anything is spent, because it depends on the parameters alone.
print(f"planned:   19 counts in 20 within {mechanism.half_width(alpha=0.05):g} of the exact one")

# One call is one release, however long the array; the budget pays first, then noise is drawn.
noisy = mechanism.release(visits, budget=budget, label="visits today")
print("released: ", noisy)
print("spent:    ", budget.spent)
print("remaining:", budget.remaining)

try:
    mechanism.release(visits, budget=budget, label="the same again")
except BudgetExceeded as refusal:
    print("refused:  ", refusal)
