"""The machinery that models are made of; users don't import from here.

    linalg      Cholesky factors, jitter, rank updates, threads       params     parameters, bijectors, hyperpriors
    estimator   base classes, validation of rows, targets, weights    parts      tables that come in chunks
    inference   latent Gaussians: representation x inference          learning   optimizers, samplers, EM, quadrature
    folds       rows that are held out together                       frames     data frames of any library
    seeds       random generators                                     notices    warnings that a caller can collect
    deadlines   the time limit of a fit                               numba      compiled functions and their cache
    lazy        imports on first use                                  wording    lists and numbers in words

What does not belong here: any particular model.
"""
