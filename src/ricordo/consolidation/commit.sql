-- name: facts
-- What the planner needs of the live messages, in order, and whether later ones are covered already.
SELECT seq, role, tokens, pinned, tool_links, window_tokens, seq < coalesce((
    SELECT last_seq FROM ricordo.summary_memory
    WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND kind = 'thread' AND parent_id IS NULL
    ORDER BY last_seq DESC LIMIT 1
), 0)
FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND summary_id IS NULL
ORDER BY seq

-- name: sources
-- The messages to summarise, in order, each with the digest of its exact original.
SELECT seq, role, content, "timestamp", tokens,
    ricordo.message_digest(seq, id, role, "timestamp", message, metadata), tool_links
FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND summary_id IS NULL
    AND seq = ANY(%(seqs)s::bigint[])
ORDER BY seq

-- name: hold
-- Lock the thread's row, if the lease is still ours.
SELECT 1 FROM ricordo.thread
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND lease_token = %(token)s::uuid
FOR UPDATE

-- name: sources_now
-- How many of the planned messages are live, their tokens in a window, and the digest over their digests.
SELECT count(*), coalesce(sum(coalesce(window_tokens, tokens)), 0)::bigint,
    sha256(string_agg(ricordo.message_digest(seq, id, role, "timestamp", message, metadata), ''::bytea ORDER BY seq))
FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND summary_id IS NULL
    AND seq = ANY(%(seqs)s::bigint[])

-- name: mark
-- Mark the summarised messages with the summary's id.
UPDATE ricordo.conversational_memory
SET summary_id = %(id)s::uuid
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND summary_id IS NULL
    AND seq = ANY(%(seqs)s::bigint[])

-- name: settle
-- Move the marked messages from live to covered in the thread's counters.
UPDATE ricordo.thread
SET live_messages = live_messages - %(count)s, live_tokens = live_tokens - %(tokens)s,
    covered_messages = covered_messages + %(count)s, summaries = summaries + 1,
    summary_tokens = summary_tokens + %(reference_tokens)s,
    observed_tokens = NULL, observed_estimate = NULL, updated_at = now()
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s

-- name: messages
-- The exact originals of some messages, in order.
SELECT seq, message::text
FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND seq = ANY(%(seqs)s::bigint[])
ORDER BY seq
