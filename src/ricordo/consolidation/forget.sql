-- name: by_id
-- Messages by their ids.
SELECT thread_id, seq, id::text FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND id = ANY(%(ids)s::uuid[])
ORDER BY thread_id, seq

-- name: by_thread
-- All messages of a thread.
SELECT thread_id, seq, id::text FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s
ORDER BY seq

-- name: by_summary
-- All messages under a summary.
SELECT c.thread_id, c.seq, c.id::text
FROM ricordo.summary_memory AS s
JOIN ricordo.conversational_memory AS c ON c.namespace = s.namespace AND c.thread_id = s.thread_id
    AND c.seq BETWEEN s.first_seq AND s.last_seq AND c.summary_id IS NOT NULL
WHERE s.namespace = %(namespace)s AND s.id = %(id)s::uuid
ORDER BY c.seq

-- name: by_text
-- Messages that hold a text: in what they say, whatever the case, or anywhere in their exact form.
SELECT thread_id, seq, id::text FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND (
    position(lower(%(text)s) IN lower(content)) > 0
    OR position(lower(%(encoded)s) IN lower(message::text || metadata::text)) > 0
)
ORDER BY thread_id, seq

-- name: texts_by_text
-- Free texts that hold a text, in the original or in what was made of it.
SELECT id::text FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND kind = 'text' AND (
    position(lower(%(encoded)s) IN lower(source_text::text)) > 0
    OR position(lower(%(text)s) IN lower(description || E'\n' || content)) > 0
)
ORDER BY id

-- name: summaries_by_text
-- Summaries of threads that hold a text in what they say, their record of dropped lines or their recall keys.
SELECT id::text, thread_id FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND kind = 'thread' AND (
    position(lower(%(text)s) IN lower(description || E'\n' || content)) > 0
    OR position(lower(%(encoded)s) IN lower(items::text || recall_keys::text)) > 0
)
ORDER BY thread_id, first_seq

-- name: text_by_id
-- A free text by its id.
SELECT id::text FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND id = %(id)s::uuid AND kind = 'text'

-- name: lock_thread
-- Hold the thread's row: appends, consolidations and other forgetting wait.
SELECT 1 FROM ricordo.thread WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s FOR UPDATE

-- name: summaries_above
-- The named summaries of a thread, with all that stands above them.
SELECT s.id::text, s.level FROM ricordo.summary_memory AS s
WHERE s.namespace = %(namespace)s AND s.thread_id = %(thread_id)s AND s.kind = 'thread' AND EXISTS (
    SELECT FROM ricordo.summary_memory AS named
    WHERE named.namespace = %(namespace)s AND named.id = ANY(%(ids)s::uuid[]) AND (
        named.id = s.id
        OR (named.level < s.level AND named.first_seq >= s.first_seq AND named.last_seq <= s.last_seq)
    )
)
ORDER BY s.level, s.first_seq

-- name: delete_messages
-- Delete messages.
DELETE FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND seq = ANY(%(seqs)s::bigint[])
RETURNING summary_id::text, coalesce(window_tokens, tokens), tool_links

-- name: delete_logs
-- Delete the tool log entries whose output is one of the messages.
DELETE FROM ricordo.tool_log_memory
WHERE namespace = %(namespace)s AND message_id = ANY(%(ids)s::uuid[])

-- name: delete_inputs
-- Take the arguments of deleted tool calls out of the log entries of their results.
UPDATE ricordo.tool_log_memory SET tool_input = NULL
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND call_id = ANY(%(calls)s::text[])
    AND tool_input IS NOT NULL

-- name: logs_by_text
-- Tool log entries that hold a text in what they keep themselves.
SELECT id::text FROM ricordo.tool_log_memory
WHERE namespace = %(namespace)s AND (
    position(lower(%(encoded)s) IN lower(concat_ws(E'\n', tool_input::text, tool_output::text, metadata::text))) > 0
    OR position(lower(%(text)s) IN lower(concat_ws(E'\n', tool_name, error_message, preview))) > 0
) AND message_id IS NULL
ORDER BY id

-- name: delete_log
-- Delete a tool log entry.
DELETE FROM ricordo.tool_log_memory WHERE namespace = %(namespace)s AND id = %(id)s::uuid

-- name: empty_leaf
-- Empty a leaf summary and count its remaining messages again.
UPDATE ricordo.summary_memory AS s
SET stale = true, description = '', content = '', items = '[]', recall_keys = '[]', embedding = NULL, retention = NULL,
    tokens = 0, reference_tokens = 0, first_seq = m.first_seq, last_seq = m.last_seq, message_count = m.number,
    source_tokens = m.tokens, source_digest = m.digest
