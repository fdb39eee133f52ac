"""Between zCDP and (epsilon, delta): the best real order, for the straight curve r(a) = rho a."""

from __future__ import annotations

from fractions import Fraction

from exactnoise.accounting.amount import Number, exact
from exactnoise.accounting.interval import Formula, lower
from exactnoise.accounting.rdp import best_order, gaussian_rdp, rdp_delta, rdp_epsilon

__all__ = ["zcdp_delta", "zcdp_epsilon", "zcdp_rho"]


def zcdp_epsilon(rho: Number, delta: Number) -> Fraction:
    """Return the least epsilon for which rho-zCDP is proved to be (epsilon, delta)-differential privacy.

    Parameters
    ----------
    rho : number
    delta : number
        Between 0 and 1.

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits.

    Raises
    ------
    TypeError, ValueError
        `rho` is not a positive number, or `delta` not one below 1.

    Notes
    -----
    min over a of rho a + ln(1 - 1/a) - ln(a delta) / (a - 1) (Canonne, Kamath & Steinke 2020,
    arXiv 2004.00010, Proposition 12), always below the rho + 2 sqrt(rho ln(1/delta)) of Bun &
    Steinke 2016, arXiv 1605.02065, Proposition 1.3. For Gaussian noise alone `gaussian_epsilon` is
    the exact and smaller value.

    Examples
    --------
    >>> round(float(zcdp_epsilon("0.5", 1e-6)), 9)
    5.221534445
    """
    amount = exact(rho, "rho", price=True)
    return rdp_epsilon(lambda a: gaussian_rdp(a, amount), delta)


def zcdp_delta(rho: Number, epsilon: Number) -> Fraction:
    """Return the least delta for which rho-zCDP is proved to be (epsilon, delta)-differential privacy.

    Parameters
    ----------
    rho : number
    epsilon : number
        Zero or more.

    Returns
    -------
    Fraction
        Rounded up to 20 significant digits; at most 1.

    Raises
    ------
    TypeError, ValueError
        `rho` is not a positive number, or `epsilon` not one >= 0.

    Notes
    -----
    Canonne, Kamath & Steinke 2020, arXiv 2004.00010, Corollary 13; see `zcdp_epsilon`.

    Examples
    --------
    >>> round(float(zcdp_delta(2, 10)), 9)
    4.8726e-05
    """
    amount = exact(rho, "rho", price=True)
    return rdp_delta(lambda a: gaussian_rdp(a, amount), epsilon)


def zcdp_rho(epsilon: Number, delta: Number) -> Fraction:
    """Return the largest rho for which rho-zCDP is proved to be (epsilon, delta)-differential privacy.

    Parameters
    ----------
    epsilon : number
    delta : number
        Between 0 and 1.

    Returns
    -------
    Fraction
        Rounded down to 20 significant digits: the cap of a budget that counts in rho.

    Raises
    ------
    TypeError, ValueError
        `epsilon` is not a positive number, or `delta` not one below 1.

    Notes
    -----
    `zcdp_epsilon` solved for rho order by order, then the best order: max over a of
    (epsilon - ln(1 - 1/a) + ln(a delta) / (a - 1)) / a.

    Examples
    --------
    >>> round(float(zcdp_rho(1, 1e-6)), 8)
    0.02435597
    """
    eps = exact(epsilon, "epsilon", price=True)
    small = exact(delta, "delta", below=1, price=True)

    def rho(a: Fraction) -> Formula:
        return lambda at: (eps - at(1 - 1 / a).ln() + at(a * small).ln() / (a - 1)) / a

    return lower(rho(best_order(lambda a: lambda at: -rho(a)(at))))
