"""The suite ``spam``: spambase within hard budgets, as GDFS was evaluated."""
