package mission

import (
	"encoding/base32"
	"encoding/binary"
	"strings"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

const (
	draftPrefix      = "draft_"
	submissionPrefix = "sub_"
	eventPrefix      = "evt_"

	crockford      = "0123456789abcdefghjkmnpqrstvwxyz"
	suffixLength   = 26
	maxSlug        = 48
	missionSuffix  = 8
	slugOfNoLatin  = "mission"
	maxMissionID   = maxSlug + 1 + missionSuffix
	minMissionID   = 1 + 1 + missionSuffix
	timestampBytes = 6
)

var encoding = base32.NewEncoding(crockford).WithPadding(base32.NoPadding)

// Entropy is the randomness of an id. The caller fills it from a cryptographic source.
type Entropy [10]byte

// NewDraftID makes a draft id: the time in milliseconds and 80 random bits, so that ids sort by
// creation.
func NewDraftID(entropy Entropy, now time.Time) string {
	return draftPrefix + timedSuffix(entropy, now)
}

// NewSubmissionID makes a submission id of the same form.
func NewSubmissionID(entropy Entropy, now time.Time) string {
	return submissionPrefix + timedSuffix(entropy, now)
}

// NewEventID makes the id of an event, of the same form. It is derived, not random: the digest of
// the event takes the place of the randomness.
func NewEventID(digest Entropy, at time.Time) string {
	return eventPrefix + timedSuffix(digest, at)
}

// timedSuffix encodes 128 bits, 48 of time and 80 random, as 26 characters. These hold 130 bits;
// the two zero bits are put first, so that the text sorts like the number.
func timedSuffix(entropy Entropy, now time.Time) string {
	var value [timestampBytes + len(entropy)]byte
	binary.BigEndian.PutUint64(value[:], uint64(now.UnixMilli())<<16)
	copy(value[timestampBytes:], entropy[:])
	var shifted [len(value) + 1]byte
	for i, b := range value {
		shifted[i] |= b >> 2
		shifted[i+1] |= b << 6
	}
	return encoding.EncodeToString(shifted[:])[:suffixLength]
}

// NewMissionID makes the public id of a mission: its title as a slug, and 40 of the random bits.
// Two missions with the same title collide with a probability of one in 10^12, so the store must
// keep the id unique.
func NewMissionID(title string, entropy Entropy) string {
	return slug(title) + "-" + encoding.EncodeToString(entropy[:5])
}

// slug returns the title in lower-case ASCII letters, digits and single hyphens, at most 48
// characters. Letters lose their diacritics. A title without Latin letters gets a fixed slug.
func slug(title string) string {
	var text strings.Builder
	hasLetter, gap := false, false
	write := func(c byte) {
		if gap && text.Len() > 0 {
			text.WriteByte('-')
		}
		gap = false
		text.WriteByte(c)
		hasLetter = hasLetter || c >= 'a'
	}
	for _, r := range norm.NFKD.String(title) {
		r = unicode.ToLower(r)
		switch {
		case 'a' <= r && r <= 'z', '0' <= r && r <= '9':
			write(byte(r))
		case unicode.IsMark(r), r == '\'', r == '\u2019': // part of the letter or word before it
		default:
			letters := latinLetters[r]
			for i := range len(letters) {
				write(letters[i])
			}
			gap = gap || letters == ""
		}
	}
	if !hasLetter {
		return slugOfNoLatin
	}
	cutText := text.String()
	if len(cutText) > maxSlug {
		cutText = cutText[:maxSlug]
	}
	return strings.TrimRight(cutText, "-")
}

// Latin letters that Unicode does not decompose into an ASCII letter and a mark.
var latinLetters = map[rune]string{
	'ß': "ss", 'æ': "ae", 'œ': "oe", 'ø': "o", 'đ': "d", 'ð': "d", 'þ': "th", 'ł': "l", 'ħ': "h", 'ı': "i", 'ŋ': "ng",
	'ŧ': "t", 'ĸ': "k", 'ɓ': "b", 'ɗ': "d", 'ƒ': "f", 'ɠ': "g", 'ƙ': "k", 'ƴ': "y", 'ə': "e", 'ǝ': "e", 'ɛ': "e", 'ɔ': "o",
	'ɨ': "i", 'ʉ': "u", 'ɍ': "r", 'ƶ': "z", 'ȼ': "c", 'ǥ': "g", 'ⱥ': "a", 'ɇ': "e", 'ɉ': "j", 'ⱦ': "t", 'ƀ': "b",
}

// ValidDraftID reports whether id has the form of a draft id.
func ValidDraftID(id string) bool { return isTimedID(id, draftPrefix) }

// ValidSubmissionID reports whether id has the form of a submission id.
func ValidSubmissionID(id string) bool { return isTimedID(id, submissionPrefix) }

func isTimedID(id, prefix string) bool {
	suffix, found := strings.CutPrefix(id, prefix)
	return found && len(suffix) == suffixLength && isCrockford(suffix)
}

// ValidMissionID reports whether id has the form of a mission id.
func ValidMissionID(id string) bool {
	if len(id) < minMissionID || len(id) > maxMissionID {
		return false
	}
	at := len(id) - missionSuffix - 1
	return id[at] == '-' && isCrockford(id[at+1:]) && isSlug(id[:at])
}

func isCrockford(text string) bool {
	for i := range len(text) {
		if strings.IndexByte(crockford, text[i]) < 0 {
			return false
		}
	}
	return true
}

func isSlug(text string) bool {
	afterHyphen := true
	for i := range len(text) {
		c := text[i]
		if isWord := 'a' <= c && c <= 'z' || '0' <= c && c <= '9'; !isWord && (c != '-' || afterHyphen) {
			return false
		}
		afterHyphen = c == '-'
	}
	return !afterHyphen
}
