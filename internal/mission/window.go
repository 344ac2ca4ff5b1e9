package mission

import "time"

const (
	minLead         = time.Hour // between the creation of a draft and the end of its mission
	maxLead         = 90 * 24 * time.Hour
	defaultDuration = 30 * 24 * time.Hour // from publication, for a mission without an end of its own
)

// CheckTimes holds the mission's times against the moment its draft is created. It is apart from [Normalize] because only the
// first creation must pass it: a replay returns its draft at any time.
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

// Window is the time in which submissions are taken, from start until just before end, for a mission published at
// publishedAt.
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

// instants are the times the creator gave; zero for those not given.
func (n Normalized) instants() (starts, ends time.Time) {
	if text := n.mission.StartsAt; text != nil {
		starts, _ = parseInstant(*text) // it was written by formatInstant
	}
	if text := n.mission.EndsAt; text != nil {
		ends, _ = parseInstant(*text)
	}
	return starts, ends
}
