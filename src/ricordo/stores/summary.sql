-- name: get
-- One summary by its id.
SELECT id::text, thread_id, kind, level, parent_id::text, first_seq, last_seq, message_count, description, content,
    items, recall_keys, source_tokens, tokens, reference_tokens, model, prompt_version, created_at
FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND id = %(id)s::uuid

-- name: in_window
-- The summaries that stand in a thread's window, oldest first, the newest up to a limit.
SELECT * FROM (
    SELECT id::text, thread_id, kind, level, parent_id::text, first_seq, last_seq, message_count, description, content,
        items, recall_keys, source_tokens, tokens, reference_tokens, model, prompt_version, created_at
    FROM ricordo.summary_memory
    WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND kind = 'thread' AND parent_id IS NULL
        AND NOT stale
    ORDER BY last_seq DESC LIMIT %(limit)s
) AS newest ORDER BY first_seq

-- name: children
-- The summaries right below a parent, in order.
SELECT id::text, thread_id, kind, level, parent_id::text, first_seq, last_seq, message_count, description, content,
    items, recall_keys, source_tokens, tokens, reference_tokens, model, prompt_version, created_at
FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND parent_id = %(id)s::uuid
ORDER BY first_seq

-- name: references
-- Ids and descriptions of the summaries that stand in a thread's window, newest first.
SELECT id::text, description, message_count, reference_tokens
FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND kind = 'thread' AND parent_id IS NULL
    AND NOT stale
ORDER BY last_seq DESC LIMIT %(limit)s

-- name: source_text
-- The original of a free text, exactly.
SELECT source_text::text FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND id = %(id)s::uuid AND kind = 'text'

-- name: insert
-- Store a summary.
INSERT INTO ricordo.summary_memory (
    namespace, id, thread_id, kind, level, first_seq, last_seq, message_count, description, content, items, recall_keys,
    source_tokens, tokens, reference_tokens, retention, source_digest, source_text, model, prompt_version, created_at
) VALUES (
    %(namespace)s, %(id)s::uuid, %(thread_id)s, %(kind)s, %(level)s, %(first_seq)s, %(last_seq)s, %(message_count)s,
    %(description)s, %(content)s, %(items)s::json, %(recall_keys)s::json, %(source_tokens)s, %(tokens)s,
    %(reference_tokens)s, %(retention)s, %(source_digest)s, %(source_text)s::json, %(model)s, %(prompt_version)s, clock_timestamp()
)
