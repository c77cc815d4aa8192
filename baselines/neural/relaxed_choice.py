"""Training of GDFS: the choice is relaxed to the concrete distribution, so that its gradient is that of the loss."""

from __future__ import annotations

import torch
from torch import Tensor

from baselines.neural.training import NEVER, JointTraining, TrainingRows


class RelaxedChoiceTraining(JointTraining):
    """Both networks lower the cross-entropy after each choice; the chooser raises gain per price if prices differ."""

    levels = (1.0, 0.1)  # temperature

    def preference(self, inputs: Tensor, prices: Tensor) -> Tensor:
        return self.chooser(inputs)

    def loss(self, rows: TrainingRows, level: float) -> Tensor:
        visited = self.visit(rows, lambda inputs, prices: self.chooser(inputs) + self.noise(prices.shape))
        goes_on = visited.legal.any(dim=2).flatten()
        states = rows.repeated(len(visited.legal)).some(goes_on)
        if not len(states.y):
            return self._pretraining_loss(rows)
        taken, legal = visited.taken[:-1].flatten(0, 1)[goes_on], visited.legal.flatten(0, 1)[goes_on]
        logits = self.chooser(self.inputs(states, taken)).masked_fill(~legal, NEVER)
        choice = torch.softmax((logits + self.noise(logits.shape)) / level, dim=1)
        prices = visited.prices.flatten(0, 1)[goes_on]
        if bool((prices == prices[0, 0]).all()):
            return (states.weight * self._errors_after(states, taken, choice)).mean()
        return self._loss_per_price(states, taken, choice, prices)

    def _errors_after(self, states: TrainingRows, taken: Tensor, choice: Tensor) -> Tensor:
        return self.errors(states, self.predictor(self.inputs(states, torch.maximum(taken, choice))))

    def _loss_per_price(self, states: TrainingRows, taken: Tensor, choice: Tensor, prices: Tensor) -> Tensor:
        """A loss with the gradient of the cross-entropy for the predictor, and of minus gain / price for the chooser.

        d(gain / price) = d(gain) / price - gain d(price) / price^2, where the price of a relaxed choice is the mean of
        the prices by its weights.
        """
        price = (choice * prices).sum(dim=1)
        paid = price.detach()
        slowed = choice.detach() + (choice - choice.detach()) / paid[:, None]
        after = self._errors_after(states, taken, slowed)
        with torch.no_grad():
            gain = self.errors(states, self.predictor(self.inputs(states, taken))) - after
        return (states.weight * (after + gain * price / paid**2)).mean()
