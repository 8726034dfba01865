"""Random Fourier features: functions from a Gaussian-process prior that can be evaluated anywhere.

A kernel that has features is a sum of terms

    scale · E cos(ωᵀ(c(x) − c(z))) · Π_l ψ_l(x)ᵀψ_l(z)

of a shift-invariant part, given by the distribution of its frequencies ω (Bochner's theorem; Rahimi & Recht 2007), and
of finite maps ψ. Sums concatenate their terms. Products multiply them out and add the frequencies of the factors,
because the characteristic function of a sum of independent frequencies is the product of theirs.

With Φ = `random_features(terms, n, rng)` and w ~ N(0, I), f(x) = Φ(x)w is a draw of a Gaussian process whose covariance
ΦΦᵀ is the kernel in expectation. Finite maps are exact; waves come in pairs of cosine and sine, so that a
shift-invariant part has exactly its variance; frequencies are quasi-random draws from their distribution.

Members: `terms` (`Term`, `Waves`, `Finite`: returned by kernels), `distributions` (of frequencies), `features`
(the random features). Kernels don't belong here: they import this package.
"""

from credo.kernels.spectra.features import Features, random_features
from credo.kernels.spectra.terms import Finite, Term, Waves

__all__ = ["Features", "Finite", "Term", "Waves", "random_features"]
