"""What all studies share: declarations, plans, cells and reports; curves and statistics of their cells."""
