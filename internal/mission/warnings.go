package mission

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
)

const (
	smallReward = 100_000 // 0.1 tokens
	shortWindow = 24 * time.Hour
	shownNames  = 5
)

// Warnings returns sentences for the creator about what is allowed but probably a mistake. The list
// may be empty.
func (n Normalized) Warnings(now time.Time) []string {
	m := &n.mission
	list := []string{}
	warn := func(when bool, format string, args ...any) {
		if when {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	warn(m.Description == "", "There is no description: contributors see the title only.")
	warn(len(m.Verification.Accept) == 0, "verification.accept is empty: reviewers have no rule for accepting a submission.")
	warn(unitsOf(m.Reward.Amount) < smallReward, "The reward of %s %s is very small: few people may take the mission.", m.Reward.Amount, m.Reward.Token)
	warn(m.TargetCount > 1 && m.MaxSubmissionsPerContributor == m.TargetCount,
		"maxSubmissionsPerContributor equals targetCount: one person may fill the whole mission.")
	n.warnOfPlace(warn)
	n.warnOfTimes(warn, now)
	warn(len(m.Extra) > 0, "The service does not know %s: kept in extra and shown to the reviewer, without any effect. Check the spelling.", unknownNames(m))
	return list
}

func (n Normalized) warnOfPlace(warn func(when bool, format string, args ...any)) {
	area := n.mission.Location
	if area == nil {
		return
	}
	warn(unitsOf(area.RadiusMeters) < unitsOf(area.MaxAccuracyMeters),
		"location.radiusMeters (%s) is smaller than location.maxAccuracyMeters (%s): a position that counts as accurate may not prove that the contributor was there.",
		area.RadiusMeters, area.MaxAccuracyMeters)
	warn(area.Lat == "0" && area.Lng == "0", "location is latitude 0, longitude 0, in the Atlantic Ocean: check that both were filled in.")
}

func (n Normalized) warnOfTimes(warn func(when bool, format string, args ...any), now time.Time) {
	starts, ends := n.instants()
	if ends.IsZero() {
		warn(!starts.IsZero(), "endsAt is not given: the mission ends 30 days after publication, not 30 days after startsAt.")
		return
	}
	opens := starts
	if opens.Before(now) {
		opens = now
	}
	warn(ends.Sub(opens) < shortWindow,
		"The mission takes submissions for less than a day, and funding, review and publication must be done before it can begin.")
}

// unknownNames lists the names in extra, shortened because they are foreign text.
func unknownNames(m *sortie.NormalizedMission) string {
	names := slices.Sorted(maps.Keys(m.Extra))
	more := len(names) - shownNames
	names = names[:min(len(names), shownNames)]
	for i, name := range names {
		names[i] = quoteShort(name)
	}
	text := strings.Join(names, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// unitsOf returns a number of the mission in millionths.
func unitsOf[T ~string](number T) int64 {
	value, _ := parseDecimal(string(number))
	return value.round(amountPlaces)
}
