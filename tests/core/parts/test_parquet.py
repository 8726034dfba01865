"""Parquet files in chunks."""

import numpy as np
import pandas as pd
import pytest

from credo import LinearRegression, LogisticRegression
from credo.core.parts import PartError, read_parquet
from credo.core.parts import parquet as _parquet

pytest.importorskip("pyarrow")


@pytest.fixture
def frame(monkeypatch):
    monkeypatch.setattr(_parquet, "_CHUNK_ENTRIES", 5000)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=5000), "b": rng.integers(0, 9, 5000), "w": rng.integers(1, 3, 5000)})
    frame["y"] = frame.a - 2.0 * frame.b + rng.normal(size=5000)
    frame["city"] = pd.Categorical(np.where(frame.y > 0, "Rome", "Oslo"))
    return frame


def test_the_rows_of_files_give_the_fit_of_the_frame(frame, tmp_path):
    whole = LinearRegression().fit(frame[["a", "b"]], frame.y, frame.w)
    frame[:2000].to_parquet(tmp_path / "one.parquet")
    frame[2000:].to_parquet(tmp_path / "two.parquet", row_group_size=700)
    chunks = read_parquet(tmp_path, target="y", columns=["a", "b"], weight="w")
    assert chunks.n_rows == 5000 and max(len(y) for _, y, _ in chunks) <= 1250
    found = LinearRegression().fit(chunks)
    np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-10)
    assert list(found.feature_names_in_) == ["a", "b"]
    labels = read_parquet([tmp_path / "one.parquet", tmp_path / "two.parquet"], target="city", columns=["a"])
    sure = LogisticRegression(alpha=1.0).fit(labels)
    np.testing.assert_allclose(sure.coef_, LogisticRegression(alpha=1.0).fit(frame[["a"]], frame.city).coef_, rtol=1e-7)


def test_errors(frame, tmp_path):
    frame.loc[4000, "a"] = np.nan
    frame.to_parquet(tmp_path / "one.parquet")
    with pytest.raises(PartError, match=r"chunk 2: .*NaN"):
        LinearRegression().fit(read_parquet(tmp_path, target="y", columns=["a", "b"]))
    with pytest.raises(ValueError, match=r"column 'city' holds dictionary.* which isn't a number"):
        LinearRegression().fit(read_parquet(tmp_path, target="y"))
    with pytest.raises(ValueError, match="has no column 'z'; it has 'a', 'b'"):
        read_parquet(tmp_path, target="z")
    frame.drop(columns="w").to_parquet(tmp_path / "two.parquet")
    with pytest.raises(ValueError, match="different columns, such as 'w'"):
        read_parquet(tmp_path, target="y")
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="no Parquet file"):
        read_parquet(tmp_path / "empty", target="y")
