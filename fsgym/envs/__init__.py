"""Environments and the batch of episodes that they share."""
