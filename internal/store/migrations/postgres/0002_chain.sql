-- How far the chain was followed. The version makes two followers that read the same position exclude each other.
CREATE TABLE chain_position (
	chain_id         BIGINT PRIMARY KEY,
	start_block      BIGINT NOT NULL,
	tip_number       BIGINT NOT NULL,
	tip_hash         TEXT NOT NULL,
	tip_time         BIGINT NOT NULL,
	head             BIGINT NOT NULL,
	final            BIGINT NOT NULL,
	version          BIGINT NOT NULL,
	updated_at       BIGINT NOT NULL
);

-- The newest of the followed blocks: after a reorganization the common ancestor is found among them.
CREATE TABLE chain_blocks (
	chain_id         BIGINT NOT NULL,
	number           BIGINT NOT NULL,
	hash             TEXT NOT NULL,
	time             BIGINT NOT NULL,
	PRIMARY KEY (chain_id, number)
);

-- What the contracts reported on the canonical chain, up to the tip. What only some kinds of event have is JSON in data.
-- Nothing is looked up by mission: an index in no order would cost more than the rest of the row.
CREATE TABLE chain_events (
	chain_id         BIGINT NOT NULL,
	block_number     BIGINT NOT NULL,
	log_index        BIGINT NOT NULL,
	block_hash       TEXT NOT NULL,
	transaction_hash TEXT NOT NULL,
	factory          TEXT NOT NULL,
	kind             TEXT NOT NULL,
	mission_key      TEXT,
	data             TEXT NOT NULL,
	PRIMARY KEY (chain_id, block_number, log_index)
);

-- Every factory that quotes were ever made for. All of them are followed: a quote may be used after the next factory came.
CREATE TABLE factories (
	chain_id         BIGINT NOT NULL,
	address          TEXT NOT NULL,
	PRIMARY KEY (chain_id, address)
);

-- A draft's funding, for as long as it is on the canonical chain, and the closing of its mission likewise. refund_due says
-- that the mission is closed and its draft, not approved, does not count as refunded yet.
CREATE TABLE fundings (
	draft_id         TEXT PRIMARY KEY REFERENCES drafts (draft_id),
	mission_key      TEXT NOT NULL UNIQUE,
	chain_id         BIGINT NOT NULL,
	block_number     BIGINT NOT NULL,
	block_hash       TEXT NOT NULL,
	transaction_hash TEXT NOT NULL,
	log_index        BIGINT NOT NULL,
	reclaim_after    BIGINT NOT NULL,
	closed_block     BIGINT,
	closed_hash      TEXT,
	closed_transaction TEXT,
	closed_reason    BIGINT,
	refund           TEXT,
	refund_deferred  BOOLEAN,
	refund_due       BOOLEAN NOT NULL DEFAULT FALSE
);

CREATE INDEX fundings_to_refund ON fundings (chain_id, closed_block) WHERE refund_due;

-- The conditions name depth and decision, not list_status: no list of a wallet can be tempted to use these indexes.
CREATE INDEX drafts_to_deepen ON drafts (chain_id, depth) WHERE depth IN ('seen', 'confirmed');

CREATE INDEX drafts_in_review ON drafts (seq) WHERE decision = 'none' AND depth IN ('confirmed', 'locked');

-- The drafts of a chain in their order. SQLite walks the rows themselves.
CREATE INDEX drafts_of_chain ON drafts (chain_id, seq);

-- The one decision about a draft.
CREATE TABLE reviews (
	draft_id         TEXT PRIMARY KEY REFERENCES drafts (draft_id),
	decision         TEXT NOT NULL,
	operator         TEXT NOT NULL,
	reason           TEXT NOT NULL,
	decided_at       BIGINT NOT NULL
);

-- What operators did. Rows are only added.
CREATE TABLE audit (
	seq              BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	at               BIGINT NOT NULL,
	actor            TEXT NOT NULL,
	action           TEXT NOT NULL,
	subject          TEXT NOT NULL,
	detail           TEXT NOT NULL
);

-- What an operator must look at. fingerprint stands for kind and detail, which may be too long for an index.
CREATE TABLE incidents (
	id               TEXT PRIMARY KEY,
	kind             TEXT NOT NULL,
	halting          BOOLEAN NOT NULL,
	detail           TEXT NOT NULL,
	fingerprint      TEXT NOT NULL,
	opened_at        BIGINT NOT NULL,
	cleared_at       BIGINT,
	cleared_by       TEXT NOT NULL
);

CREATE UNIQUE INDEX incidents_open ON incidents (fingerprint) WHERE cleared_at IS NULL;

CREATE INDEX incidents_halting ON incidents (opened_at) WHERE cleared_at IS NULL AND halting;

-- Who does what only one process may do at a time. The epoch grows with every change of holder.
CREATE TABLE leases (
	name             TEXT PRIMARY KEY,
	holder           TEXT NOT NULL,
	epoch            BIGINT NOT NULL,
	expires_at       BIGINT NOT NULL
);

-- What the service wants done on chain. At most one intent for the same thing is active, and at most one holds a nonce.
CREATE TABLE intents (
	id               BIGINT PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
	chain_id         BIGINT NOT NULL,
	sender           TEXT NOT NULL,
	kind             TEXT NOT NULL,
	subject          TEXT NOT NULL,
	status           TEXT NOT NULL,
	nonce            BIGINT,
	created_at       BIGINT NOT NULL,
	updated_at       BIGINT NOT NULL,
	mined_block      BIGINT,
	mined_transaction TEXT,
	problem          TEXT NOT NULL
);

CREATE UNIQUE INDEX intents_active ON intents (kind, subject) WHERE status IN ('queued', 'sent', 'mined');

CREATE UNIQUE INDEX intents_with_nonce ON intents (chain_id, sender, nonce) WHERE status IN ('sent', 'mined');

CREATE INDEX intents_of_subject ON intents (kind, subject, id);

CREATE INDEX intents_of_sender ON intents (chain_id, sender, status, nonce);

CREATE INDEX intents_waiting ON intents (status, created_at) WHERE status IN ('queued', 'sent');

-- The signed transactions of an intent, each stored before it was sent.
CREATE TABLE attempts (
	intent_id        BIGINT NOT NULL REFERENCES intents (id),
	number           BIGINT NOT NULL,
	hash             TEXT NOT NULL UNIQUE,
	raw              BYTEA NOT NULL,
	nonce            BIGINT NOT NULL,
	fee_cap          TEXT NOT NULL,
	tip_cap          TEXT NOT NULL,
	sent_at          BIGINT NOT NULL,
	PRIMARY KEY (intent_id, number)
);
