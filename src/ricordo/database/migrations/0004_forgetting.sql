-- A summary whose sources were forgotten in part is emptied at once and stale until it is rebuilt from the rest.

ALTER TABLE ricordo.summary_memory ADD COLUMN stale boolean NOT NULL DEFAULT false;

CREATE INDEX summary_memory_stale ON ricordo.summary_memory (namespace, thread_id, level, first_seq) WHERE stale;
