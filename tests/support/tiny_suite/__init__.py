"""A suite whose optimum is exact: every part has each row of two bits as often as it is probable."""
