-- name: count_live_and_covered
-- The messages of a thread that are live, and those that a summary covers.
SELECT COUNT(*) FILTER (WHERE summary_id IS NULL), COUNT(*) FILTER (WHERE summary_id IS NOT NULL)
FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s
