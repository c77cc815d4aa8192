"""What all studies share: declaring, planning and reporting one; curves and statistics of its cells."""
