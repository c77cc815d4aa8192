"""The data sets of the studies: where they come from, and how they are fetched, converted and checked."""
