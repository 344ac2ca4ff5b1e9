-- A payout is the payment of one slot: for every final acceptance, one. Its states follow the chain: queued until a transaction
-- carries it, sent until a block with its payment is final, then paid or deferred; failed is set aside for an operator.
CREATE TABLE payouts (
	seq              INTEGER PRIMARY KEY,
	submission_id    TEXT NOT NULL UNIQUE,
	draft_id         TEXT NOT NULL REFERENCES mission_slots (draft_id),
	slot             BIGINT NOT NULL,
	recipient        TEXT NOT NULL,
	token            TEXT NOT NULL,
	amount           TEXT NOT NULL,
	status           TEXT NOT NULL CHECK (status IN ('queued', 'sent', 'paid', 'deferred', 'failed')),
	settlement_id    BIGINT, -- the settlement that carries it; null: none does
	transaction_hash TEXT,   -- the transaction that pays it, as far as known
	block_number     BIGINT, -- the block that paid or deferred it; null: none did
	credited         BOOLEAN NOT NULL DEFAULT FALSE, -- that block made it a deferred credit
	problem          TEXT NOT NULL DEFAULT '',
	queued_at        BIGINT NOT NULL,
	updated_at       BIGINT NOT NULL,
	UNIQUE (draft_id, slot)
);

CREATE INDEX payouts_waiting ON payouts (draft_id, slot) WHERE status = 'queued' AND settlement_id IS NULL;

CREATE INDEX payouts_of_settlement ON payouts (settlement_id, slot) WHERE settlement_id IS NOT NULL;

CREATE INDEX payouts_to_finalize ON payouts (status, block_number, seq) WHERE status = 'sent' AND block_number IS NOT NULL;

CREATE INDEX payouts_of_recipient ON payouts (recipient, token, status, amount, queued_at);

CREATE INDEX payouts_in_status ON payouts (status, seq);

-- A settlement is a batch of payouts of one mission in one transaction. The intent of kind settle with its id as subject sends it.
CREATE TABLE settlements (
	id               INTEGER PRIMARY KEY,
	draft_id         TEXT NOT NULL REFERENCES mission_slots (draft_id),
	token            TEXT NOT NULL,
	size             BIGINT NOT NULL,
	created_at       BIGINT NOT NULL,
	ended_at         BIGINT
);

CREATE INDEX settlements_open ON settlements (id) WHERE ended_at IS NULL;

CREATE INDEX settlements_open_of_mission ON settlements (draft_id) WHERE ended_at IS NULL;

-- What a mission pays. Waiting counts its payouts that are queued and that no settlement carries, since waiting_since.
ALTER TABLE mission_slots ADD COLUMN token TEXT NOT NULL DEFAULT '';

ALTER TABLE mission_slots ADD COLUMN waiting BIGINT NOT NULL DEFAULT 0 CHECK (waiting >= 0);

ALTER TABLE mission_slots ADD COLUMN waiting_since BIGINT;

ALTER TABLE mission_slots ADD COLUMN paid BIGINT NOT NULL DEFAULT 0 CHECK (paid >= 0);

ALTER TABLE mission_slots ADD COLUMN deferred BIGINT NOT NULL DEFAULT 0 CHECK (deferred >= 0);

ALTER TABLE mission_slots ADD COLUMN failed BIGINT NOT NULL DEFAULT 0 CHECK (failed >= 0);

ALTER TABLE mission_slots ADD COLUMN batch BIGINT NOT NULL DEFAULT 50 CHECK (batch > 0);

ALTER TABLE mission_slots ADD COLUMN closing_at BIGINT; -- since when the service closes it

UPDATE mission_slots SET token = (SELECT drafts.token FROM drafts WHERE drafts.draft_id = mission_slots.draft_id);

INSERT INTO payouts (submission_id, draft_id, slot, recipient, token, amount, status, block_number, queued_at, updated_at)
SELECT s.submission_id, s.draft_id, s.slot, s.contributor, d.token, d.reward, CASE WHEN s.paid_block IS NULL THEN 'queued' ELSE 'sent' END,
	s.paid_block, s.final_at, s.final_at
FROM submissions AS s JOIN drafts AS d ON d.draft_id = s.draft_id WHERE s.slot IS NOT NULL ORDER BY s.final_at, s.submission_id;

UPDATE payouts SET transaction_hash = e.transaction_hash, credited = e.kind = 'payout_deferred'
FROM chain_events AS e
	JOIN fundings AS f ON f.mission_key = e.mission_key AND f.chain_id = e.chain_id
	JOIN drafts AS d ON d.draft_id = f.draft_id AND d.factory_address = e.factory
WHERE e.kind IN ('submission_paid', 'payout_deferred') AND payouts.draft_id = f.draft_id AND payouts.block_number = e.block_number
	AND payouts.slot = CAST(json_extract(e.data, '$.slot') AS BIGINT);

UPDATE mission_slots SET
	waiting = (SELECT COUNT(*) FROM payouts WHERE payouts.draft_id = mission_slots.draft_id AND payouts.status = 'queued'),
	waiting_since = (SELECT MIN(queued_at) FROM payouts WHERE payouts.draft_id = mission_slots.draft_id AND payouts.status = 'queued');

CREATE INDEX slots_waiting ON mission_slots (token, waiting_since) WHERE waiting > 0;

CREATE INDEX slots_with_full_batch ON mission_slots (token, waiting_since) WHERE waiting >= batch;

-- A mission is closed when everything accepted is paid or deferred and nothing more can be accepted, and complete when that closing, or
-- the creator's reclaim, is final.
DROP INDEX slots_to_complete;

ALTER TABLE mission_slots DROP COLUMN completable_at;

-- Missions that were complete before their money left are not. Those whose money left before everything was paid are completed again: that
-- sets aside what nothing can pay any more.
UPDATE mission_slots SET completed_at = NULL WHERE closed_at IS NULL OR waiting > 0;

ALTER TABLE mission_slots ADD COLUMN closable_at BIGINT GENERATED ALWAYS AS (CASE
	WHEN completed_at IS NOT NULL OR closed_at IS NOT NULL OR closing_at IS NOT NULL OR paid + deferred < finals THEN NULL
	WHEN finals = target_count THEN 0
	WHEN reserved > 0 OR accepted > finals THEN NULL
	ELSE ends_at END) VIRTUAL;

CREATE INDEX slots_to_close ON mission_slots (closable_at) WHERE closable_at IS NOT NULL;

CREATE INDEX slots_to_complete ON mission_slots (draft_id) WHERE closed_at IS NOT NULL AND completed_at IS NULL;

CREATE INDEX slots_closing ON mission_slots (draft_id) WHERE closing_at IS NOT NULL AND closed_at IS NULL;