FROM (
    SELECT min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS number, sum(tokens)::bigint AS tokens,
        sha256(string_agg(
            ricordo.message_digest(seq, id, role, "timestamp", message, metadata), ''::bytea ORDER BY seq
        )) AS digest
    FROM ricordo.conversational_memory
    WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND summary_id = %(id)s::uuid
) AS m
WHERE s.namespace = %(namespace)s AND s.id = %(id)s::uuid AND m.number > 0

-- name: empty_parent
-- Empty a parent summary and count what remains under it again.
UPDATE ricordo.summary_memory AS s
SET stale = true, description = '', content = '', items = '[]', recall_keys = '[]', embedding = NULL, retention = NULL,
    tokens = 0, reference_tokens = 0, first_seq = c.first_seq, last_seq = c.last_seq, message_count = c.number,
    source_tokens = c.tokens
FROM (
    SELECT min(first_seq) AS first_seq, max(last_seq) AS last_seq, sum(message_count)::bigint AS number,
        sum(source_tokens)::bigint AS tokens
    FROM ricordo.summary_memory
    WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND parent_id = %(id)s::uuid
) AS c
WHERE s.namespace = %(namespace)s AND s.id = %(id)s::uuid AND c.number > 0

-- name: delete_summary
-- Delete a summary that covers nothing any more.
DELETE FROM ricordo.summary_memory WHERE namespace = %(namespace)s AND id = %(id)s::uuid

-- name: delete_thread_messages
-- Delete all messages of a thread.
DELETE FROM ricordo.conversational_memory WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s

-- name: delete_thread_summaries
-- Delete all summaries of a thread.
DELETE FROM ricordo.summary_memory WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s
RETURNING id::text

-- name: delete_thread_logs
-- Delete all tool log entries of a thread.
DELETE FROM ricordo.tool_log_memory WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s

-- name: delete_thread
-- Delete the thread itself.
DELETE FROM ricordo.thread WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s

-- name: recount
-- Take the deleted messages off a thread's counters and count its summaries again.
UPDATE ricordo.thread AS t
SET live_messages = live_messages - %(live)s, live_tokens = live_tokens - %(live_tokens)s,
    covered_messages = covered_messages - %(covered)s, summaries = s.number, summary_tokens = s.tokens,
    observed_tokens = NULL, observed_estimate = NULL, updated_at = now()
FROM (
    SELECT count(*) AS number, coalesce(sum(reference_tokens) FILTER (WHERE parent_id IS NULL), 0)::bigint AS tokens
    FROM ricordo.summary_memory
    WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND kind = 'thread'
) AS s
WHERE t.namespace = %(namespace)s AND t.thread_id = %(thread_id)s

-- name: stale
-- The emptied summaries of a thread, lowest level first.
SELECT id::text, level FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND stale
ORDER BY level, first_seq

-- name: leaf_sources
-- The messages that an emptied leaf summary still covers, in order, each with the digest of its exact original.
SELECT seq, role, content, "timestamp", tokens,
    ricordo.message_digest(seq, id, role, "timestamp", message, metadata), tool_links
FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND summary_id = %(id)s::uuid
ORDER BY seq

-- name: children
-- The summaries under an emptied parent, oldest first, each with the digest of what it says and rests on.
SELECT id::text, level, first_seq, last_seq, message_count, source_tokens, tokens, reference_tokens, stale, items,
    ricordo.summary_digest(id, content, items, source_digest)
FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND parent_id = %(id)s::uuid
ORDER BY first_seq

-- name: children_digest
-- The digest over the digests of the summaries under a parent.
SELECT sha256(string_agg(ricordo.summary_digest(id, content, items, source_digest), ''::bytea ORDER BY first_seq))
FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND parent_id = %(id)s::uuid

-- name: leaf_digest
-- The digest that an emptied leaf summary was left with.
SELECT source_digest FROM ricordo.summary_memory WHERE namespace = %(namespace)s AND id = %(id)s::uuid

-- name: restore
-- Put a rebuilt summary in the place of an emptied one.
UPDATE ricordo.summary_memory
SET stale = false, description = %(description)s, content = %(content)s, items = %(items)s::json,
    recall_keys = %(recall_keys)s::json, retention = %(retention)s,
    tokens = %(tokens)s, reference_tokens = %(reference_tokens)s,
    source_digest = %(source_digest)s, model = %(model)s, prompt_version = %(prompt_version)s
WHERE namespace = %(namespace)s AND id = %(id)s::uuid AND stale
