package mission

import (
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
)

// rules reads a mission from a document and collects all faults. This file reads single values;
// schema.go defines the fields and their bounds.
type rules struct {
	faults
	document document
	mission  sortie.NormalizedMission
	variant  error // a name that differs only in case from one the service knows
	badToken bool
	creator  field
}

// field is a member of an object. It may be absent; null counts as absent.
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

// element returns the path of an element of a list.
func (f field) element(index int) string { return f.path() + "[" + strconv.Itoa(index) + "]" }

// object is a JSON object with known members. It may be absent.
type object struct {
	value *node
	path  string
}

// open reads the value of f as an object with these members. Unknown members are kept in extra.
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
			r.variant = &sameNameError{name: member.name, other: known[at]}
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

// text returns the value of an optional string.
func (r *rules) text(f field) (value string, present bool) {
	if f.absent() || !r.is(f, jsontext.KindString, "a string") {
		return "", false
	}
	return unquote(f.value.text), true
}

// checkText adds the faults of normalized text. The path is built only when it is needed.
func (r *rules) checkText(path func() string, text string, low, high int) {
	if code, message := textFault(text, low, high); code != "" {
		r.add(path(), code, "%s", message)
	}
}

// line reads an optional text of one line.
func (r *rules) line(f field, low, high int) string {
	text, present := r.text(f)
	if !present {
		return ""
	}
	text = normalizeLine(text)
	r.checkText(f.path, text, low, high)
	return text
}

// lines reads an optional list of texts of one line.
func (r *rules) lines(f field, count, low, high int) []string {
	list := []string{}
	r.each(f, func(index int, text string) bool {
		if len(list) == count {
			r.add(f.path(), faultTooMany, "has more than %d elements", count)
			return false
		}
		text = normalizeLine(text)
		r.checkText(func() string { return f.element(index) }, text, low, high)
		list = append(list, text)
		return true
	})
	return list
}

// each visits the strings of an optional list until visit returns false.
func (r *rules) each(f field, visit func(index int, text string) (more bool)) {
	if f.absent() || !r.is(f, jsontext.KindBeginArray, "a list of strings") {
		return
	}
	index := 0
	for child := f.value.first; child != 0; child = r.document[child].next {
		if element := &r.document[child]; element.kind != jsontext.KindString {
			r.add(f.element(index), faultWrongType, "must be a string")
		} else if !visit(index, unquote(element.text)) {
			return
		}
		index++
	}
}

// number returns the value of an optional number.
func (r *rules) number(f field) (value decimal, present bool) {
	if f.absent() || !r.is(f, jsontext.KindNumber, "a number") {
		return decimal{}, false
	}
	return parseDecimal(f.value.text)
}

// integer reads an optional whole number. It returns fallback for an absent or wrong one.
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
