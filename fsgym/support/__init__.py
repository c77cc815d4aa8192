"""Checks, files, threads and arrays, on which everything else stands."""
