-- Drafts that nobody has funded, by age. Like the other conditions, this one names no list_status.
CREATE INDEX drafts_unfunded ON drafts (created_at) WHERE depth = 'none' AND decision = 'none';

-- The events of a draft, which are removed with it.
CREATE INDEX events_of_draft ON events (draft_id);

-- Signs of life of the processes that work jobs, by the server's clock. The job queue reads and writes them.
CREATE TABLE job_workers (
	id               TEXT PRIMARY KEY,
	seen_at          TIMESTAMPTZ NOT NULL
);
