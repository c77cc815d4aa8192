"""Files, frames and the tables of models as a table of numbers."""
