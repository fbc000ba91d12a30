"""What the examples of the documentation change in the process is put back after each of them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from ricordo.tokens import MODEL_TOKEN_LIMITS


@pytest.fixture(autouse=True)
def model_limits() -> Iterator[None]:
    """Restore the table that an application may add its models to."""
    before = dict(MODEL_TOKEN_LIMITS)
    yield
    MODEL_TOKEN_LIMITS.clear()
    MODEL_TOKEN_LIMITS.update(before)
