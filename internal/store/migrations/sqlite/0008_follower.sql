-- Drafts that are not funded, which are compared with the contract again and again.
CREATE INDEX drafts_fundable ON drafts (chain_id) WHERE depth = 'none';

-- Every quote asks whether the follower is stuck.
CREATE INDEX incidents_stuck ON incidents (opened_at) WHERE cleared_at IS NULL AND kind = 'follower_stuck';

-- Nothing is done with these events, and they are not followed any more.
DELETE FROM chain_events WHERE kind IN ('deferred_claimed', 'authorization_revoked');
