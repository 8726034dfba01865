"""Requests that schemathesis generates from the OpenAPI description: no answer is a server error."""

import os
from datetime import timedelta

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import checks
from schemathesis.specs.openapi.checks import response_schema_conformance, status_code_conformance

from credo.app.serve import Limits, application

CHECKS = [checks.not_a_server_error, response_schema_conformance, status_code_conformance]


def explore(served, name, n_examples):
    """Call every operation with generated requests, valid and invalid."""
    app = application(served[name], limits=Limits(seconds=20.0))
    description = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"host": "localhost"})
    statuses = set()
    for found in description.get_all_operations():
        operation = found.ok()
        modes = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
        if operation.method == "get":
            modes = modes[:1]
        for mode in modes:

            @given(case=operation.as_strategy(generation_mode=mode))
            @settings(
                max_examples=n_examples if operation.method == "post" else 2,
                deadline=timedelta(seconds=20),
                database=None,
                derandomize=n_examples < 100,
                suppress_health_check=list(HealthCheck),
            )
            def call(case):
                response = case.call_and_validate(headers={"host": "localhost"}, checks=CHECKS)
                statuses.add((case.operation.path, response.status_code))

            call()
    return statuses


def test_generated_requests_cause_no_server_error(served):
    statuses = explore(served, "growth", 20)
    assert {status for path, status in statuses if path == "/predict"} >= {200, 422}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["growth", "size", "plain"])
def test_many_generated_requests_cause_no_server_error(served, name):
    statuses = explore(served, name, int(os.environ.get("CREDO_EXAMPLES", "500")))
    assert max(status for _, status in statuses) < 500
