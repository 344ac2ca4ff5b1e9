-- What was spent within a sliding time, by name: the payouts of a token, the gas of a chain. The amounts are a JSON array of bounded
-- length.
CREATE TABLE spending (
	name             TEXT PRIMARY KEY,
	amounts          TEXT NOT NULL
) WITHOUT ROWID;

-- An intent may be handed to another account, which counts its nonces by itself.
ALTER TABLE attempts ADD COLUMN sender TEXT NOT NULL DEFAULT '';

UPDATE attempts SET sender = (SELECT intents.sender FROM intents WHERE intents.id = attempts.intent_id);

CREATE INDEX intents_active_of_sender ON intents (sender, chain_id) WHERE status IN ('queued', 'sent', 'mined');
