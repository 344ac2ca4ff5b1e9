package mission

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
)

// The known members of the mission and of its objects. Unknown members are kept in extra.
var (
	missionMembers = []string{
		"title", "description", "mediaType", "reward", "targetCount", "maxSubmissionsPerContributor", "verification",
		"location", "video", "startsAt", "endsAt", "tags", "externalReference", "metadata", "creator",
	}
	rewardMembers       = []string{"token", "amount"}
	verificationMembers = []string{"accept", "reject"}
	locationMembers     = []string{"lat", "lng", "radiusMeters", "maxAccuracyMeters", "label"}
	videoMembers        = []string{"minDurationMs", "maxDurationMs"}
)

const (
	amountPlaces      = 6
	minAmount         = 10_000            // 0.01 tokens
	maxAmount         = 1_000_000_000_000 // 1,000,000 tokens
	maxBudget         = 10_000_000_000_000
	maxAmountDigits   = 15
	maxTargetCount    = 10_000
	maxRules          = 10
	maxRuleLength     = 280
	minTitleLength    = 3
	maxTitleLength    = 120
	maxTextLength     = 4000
	maxLabelLength    = 120
	coordinatePlaces  = 6
	degree            = 1_000_000 // in units of coordinatePlaces
	meter             = 1_000_000
	minVideoMs        = 1000
	maxVideoMs        = 600_000
	defaultMinVideoMs = 3000
	defaultMaxVideoMs = 60_000
	maxTags           = 10
	maxTagLength      = 32
	maxReference      = 128
	maxPairs          = 20
	maxKeyLength      = 40
	maxValueLength    = 500
	minYear           = 1970
	maxYear           = 9999
)

// read applies the schema in the order of its fields.
func (r *rules) read() {
	m := &r.mission
	top := r.open(field{value: &r.document[0]}, missionMembers)
	r.readTexts(top)
	r.readReward(top)
	r.readVerification(top)
	m.Location = r.area(r.field(top, "location"))
	m.Video = r.video(r.field(top, "video"))
	r.readTimes(top)
	m.Tags = r.tags(r.field(top, "tags"))
	m.ExternalReference = r.reference(r.field(top, "externalReference"))
	m.Metadata = r.metadata(r.field(top, "metadata"))
	r.creator = r.field(top, "creator")
	if len(m.Extra) > 0 && len(appendExtra(nil, m.Extra, appendVerbatim)) > maxExtraBytes {
		r.add("extra", faultTooLarge, "has more than %d bytes: members the service does not know are kept up to that size", maxExtraBytes)
	}
}

func (r *rules) readTexts(top object) {
	m := &r.mission
	if title := r.field(top, "title"); r.require(title) {
		m.Title = r.line(title, minTitleLength, maxTitleLength)
	}
	description := r.field(top, "description")
	if text, present := r.text(description); present {
		m.Description = normalizeBlock(text)
		r.checkText(description.path, m.Description, 0, maxTextLength)
	}
	m.MediaType = sortie.MediaPhoto
	mediaType := r.field(top, "mediaType")
	if text, present := r.text(mediaType); present {
		m.MediaType = sortie.MediaType(text)
		if allowed := []sortie.MediaType{sortie.MediaPhoto, sortie.MediaVideo}; !slices.Contains(allowed, m.MediaType) {
			r.add(mediaType.path(), faultUnsupported, "must be %s", alternatives(allowed))
		}
	}
}

func (r *rules) readReward(top object) {
	m := &r.mission
	member := r.field(top, "reward")
	reward := r.open(member, rewardMembers)
	var amount int64
	if reward.value != nil || member.absent() {
		m.Reward.Token = r.token(r.field(reward, "token"))
		amount = r.amount(r.field(reward, "amount"))
		m.Reward.Amount = json.Number(shortest(amount, amountPlaces))
	}
	r.badToken = !m.Reward.Token.Valid()

	var count int64
	if target := r.field(top, "targetCount"); r.require(target) {
		count = r.integer(target, 1, maxTargetCount, 0)
	}
	m.TargetCount = int(count)
	if amount*count > maxBudget {
		r.add("reward.amount", faultTooLarge, "times targetCount is %s tokens, at most %s are allowed for one mission",
			shortest(amount*count, amountPlaces), shortest(maxBudget, amountPlaces))
	}
	most := cmp.Or(count, maxTargetCount) // a wrong count already has a fault
	m.MaxSubmissionsPerContributor = int(r.integer(r.field(top, "maxSubmissionsPerContributor"), 1, most, 1))
}

