"""Recessions of the United States by month, as the NBER dates them, since 1854.

Months of peaks and troughs: National Bureau of Economic Research, "US Business Cycle
Expansions and Contractions", nber.org/research/data/us-business-cycle-expansions-and-
contractions. The first trough is December 1854, the last one April 2020, and no peak
had been announced since when this file was written, in 2026.

A recession is each month after a peak, up to the trough and with it, which is the
convention of FRED's series USREC.
"""

import numpy as np

__all__ = ["in_recession", "recessions"]

_FIRST_TROUGH = "1854-12"
_PEAKS_AND_TROUGHS = """
    1857-06 1858-12  1860-10 1861-06  1865-04 1867-12  1869-06 1870-12
    1873-10 1879-03  1882-03 1885-05  1887-03 1888-04  1890-07 1891-05
    1893-01 1894-06  1895-12 1897-06  1899-06 1900-12  1902-09 1904-08
    1907-05 1908-06  1910-01 1912-01  1913-01 1914-12  1918-08 1919-03
    1920-01 1921-07  1923-05 1924-07  1926-10 1927-11  1929-08 1933-03
    1937-05 1938-06  1945-02 1945-10  1948-11 1949-10  1953-07 1954-05
    1957-08 1958-04  1960-04 1961-02  1969-12 1970-11  1973-11 1975-03
    1980-01 1980-07  1981-07 1982-11  1990-07 1991-03  2001-03 2001-11
    2007-12 2009-06  2020-02 2020-04
"""


def recessions() -> np.ndarray:
    """Peak and trough of each recession, as months: an array of shape (34, 2)."""
    return np.array(_PEAKS_AND_TROUGHS.split(), dtype="datetime64[M]").reshape(-1, 2)


def in_recession(dates: np.ndarray) -> np.ndarray:
    """Whether each date lies in a recession: booleans of the dates' shape.

    Args:
        dates: Of dtype datetime64, or what NumPy turns into that, such as
            "1931-12-08"; none before December 1854, where the chronology begins.
    """
    months = np.asarray(dates, dtype="datetime64[M]")
    early = months[months < np.datetime64(_FIRST_TROUGH)]
    if early.size:
        raise ValueError(
            f"NBER's months begin with {_FIRST_TROUGH}: got {early.min()}. "
            "Leave earlier dates out."
        )
    peaks, troughs = recessions().T
    return ((peaks < months[..., None]) & (months[..., None] <= troughs)).any(axis=-1)
