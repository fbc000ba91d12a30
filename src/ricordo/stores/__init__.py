"""The memories: one module each, with its named queries beside it."""
