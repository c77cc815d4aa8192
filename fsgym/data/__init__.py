"""The table: columns, cells, rows, labels, prices of columns by name, and how files and frames become one."""
