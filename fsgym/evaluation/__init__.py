"""What is measured of a policy or a classifier under rules."""
