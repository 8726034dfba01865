"""`credo audit`, and the line of `credo predict` about rows that differ as a whole."""

import json


def test_an_audit_of_new_rows(run, fitted, frame, tmp_path):
    frame.assign(price=frame["price"] + 40, size=frame["size"] + 10).to_csv(tmp_path / "new.csv", index=False)
    result = run("audit", fitted / "model.credo", tmp_path / "new.csv")
    assert result.exit_code == 0, result.stderr
    lines = {line[:12].strip(): line[12:] for line in result.stdout.splitlines()}
    assert lines["rows"] == "80 rows with price"
    assert (
        "too few" in lines["coverage"] and "an alarm" in lines["evidence"] and lines["shift"].startswith("size above")
    )
    record = json.loads(run("audit", fitted / "model.credo", tmp_path / "new.csv", "--json").stdout)
    assert record["alarm"] and record["shift"]["differences"][0]["column"] == "size" and record["overall"]["rows"] == 80


def test_predictions_say_when_rows_differ_as_a_whole(run, fitted, frame, tmp_path):
    frame.to_csv(tmp_path / "same.csv", index=False)
    frame.assign(size=frame["size"] + 10).to_csv(tmp_path / "new.csv", index=False)
    assert "As a whole" not in run("predict", fitted / "model.credo", tmp_path / "same.csv").stderr
    said = run("predict", fitted / "model.credo", tmp_path / "new.csv").stderr
    assert "As a whole, the 80 rows differ from the training rows (size above" in said


def test_a_table_without_the_target(run, fitted, frame, tmp_path):
    frame.drop(columns="price").to_csv(tmp_path / "new.csv", index=False)
    result = run("audit", fitted / "model.credo", tmp_path / "new.csv")
    assert result.exit_code == 1 and "'price'" in result.stderr
