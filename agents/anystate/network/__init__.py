"""Small neural networks in NumPy: class probabilities given any acquired values, and a learnt ranking."""
