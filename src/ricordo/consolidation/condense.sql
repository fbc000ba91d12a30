-- name: siblings
-- The summaries that stand in a thread's window, oldest first, each with the digest of what it says and rests on.
SELECT id::text, level, first_seq, last_seq, message_count, source_tokens, tokens, reference_tokens, stale,
    items,
    ricordo.summary_digest(id, content, items, source_digest)
FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND kind = 'thread' AND parent_id IS NULL
ORDER BY first_seq

-- name: references
-- What the references in a thread's window take, and the model that the thread was last seen with.
SELECT summary_tokens, model FROM ricordo.thread
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s

-- name: children_now
-- How many of the chosen summaries still stand in the window, and the digest over their digests.
SELECT count(*), sha256(string_agg(
    ricordo.summary_digest(id, content, items, source_digest), ''::bytea ORDER BY first_seq
))
FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND parent_id IS NULL AND id = ANY(%(ids)s::uuid[])

-- name: adopt
-- Put the chosen summaries under their parent.
UPDATE ricordo.summary_memory SET parent_id = %(id)s::uuid
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND parent_id IS NULL AND id = ANY(%(ids)s::uuid[])

-- name: settle_parent
-- Count the parent's reference in place of its children's.
UPDATE ricordo.thread
SET summaries = summaries + 1, summary_tokens = summary_tokens - %(children_tokens)s + %(reference_tokens)s,
    observed_tokens = NULL, observed_estimate = NULL, updated_at = now()
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s
