-- name: verify_threads
-- The threads to prove: one, or every one of the namespace, in order, from a name on.
SELECT thread_id FROM ricordo.thread
WHERE namespace = %(namespace)s AND (%(thread_id)s::text IS NULL OR thread_id = %(thread_id)s)
    AND thread_id > %(after)s
ORDER BY thread_id LIMIT 1000

-- name: verify_counters
-- A thread's counters beside the same figures counted from its rows.
SELECT t.next_seq, t.live_messages, t.live_tokens, t.covered_messages, t.summaries, t.summary_tokens,
    m.last_seq, m.live, m.tokens, m.covered, s.number, s.tokens, s.withdrawn
FROM ricordo.thread AS t,
LATERAL (
    SELECT coalesce(max(seq), 0) AS last_seq, count(*) FILTER (WHERE summary_id IS NULL) AS live,
        coalesce(sum(coalesce(window_tokens, tokens)) FILTER (WHERE summary_id IS NULL), 0)::bigint AS tokens,
        count(*) FILTER (WHERE summary_id IS NOT NULL) AS covered
    FROM ricordo.conversational_memory AS c
    WHERE c.namespace = t.namespace AND c.thread_id = t.thread_id
) AS m,
LATERAL (
    SELECT count(*) AS number, coalesce(sum(reference_tokens) FILTER (WHERE parent_id IS NULL), 0)::bigint AS tokens,
        count(*) FILTER (WHERE stale) AS withdrawn
    FROM ricordo.summary_memory AS c
    WHERE c.namespace = t.namespace AND c.thread_id = t.thread_id AND c.kind = 'thread'
) AS s
WHERE t.namespace = %(namespace)s AND t.thread_id = %(thread_id)s

-- name: verify_leaves
-- Each leaf summary of a thread beside what the marked rows say: places, number, tokens and digest.
SELECT s.id::text, s.first_seq, s.last_seq, s.message_count, s.source_tokens, s.source_digest,
    m.first_seq, m.last_seq, m.number, m.tokens, m.digest
FROM ricordo.summary_memory AS s,
LATERAL (
    SELECT min(seq) AS first_seq, max(seq) AS last_seq, count(*) AS number, coalesce(sum(tokens), 0)::bigint AS tokens,
        sha256(string_agg(
            ricordo.message_digest(seq, id, role, "timestamp", message, metadata), ''::bytea ORDER BY seq
        )) AS digest
    FROM ricordo.conversational_memory AS c
    WHERE c.namespace = s.namespace AND c.summary_id = s.id AND c.thread_id = s.thread_id
) AS m
WHERE s.namespace = %(namespace)s AND s.thread_id = %(thread_id)s AND s.kind = 'thread' AND s.level = 0
ORDER BY s.first_seq, s.id

-- name: verify_strays
-- Rows of a thread that point at something that is not a leaf summary of the thread.
SELECT c.seq, c.summary_id::text
FROM ricordo.conversational_memory AS c
LEFT JOIN ricordo.summary_memory AS s
    ON s.namespace = c.namespace AND s.id = c.summary_id AND s.thread_id = c.thread_id AND s.level = 0
WHERE c.namespace = %(namespace)s AND c.thread_id = %(thread_id)s AND c.summary_id IS NOT NULL AND s.id IS NULL
ORDER BY c.seq LIMIT 1000

-- name: verify_foreign
-- Rows that no thread owns.
SELECT c.thread_id, c.seq
FROM ricordo.conversational_memory AS c
LEFT JOIN ricordo.thread AS t ON t.namespace = c.namespace AND t.thread_id = c.thread_id
WHERE c.namespace = %(namespace)s AND (%(thread_id)s::text IS NULL OR c.thread_id = %(thread_id)s)
    AND t.thread_id IS NULL
ORDER BY c.thread_id, c.seq LIMIT 1000

