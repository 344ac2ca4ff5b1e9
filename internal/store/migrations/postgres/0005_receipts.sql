-- receipt_signer is the key that signed the receipt, empty for receipts from before it was stored. paid_block is the block that
-- paid or deferred the slot, while it is on the canonical chain. endorsed_by is the operator who accepted the submission above an
-- hourly limit, so that a second one must accept it, too.
ALTER TABLE submissions ADD COLUMN receipt_signer TEXT NOT NULL DEFAULT '';
ALTER TABLE submissions ADD COLUMN paid_block BIGINT;
ALTER TABLE submissions ADD COLUMN endorsed_by TEXT NOT NULL DEFAULT '';

UPDATE submissions SET paid_block = e.block_number
FROM chain_events AS e
	JOIN fundings AS f ON f.mission_key = e.mission_key AND f.chain_id = e.chain_id
	JOIN drafts AS d ON d.draft_id = f.draft_id AND d.factory_address = e.factory
WHERE e.kind IN ('submission_paid', 'payout_deferred') AND submissions.draft_id = f.draft_id
	AND submissions.slot = CAST(e.data::json ->> 'slot' AS BIGINT);

CREATE INDEX submissions_by_signer ON submissions (receipt_signer, submission_id) WHERE receipt IS NOT NULL AND paid_block IS NULL;

-- The keys that signed receipts, with the time each was first used. Receipts move from older keys to newer ones, never back
-- while both hold their role.
CREATE TABLE settlers (
	address          TEXT PRIMARY KEY,
	first_used_at    BIGINT NOT NULL
);

-- What an operator accepted within the last hour, by token: a JSON array of minutes and base units.
CREATE TABLE operator_hours (
	operator         TEXT NOT NULL,
	token            TEXT NOT NULL,
	minutes          TEXT NOT NULL,
	PRIMARY KEY (operator, token)
);
