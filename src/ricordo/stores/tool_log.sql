-- name: write
-- Keep one execution of a tool.
INSERT INTO ricordo.tool_log_memory (
    namespace, id, thread_id, call_id, tool_name, tool_input, tool_output, status, error_message, duration_ms, preview,
    "timestamp", metadata
) VALUES (
    %(namespace)s, %(id)s::uuid, %(thread_id)s, %(call_id)s, %(tool_name)s, %(tool_input)s::json,
    %(tool_output)s::json, %(status)s, %(error_message)s, %(duration_ms)s, %(preview)s, clock_timestamp(),
    %(metadata)s::json
)
RETURNING id::text

-- name: newest
-- The newest executions of a thread before another, newest first.
SELECT id::text, thread_id, call_id, tool_name, tool_input::text, tool_output::text, message_id::text, status,
    error_message, duration_ms, preview, "timestamp", metadata::text
FROM ricordo.tool_log_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s
    AND (%(before)s::uuid IS NULL OR ("timestamp", id) < (
        SELECT "timestamp", id FROM ricordo.tool_log_memory
        WHERE namespace = %(namespace)s AND id = %(before)s::uuid
    ))
ORDER BY "timestamp" DESC, id DESC LIMIT %(limit)s

-- name: newest_failed
-- The newest executions of a thread that failed, before another, newest first.
SELECT id::text, thread_id, call_id, tool_name, tool_input::text, tool_output::text, message_id::text, status,
    error_message, duration_ms, preview, "timestamp", metadata::text
FROM ricordo.tool_log_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND status <> 'success'
    AND (%(before)s::uuid IS NULL OR ("timestamp", id) < (
        SELECT "timestamp", id FROM ricordo.tool_log_memory
        WHERE namespace = %(namespace)s AND id = %(before)s::uuid
    ))
ORDER BY "timestamp" DESC, id DESC LIMIT %(limit)s

-- name: get
-- One execution by its id, with the content of the message that is its output, if one is.
SELECT id::text, thread_id, call_id, tool_name, tool_input::text, tool_output::text, message_id::text, status,
    error_message, duration_ms, preview, "timestamp", metadata::text, (
        SELECT m.content FROM ricordo.conversational_memory AS m
        WHERE m.namespace = l.namespace AND m.id = l.message_id
    )
FROM ricordo.tool_log_memory AS l
WHERE namespace = %(namespace)s AND id = %(id)s::uuid
