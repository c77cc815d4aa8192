"""What all studies share: declarations, plans, cells, claims and reports; curves and statistics of their cells."""
