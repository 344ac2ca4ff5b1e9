-- The books of a mission are closed when its money has left the contract for good and all of it was compared with the contract. Its sums
-- are then part of book_totals, so that a comparison of all books does not read it each time.
CREATE TABLE closed_books (
	seq              INTEGER PRIMARY KEY,
	draft_id         TEXT NOT NULL UNIQUE,
	chain_id         BIGINT NOT NULL,
	factory          TEXT NOT NULL,
	token            TEXT NOT NULL,
	token_address    TEXT NOT NULL,
	funded           TEXT NOT NULL,
	paid             TEXT NOT NULL,
	deferred         TEXT NOT NULL,
	refunded         TEXT NOT NULL,
	closed_at        BIGINT NOT NULL
);

CREATE TABLE book_totals (
	chain_id         BIGINT NOT NULL,
	factory          TEXT NOT NULL,
	token            TEXT NOT NULL,
	token_address    TEXT NOT NULL,
	missions         BIGINT NOT NULL,
	funded           TEXT NOT NULL,
	paid             TEXT NOT NULL,
	deferred         TEXT NOT NULL,
	refunded         TEXT NOT NULL,
	PRIMARY KEY (chain_id, factory, token_address)
);

-- Accounts that may have a credit in a contract: a payment or a refund to them was deferred, and the contract has not said that
-- nothing is left of it in a final block.
CREATE TABLE credit_holders (
	chain_id         BIGINT NOT NULL,
	factory          TEXT NOT NULL,
	token_address    TEXT NOT NULL,
	account          TEXT NOT NULL,
	empty_block      BIGINT, -- since which nothing was left of it
	PRIMARY KEY (chain_id, factory, token_address, account)
);

ALTER TABLE fundings ADD COLUMN books_closed BOOLEAN NOT NULL DEFAULT FALSE;

CREATE INDEX fundings_open_books ON fundings (chain_id, draft_id) WHERE NOT books_closed;

CREATE INDEX payouts_credited ON payouts (draft_id, recipient) WHERE credited;
