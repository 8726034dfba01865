"""Requests that the lab refuses."""

from __future__ import annotations

from fastapi import HTTPException


class Refused(HTTPException):
    """A request that can't be answered, with a sentence for the user, which FastAPI returns."""

    def __init__(self, sentence: str, status: int = 422) -> None:
        super().__init__(status, sentence)
