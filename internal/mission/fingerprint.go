package mission

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
)

// Fingerprint identifies a normalized mission: equal for all spellings of the same mission,
// different for any other. It begins with the version of its rules.
type Fingerprint string

// fingerprintVersion changes with every change of the rules that alters the fingerprint of an
// accepted mission.
const fingerprintVersion = "v1"

// Fingerprint returns the mission's fingerprint under the current rules.
func (n Normalized) Fingerprint() Fingerprint {
	text := make([]byte, 0, 1024)
	text = append(text, "sortie mission "+fingerprintVersion+"\n"...)
	sum := sha256.Sum256(appendMission(text, &n.mission, appendCanonical))
	return Fingerprint(fingerprintVersion + ":" + hex.EncodeToString(sum[:]))
}

// Current reports whether f was made with the current rules. Otherwise it cannot be compared:
// compare the missions with [Differences].
func (f Fingerprint) Current() bool { return strings.HasPrefix(string(f), fingerprintVersion+":") }

// AppendJSON appends the mission as JSON, for storage and responses: members in the order of
// [sortie.NormalizedMission], pairs and unknown members sorted by name. Equal missions give equal
// bytes, except for the spelling of values inside extra, which is kept.
func (n Normalized) AppendJSON(dst []byte) []byte {
	return appendMission(dst, &n.mission, appendVerbatim)
}

func appendMission(dst []byte, m *sortie.NormalizedMission, appendUnknown func([]byte, json.RawMessage) []byte) []byte {
	dst = appendString(append(dst, `{"title":`...), m.Title)
	dst = appendString(append(dst, `,"description":`...), m.Description)
	dst = appendString(append(dst, `,"mediaType":`...), string(m.MediaType))
	dst = appendString(append(dst, `,"reward":{"token":`...), string(m.Reward.Token))
	dst = append(append(dst, `,"amount":`...), m.Reward.Amount...)
	dst = strconv.AppendInt(append(dst, `},"targetCount":`...), int64(m.TargetCount), 10)
	dst = strconv.AppendInt(append(dst, `,"maxSubmissionsPerContributor":`...), int64(m.MaxSubmissionsPerContributor), 10)
	dst = appendStrings(append(dst, `,"verification":{"accept":`...), m.Verification.Accept)
	dst = appendStrings(append(dst, `,"reject":`...), m.Verification.Reject)
	dst = appendArea(append(dst, `},"location":`...), m.Location)
	dst = appendVideo(append(dst, `,"video":`...), m.Video)
	dst = appendOptional(append(dst, `,"startsAt":`...), m.StartsAt)
	dst = appendOptional(append(dst, `,"endsAt":`...), m.EndsAt)
	dst = appendStrings(append(dst, `,"tags":`...), m.Tags)
	dst = appendOptional(append(dst, `,"externalReference":`...), m.ExternalReference)
	dst = appendPairs(append(dst, `,"metadata":`...), m.Metadata)
	dst = appendExtra(append(dst, `,"extra":`...), m.Extra, appendUnknown)
	return append(dst, '}')
}

func appendArea(dst []byte, area *sortie.Area) []byte {
	if area == nil {
		return append(dst, "null"...)
	}
	dst = append(append(dst, `{"lat":`...), area.Lat...)
	dst = append(append(dst, `,"lng":`...), area.Lng...)
	dst = append(append(dst, `,"radiusMeters":`...), area.RadiusMeters...)
	dst = append(append(dst, `,"maxAccuracyMeters":`...), area.MaxAccuracyMeters...)
	return append(appendString(append(dst, `,"label":`...), area.Label), '}')
}

func appendVideo(dst []byte, video *sortie.VideoBounds) []byte {
	if video == nil {
		return append(dst, "null"...)
	}
	dst = strconv.AppendInt(append(dst, `{"minDurationMs":`...), video.MinDurationMs, 10)
	return append(strconv.AppendInt(append(dst, `,"maxDurationMs":`...), video.MaxDurationMs, 10), '}')
}

func appendOptional(dst []byte, text *string) []byte {
	if text == nil {
		return append(dst, "null"...)
	}
	return appendString(dst, *text)
}

func appendStrings(dst []byte, list []string) []byte {
	dst = append(dst, '[')
	for i, text := range list {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, text)
	}
	return append(dst, ']')
}

func appendPairs(dst []byte, pairs map[string]string) []byte {
	dst = append(dst, '{')
	for i, key := range slices.Sorted(maps.Keys(pairs)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(append(appendString(dst, key), ':'), pairs[key])
	}
	return append(dst, '}')
}

func appendString(dst []byte, text string) []byte {
	quoted, _ := jsontext.AppendQuote(dst, text) // fails only for invalid UTF-8, which parseDocument refuses
	return quoted
}

// Differences returns the names of the fields in which two missions differ, in the order of the
// mission's fields. It is empty if and only if their fingerprints are equal.
func Differences(a, b Normalized) []string {
	x, y := &a.mission, &b.mission
	var names []string
	compare := func(name string, equal bool) {
		if !equal {
			names = append(names, name)
		}
	}
	compare("title", x.Title == y.Title)
	compare("description", x.Description == y.Description)
	compare("mediaType", x.MediaType == y.MediaType)
	compare("reward.token", x.Reward.Token == y.Reward.Token)
	compare("reward.amount", x.Reward.Amount == y.Reward.Amount)
	compare("targetCount", x.TargetCount == y.TargetCount)
	compare("maxSubmissionsPerContributor", x.MaxSubmissionsPerContributor == y.MaxSubmissionsPerContributor)
	compare("verification.accept", slices.Equal(x.Verification.Accept, y.Verification.Accept))
	compare("verification.reject", slices.Equal(x.Verification.Reject, y.Verification.Reject))
	compareAreas(compare, x.Location, y.Location)
	compareVideos(compare, x.Video, y.Video)
	compare("startsAt", equalOptional(x.StartsAt, y.StartsAt))
	compare("endsAt", equalOptional(x.EndsAt, y.EndsAt))
	compare("tags", slices.Equal(x.Tags, y.Tags))
	compare("externalReference", equalOptional(x.ExternalReference, y.ExternalReference))
	compare("metadata", maps.Equal(x.Metadata, y.Metadata))
	compare("extra", bytes.Equal(appendExtra(nil, x.Extra, appendCanonical), appendExtra(nil, y.Extra, appendCanonical)))
	return names
}

func compareAreas(compare func(name string, equal bool), a, b *sortie.Area) {
	if a == nil || b == nil {
		compare("location", a == b)
		return
	}
	compare("location.lat", a.Lat == b.Lat)
	compare("location.lng", a.Lng == b.Lng)
	compare("location.radiusMeters", a.RadiusMeters == b.RadiusMeters)
	compare("location.maxAccuracyMeters", a.MaxAccuracyMeters == b.MaxAccuracyMeters)
	compare("location.label", a.Label == b.Label)
}

func compareVideos(compare func(name string, equal bool), a, b *sortie.VideoBounds) {
	if a == nil || b == nil {
		compare("video", a == b)
		return
	}
	compare("video.minDurationMs", a.MinDurationMs == b.MinDurationMs)
	compare("video.maxDurationMs", a.MaxDurationMs == b.MaxDurationMs)
}

func equalOptional(a, b *string) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}