func (r *rules) token(f field) sortie.Token {
	if !r.require(f) {
		return ""
	}
	text, isText := r.text(f)
	token := sortie.Token(text)
	if isText && !token.Valid() {
		r.add(f.path(), faultUnsupported, "must be exactly %s", alternatives(sortie.Tokens()))
	}
	return token
}

// amount returns the reward in millionths of a token, or 0 for a wrong one.
func (r *rules) amount(f field) int64 {
	if !r.require(f) {
		return 0
	}
	text := f.value.text
	if f.value.kind == jsontext.KindString {
		text = unquote(text)
	} else if !r.is(f, jsontext.KindNumber, "a number or a decimal string") {
		return 0
	}
	number, ok := parseDecimal(text)
	units, cutOff := number.fixed(amountPlaces)
	switch {
	case !ok:
		r.add(f.path(), faultFormat, "must be a decimal number such as 2.5")
	case !number.within(minAmount, maxAmount, amountPlaces):
		r.add(f.path(), faultOutOfRange, "must be between 0.01 and 1000000")
	case cutOff != remainderNone, len(number.digits) > maxAmountDigits:
		r.add(f.path(), faultTooPrecise, "must have at most %d decimals and %d digits: it is never rounded", amountPlaces, maxAmountDigits)
	default:
		return units
	}
	return 0
}

func (r *rules) readVerification(top object) {
	verification := r.open(r.field(top, "verification"), verificationMembers)
	r.mission.Verification.Accept = r.lines(r.field(verification, "accept"), maxRules, 1, maxRuleLength)
	r.mission.Verification.Reject = r.lines(r.field(verification, "reject"), maxRules, 1, maxRuleLength)
}

func (r *rules) area(f field) *sortie.Area {
	location := r.open(f, locationMembers)
	if location.value == nil {
		return nil
	}
	lat, lng := r.field(location, "lat"), r.field(location, "lng")
	r.require(lat)
	r.require(lng)
	return &sortie.Area{
		Lat:               r.measure(lat, -90*degree, 90*degree, 0),
		Lng:               r.measure(lng, -180*degree, 180*degree, 0),
		RadiusMeters:      r.measure(r.field(location, "radiusMeters"), 10*meter, 50_000*meter, 100*meter),
		MaxAccuracyMeters: r.measure(r.field(location, "maxAccuracyMeters"), 5*meter, 1000*meter, 50*meter),
		Label:             r.line(r.field(location, "label"), 0, maxLabelLength),
	}
}

// measure reads an optional number and rounds it to 6 decimals.
func (r *rules) measure(f field, low, high, fallback int64) json.Number {
	units := fallback
	if number, present := r.number(f); present {
		units = number.round(coordinatePlaces)
		if !number.within(low, high, coordinatePlaces) {
			r.add(f.path(), faultOutOfRange, "must be between %s and %s",
				shortest(low, coordinatePlaces), shortest(high, coordinatePlaces))
		}
	}
	return json.Number(shortest(units, coordinatePlaces))
}

func (r *rules) video(f field) *sortie.VideoBounds {
	if r.mission.MediaType == sortie.MediaPhoto && !f.absent() {
		r.add(f.path(), faultNotApplicable, `is allowed only when mediaType is "video"`)
	}
	video := r.open(f, videoMembers)
	bounds := sortie.VideoBounds{
		MinDurationMs: r.integer(r.field(video, "minDurationMs"), minVideoMs, maxVideoMs, defaultMinVideoMs),
		MaxDurationMs: r.integer(r.field(video, "maxDurationMs"), minVideoMs, maxVideoMs, defaultMaxVideoMs),
	}
	if r.mission.MediaType != sortie.MediaVideo {
		return nil
	}
	if bounds.MinDurationMs > bounds.MaxDurationMs {
		r.add("video.minDurationMs", faultOutOfRange, "is %d, more than maxDurationMs, which is %d", bounds.MinDurationMs, bounds.MaxDurationMs)
	}
	return &bounds
}

