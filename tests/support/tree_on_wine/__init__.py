"""A study as short as a study can be: one folder, with a claim, a table and a picture."""
