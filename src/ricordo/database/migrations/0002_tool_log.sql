-- The tool log, what a window shows of a long tool result, and each thread's policy.

CREATE TABLE ricordo.tool_log_memory (
    namespace text NOT NULL,
    id uuid NOT NULL,
    thread_id text NOT NULL,
    call_id text,
    tool_name text NOT NULL,
    tool_input json,
    tool_output json,
    message_id uuid,
    status text NOT NULL DEFAULT 'success' CHECK (status IN ('success', 'error', 'timeout')),
    error_message text,
    duration_ms bigint CHECK (duration_ms >= 0),
    preview text,
    "timestamp" timestamptz NOT NULL,
    metadata json NOT NULL DEFAULT '{}',
    PRIMARY KEY (namespace, id),
    -- What a message's log says goes with the message.
    FOREIGN KEY (namespace, message_id) REFERENCES ricordo.conversational_memory (namespace, id) ON DELETE CASCADE,
    CHECK (message_id IS NULL OR tool_output IS NULL)
);

COMMENT ON COLUMN ricordo.tool_log_memory.tool_output IS
    'The exact output, as ASCII-escaped JSON text; null where there is none, or it is the message of message_id.';
COMMENT ON COLUMN ricordo.tool_log_memory.message_id IS
    'The message whose content is the output, where a window shows the preview in its place.';
COMMENT ON COLUMN ricordo.tool_log_memory.preview IS
    'What a prompt shows of a long output; null where it is short.';

CREATE INDEX tool_log_memory_by_thread ON ricordo.tool_log_memory (namespace, thread_id, "timestamp" DESC, id DESC);
CREATE INDEX tool_log_memory_failed ON ricordo.tool_log_memory (namespace, thread_id, "timestamp" DESC, id DESC)
    WHERE status <> 'success';
CREATE INDEX tool_log_memory_by_tool ON ricordo.tool_log_memory (namespace, tool_name);
CREATE UNIQUE INDEX tool_log_memory_by_message ON ricordo.tool_log_memory (namespace, message_id)
    WHERE message_id IS NOT NULL;

ALTER TABLE ricordo.tool_log_memory ENABLE ROW LEVEL SECURITY;
ALTER TABLE ricordo.tool_log_memory FORCE ROW LEVEL SECURITY;
CREATE POLICY namespace_only ON ricordo.tool_log_memory
    USING (namespace = current_setting('ricordo.namespace', true))
    WITH CHECK (namespace = current_setting('ricordo.namespace', true));

ALTER TABLE ricordo.conversational_memory
    ADD COLUMN tool_log_id uuid,
    ADD COLUMN window_tokens bigint,
    ADD CHECK ((tool_log_id IS NULL) = (window_tokens IS NULL));

COMMENT ON COLUMN ricordo.conversational_memory.tool_log_id IS
    'The tool log whose preview stands for the message in a window; null where a window shows the message itself.';
COMMENT ON COLUMN ricordo.conversational_memory.window_tokens IS
    'Tokens of that preview; null where a window shows the message itself, which has its tokens.';

ALTER TABLE ricordo.thread ADD COLUMN policy json;

COMMENT ON COLUMN ricordo.thread.policy IS
    'When the thread is consolidated and what may be taken; null where the application''s default holds.';
COMMENT ON COLUMN ricordo.thread.live_tokens IS
    'What the live messages take in a window: of each, its window_tokens, or its tokens.';
