-- name: matching
-- Messages under a summary by BM25 over the words of a query, the best first, each followed by its neighbours; the
-- last column says what each word of the query weighs.
WITH query AS MATERIALIZED (
    SELECT lexeme FROM unnest(to_tsvector('simple', left(%(query)s, 100000)))
), covered AS MATERIALIZED (
    SELECT seq, row_number() OVER (ORDER BY seq) AS place, to_tsvector('simple', left(content, 100000)) AS words,
        length(content)::float8 / nullif(avg(length(content)) OVER (), 0) AS size
    FROM ricordo.conversational_memory
    WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND seq BETWEEN %(first_seq)s AND %(last_seq)s
        AND summary_id IS NOT NULL
), hits AS MATERIALIZED (
    SELECT place, size, lexeme, cardinality(positions)::float8 AS frequency
    FROM covered CROSS JOIN LATERAL unnest(words) JOIN query USING (lexeme)
), weights AS MATERIALIZED (
    SELECT lexeme, ln(1 + ((SELECT count(*) FROM covered) - count(*) + 0.5) / (count(*) + 0.5))::float8 AS weight
    FROM hits GROUP BY lexeme
), matching AS MATERIALIZED (
    SELECT place, sum(weight * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * size))) AS rank
    FROM hits JOIN weights USING (lexeme) GROUP BY place
), near AS (
    SELECT seq, max(rank / (1 + abs(covered.place - matching.place))) AS rank
    FROM matching JOIN covered ON covered.place IN (matching.place - 1, matching.place, matching.place + 1)
    GROUP BY seq ORDER BY rank DESC, seq LIMIT 200
)
SELECT id::text, thread_id, seq, role, content, message::text, tokens, pinned, summary_id::text, "timestamp",
    metadata::text, coalesce(window_tokens, tokens), (
        SELECT l.preview FROM ricordo.tool_log_memory AS l
        WHERE l.namespace = m.namespace AND l.id = m.tool_log_id
    ), (SELECT json_object_agg(lexeme, weight) FROM weights)
FROM ricordo.conversational_memory AS m JOIN near USING (seq)
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s
ORDER BY rank DESC, seq
