-- Drafts that nobody has funded, by age. Like the other conditions, this one names no list_status.
CREATE INDEX drafts_unfunded ON drafts (created_at) WHERE depth = 'none' AND decision = 'none';

-- The events of a draft, which are removed with it.
CREATE INDEX events_of_draft ON events (draft_id);
