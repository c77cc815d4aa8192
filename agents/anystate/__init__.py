"""Agents with one model for all states, from which they go on wherever they start."""
