-- name: append_one
-- Take the next place of a thread under its row lock and insert one message there: `append` without arrays.
WITH place AS (
    INSERT INTO ricordo.thread AS t (
        namespace, thread_id, next_seq, live_messages, live_tokens, created_at, updated_at
    ) VALUES (
        %(namespace)s, %(thread_id)s, 2, 1, %(tokens)s, clock_timestamp(), clock_timestamp()
    )
    ON CONFLICT (namespace, thread_id) DO UPDATE SET
        next_seq = t.next_seq + 1,
        live_messages = t.live_messages + 1,
        live_tokens = t.live_tokens + excluded.live_tokens,
        updated_at = excluded.updated_at
    RETURNING t.next_seq - 1 AS seq
)
INSERT INTO ricordo.conversational_memory (
    namespace, thread_id, seq, id, role, content, message, tokens, pinned, tool_links, "timestamp", metadata, digest
)
SELECT
    %(namespace)s, %(thread_id)s, seq, %(id)s::uuid, %(role)s, %(content)s, %(message)s::json, %(tokens)s, %(pinned)s,
    %(tool_links)s::json, at, %(metadata)s::json,
    ricordo.message_digest(seq, %(id)s::uuid, %(role)s, at, %(message)s::json, %(metadata)s::json)
FROM (SELECT seq, clock_timestamp() AS at FROM place) AS place
RETURNING id::text, seq, "timestamp"

-- name: append
-- Take the next places of a thread under its row lock and insert the messages there, in order.
WITH place AS (
    INSERT INTO ricordo.thread AS t (
        namespace, thread_id, next_seq, live_messages, live_tokens, created_at, updated_at
    ) VALUES (
        %(namespace)s, %(thread_id)s, 1 + %(count)s::bigint, %(count)s, %(total)s, clock_timestamp(), clock_timestamp()
    )
    ON CONFLICT (namespace, thread_id) DO UPDATE SET
        next_seq = t.next_seq + excluded.live_messages,
        live_messages = t.live_messages + excluded.live_messages,
        live_tokens = t.live_tokens + excluded.live_tokens,
        updated_at = excluded.updated_at
    RETURNING t.next_seq - %(count)s AS first_seq
)
INSERT INTO ricordo.conversational_memory (
    namespace, thread_id, seq, id, role, content, message, tokens, pinned, tool_links, "timestamp", metadata,
    digest
)
SELECT
    %(namespace)s, %(thread_id)s, m.seq, m.id, m.role, m.content, m.message, m.tokens, m.pinned, m.tool_links, m.at,
    m.metadata, ricordo.message_digest(m.seq, m.id, m.role, m.at, m.message, m.metadata)
FROM (
    SELECT place.first_seq + m.position - 1 AS seq, clock_timestamp() AS at, m.id, m.role, m.content,
        m.message::json AS message, m.tokens, m.pinned, m.tool_links::json AS tool_links, m.metadata::json AS metadata
    FROM place, unnest(
        %(ids)s::uuid[], %(roles)s::text[], %(contents)s::text[], %(messages)s::text[], %(tokens)s::bigint[],
        %(pinned)s::boolean[], %(tool_links)s::text[], %(metadata)s::text[]
    ) WITH ORDINALITY AS m (id, role, content, message, tokens, pinned, tool_links, metadata, position)
    ORDER BY m.position
) AS m
RETURNING id::text, seq, "timestamp"

-- name: lock_thread
-- Make sure that the thread exists and hold its row until the transaction ends.
INSERT INTO ricordo.thread AS t (namespace, thread_id, next_seq, created_at, updated_at)
VALUES (%(namespace)s, %(thread_id)s, 1, clock_timestamp(), clock_timestamp())
ON CONFLICT (namespace, thread_id) DO UPDATE SET updated_at = excluded.updated_at
RETURNING t.next_seq

-- name: find_ids
-- The messages of these ids, wherever in the namespace they are.
SELECT id::text, thread_id, seq, "timestamp", message::text
FROM ricordo.conversational_memory
WHERE namespace = %(namespace)s AND id = ANY(%(ids)s::uuid[])

-- name: newest
-- The newest messages of a thread before a place, newest first; covered ones on request.
SELECT id::text, thread_id, seq, role, content, message::text, tokens, pinned, summary_id::text, "timestamp",
    metadata::text, coalesce(window_tokens, tokens), (
        SELECT l.preview FROM ricordo.tool_log_memory AS l WHERE l.namespace = m.namespace AND l.id = m.tool_log_id
    )
FROM ricordo.conversational_memory AS m
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND seq < %(before)s
ORDER BY seq DESC LIMIT %(limit)s

-- name: newest_live
-- The newest live messages of a thread before a place, newest first.
SELECT id::text, thread_id, seq, role, content, message::text, tokens, pinned, summary_id::text, "timestamp",
    metadata::text, coalesce(window_tokens, tokens), (
        SELECT l.preview FROM ricordo.tool_log_memory AS l WHERE l.namespace = m.namespace AND l.id = m.tool_log_id
    )
