"""Calibration and accuracy of the default models on held-out rows, beside other libraries and published numbers.

    python -m benchmarks.honesty --data DIR

writes `docs/honesty.json` and the page `docs/honesty.md`: log score, CRPS, RMSE and coverage of 50 % and 95 %
intervals for regression; log score, Brier score and calibration error for classification; with `--tables 100`, the
coverage on tables drawn from a model's own prior. Data sets are those that scikit-learn and statsmodels ship, and the
files of a folder; `sets.py` has the names. `--page` writes both files from the forecasts that there are.
"""
