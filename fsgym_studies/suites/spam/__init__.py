"""The suite ``spam``: spambase within hard budgets, which GDFS was evaluated on."""
