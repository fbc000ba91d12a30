"""Importing conversations from files, exactly and repeatably."""

from __future__ import annotations

from ricordo.importers.load import BadItem, ImportReport, import_file, import_source
from ricordo.importers.source import Format, Source, opened

__all__ = ["BadItem", "Format", "ImportReport", "Source", "import_file", "import_source", "opened"]
