-- A mission is listed until it is full of accepted work: reservations do not hide it. newcomers counts the reservations without a
-- file of contributors who have no accepted submission.
ALTER TABLE mission_slots ADD COLUMN newcomers BIGINT NOT NULL DEFAULT 0 CHECK (newcomers >= 0);

ALTER TABLE mission_slots ADD COLUMN listed BOOLEAN GENERATED ALWAYS AS
	(closed_at IS NULL AND completed_at IS NULL AND accepted < target_count) STORED;

DROP INDEX slots_open;

CREATE INDEX slots_open ON mission_slots (seq) WHERE listed;

DROP INDEX slots_open_of_media;

CREATE INDEX slots_open_of_media ON mission_slots (media_type, seq) WHERE listed;

DROP INDEX slots_anywhere;

CREATE INDEX slots_anywhere ON mission_slots (seq) WHERE listed AND lat IS NULL;

DROP INDEX slots_near;

CREATE INDEX slots_near ON mission_slots (lat_band, lng, lat, media_type, opens_at, ends_at, seq) WHERE listed;

-- When the next reservation of a mission ends.
CREATE INDEX submissions_reserving ON submissions (draft_id, expires_at) WHERE expires_at IS NOT NULL;

-- Which contributors have an accepted submission.
CREATE INDEX submissions_accepted ON submissions (contributor, accept_seq) WHERE accept_seq IS NOT NULL;

-- The reservations whose file has not arrived, with what they count against. A row is deleted when its reservation ends, so that
-- network addresses are not kept.
CREATE TABLE open_reservations (
	submission_id    TEXT PRIMARY KEY,
	newcomer         BOOLEAN NOT NULL,
	size_bytes       BIGINT NOT NULL,
	meter            TEXT NOT NULL,
	meter_cost       BIGINT NOT NULL,
	wide_meter       TEXT NOT NULL,
	wide_meter_cost  BIGINT NOT NULL
);

-- How many reservations a network or a wallet made without uploading a file, as the time until which they are paid off.
CREATE TABLE reservation_meters (
	holder           TEXT PRIMARY KEY,
	used_until       BIGINT NOT NULL
);

CREATE INDEX reservation_meters_used ON reservation_meters (used_until);

-- The declared sizes of open reservations in sum: of a wallet, and of all under the empty name.
CREATE TABLE reserved_bytes (
	holder           TEXT PRIMARY KEY,
	size_bytes       BIGINT NOT NULL CHECK (size_bytes >= 0)
);

INSERT INTO open_reservations (submission_id, newcomer, size_bytes, meter, meter_cost, wide_meter, wide_meter_cost)
SELECT submission_id, FALSE, size_bytes, '', 0, '', 0 FROM submissions WHERE expires_at IS NOT NULL;

INSERT INTO reserved_bytes (holder, size_bytes)
SELECT contributor, SUM(size_bytes) FROM submissions WHERE expires_at IS NOT NULL GROUP BY contributor;

INSERT INTO reserved_bytes (holder, size_bytes)
SELECT '', COALESCE(SUM(size_bytes), 0) FROM submissions WHERE expires_at IS NOT NULL;
