package mission

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
)

// rules reads a mission out of a document and notes everything that is wrong with it. Here are the ways to read one value;
// schema.go says which fields there are and what they allow.
type rules struct {
	faults
	document document
	mission  sortie.NormalizedMission
	variant  error // a name that differs only in case from one the service knows
	badToken bool
	creator  field
}

// field is the place of a value, which may be absent. A null counts as absent.
type field struct {
	value  *node // nil: absent
	object string
	name   string
}

func (f field) absent() bool { return f.value == nil }

func (f field) path() string {
	if f.object == "" {
		return f.name
	}
	return f.object + "." + f.name
}

// object is a JSON object with known members, or the absence of one.
type object struct {
	value *node
	path  string
}

// open takes the value of f as an object with these members. Members it does not know are kept.
func (r *rules) open(f field, known []string) object {
	o := object{path: f.path()}
	if f.absent() || !r.is(f, jsontext.KindBeginObject, "an object") {
		return o
	}
	o.value = f.value
	for child := o.value.first; child != 0; child = r.document[child].next {
		member := r.document[child]
		if slices.Contains(known, member.name) {
			continue
		}
		if at := slices.IndexFunc(known, func(name string) bool { return strings.EqualFold(name, member.name) }); at >= 0 {
			r.variant = &caseVariantError{name: member.name, other: known[at]}
		}
		r.keep(o.path, member)
	}
	return o
}

func (r *rules) field(o object, name string) field {
	f := field{object: o.path, name: name}
	if o.value == nil {
		return f
	}
	for child := o.value.first; child != 0; child = r.document[child].next {
		if member := &r.document[child]; member.name == name && member.kind != jsontext.KindNull {
			f.value = member
			break
		}
	}
	return f
}

func (r *rules) is(f field, kind jsontext.Kind, what string) bool {
	if f.value.kind != kind {
		r.add(f.path(), faultWrongType, "must be %s", what)
		return false
	}
	return true
}

func (r *rules) require(f field) bool {
	if f.absent() {
		r.add(f.path(), faultRequired, "is required")
		return false
	}
	return true
}

// text is the value of an optional string.
func (r *rules) text(f field) (value string, present bool) {
	if f.absent() || !r.is(f, jsontext.KindString, "a string") {
		return "", false
	}
	return unquote(f.value.text), true
}

// checkText notes what is wrong with text that is already normalized.
func (r *rules) checkText(path, text string, low, high int) {
	if forbidden, found := firstForbidden(text); found {
		r.add(path, faultCharacter, "has the character %U, which cannot be seen or changes how the text around it is shown", forbidden)
		return
	}
	if hasTooManyMarks(text) {
		r.add(path, faultCharacter, "has more than %d combining marks in a row", maxMarksInARow)
		return
	}
	switch length := utf8.RuneCountInString(text); {
	case length < low:
		r.add(path, faultTooShort, "has %d characters, at least %d are needed", length, low)
	case length > high:
		r.add(path, faultTooLong, "has %d characters, at most %d are allowed", length, high)
	case low > 0 && !isReadable(text):
		r.add(path, faultBlank, "has nothing that can be read")
	}
}

// line is an optional text without lines.
func (r *rules) line(f field, low, high int) string {
	text, present := r.text(f)
	if !present {
		return ""
	}
	text = normalizeLine(text)
	r.checkText(f.path(), text, low, high)
	return text
}

// lines is an optional list of texts without lines.
func (r *rules) lines(f field, count, low, high int) []string {
	list := []string{}
	r.each(f, func(path, text string) bool {
		if len(list) == count {
			r.add(f.path(), faultTooMany, "has more than %d elements", count)
			return false
		}
		text = normalizeLine(text)
		r.checkText(path, text, low, high)
		list = append(list, text)
		return true
	})
	return list
}

// each visits the strings of an optional list for as long as visit wants more.
func (r *rules) each(f field, visit func(path, text string) (more bool)) {
	if f.absent() || !r.is(f, jsontext.KindBeginArray, "a list of strings") {
		return
	}
	index := 0
	for child := f.value.first; child != 0; child = r.document[child].next {
		path := element(f.path(), index)
		index++
		if r.document[child].kind != jsontext.KindString {
			r.add(path, faultWrongType, "must be a string")
			continue
		}
		if !visit(path, unquote(r.document[child].text)) {
			return
		}
	}
}

// number is the value of an optional number.
func (r *rules) number(f field) (value decimal, present bool) {
	if f.absent() || !r.is(f, jsontext.KindNumber, "a number") {
		return decimal{}, false
	}
	return parseDecimal(f.value.text)
}

// integer is an optional whole number; fallback is what stands for an absent or wrong one.
func (r *rules) integer(f field, low, high, fallback int64) int64 {
	number, present := r.number(f)
	if !present {
		return fallback
	}
	value, cutOff := number.fixed(0)
	switch {
	case !number.within(low, high, 0):
		r.add(f.path(), faultOutOfRange, "must be between %d and %d", low, high)
	case cutOff != remainderNone:
		r.add(f.path(), faultNotInteger, "must be a whole number")
	default:
		return value
	}
	return fallback
}
