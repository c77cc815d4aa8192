"""The suite ``turney``: medical data with the prices of their tests."""
