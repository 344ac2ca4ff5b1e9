-- Published missions as contributors and deliverables see them. The counters are what every acceptance and reservation must
-- pass: whoever changes them holds the row until the end of the transaction. takes_work and completable_at follow from the
-- other columns, so that indexes move only when they do. summary is the encoded mission of the deliverables.
CREATE TABLE mission_slots (
	seq              INTEGER PRIMARY KEY,
	draft_id         TEXT NOT NULL UNIQUE REFERENCES drafts (draft_id),
	mission_id       TEXT NOT NULL UNIQUE,
	creator          TEXT NOT NULL,
	target_count     BIGINT NOT NULL,
	per_contributor  BIGINT NOT NULL,
	reserved         BIGINT NOT NULL CHECK (reserved >= 0),
	accepted         BIGINT NOT NULL CHECK (accepted >= 0),
	finals           BIGINT NOT NULL CHECK (finals >= 0),
	accept_seq       BIGINT NOT NULL,
	media_type       TEXT NOT NULL,
	lat              BIGINT,
	lng              BIGINT,
	lat_band         BIGINT,
	opens_at         BIGINT NOT NULL,
	ends_at          BIGINT NOT NULL,
	published_at     BIGINT NOT NULL,
	closed_at        BIGINT,
	completed_at     BIGINT,
	summary          TEXT NOT NULL,
	takes_work       BOOLEAN NOT NULL GENERATED ALWAYS AS
		(closed_at IS NULL AND completed_at IS NULL AND accepted + reserved < target_count) STORED,
	completable_at   BIGINT GENERATED ALWAYS AS (CASE
		WHEN completed_at IS NOT NULL THEN NULL
		WHEN finals = target_count THEN 0
		WHEN reserved > 0 OR accepted > finals THEN NULL
		WHEN closed_at IS NOT NULL THEN 0
		ELSE ends_at END) STORED,
	CHECK (accepted + reserved <= target_count),
	CHECK (finals <= accepted)
);

CREATE INDEX slots_open ON mission_slots (seq) WHERE takes_work;

CREATE INDEX slots_open_of_media ON mission_slots (media_type, seq) WHERE takes_work;

CREATE INDEX slots_anywhere ON mission_slots (seq) WHERE takes_work AND lat IS NULL;

-- Around a point: one strip of a tenth of a degree after the other, each from west to east. The rest is there to be read
-- without the row.
CREATE INDEX slots_near ON mission_slots (lat_band, lng, lat, media_type, opens_at, ends_at, seq) WHERE takes_work;

CREATE INDEX slots_to_complete ON mission_slots (completable_at) WHERE completable_at IS NOT NULL;

CREATE INDEX drafts_published ON drafts (seq) WHERE decision = 'approved' AND depth = 'locked';

-- How many submissions a contributor has in a mission that hold a place of it.
CREATE TABLE contributors (
	draft_id         TEXT NOT NULL,
	wallet           TEXT NOT NULL,
	active           BIGINT NOT NULL CHECK (active >= 0),
	PRIMARY KEY (draft_id, wallet)
) WITHOUT ROWID;

