package mission

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
)

const (
	// MaxDeclarationBytes is the size of the largest declaration.
	MaxDeclarationBytes = 4 << 10

	accuracyPlaces     = 2
	minAccuracy        = 1          // a centimeter
	maxAccuracy        = 10_000_000 // 100 km
	declarationVersion = "v1"
)

var (
	declarationMembers = []string{"location", "capturedAt", "contentType", "sizeBytes", "sha256"}
	placeMembers       = []string{"lat", "lng", "accuracyMeters"}
)

// Declaration is what a contributor declares about a file, in normalized form: equal for all
// spellings of the same declaration.
type Declaration struct {
	Location    sortie.Location // degrees to 6 decimals, meters to 2
	CapturedAt  time.Time       // UTC, to the millisecond
	ContentType string          // one of [sortie.ContentTypes]
	SizeBytes   int64
	Hash        sortie.Hash // SHA-256 of the file
}

// NormalizeDeclaration reads the body of a declaration: one JSON object, as strict as a mission's.
// Every member is required and no other is allowed.
//
// The error is a [*sortie.Error] with, in this order of precedence, payload_too_large for the body,
// invalid_json, unsupported_media_type (with details.allowed), payload_too_large for the file (with
// details.maxBytes) or validation_failed. The last three list all faults in details.fields.
func NormalizeDeclaration(body []byte) (Declaration, error) {
	if len(body) > MaxDeclarationBytes {
		return Declaration{}, sortie.NewError(sortie.CodePayloadTooLarge,
			"The declaration has %d bytes, at most %d are allowed. Leave out what the service does not ask for and sign the new body.",
			len(body), MaxDeclarationBytes)
	}
	parsed, err := parseDocument(body)
	if err != nil {
		return Declaration{}, err
	}
	if parsed[0].kind != jsontext.KindBeginObject {
		return Declaration{}, invalidJSON(errNotAnObject)
	}
	r := declarationRules{rules: rules{document: parsed}}
	declaration := r.read()
	if err := r.verdict(); err != nil {
		return Declaration{}, err
	}
	return declaration, nil
}

// declarationRules reads a declaration.
type declarationRules struct {
	rules
	wrongType bool // the content type is not allowed
	tooLarge  bool // the file is larger than allowed
}

func (r *declarationRules) read() (d Declaration) {
	top := r.openStrictly(field{value: &r.document[0]}, declarationMembers)
	member := r.field(top, "location")
	if r.require(member) {
		if place := r.openStrictly(member, placeMembers); place.value != nil {
			d.Location = r.place(place)
		}
	}
	if captured := r.field(top, "capturedAt"); r.require(captured) {
		d.CapturedAt = r.instant(captured)
	}
	d.ContentType = r.contentType(r.field(top, "contentType"))
	d.SizeBytes = r.size(r.field(top, "sizeBytes"))
	d.Hash = r.hash(r.field(top, "sha256"))
	return d
}

// openStrictly reads the value of f as an object with these members and no others.
func (r *declarationRules) openStrictly(f field, known []string) object {
	o := object{path: f.path()}
	if !r.is(f, jsontext.KindBeginObject, "an object") {
		return o
	}
	o.value = f.value
	for child := o.value.first; child != 0; child = r.document[child].next {
		name := r.document[child].name
		if slices.Contains(known, name) {
			continue
		}
		if at := slices.IndexFunc(known, func(other string) bool { return strings.EqualFold(name, other) }); at >= 0 {
			r.variant = &sameNameError{name: name, other: known[at]}
		}
		// The path is shown and logged: it must not contain raw control characters.
		path := field{object: o.path, name: strings.Trim(quoteShort(name), `"`)}.path()
		r.add(path, faultUnsupported, "is not part of a declaration: leave it out")
	}
	return o
}

func (r *declarationRules) place(o object) sortie.Location {
	lat, lng, accuracy := r.field(o, "lat"), r.field(o, "lng"), r.field(o, "accuracyMeters")
	r.require(lat)
	r.require(lng)
	r.require(accuracy)
	return sortie.Location{
		Lat:            r.measure(lat, -90*degree, 90*degree, 0),
		Lng:            r.measure(lng, -180*degree, 180*degree, 0),
		AccuracyMeters: r.accuracy(accuracy),
	}
}

