"""The command `ricordo`: parse, call the library, show. No policy and no SQL."""
