-- Threads, their messages and the summaries that cover them.
-- Every key begins with the namespace, so that the schema can be distributed by it.

-- One definition of what a message's digest is: appends store it, commits compare it, verify recomputes it.
CREATE FUNCTION ricordo.message_digest(
    seq bigint, id uuid, role text, at timestamptz, message json, metadata json
) RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE RETURN sha256(convert_to(concat_ws(
    E'\n', seq::text, id::text, (extract(epoch FROM at) * 1000000)::bigint::text, role, message::text, metadata::text
), 'UTF8'));

CREATE TABLE ricordo.thread (
    namespace text NOT NULL,
    thread_id text NOT NULL,
    next_seq bigint NOT NULL,
    live_messages bigint NOT NULL DEFAULT 0,
    live_tokens bigint NOT NULL DEFAULT 0,
    covered_messages bigint NOT NULL DEFAULT 0,
    summaries bigint NOT NULL DEFAULT 0,
    summary_tokens bigint NOT NULL DEFAULT 0,
    lease_token uuid,
    lease_until timestamptz,
    model text,
    observed_tokens bigint,
    observed_estimate bigint,
    metadata json NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, thread_id)
) WITH (fillfactor = 50);

COMMENT ON COLUMN ricordo.thread.observed_tokens IS
    'Prompt tokens that the provider reported for this thread; null after anything shrank the window.';
COMMENT ON COLUMN ricordo.thread.observed_estimate IS
    'live_tokens + summary_tokens at the moment of that report.';

CREATE TABLE ricordo.summary_memory (
    namespace text NOT NULL,
    id uuid NOT NULL,
    thread_id text,
    kind text NOT NULL CHECK (kind IN ('thread', 'text')),
    level integer NOT NULL DEFAULT 0,
    parent_id uuid,
    first_seq bigint,
    last_seq bigint,
    message_count bigint NOT NULL,
    description text NOT NULL,
    content text NOT NULL,
    items json NOT NULL,
    recall_keys json NOT NULL DEFAULT '[]',
    source_tokens bigint NOT NULL,
    tokens bigint NOT NULL,
    reference_tokens bigint NOT NULL,
    retention double precision,
    source_digest bytea NOT NULL,
    source_text json,
    model text NOT NULL,
    prompt_version text NOT NULL,
    embedding vector,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, id),
    FOREIGN KEY (namespace, thread_id) REFERENCES ricordo.thread (namespace, thread_id),
    FOREIGN KEY (namespace, parent_id) REFERENCES ricordo.summary_memory (namespace, id),
    CHECK ((kind = 'thread') = (thread_id IS NOT NULL AND first_seq IS NOT NULL AND last_seq IS NOT NULL)),
    CHECK ((kind = 'text') = (source_text IS NOT NULL))
);

CREATE INDEX summary_memory_in_window ON ricordo.summary_memory (namespace, thread_id, last_seq)
    WHERE parent_id IS NULL AND kind = 'thread';
CREATE INDEX summary_memory_by_thread ON ricordo.summary_memory (namespace, thread_id, first_seq)
    WHERE kind = 'thread';
CREATE INDEX summary_memory_by_parent ON ricordo.summary_memory (namespace, parent_id, first_seq)
    WHERE parent_id IS NOT NULL;

CREATE TABLE ricordo.conversational_memory (
    namespace text NOT NULL,
    thread_id text NOT NULL,
    seq bigint NOT NULL,
    id uuid NOT NULL,
    role text NOT NULL,
    content text NOT NULL,
    message json NOT NULL,
    tokens bigint NOT NULL,
    pinned boolean NOT NULL DEFAULT false,
    tool_links json,
    summary_id uuid,
    "timestamp" timestamptz NOT NULL,
    metadata json NOT NULL DEFAULT '{}',
    digest bytea NOT NULL,
    PRIMARY KEY (namespace, thread_id, seq),
    UNIQUE (namespace, id),
    -- No foreign key to the thread: an append writes both in one statement, and the check would cost a tenth of it.
    FOREIGN KEY (namespace, summary_id) REFERENCES ricordo.summary_memory (namespace, id)
);

COMMENT ON COLUMN ricordo.conversational_memory.message IS
    'The exact original, as ASCII-escaped JSON text: json, not jsonb, keeps every character and the order of keys.';
COMMENT ON COLUMN ricordo.conversational_memory.content IS
    'The readable text for search and prompts; NUL and lone surrogates stand as U+FFFD.';
COMMENT ON COLUMN ricordo.conversational_memory.tool_links IS
    'Ids of the tool calls that the message makes and answers; null where there are none.';
COMMENT ON COLUMN ricordo.conversational_memory.digest IS
    'message_digest of the row at the append; verify recomputes it.';
COMMENT ON COLUMN ricordo.conversational_memory.summary_id IS
    'The leaf summary that covers the message; null while it is live.';

CREATE INDEX conversational_memory_live ON ricordo.conversational_memory (namespace, thread_id, seq)
    WHERE summary_id IS NULL;
CREATE INDEX conversational_memory_covered ON ricordo.conversational_memory (namespace, summary_id, seq)
    WHERE summary_id IS NOT NULL;

CREATE TABLE ricordo.model_profile (
    namespace text NOT NULL,
    model text NOT NULL,
    ratio double precision NOT NULL,
    observations bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (namespace, model)
);

COMMENT ON TABLE ricordo.model_profile IS
    'How a model counts: reported prompt tokens divided by the estimate, smoothed.';

ALTER TABLE ricordo.thread ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.thread FORCE ROW LEVEL SECURITY;
CREATE POLICY namespace_only ON ricordo.thread
    USING (namespace = current_setting('ricordo.namespace', true))
    WITH CHECK (namespace = current_setting('ricordo.namespace', true));

ALTER TABLE ricordo.summary_memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.summary_memory FORCE ROW LEVEL SECURITY;
CREATE POLICY namespace_only ON ricordo.summary_memory
    USING (namespace = current_setting('ricordo.namespace', true))
    WITH CHECK (namespace = current_setting('ricordo.namespace', true));

ALTER TABLE ricordo.conversational_memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.conversational_memory FORCE ROW LEVEL SECURITY;
CREATE POLICY namespace_only ON ricordo.conversational_memory
    USING (namespace = current_setting('ricordo.namespace', true))
    WITH CHECK (namespace = current_setting('ricordo.namespace', true));

ALTER TABLE ricordo.model_profile ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.model_profile FORCE ROW LEVEL SECURITY;
CREATE POLICY namespace_only ON ricordo.model_profile
    USING (namespace = current_setting('ricordo.namespace', true))
    WITH CHECK (namespace = current_setting('ricordo.namespace', true));
