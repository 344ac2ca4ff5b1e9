-- The end that the creator gave, and from when a funded mission that was never published can no longer be published. Both are
-- kept as columns because quotes, approvals and the refunds of missions that come too late are decided by them.
ALTER TABLE drafts ADD COLUMN mission_ends_at BIGINT;

ALTER TABLE drafts ADD COLUMN publish_by BIGINT;

-- Normalized missions have endsAt before every object whose member names the creator chose, and quotes inside of strings are
-- escaped, so the first occurrence is the mission's own.
UPDATE drafts SET mission_ends_at = CAST(EXTRACT(EPOCH FROM CAST(substr(mission, strpos(mission, ',"endsAt":') + 11, 24) AS TIMESTAMPTZ)) * 1000000 AS BIGINT)
WHERE strpos(mission, ',"endsAt":') > 0 AND substr(mission, strpos(mission, ',"endsAt":') + 10, 1) = '"';

-- As mission.PublishBy has it: 74 days (6393600 seconds) from the end until the creator may reclaim the money, and without an
-- end 30 days (2592000 seconds) more.
UPDATE drafts SET publish_by = (SELECT CASE
	WHEN mission_ends_at IS NULL THEN (reclaim_after - 6393600 - 2592000) * 1000000
	WHEN mission_ends_at > (reclaim_after - 6393600) * 1000000 THEN 0
	ELSE mission_ends_at END
	FROM fundings WHERE fundings.draft_id = drafts.draft_id)
WHERE draft_id IN (SELECT draft_id FROM fundings) AND decision <> 'rejected' AND NOT (decision = 'approved' AND depth = 'locked')
	AND NOT EXISTS (SELECT 1 FROM mission_slots WHERE mission_slots.draft_id = drafts.draft_id);

CREATE INDEX drafts_to_lapse ON drafts (publish_by) WHERE publish_by IS NOT NULL;
