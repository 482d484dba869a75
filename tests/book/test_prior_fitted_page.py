"""The page on prior-fitted networks calls TabPFN, unrun: here its code runs.

With a stand-in that is called as the package documents it, because the package's first
call downloads weights.
"""

import re
import sys
from types import ModuleType

import numpy as np
from book_scripts import page
from sklearn.linear_model import LinearRegression, Ridge


def firms(n: int, seed: int, n_months: int):
    """Firms whose bills have no noise, which least squares forecasts without error."""
    rng = np.random.default_rng(seed)
    x, slopes = rng.normal(size=(n, n_months, 3)), rng.normal(size=(n, 3))
    return x, np.einsum("ntj,nj->nt", x, slopes), slopes


def test_its_code_is_a_race_of_tabpfn_and_least_squares(monkeypatch, capsys):
    seen = []

    class TabPFNRegressor:
        def fit(self, X, y):
            seen.append(X.shape)
            self.ridge = Ridge().fit(X, y)
            return self

        def predict(self, X):
            return self.ridge.predict(X)

    tabpfn = ModuleType("tabpfn")
    monkeypatch.setattr(tabpfn, "TabPFNRegressor", TabPFNRegressor, raising=False)
    monkeypatch.setitem(sys.modules, "tabpfn", tabpfn)
    (code,) = re.findall(r"```python\n(.*?)```", page("prior-fitted"), re.DOTALL)
    exec(code, {"firms": firms, "np": np})
    lines = capsys.readouterr().out.split("\n")[:2]
    found = {name: float(error) for name, error in (line.split() for line in lines)}
    assert list(found) == [LinearRegression.__name__, "TabPFNRegressor"]
    assert found["LinearRegression"] < 1e-6 < found["TabPFNRegressor"]
    assert seen == [(8, 3)] * 20  # it fits the first eight months