func (r *rules) readTimes(top object) {
	starts := r.instant(r.field(top, "startsAt"))
	ends := r.instant(r.field(top, "endsAt"))
	if !starts.IsZero() {
		text := formatInstant(starts)
		r.mission.StartsAt = &text
	}
	if !ends.IsZero() {
		text := formatInstant(ends)
		r.mission.EndsAt = &text
		if !ends.After(starts) {
			r.add("endsAt", faultOutOfRange, "must be after startsAt")
		}
	}
}

// instant reads an optional time. It returns the zero time for an absent or wrong one.
func (r *rules) instant(f field) time.Time {
	text, present := r.text(f)
	if !present {
		return time.Time{}
	}
	instant, ok := parseInstant(text)
	if !ok {
		r.add(f.path(), faultFormat, "must be a time in RFC 3339 form with a zone, such as 2026-02-02T09:00:00Z")
		return time.Time{}
	}
	if year := instant.Year(); year < minYear || year > maxYear {
		r.add(f.path(), faultOutOfRange, "must be in the years %d to %d", minYear, maxYear)
		return time.Time{}
	}
	return instant
}

func (r *rules) tags(f field) []string {
	tags := []string{}
	r.each(f, func(index int, text string) bool {
		tag, ok := normalizeTag(text)
		if !ok {
			r.add(f.element(index), faultFormat, "must be 1 to %d of the characters a-z, 0-9 and -", maxTagLength)
			return true
		}
		at, known := slices.BinarySearch(tags, tag)
		if known {
			return true
		}
		if len(tags) == maxTags {
			r.add(f.path(), faultTooMany, "has more than %d different elements", maxTags)
			return false
		}
		tags = slices.Insert(tags, at, tag)
		return true
	})
	return tags
}

func normalizeTag(text string) (tag string, ok bool) {
	if len(text) < 1 || len(text) > maxTagLength {
		return "", false
	}
	for i := range len(text) {
		c := text[i] | 0x20 // lower case, if it is a letter
		if isLetter, isDigit := 'a' <= c && c <= 'z', '0' <= text[i] && text[i] <= '9'; !isLetter && !isDigit && text[i] != '-' {
			return "", false
		}
	}
	return strings.ToLower(text), true
}

func (r *rules) reference(f field) *string {
	text, present := r.text(f)
	if !present {
		return nil
	}
	if len(text) < 1 || len(text) > maxReference || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' || c > '~' }) {
		r.add(f.path(), faultFormat, "must be 1 to %d printable ASCII characters", maxReference)
	}
	return &text
}

func (r *rules) metadata(f field) map[string]string {
	pairs := map[string]string{}
	if f.absent() || !r.is(f, jsontext.KindBeginObject, "an object of strings") {
		return pairs
	}
	for child := f.value.first; child != 0; child = r.document[child].next {
		if len(pairs) == maxPairs {
			r.add(f.path(), faultTooMany, "has more than %d pairs", maxPairs)
			break
		}
		r.readPair(r.document[child], pairs)
	}
	return pairs
}

func (r *rules) readPair(member node, pairs map[string]string) {
	pairs[member.name] = ""
	path := func() string { // it is shown and logged: it must not contain raw control characters
		return "metadata." + strings.Trim(quoteShort(member.name), `"`)
	}
	r.checkText(path, member.name, 1, maxKeyLength)
	if member.kind != jsontext.KindString {
		r.add(path(), faultWrongType, "must be a string")
		return
	}
	value := unquote(member.text)
	r.checkText(path, value, 0, maxValueLength)
	pairs[member.name] = value
}
