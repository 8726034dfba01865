"""A full fit by each library from one start, and a prediction with standard deviations.

A contestant takes standardised targets, climbs the evidence of a zero-mean process with an ARD RBF from length scales
1, variance 1 and noise variance 0.1, predicts at new rows, and returns the hyperparameters where it ended.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from credo.core.inference import Dense
from credo.gp import GPRegressor
from credo.kernels import RBF

Array = NDArray[np.float64]


@dataclass(frozen=True)
class End:
    """Hyperparameters at the end of a climb."""

    lengthscale: Array
    variance: float
    noise: float

    def log_evidence(self, X: Array, y: Array) -> float:
        """By our own function for every library, so that constants and conventions don't differ."""
        kernel = RBF(self.lengthscale, variance=self.variance)
        return Dense(X).prior(kernel).observe(y[:, None], self.noise).log_evidence


def credo(X: Array, y: Array, new: Array) -> End:
    start = RBF(np.ones(X.shape[1]))
    options = {"mean": "zero", "hyperpriors": False, "hyperparameters": "optimize", "n_restarts": 0}
    model = GPRegressor(start, random_state=0, **options).fit(X, y)
    model.predict(new, return_std=True)
    params = model.kernel_.params
    return End(np.asarray(params["lengthscale"]), float(params["variance"]), float(model.noise_variance_))


def scikit_learn(X: Array, y: Array, new: Array) -> End:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process import kernels as sk

    start = sk.ConstantKernel(1.0) * sk.RBF(np.ones(X.shape[1])) + sk.WhiteKernel(0.1)
    model = GaussianProcessRegressor(start).fit(X, y)
    model.predict(new, return_std=True)
    scaled, white = model.kernel_.k1, model.kernel_.k2
    return End(scaled.k2.length_scale, scaled.k1.constant_value, white.noise_level)


def gpy(X: Array, y: Array, new: Array) -> End:
    import GPy

    n_columns = X.shape[1]
    kernel = GPy.kern.RBF(n_columns, variance=1.0, lengthscale=np.ones(n_columns), ARD=True)
    model = GPy.models.GPRegression(X, y[:, None], kernel, noise_var=0.1)
    model.optimize("lbfgsb", max_iters=1000)
    _, variance = model.predict(new)
    np.sqrt(variance)
    return End(np.array(kernel.lengthscale), float(kernel.variance[0]), float(model.likelihood.variance[0]))


def gpytorch(X: Array, y: Array, new: Array) -> End:
    """With Cholesky factors at every size: its default above 800 rows changes the answer."""
    import gpytorch
    import torch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, X, y, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    rows, targets = torch.from_numpy(X), torch.from_numpy(y)
    bound = gpytorch.constraints.GreaterThan(1e-6)
    likelihood = gpytorch.likelihoods.GaussianLikelihood(noise_constraint=bound).double()
    model = Model(rows, targets, likelihood).double()
    model.covar_module.base_kernel.lengthscale, model.covar_module.outputscale, likelihood.noise = 1.0, 1.0, 0.1
    evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    climber = torch.optim.LBFGS(model.parameters(), max_iter=200, line_search_fn="strong_wolfe")

    def closure():
        climber.zero_grad()
        loss = -evidence(model(rows), targets)
        loss.backward()
        return loss

    exact = gpytorch.settings.fast_computations(covar_root_decomposition=False, log_prob=False, solves=False)
    with exact, gpytorch.settings.max_cholesky_size(10**6):
        model.train(), likelihood.train()
        climber.step(closure)
        model.eval(), likelihood.eval()
        with torch.no_grad():
            likelihood(model(torch.from_numpy(new))).stddev.numpy()
    kernel = model.covar_module
    return End(
        kernel.base_kernel.lengthscale.detach().numpy().ravel().copy(),
        float(kernel.outputscale),
        float(likelihood.noise),
    )
