"""Joint training of a predictor and a chooser on masked input, with PyTorch."""

from __future__ import annotations

import copy
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import ClassVar, NamedTuple, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from agents.deep.network import scale_and_clip
from baselines.neural.policy import Layers
from fsgym.data.scaling import Scaling
from fsgym.rules import Rules

DROPOUT = 0.3
BATCH_ROWS = 128  # by default, but fewer where a pass would have under 20 batches
MIN_BATCHES = 20
N_LEVELS = 5  # of the joint training, with lower and lower temperature or exploration
PATIENCE = 5  # passes without a lower held-out loss after which a round ends
PRETRAINING_LENGTH = 4  # times the passes of a round, at most

ROWS_OF_A_PASS = 10_000  # of a pass; larger tables are sampled anew in each
MIN_PRICE_SHARE = 0.05  # of the mean price: lower prices count as this where gains are divided by them; by hand
NEVER = -1e9  # the logit of an acquisition that is not legal

_one_training = threading.Lock()  # PyTorch's number of threads and its random generator belong to the whole process


class TrainingSettings(NamedTuple):
    """How long networks of which size are trained."""

    hidden: tuple[int, ...]  # widths of the hidden layers of both networks
    longest: int  # acquisitions of a row in training
    n_epochs: int  # passes through the rows in a round, at most
    batch_size: int | None  # None for the default
    learning_rate: float
    seed: int


class TensorRows(NamedTuple):
    """Rows as tensors."""

    values: Tensor  # float32 (n, n_features), scaled, 0 where missing
    observed: Tensor  # float32 (n, n_features), 1 where a value is not missing
    available: Tensor  # bool (n, n_acquisitions)
    y: Tensor  # int64 (n,)
    weight: Tensor  # float32 (n,), of mean 1

    @classmethod
    def of(cls, X: NDArray, y: NDArray[np.int64], weight: NDArray[np.float64], scaling: Scaling, rules: Rules) -> Self:
        observed = ~np.isnan(X)
        values = scale_and_clip(np.where(observed, X, 0.0), scaling)
        return cls(
            torch.from_numpy(np.where(observed, values, np.float32(0.0))),
            torch.from_numpy(observed.astype(np.float32)),
            torch.from_numpy(rules.acquisitions_of(observed)),
            torch.from_numpy(np.array(y)),
            torch.from_numpy((weight / weight.mean()).astype(np.float32)),
        )

    def some(self, rows: NDArray[np.int64] | Tensor) -> TensorRows:
        """Some of the rows."""
        return TensorRows(*(part[rows] for part in self))

    def repeated(self, times: int) -> TensorRows:
        """All rows several times, one after the other."""
        return TensorRows(*(part.repeat(times, *[1] * (part.ndim - 1)) for part in self))


class Visited(NamedTuple):
    """States of a batch of n rows along their acquisitions, from the empty state."""

    taken: Tensor  # float32 (n_states, n, n_acquisitions), 1 for those made
    legal: Tensor  # bool (n_states - 1, n, n_acquisitions), in all but the last state; none where a row has ended
    prices: Tensor  # float32 (n_states - 1, n, n_acquisitions), those to divide by, relative to the mean price
    choice: Tensor  # int64 (n_states - 1, n), where a row goes on


