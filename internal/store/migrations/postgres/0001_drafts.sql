-- A creator's drafts, one row each for as long as the service lives. Nothing before depth ever changes. The normalized
-- mission is kept as the JSON that answers carry. There is no index on seq alone: the planner would walk it through other
-- wallets' drafts in the hope of meeting one of the wallet's soon.
CREATE TABLE drafts (
	seq              BIGINT NOT NULL GENERATED ALWAYS AS IDENTITY,
	draft_id         TEXT PRIMARY KEY,
	mission_id       TEXT NOT NULL UNIQUE,
	wallet           TEXT NOT NULL,
	idempotency_key  TEXT NOT NULL,
	fingerprint      TEXT NOT NULL,
	mission          TEXT NOT NULL,
	title            TEXT NOT NULL,
	token            TEXT NOT NULL,
	token_address    TEXT NOT NULL,
	chain_id         BIGINT NOT NULL,
	factory_address  TEXT NOT NULL,
	reward           TEXT NOT NULL,
	target_count     BIGINT NOT NULL,
	nonce            TEXT NOT NULL,
	created_at       BIGINT NOT NULL,
	depth            TEXT NOT NULL,
	decision         TEXT NOT NULL,
	refunded         BOOLEAN NOT NULL,
	list_status      TEXT NOT NULL,
	quote_deadline   BIGINT,
	updated_at       BIGINT NOT NULL,
	version          BIGINT NOT NULL,
	UNIQUE (wallet, idempotency_key)
);

CREATE INDEX drafts_of_wallet ON drafts (wallet, seq);

CREATE INDEX drafts_of_wallet_in_status ON drafts (wallet, list_status, seq);

-- What is counted per wallet, so that no request has to count rows.
CREATE TABLE wallets (
	wallet           TEXT PRIMARY KEY,
	unfunded_drafts  BIGINT NOT NULL CHECK (unfunded_drafts >= 0),
	last_event       BIGINT NOT NULL
);

-- What happened, in the order in which it became true for the wallet. Rows are only added.
CREATE TABLE events (
	wallet           TEXT NOT NULL,
	seq              BIGINT NOT NULL,
	draft_id         TEXT NOT NULL REFERENCES drafts (draft_id),
	type             TEXT NOT NULL,
	data             TEXT NOT NULL,
	created_at       BIGINT NOT NULL,
	PRIMARY KEY (wallet, seq)
);

-- Values that every process on this database must agree on, such as keys of its own. The first one written stays.
CREATE TABLE settings (
	name             TEXT PRIMARY KEY,
	value            BYTEA NOT NULL,
	created_at       BIGINT NOT NULL
);
