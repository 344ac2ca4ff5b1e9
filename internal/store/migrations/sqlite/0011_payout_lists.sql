-- Operators list payouts by mission and by recipient, each in any status, newest first.
CREATE INDEX payouts_of_mission_in_status ON payouts (status, draft_id, seq);

CREATE INDEX payouts_of_recipient_in_status ON payouts (status, recipient, seq);