class JointTraining(ABC):
    """A predictor, pretrained on random masks, and a chooser, trained together round by round.

    Parameters
    ----------
    rows, held_out : TensorRows
    rules : Rules, whose ``lam`` is not used
    settings : TrainingSettings
    """

    levels: ClassVar[tuple[float, float]]  # temperature or exploration in the first and in the last round

    def __init__(
        self,
        rows: TensorRows,
        held_out: TensorRows,
        rules: Rules,
        settings: TrainingSettings,
    ) -> None:
        self.rows, self.held_out, self.rules, self.settings = rows, held_out, rules, settings
        self.acquisition = torch.from_numpy(rules.acquisition_of_features)
        self.generator = torch.Generator().manual_seed(settings.seed)
        self.rng = np.random.default_rng(settings.seed)
        prices = rules.lowest_costs
        self.mean_price = float(prices[np.isfinite(prices)].mean()) or 1.0

    def run(self) -> tuple[Layers, Layers]:
        """Train; return the predictor and the chooser."""
        with training_in_one_thread(self.settings.seed):
            inputs = 2 * self.rules.n_features
            self.predictor = build_network([inputs, *self.settings.hidden, self.rules.n_classes])
            self.chooser = build_network([inputs, *self.settings.hidden, self.rules.n_acquisitions])
            self.networks = nn.ModuleList([self.predictor, self.chooser])
            self._improve(self.predictor, self._pretraining_loss, self._pretraining_check(), PRETRAINING_LENGTH)
            for level in np.geomspace(*self.levels, N_LEVELS).tolist():
                self._improve(self.networks, lambda rows, level=level: self.loss(rows, level), self._check)
        return layers_of(self.predictor), layers_of(self.chooser)

    @abstractmethod
    def loss(self, rows: TensorRows, level: float) -> Tensor:
        """The loss of a batch at a temperature or exploration."""

    @abstractmethod
    def preference(self, inputs: Tensor, prices: Tensor) -> Tensor:
        """By which acquisitions (n, J) are ranked in n states, given the inputs of the networks and the prices."""

    def inputs(self, rows: TensorRows, taken: Tensor) -> Tensor:
        """The inputs of both networks after some acquisitions (n, J), which may be partly made."""
        mask = taken.index_select(1, self.acquisition) * rows.observed
        return torch.cat([rows.values * mask, mask], dim=1)

    def errors(self, rows: TensorRows, scores: Tensor) -> Tensor:
        """The cross-entropy of each row, in nats."""
        return nn.functional.cross_entropy(scores, rows.y, reduction="none")

    def visit(self, rows: TensorRows, rank: Callable[[Tensor, Tensor], Tensor]) -> Visited:
        """Make the legal acquisition of the highest ``rank(inputs, prices)``, from the empty state, ``longest`` times.

        There is no dropout meanwhile.
        """
        n, taken = len(rows.y), np.zeros(rows.available.shape, bool)
        spent, here, found = np.zeros(n), np.arange(n), []
        with torch.no_grad(), without_dropout(self.networks):
            for _ in range(self.settings.longest):
                legal, prices = self._legal_and_prices(rows, taken, spent)
                relative = torch.from_numpy((prices / self.mean_price).clip(MIN_PRICE_SHARE).astype(np.float32))
                before, legal_now = torch.from_numpy(taken.astype(np.float32)), torch.from_numpy(legal)
                ranks = rank(self.inputs(rows, before), relative)
                choice = ranks.masked_fill(~legal_now, -torch.inf).argmax(dim=1)
                found.append((before, legal_now, relative, choice))
                chosen, goes_on = choice.numpy(), legal.any(axis=1)
                taken[here[goes_on], chosen[goes_on]] = True
                spent[goes_on] += prices[here, chosen][goes_on]
        last = torch.from_numpy(taken.astype(np.float32))
        before, legal_now, relative, choice = (torch.stack(parts) for parts in zip(*found, strict=True))
        return Visited(torch.cat([before, last[None]]), legal_now, relative, choice)

    def _legal_and_prices(
        self, rows: TensorRows, taken: NDArray[np.bool_], spent: NDArray[np.float64]
    ) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
        legal, prices = self.rules.legal_and_prices(taken, spent)
        return legal[:, : self.rules.n_acquisitions] & rows.available.numpy(), prices

    def noise(self, shape: Sequence[int]) -> Tensor:
        """Standard Gumbel noise."""
        return -torch.empty(tuple(shape)).exponential_(generator=self.generator).log()

    def _pretraining_loss(self, rows: TensorRows) -> Tensor:
        taken = self._random_masks(len(rows.y), self.generator)
        return (rows.weight * self.errors(rows, self.predictor(self.inputs(rows, taken)))).mean()

    def _random_masks(self, n: int, generator: torch.Generator) -> Tensor:
        """Random sets of acquisitions, each of a share of them that is random, too."""
        share = torch.rand((n, 1), generator=generator)
        return (torch.rand((n, self.rules.n_acquisitions), generator=generator) < share).float()

    def _pretraining_check(self) -> Callable[[], float]:
        masks = self._random_masks(len(self.held_out.y), torch.Generator().manual_seed(self.settings.seed))

        def check() -> float:
            errors = self.errors(self.held_out, self.predictor(self.inputs(self.held_out, masks)))
            return float((self.held_out.weight * errors).mean())

        return check

    def _check(self) -> float:
        """Mean cross-entropy of the held-out rows after each acquisition that the chooser prefers."""
        rows = self.held_out
        visited = self.visit(rows, self.preference)
        errors = [self.errors(rows, self.predictor(self.inputs(rows, taken))) for taken in visited.taken[1:]]
        return float((rows.weight * torch.stack(errors)).mean())

    def _improve(
        self,
        network: nn.Module,
        loss: Callable[[TensorRows], Tensor],
        check: Callable[[], float],
        length: int = 1,
    ) -> None:
        """Lower the loss until ``check`` finds no lower loss on the held-out rows; keep the best weights."""
        optimiser = torch.optim.Adam(network.parameters(), lr=self.settings.learning_rate)
        best, lowest, waited = None, np.inf, 0
        for _ in range(length * self.settings.n_epochs):
            network.train()
            for batch in self._batches():
                optimiser.zero_grad()
                loss(self.rows.some(batch)).backward()
                optimiser.step()
            network.eval()
            with torch.no_grad():
                found = check()
            if found < lowest:
                best, lowest, waited = copy.deepcopy(network.state_dict()), found, 0
            else:
                waited += 1
                if waited >= PATIENCE:
                    break
        if best is None:
            raise ValueError(
                "training must lead to finite losses, got none on the held-out rows; use a learning_rate below "
                f"{self.settings.learning_rate:g}"
            )
        network.load_state_dict(best)

    def _batches(self) -> Iterator[NDArray[np.int64]]:
        order = self.rng.permutation(len(self.rows.y))[:ROWS_OF_A_PASS]
        size = self.settings.batch_size or min(BATCH_ROWS, max(len(order) // MIN_BATCHES, 1))
        n_batches = max(len(order) // size, 1)
        yield from np.array_split(order, n_batches)


def build_network(widths: Sequence[int]) -> nn.Sequential:
    """Linear layers with rectified linear units and dropout between them."""
    modules: list[nn.Module] = []
    for n_in, n_out in pairwise(widths):
        modules += [nn.Linear(n_in, n_out), nn.ReLU(), nn.Dropout(DROPOUT)]
    return nn.Sequential(*modules[:-2])


def layers_of(network: nn.Sequential) -> Layers:
    """The weights of a network as arrays."""
    linear = [module for module in network if isinstance(module, nn.Linear)]
    weights = tuple(module.weight.detach().numpy().T.copy() for module in linear)
    return Layers(weights, tuple(module.bias.detach().numpy().copy() for module in linear))


@contextmanager
def without_dropout(network: nn.Module) -> Iterator[None]:
    """Use a network as it is after training in the block."""
    before = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(before)


@contextmanager
def training_in_one_thread(seed: int) -> Iterator[None]:
    """Seed PyTorch's generator and use one thread in the block; both are restored afterwards."""
    with _one_training, torch.random.fork_rng(devices=[]):
        n_threads = torch.get_num_threads()
        torch.set_num_threads(1)
        torch.manual_seed(seed)
        try:
            yield
        finally:
            torch.set_num_threads(n_threads)


# Training of DIME: the value of an acquisition is regressed on the realised decrease of the predictor's loss.


class ValueRegressionTraining(JointTraining):
    """Rows make a random acquisition with the probability of the level, otherwise that of most value per price."""

    levels = (1.0, 0.05)  # exploration

    def preference(self, inputs: Tensor, prices: Tensor) -> Tensor:
        return information_values(self.chooser(inputs), self.predictor(inputs)) / prices

    def loss(self, rows: TensorRows, level: float) -> Tensor:
        def explore(inputs: Tensor, prices: Tensor) -> Tensor:
            at_random = torch.rand((len(inputs), 1), generator=self.generator) < level
            return torch.where(at_random, self.noise(prices.shape), self.preference(inputs, prices))

        visited = self.visit(rows, explore)
        n_states, n = len(visited.taken), len(rows.y)
        states = rows.repeated(n_states)
        inputs = self.inputs(states, visited.taken.flatten(0, 1))
        scores = self.predictor(inputs)
        errors = self.errors(states, scores).view(n_states, n)
        values = information_values(self.chooser(inputs[:-n]), scores[:-n].detach()).view(n_states - 1, n, -1)
        value = values.gather(2, visited.choice[..., None])[..., 0]
        gain = (errors[:-1] - errors[1:]).detach()
        misses = torch.where(visited.legal.any(dim=2), (value - gain) ** 2, 0.0)
        return (rows.weight * (errors.mean(dim=0) + misses.mean(dim=0))).mean()


def information_values(outputs: Tensor, scores: Tensor) -> Tensor:
    """The values of acquisitions in nats, each a share of the entropy of the prediction, which bounds them all."""
    logs = torch.log_softmax(scores, dim=1)
    entropy = -(logs.exp() * logs).sum(dim=1, keepdim=True)
    return torch.sigmoid(outputs) * entropy


# Training of GDFS: the choice is relaxed to the concrete distribution, so that its gradient is that of the loss.


class RelaxedChoiceTraining(JointTraining):
    """Both networks lower the cross-entropy after each choice; the chooser raises gain per price if prices differ."""

    levels = (1.0, 0.1)  # temperature

    def preference(self, inputs: Tensor, prices: Tensor) -> Tensor:
        return self.chooser(inputs)

    def loss(self, rows: TensorRows, level: float) -> Tensor:
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

    def _errors_after(self, states: TensorRows, taken: Tensor, choice: Tensor) -> Tensor:
        return self.errors(states, self.predictor(self.inputs(states, torch.maximum(taken, choice))))

    def _loss_per_price(self, states: TensorRows, taken: Tensor, choice: Tensor, prices: Tensor) -> Tensor:
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
