package mission

import "time"

const (
	minLead         = time.Hour // between the creation of a draft and the end of its mission
	maxLead         = 90 * 24 * time.Hour
	defaultDuration = 30 * 24 * time.Hour // from publication, for a mission without endsAt

	// The periods between the end of a mission and the time from which its creator may reclaim
	// the money.
	decisionPeriod   = 14 * 24 * time.Hour // for operators to decide about the last submissions
	redemptionPeriod = 30 * 24 * time.Hour // for contributors to redeem their receipts
)

// LongestHold is the longest configurable hold of an acceptance.
const LongestHold = 30 * 24 * time.Hour

// SettlementPeriod is the time after a mission's end in which its submissions are decided about and
// paid. A mission is published only if this period ends before its creator may reclaim the money.
const SettlementPeriod = decisionPeriod + LongestHold + redemptionPeriod

// PublishBy returns the time from which a mission can no longer be published: it would take no
// submissions, or its creator could reclaim the money before everything accepted is paid. endsAt is
// nil for a mission without an end; reclaimAfter is in Unix seconds, as the contract reports it.
// For a mission that can never be published it returns the Unix epoch.
func PublishBy(endsAt *time.Time, reclaimAfter uint64) time.Time {
	const latest = 1 << 38 // in the year 10680; the contract's type is wider than a time.Time
	settled := time.Unix(int64(min(reclaimAfter, latest)), 0).UTC().Add(-SettlementPeriod)
	switch {
	case endsAt == nil:
		return settled.Add(-defaultDuration)
	case endsAt.After(settled):
		return time.Unix(0, 0).UTC()
	default:
		return *endsAt
	}
}

// CheckTimes checks the mission's times against the creation time of its draft. It is separate from
// [Normalize] because only the first creation must pass it: a replay returns its draft at any time.
//
// The error is a [*sortie.Error] of code validation_failed with details.fields.
func (n Normalized) CheckTimes(now time.Time) error {
	var found faults
	starts, ends := n.instants()
	if !ends.IsZero() && (ends.Before(now.Add(minLead)) || ends.After(now.Add(maxLead))) {
		found.add("endsAt", faultOutOfRange, "must be at least 1 hour and at most 90 days from now, %s", formatInstant(now))
	}
	if ends.IsZero() && !starts.Before(now.Add(defaultDuration)) {
		found.add("startsAt", faultOutOfRange, "must be less than 30 days from now unless endsAt is given: without it the mission ends 30 days after publication")
	}
	if found.none() {
		return nil
	}
	return found.invalid()
}

// Window returns the time in which submissions are taken, from start until just before end, for a
// mission published at publishedAt.
func (n Normalized) Window(publishedAt time.Time) (start, end time.Time) {
	start, end = n.instants()
	if start.Before(publishedAt) {
		start = publishedAt
	}
	if end.IsZero() {
		end = publishedAt.Add(defaultDuration)
	}
	return start, end
}

// EndsAt returns the end that the creator gave, or nil.
func (n Normalized) EndsAt() *time.Time {
	_, ends := n.instants()
	if ends.IsZero() {
		return nil
	}
	return &ends
}

// instants returns the times that the creator gave; zero for those not given.
func (n Normalized) instants() (starts, ends time.Time) {
	if text := n.mission.StartsAt; text != nil {
		starts, _ = parseInstant(*text) // it was written by formatInstant
	}
	if text := n.mission.EndsAt; text != nil {
		ends, _ = parseInstant(*text)
	}
	return starts, ends
}