-- What contributors submitted, one row each for as long as the service lives. What was declared never changes. None gets in
-- without a reservation in mission_slots, whose rows stay. Media links read the
-- columns in front.
CREATE TABLE submissions (
	seq              INTEGER PRIMARY KEY,
	submission_id    TEXT NOT NULL UNIQUE,
	status           TEXT NOT NULL,
	draft_id         TEXT NOT NULL,
	served_hash      TEXT,
	served_type      TEXT,
	served_size      BIGINT,
	thumbnail_hash   TEXT,
	contributor      TEXT NOT NULL,
	idempotency_key  TEXT NOT NULL,
	fingerprint      TEXT NOT NULL,
	lat              TEXT NOT NULL,
	lng              TEXT NOT NULL,
	accuracy         TEXT NOT NULL,
	captured_at      BIGINT NOT NULL,
	content_type     TEXT NOT NULL,
	size_bytes       BIGINT NOT NULL,
	declared_hash    TEXT NOT NULL,
	reserved_until   BIGINT NOT NULL,
	created_at       BIGINT NOT NULL,
	reason           TEXT NOT NULL,
	score            BIGINT,
	checks           TEXT NOT NULL,
	policy           TEXT NOT NULL,
	decided_by       TEXT NOT NULL,
	duplicate_of     TEXT NOT NULL,
	uploaded_at      BIGINT,
	uploaded_hash    TEXT,
	media_kind       TEXT,
	width            BIGINT,
	height           BIGINT,
	duration_ms      BIGINT,
	keyframes        BIGINT,
	perceptual       BIGINT,
	file_captured_at BIGINT,
	file_zone_unknown BOOLEAN,
	file_lat         DOUBLE PRECISION,
	file_lng         DOUBLE PRECISION,
	problem_code     TEXT,
	problem_message  TEXT,
	failing_since    BIGINT,
	verified_at      BIGINT,
	accept_seq       BIGINT,
	hold_until       BIGINT,
	slot             BIGINT,
	final_at         BIGINT,
	receipt          TEXT,
	version          BIGINT NOT NULL,
	expires_at       BIGINT GENERATED ALWAYS AS (CASE WHEN status = 'pending' AND uploaded_at IS NULL THEN reserved_until END) STORED,
	UNIQUE (contributor, idempotency_key)
);

CREATE UNIQUE INDEX submissions_of_slot ON submissions (draft_id, slot) WHERE slot IS NOT NULL;

CREATE INDEX submissions_of_contributor ON submissions (contributor, seq);

CREATE INDEX submissions_in_status ON submissions (status, seq);

CREATE INDEX submissions_of_mission ON submissions (draft_id, status, seq);

CREATE INDEX submissions_by_upload ON submissions (uploaded_hash, seq) WHERE uploaded_hash IS NOT NULL;

CREATE INDEX submissions_by_served ON submissions (served_hash, seq) WHERE served_hash IS NOT NULL;

CREATE INDEX submissions_by_thumbnail ON submissions (thumbnail_hash) WHERE thumbnail_hash IS NOT NULL;

CREATE INDEX submissions_to_expire ON submissions (expires_at) WHERE expires_at IS NOT NULL;

CREATE INDEX submissions_to_finish ON submissions (hold_until) WHERE accept_seq IS NOT NULL AND final_at IS NULL;

CREATE INDEX submissions_to_receipt ON submissions (final_at, submission_id) WHERE final_at IS NOT NULL AND receipt IS NULL;

-- What creators see: the accepted submissions of a mission in the order of acceptance, each with its encoded part of the
-- answer. A row is there for exactly as long as its submission is accepted.
CREATE TABLE deliverables (
	draft_id         TEXT NOT NULL,
	accept_seq       BIGINT NOT NULL,
	submission_id    TEXT NOT NULL,
	has_thumbnail    BOOLEAN NOT NULL,
	fragment         BLOB NOT NULL,
	PRIMARY KEY (draft_id, accept_seq)
) WITHOUT ROWID;

-- The perceptual hashes by each of their four words of 16 bits, word number first: two hashes that differ in few bits have
-- a word in common but for one bit.
CREATE TABLE perceptual_words (
	word             BIGINT NOT NULL,
	perceptual       BIGINT NOT NULL,
	submission_id    TEXT NOT NULL,
	PRIMARY KEY (word, perceptual, submission_id)
) WITHOUT ROWID;

-- The keys that sign media links.
CREATE TABLE link_keys (
	kid              TEXT PRIMARY KEY NOT NULL,
	secret           BLOB NOT NULL,
	created_at       BIGINT NOT NULL,
	signs_from       BIGINT NOT NULL,
	retired_at       BIGINT
) WITHOUT ROWID;

-- The signed request that a decision was made by, so that whoever records a request cannot make its decision once more.
ALTER TABLE audit ADD COLUMN request TEXT;
CREATE UNIQUE INDEX audit_by_request ON audit (request) WHERE request IS NOT NULL;
