"""Class-conditional mixtures: exact class probabilities given any subset of the features, and what the rest is worth.

Within each class the rows come from a few components, in each of which the features are independent. The posterior of
class and component given some values is then a sum of one-dimensional log densities: a value that is not known is just
not added. The mixture also predicts every unknown value, and so how much an acquisition is expected to help.
"""