-- name: verify_texts
-- Each free text beside the digest of what is stored.
SELECT id::text, source_digest, sha256(convert_to(source_text::text, 'UTF8'))
FROM ricordo.summary_memory
WHERE namespace = %(namespace)s AND kind = 'text'

-- name: verify_changed
-- Messages that are not what was appended.
SELECT seq
FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s
    AND digest <> ricordo.message_digest(seq, id, role, "timestamp", message, metadata)
ORDER BY seq LIMIT 1000

-- name: verify_range
-- The places within a leaf summary's range that have no message, or a message that should be under the summary.
SELECT place, c.seq IS NULL
FROM generate_series(%(first_seq)s::bigint, %(last_seq)s::bigint) AS place
LEFT JOIN ricordo.conversational_memory AS c
    ON c.namespace = %(namespace)s AND c.thread_id = %(thread_id)s AND c.seq = place
WHERE c.seq IS NULL
    OR (c.summary_id IS DISTINCT FROM %(summary_id)s::uuid AND NOT c.pinned AND c.role NOT IN ('system', 'developer'))
ORDER BY place LIMIT 1000

-- name: verify_parents
-- Each parent summary of a thread beside what its children say: ranges, numbers, levels and digest.
SELECT s.id::text, s.first_seq, s.last_seq, s.message_count, s.source_tokens, s.level, s.source_digest,
    c.first_seq, c.last_seq, c.message_count, c.source_tokens, c.level, c.digest
FROM ricordo.summary_memory AS s,
LATERAL (
    SELECT min(first_seq) AS first_seq, max(last_seq) AS last_seq,
        coalesce(sum(message_count), 0)::bigint AS message_count,
        coalesce(sum(source_tokens), 0)::bigint AS source_tokens, max(level) AS level,
        sha256(string_agg(
            ricordo.summary_digest(id, content, items, source_digest), ''::bytea ORDER BY first_seq
        )) AS digest
    FROM ricordo.summary_memory AS c
    WHERE c.namespace = s.namespace AND c.parent_id = s.id AND c.thread_id = s.thread_id
) AS c
WHERE s.namespace = %(namespace)s AND s.thread_id = %(thread_id)s AND s.kind = 'thread' AND s.level > 0
    AND NOT s.stale
ORDER BY s.first_seq, s.level DESC

-- name: verify_siblings
-- Summaries whose range reaches into that of an older one under the same parent, or at the top.
SELECT id, first_seq, last_seq, reached
FROM (
    SELECT id::text AS id, first_seq, last_seq, max(last_seq) OVER (
        PARTITION BY parent_id ORDER BY first_seq, last_seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS reached
    FROM ricordo.summary_memory
    WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND kind = 'thread'
) AS ranges
WHERE reached >= first_seq
ORDER BY first_seq

-- name: verify_adopted
-- Summaries whose parent is missing, of another thread, or not above them.
SELECT c.id::text, c.first_seq, c.last_seq
FROM ricordo.summary_memory AS c
LEFT JOIN ricordo.summary_memory AS p
    ON p.namespace = c.namespace AND p.id = c.parent_id AND p.thread_id = c.thread_id AND p.level > c.level
WHERE c.namespace = %(namespace)s AND c.thread_id = %(thread_id)s AND c.parent_id IS NOT NULL AND p.id IS NULL
ORDER BY c.first_seq

-- name: verify_logs
-- Messages that a window shows by the preview of a tool log that is not theirs, or is gone.
SELECT m.seq
FROM ricordo.conversational_memory AS m
LEFT JOIN ricordo.tool_log_memory AS l
    ON l.namespace = m.namespace AND l.id = m.tool_log_id AND l.message_id = m.id AND l.preview IS NOT NULL
WHERE m.namespace = %(namespace)s AND m.thread_id = %(thread_id)s AND m.tool_log_id IS NOT NULL AND l.id IS NULL
ORDER BY m.seq LIMIT 1000
