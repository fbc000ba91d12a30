-- name: matching
-- Messages under a summary that hold words of a query, the best first, each followed by its neighbours.
WITH query AS (
    SELECT string_agg($$'$$ || replace(replace(lexeme, $$\$$, $$\\$$), $$'$$, $$''$$) || $$'$$, ' | ')::tsquery AS words
    FROM unnest(to_tsvector('simple', left(%(query)s, 100000)))
), covered AS (
    SELECT *, row_number() OVER (ORDER BY seq) AS place
    FROM ricordo.conversational_memory
    WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND seq BETWEEN %(first_seq)s AND %(last_seq)s
        AND summary_id IS NOT NULL
), matching AS (
    SELECT place, ts_rank(to_tsvector('simple', left(content, 100000)), words) AS rank
    FROM covered, query
    WHERE to_tsvector('simple', left(content, 100000)) @@ words
), near AS (
    SELECT c.seq, max(m.rank / (1 + abs(c.place - m.place))) AS rank
    FROM matching AS m JOIN covered AS c ON c.place BETWEEN m.place - 1 AND m.place + 1
    GROUP BY c.seq
)
SELECT id::text, thread_id, seq, role, content, message::text, tokens, pinned, summary_id::text, "timestamp",
    metadata::text, coalesce(window_tokens, tokens), (
        SELECT l.preview FROM ricordo.tool_log_memory AS l
        WHERE l.namespace = covered.namespace AND l.id = covered.tool_log_id
    ), rank
FROM covered JOIN near USING (seq)
ORDER BY rank DESC, seq
LIMIT 200
