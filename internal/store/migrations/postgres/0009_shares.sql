-- Only final acceptances are the history of a contributor.
DROP INDEX submissions_accepted;

CREATE INDEX submissions_final ON submissions (contributor, final_at) WHERE final_at IS NOT NULL;

-- A row now stays until its submission is decided about: until then it counts as one of a newcomer, and its meters may be given back.
-- size_bytes is 0 and network is empty after the file arrived. After refund_until the names of the meters are removed. own_meter is
-- that of a contributor who is not a newcomer.
ALTER TABLE open_reservations ADD COLUMN network TEXT NOT NULL DEFAULT '';

ALTER TABLE open_reservations ADD COLUMN own_meter TEXT NOT NULL DEFAULT '';

ALTER TABLE open_reservations ADD COLUMN own_meter_cost BIGINT NOT NULL DEFAULT 0;

ALTER TABLE open_reservations ADD COLUMN refund_until BIGINT;

UPDATE open_reservations SET refund_until = (SELECT created_at + 3600000000 FROM submissions
	WHERE submissions.submission_id = open_reservations.submission_id);

CREATE INDEX open_reservations_refund ON open_reservations (refund_until) WHERE refund_until IS NOT NULL;

-- The declared sizes of newcomers in sum. Those of networks begin with the next declaration.
INSERT INTO reserved_bytes (holder, size_bytes)
SELECT 'newcomers', COALESCE(SUM(size_bytes), 0) FROM open_reservations WHERE newcomer;
