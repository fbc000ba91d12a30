-- Summaries of summaries: what a parent is committed against, and what verify recomputes.

CREATE FUNCTION ricordo.summary_digest(id uuid, content text, items json, source_digest bytea)
RETURNS bytea LANGUAGE sql STABLE PARALLEL SAFE RETURN sha256(
    convert_to(concat_ws(E'\n', id::text, content, items::text), 'UTF8') || source_digest
);
