"""Training of DIME: the value of an acquisition is regressed on the realised decrease of the predictor's loss."""

from __future__ import annotations

import torch
from torch import Tensor

from baselines.neural.training import JointTraining, TrainingRows


class ValueRegressionTraining(JointTraining):
    """Rows make a random acquisition with the probability of the level, otherwise that of most value per price."""

    levels = (1.0, 0.05)  # exploration

    def preference(self, inputs: Tensor, prices: Tensor) -> Tensor:
        return values_of(self.chooser(inputs), self.predictor(inputs)) / prices

    def loss(self, rows: TrainingRows, level: float) -> Tensor:
        def explore(inputs: Tensor, prices: Tensor) -> Tensor:
            at_random = torch.rand((len(inputs), 1), generator=self.generator) < level
            return torch.where(at_random, self.noise(prices.shape), self.preference(inputs, prices))

        visited = self.visit(rows, explore)
        n_states, n = len(visited.taken), len(rows.y)
        states = rows.repeated(n_states)
        inputs = self.inputs(states, visited.taken.flatten(0, 1))
        scores = self.predictor(inputs)
        errors = self.errors(states, scores).view(n_states, n)
        values = values_of(self.chooser(inputs[:-n]), scores[:-n].detach()).view(n_states - 1, n, -1)
        value = values.gather(2, visited.choice[..., None])[..., 0]
        gain = (errors[:-1] - errors[1:]).detach()
        misses = torch.where(visited.legal.any(dim=2), (value - gain) ** 2, 0.0)
        return (rows.weight * (errors.mean(dim=0) + misses.mean(dim=0))).mean()


def values_of(outputs: Tensor, scores: Tensor) -> Tensor:
    """The values of acquisitions in nats, each a share of the entropy of the prediction, which bounds them all."""
    logs = torch.log_softmax(scores, dim=1)
    entropy = -(logs.exp() * logs).sum(dim=1, keepdim=True)
    return torch.sigmoid(outputs) * entropy