func (r *declarationRules) accuracy(f field) json.Number {
	number, present := r.number(f)
	if present && !number.within(minAccuracy, maxAccuracy, accuracyPlaces) {
		r.add(f.path(), faultOutOfRange, "must be between %s and %s", shortest(minAccuracy, accuracyPlaces), shortest(maxAccuracy, accuracyPlaces))
	}
	return json.Number(shortest(number.round(accuracyPlaces), accuracyPlaces))
}

func (r *declarationRules) contentType(f field) string {
	if !r.require(f) {
		return ""
	}
	text, isText := r.text(f)
	name := strings.ToLower(text)
	if isText && !slices.Contains(sortie.ContentTypes(), name) {
		r.wrongType = true
		r.add(f.path(), faultUnsupported, "must be %s", alternatives(sortie.ContentTypes()))
	}
	return name
}

func (r *declarationRules) size(f field) int64 {
	if !r.require(f) {
		return 0
	}
	number, present := r.number(f)
	if units, _ := number.fixed(0); present && units >= sortie.MaxUploadBytes && !number.within(0, sortie.MaxUploadBytes, 0) {
		r.tooLarge = true
		r.add(f.path(), faultTooLarge, "is more than %d, the size of the largest file", sortie.MaxUploadBytes)
		return 0
	}
	return r.integer(f, 1, sortie.MaxUploadBytes, 0)
}

func (r *declarationRules) hash(f field) (hash sortie.Hash) {
	if !r.require(f) {
		return hash
	}
	text, isText := r.text(f)
	if !isText {
		return hash
	}
	if len(text) != hex.EncodedLen(len(hash)) {
		text = "" // not a hash either
	}
	if digits, err := hex.Decode(hash[:], []byte(text)); err != nil || digits != len(hash) {
		r.add(f.path(), faultFormat, "must be 64 hex digits: the SHA-256 of the file")
	}
	return hash
}

// verdict returns the error to report, or nil.
func (r *declarationRules) verdict() error {
	switch {
	case r.variant != nil:
		return invalidJSON(r.variant)
	case r.none():
		return nil
	case r.wrongType:
		return r.refusal(sortie.CodeUnsupportedMediaType).Detail("allowed", sortie.ContentTypes())
	case r.tooLarge:
		return r.refusal(sortie.CodePayloadTooLarge).Detail("maxBytes", sortie.MaxUploadBytes)
	default:
		return r.refusal(sortie.CodeValidationFailed)
	}
}

func (r *declarationRules) refusal(code sortie.Code) *sortie.Error {
	others := ""
	if more := len(r.listed) + r.more - 1; more > 0 {
		others = " (and " + strconv.Itoa(more) + " more, see details.fields)"
	}
	first := r.listed[0]
	for _, fault := range r.listed { // the fault that the code is about
		if code == sortie.CodeUnsupportedMediaType && fault.Path == "contentType" || code == sortie.CodePayloadTooLarge && fault.Path == "sizeBytes" {
			first = fault
		}
	}
	return sortie.NewError(code, "The declaration was not accepted: %s %s%s. Correct it and sign the new body.", first.Path, first.Message, others).
		Detail("fields", r.listed)
}

// Fingerprint identifies what was declared for a mission: equal for all spellings of the same
// declaration, different for any other declaration or mission.
func (d Declaration) Fingerprint(missionID string) sortie.Hash {
	text := make([]byte, 0, 512)
	text = append(text, "sortie declaration "+declarationVersion+"\n"...)
	for _, value := range []string{
		missionID, string(d.Location.Lat), string(d.Location.Lng), string(d.Location.AccuracyMeters), formatInstant(d.CapturedAt),
		d.ContentType, strconv.FormatInt(d.SizeBytes, 10),
	} {
		text = append(append(text, value...), '\n') // none of them holds a line break
	}
	return sha256.Sum256(hex.AppendEncode(text, d.Hash[:]))
}

// Fits refuses, with validation_failed, a file of a media type that the mission does not ask for,
// before it is uploaded.
func (d Declaration) Fits(wanted sortie.MediaType) error {
	declared := sortie.MediaPhoto
	if strings.HasPrefix(d.ContentType, "video/") {
		declared = sortie.MediaVideo
	}
	if declared == wanted {
		return nil
	}
	return sortie.NewError(sortie.CodeValidationFailed, "This mission asks for a %s and the file is declared as %s. Submit a %s.", wanted, d.ContentType, wanted).
		Detail("fields", []sortie.FieldError{{Path: "contentType", Code: faultMediaType, Message: "must be that of a " + string(wanted)}})
}
