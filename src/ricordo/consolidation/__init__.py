"""From live messages to a stored summary and back: plan, chunk, summarise, ground, commit, expand, verify."""
