"""Atoms: the numbers, dates, names, identifiers, paths, URLs, error codes and quotations that a text states."""

from __future__ import annotations

from ricordo.consolidation.atoms.atom import Atom, AtomKind
from ricordo.consolidation.atoms.index import AtomIndex
from ricordo.consolidation.atoms.scan import atoms

__all__ = ["Atom", "AtomIndex", "AtomKind", "atoms"]