FROM ricordo.conversational_memory AS m
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND seq < %(before)s AND summary_id IS NULL
ORDER BY seq DESC LIMIT %(limit)s

-- name: get
-- One message by its id.
SELECT id::text, thread_id, seq, role, content, message::text, tokens, pinned, summary_id::text, "timestamp",
    metadata::text, coalesce(window_tokens, tokens), (
        SELECT l.preview FROM ricordo.tool_log_memory AS l WHERE l.namespace = m.namespace AND l.id = m.tool_log_id
    )
FROM ricordo.conversational_memory AS m
WHERE namespace = %(namespace)s AND id = %(id)s::uuid

-- name: search
-- Messages that hold any of the query's words, best rank first, newest first among equals.
WITH query AS (
    SELECT string_agg($$'$$ || replace(replace(lexeme, $$\$$, $$\\$$), $$'$$, $$''$$) || $$'$$, ' | ')::tsquery AS words
    FROM unnest(to_tsvector('simple', left(%(query)s, 100000)))
)
SELECT id::text, thread_id, seq, role, content, message::text, tokens, pinned, summary_id::text, "timestamp",
    metadata::text, coalesce(window_tokens, tokens), (
        SELECT l.preview FROM ricordo.tool_log_memory AS l WHERE l.namespace = m.namespace AND l.id = m.tool_log_id
    )
FROM ricordo.conversational_memory AS m, query
WHERE namespace = %(namespace)s AND (%(thread_id)s::text IS NULL OR thread_id = %(thread_id)s)
    AND to_tsvector('simple', left(content, 100000)) @@ words
ORDER BY ts_rank(to_tsvector('simple', left(content, 100000)), words) DESC, "timestamp" DESC, seq DESC
LIMIT %(limit)s

-- name: covered
-- The covered messages within a range of places, in order, from a place on.
SELECT id::text, thread_id, seq, role, content, message::text, tokens, pinned, summary_id::text, "timestamp",
    metadata::text, coalesce(window_tokens, tokens), (
        SELECT l.preview FROM ricordo.tool_log_memory AS l WHERE l.namespace = m.namespace AND l.id = m.tool_log_id
    )
FROM ricordo.conversational_memory AS m
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s AND seq BETWEEN %(from_seq)s AND %(last_seq)s
    AND summary_id IS NOT NULL
ORDER BY seq LIMIT %(limit)s

-- name: thread
-- A thread's counters.
SELECT thread_id, live_messages + covered_messages, live_messages, live_tokens, summaries, summary_tokens,
    created_at, updated_at
FROM ricordo.thread
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s

-- name: threads
-- The threads of the namespace, the latest first.
SELECT thread_id, live_messages + covered_messages, live_messages, live_tokens, summaries, summary_tokens,
    created_at, updated_at
FROM ricordo.thread
WHERE namespace = %(namespace)s
ORDER BY updated_at DESC, thread_id LIMIT %(limit)s

-- name: monitor
-- What the monitor reads: a thread's counters and how the model counts, one row.
SELECT t.live_tokens, t.summary_tokens, t.observed_tokens, t.observed_estimate, t.model, p.ratio, t.policy
FROM (SELECT 1) AS one
LEFT JOIN ricordo.thread AS t ON t.namespace = %(namespace)s AND t.thread_id = %(thread_id)s
LEFT JOIN ricordo.model_profile AS p
    ON p.namespace = %(namespace)s AND p.model = coalesce(%(model)s::text, t.model, '')

-- name: observe
-- Keep what the provider reported for the thread's last prompt.
UPDATE ricordo.thread
SET observed_tokens = %(reported)s, observed_estimate = live_tokens + summary_tokens, model = %(model)s
WHERE namespace = %(namespace)s AND thread_id = %(thread_id)s
RETURNING live_tokens + summary_tokens

-- name: profile
-- How a model counts, as far as it is known; the row stays locked.
SELECT ratio, observations FROM ricordo.model_profile
WHERE namespace = %(namespace)s AND model = %(model)s FOR UPDATE

-- name: save_profile
-- Keep how a model counts.
INSERT INTO ricordo.model_profile (namespace, model, ratio, observations, updated_at)
VALUES (%(namespace)s, %(model)s, %(ratio)s, 1, clock_timestamp())
ON CONFLICT (namespace, model) DO UPDATE
SET ratio = excluded.ratio, observations = model_profile.observations + 1, updated_at = excluded.updated_at

-- name: set_policy
-- Keep a thread's own policy, or none.
INSERT INTO ricordo.thread (namespace, thread_id, next_seq, policy, created_at, updated_at)
VALUES (%(namespace)s, %(thread_id)s, 1, %(policy)s::json, clock_timestamp(), clock_timestamp())
ON CONFLICT (namespace, thread_id) DO UPDATE SET policy = excluded.policy
RETURNING thread_id
