-- name: long_results
-- The messages to shorten, in order, each with what its preview is made of.
SELECT seq, id::text, content, message::text
FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND summary_id IS NULL AND tool_log_id IS NULL
    AND seq = ANY(%(seqs)s::bigint[])
ORDER BY seq

-- name: hold_thread
-- Hold the thread's row: appends, consolidations and forgetting wait.
SELECT 1 FROM ricordo.thread WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s FOR UPDATE

-- name: shorten
-- Log the messages that are still live and whole, and let their previews stand for them in a window.
WITH given AS (
    SELECT * FROM unnest(
        %(message_ids)s::uuid[], %(log_ids)s::uuid[], %(call_ids)s::text[], %(tools)s::text[], %(inputs)s::text[],
        %(statuses)s::text[], %(previews)s::text[], %(window_tokens)s::bigint[]
    ) AS g (message_id, log_id, call_id, tool_name, tool_input, status, preview, window_tokens)
), shortened AS (
    UPDATE ricordo.conversational_memory AS m
    SET tool_log_id = g.log_id, window_tokens = g.window_tokens
    FROM given AS g
    WHERE m.namespace = %(namespace)s AND m.thread_id = %(thread_id)s AND m.id = g.message_id
        AND m.summary_id IS NULL AND m.tool_log_id IS NULL AND m.tokens > g.window_tokens
    RETURNING m.id, m."timestamp", m.tokens - m.window_tokens AS freed
), logged AS (
    INSERT INTO ricordo.tool_log_memory (
        namespace, id, thread_id, call_id, tool_name, tool_input, message_id, status, preview, "timestamp"
    )
    SELECT %(namespace)s, g.log_id, %(thread_id)s, g.call_id, g.tool_name, g.tool_input::json, g.message_id, g.status,
        g.preview, s."timestamp"
    FROM given AS g JOIN shortened AS s ON s.id = g.message_id
)
SELECT g.log_id::text, s.freed FROM given AS g JOIN shortened AS s ON s.id = g.message_id ORDER BY g.log_id

-- name: settle_pruning
-- Take what was freed off the thread's live tokens.
UPDATE ricordo.thread
SET live_tokens = live_tokens - %(freed)s, observed_tokens = NULL, observed_estimate = NULL, updated_at = now()
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s
