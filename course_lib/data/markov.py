r"""Hidden Markov source with exact inference: entropies, floors, posteriors.

The source is a table `T[x, s, u]`: in state s, the probability of emitting symbol x and
moving to state u. Sums over hidden paths are products of these matrices, so that

    P(x_1 ... x_n) = start T[x_1] ... T[x_n] 1                           (eq. 1)

which is the forward algorithm (Rabiner 1989, doi:10.1109/5.18626). Every source here is
*unifilar*: the state and the symbol fix the next state. The state therefore never gets
lost, and the entropy rate has a closed form,

    h = sum_s pi_s H(x | s),     pi = pi sum_x T[x]                      (eq. 2)

(Cover and Thomas, Elements of Information Theory, section 4.2). All entropies are in
nats per symbol.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

__all__ = ["Source", "entropy"]


def entropy(p: np.ndarray) -> np.ndarray:
    """Entropy of distributions along the last axis, in nats; 0 log 0 counts as 0."""
    p = np.asarray(p, dtype=np.float64)
    return -np.sum(p * np.log(np.where(p > 0, p, 1.0)), axis=-1)


@dataclass(frozen=True, eq=False)
class Source:
    """A unifilar source of symbols."""

    #: `T[x, s, u]`, `V S S`. Symbols that are never emitted (special tokens) have a
    #: matrix of zeros.
    table: np.ndarray
    start: int = 0  #: The state before the first symbol of a sequence

    def __post_init__(self) -> None:
        sums = self.table.sum((0, 2))
        if (self.table < 0).any() or not np.allclose(sums, 1, atol=1e-12):
            raise ValueError(
                "table must hold a distribution over (symbol, next state) for each "
                f"state: its sums run from {sums.min()} to {sums.max()}, not 1."
            )
        if ((self.table > 0).sum(2) > 1).any():
            raise ValueError(
                "table must be unifilar: here a state and a symbol lead to several "
                "states. Split the symbol, or join the states."
            )

    @property
    def n_states(self) -> int:
        """S, the number of hidden states."""
        return self.table.shape[1]

    @cached_property
    def emission(self) -> np.ndarray:
        """P(x | s), `S V`."""
        return self.table.sum(2).T

    @cached_property
    def next_state(self) -> np.ndarray:
        """The state after symbol x in state s, `S V`; -1 where s never emits x."""
        return np.where(self.emission > 0, self.table.argmax(2).T, -1)

    @cached_property
    def stationary(self) -> np.ndarray:
        """The share of time spent in each state in the long run, `S`."""
        chain = self.table.sum(0)
        rows = np.vstack([chain.T - np.eye(self.n_states), np.ones(self.n_states)])
        goal = np.append(np.zeros(self.n_states), 1.0)
        share = np.maximum(np.linalg.lstsq(rows, goal, rcond=None)[0], 0)
        return share / share.sum()

    @cached_property
    def entropy_rate(self) -> float:
        """Nats per symbol that no model can beat in the long run (eq. 2)."""
        return float(self.stationary @ entropy(self.emission))

    def sample(self, n: int, length: int, *, seed: int | list[int]) -> np.ndarray:
        """Draw sequences from the start state: `n length`, int64."""
        uniforms = np.random.default_rng(seed).random((n, length))
        edges = np.cumsum(self.emission, axis=1)
        # Rounding may leave the last edge below 1: the last possible symbol takes the
        # remainder.
        last = self.emission.shape[1] - 1 - (self.emission[:, ::-1] > 0).argmax(1)
        states = np.full(n, self.start)
        symbols = np.empty((n, length), dtype=np.int64)
        for t in range(length):
            drawn = (uniforms[:, t, None] >= edges[states]).sum(1)
            symbols[:, t] = np.minimum(drawn, last[states])
            states = self.next_state[states, symbols[:, t]]
        return symbols

    def next_symbol(self, symbols: np.ndarray) -> np.ndarray:
        """P(x_t | x_0 ... x_{t-1}), the best that a causal model can predict.

        `B T` symbols, from the start state on, give `B (T+1) V`: the last row is for
        the symbol that would come next.
        """
        symbols = np.asarray(symbols)
        states = np.full(symbols.shape[0], self.start)
        rows = [self.emission[states]]
        for t in range(symbols.shape[1]):
            states = self.next_state[states, symbols[:, t]]
            if (states < 0).any():
                row = int(np.argmax(states < 0))
                raise ValueError(
                    "symbols must be sequences that the source can emit: sequence "
                    f"{row} leaves it at position {t} with symbol {symbols[row, t]}."
                )
            rows.append(self.emission[states])
        return np.stack(rows, axis=1)

    def losses(self, symbols: np.ndarray) -> np.ndarray:
        """-log P(x_t | x_0 ... x_{t-1}) of each symbol, `B T`, in nats.

        Their mean is the loss of the best possible causal model on these very
        sequences: a floor without sampling error.
        """
        symbols = np.asarray(symbols)
        given = self.next_symbol(symbols)[:, :-1]
        return -np.log(np.take_along_axis(given, symbols[..., None], -1)[..., 0])

    def _state_shares(self, length: int) -> np.ndarray:
        """The distribution of the state before each symbol, `length S`."""
        chain, shares = self.table.sum(0), [np.eye(self.n_states)[self.start]]
        while len(shares) < length:
            shares.append(shares[-1] @ chain)
        return np.array(shares)

    def position_entropies(self, length: int) -> np.ndarray:
        """H(x_t | x_0 ... x_{t-1}) for sequences from the start state, `length`.

        Their mean is the expected loss of the best causal model on sequences of this
        length; it tends to `entropy_rate`.
        """
        return self._state_shares(length) @ entropy(self.emission)

    @cached_property
    def _members(self) -> np.ndarray:
        """P(x | group) of symbols that say the same about the states, `G V`.

        The matrices of such symbols (the words of one class) are proportional, so exact
        sums need to visit only the group.
        """
        mass = self.table.sum((1, 2))
        keys = [
            tuple(np.round(m / w, 12).ravel()) if w > 0 else None
            for m, w in zip(self.table, mass, strict=True)
        ]
        groups = [key for key in dict.fromkeys(keys) if key is not None]
        own = np.array([[key == group for key in keys] for group in groups])
        return own * mass / (own @ mass)[:, None]

    @cached_property
    def _groups(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """P(group | s) `S G`, the next state `S G`, H(x | group) `G`."""
        own = (self._members > 0).astype(float)
        chance = self.emission @ own.T
        first = (self._members > 0).argmax(1)
        return chance, self.next_state[:, first], entropy(self._members)

    def ngram_entropies(self, order: int) -> np.ndarray:
        """The loss of the best n-gram model in the long run, for n = 1 to `order`.

        These are H(x_t), H(x_t | x_{t-1}), ..., which fall towards `entropy_rate`.
        """
        within = self._groups[2]
        tables = np.einsum("gv,vsu->gsu", (self._members > 0).astype(float), self.table)
        beliefs = {tuple(self.stationary): 1.0}
        found = []
        for _ in range(order):
            level, ahead = 0.0, {}
            for belief, weight in beliefs.items():
                after = np.asarray(belief) @ tables  # G S
                p = after.sum(1)
                level += weight * (entropy(p) + p @ within)
                for g in np.flatnonzero(p > 0):
                    key = tuple(np.round(after[g] / p[g], 12))
                    ahead[key] = ahead.get(key, 0.0) + weight * p[g]
            found.append(level)
            beliefs = ahead
        return np.array(found)

    def posterior(self, likelihood: np.ndarray) -> np.ndarray:
        """P(x_t | all that is observed elsewhere): the forward-backward algorithm.

        The likelihood, `B T V`, is the probability of what was observed at position t
        if the symbol there were x: a one-hot row for a symbol that is seen, ones for
        one that is masked, anything between for noise. The position's own observation
        is left out of the result, `B T V`: to include it, multiply and normalize.
        """
        n, length, _ = likelihood.shape
        chance, arrow, _ = self._groups
        # The edges of the graph of states: from `s`, by a symbol of group `g`, to `u`.
        s, g = np.nonzero(chance)
        u, p = arrow[s, g], chance[s, g]
        into, out_of = np.eye(self.n_states)[u], np.eye(self.n_states)[s]  # E S
        by_group = np.eye(chance.shape[1])[g]  # E G
        seen = (likelihood @ self._members.T)[..., g]  # B T E
        forward = np.empty((length, n, self.n_states))
        now = np.tile(np.eye(self.n_states)[self.start], (n, 1))
        for t in range(length):
            forward[t] = now
            now = (now[:, s] * p * seen[:, t]) @ into
            total = now.sum(1, keepdims=True)
            if (total <= 0).any():
                raise ValueError(
                    "the observations must be possible under the source: sequence "
                    f"{int(np.argmin(total))} is not, from position {t} on."
                )
            now = now / total
        groups = np.empty((length, n, chance.shape[1]))
        now = np.ones((n, self.n_states))
        for t in reversed(range(length)):
            future = now[:, u] * p
            groups[t] = (future * forward[t][:, s]) @ by_group
            now = (future * seen[:, t]) @ out_of
            now = now / now.max(1, keepdims=True)
        groups /= groups.sum(-1, keepdims=True)
        return groups.transpose(1, 0, 2) @ self._members
