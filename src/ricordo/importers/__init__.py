"""Importing conversations from files, exactly and repeatably."""

from __future__ import annotations

from ricordo.importers.load import BadItem, ImportReport, import_file
from ricordo.importers.source import FORMATS, Format

__all__ = ["FORMATS", "BadItem", "Format", "ImportReport", "import_file"]
