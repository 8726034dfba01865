"""Kernel methods: predictions are sums over the training rows, weighted by a kernel.

    KernelRidge              f(x) = b + Σ aᵢ k(x, xᵢ),    a = (K + αI)⁻¹ y;    α by exact leave-one-out
    NadarayaWatson           f(x) = Σ k(x, xᵢ) yᵢ / Σ k(x, xᵢ);    bandwidth by exact leave-one-out
    KernelPerceptron         f(x) = Σ αᵢ yᵢ k(x, xᵢ),    αᵢ the mistakes made on row i
    SoftNeighborsClassifier  p(c | x) ∝ Σ k(x, xᵢ) over the rows of class c;    bandwidth by exact leave-one-out

`KernelRidge` is `credo.linear.Ridge` in the kernel's feature space and computes everything, including the whole path
over α, from one eigendecomposition of the Gram matrix. `NadarayaWatson` averages nearby targets, and
`SoftNeighborsClassifier` uses the same weights as votes.

`KernelSpectrum` and `Neighbours` are attributes of fitted models: their names are part of the file format. Covariance
functions are in `kernels`; a kernel machine whose kernel is fitted by maximum evidence is a Gaussian process, in `gp`.
"""

from credo.kernel_machines.neighbors import NadarayaWatson, SoftNeighborsClassifier
from credo.kernel_machines.neighbors import Neighbours as Neighbours
from credo.kernel_machines.perceptron import KernelPerceptron
from credo.kernel_machines.ridge import KernelRidge
from credo.kernel_machines.ridge import KernelSpectrum as KernelSpectrum

__all__ = ["KernelPerceptron", "KernelRidge", "NadarayaWatson", "SoftNeighborsClassifier"]
