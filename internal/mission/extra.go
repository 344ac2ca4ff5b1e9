package mission

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

const maxExtraBytes = 8 << 10

// keep puts an unknown member into extra: under its name, or for a member of a known object under
// that object's name.
func (r *rules) keep(object string, member node) {
	value := jsontext.Value(member.text)
	_ = value.Compact() // cannot fail: the value was parsed
	if !readable(value) {
		r.add(field{object: object, name: member.name}.path(), faultOutOfRange, "holds a number that most programs cannot read: keep it below 1e308, or send it as a string")
		return
	}
	if object == "" {
		if isEmpty := string(value) == "{}" || member.kind == jsontext.KindNull; isEmpty && member.name == "extra" {
			return // a normalized mission that was sent as input
		}
		r.mission.Extra[member.name] = json.RawMessage(value)
		return
	}
	kept := []byte(r.mission.Extra[object])
	if len(kept) == 0 {
		kept = append(kept, '{')
	} else {
		kept[len(kept)-1] = ','
	}
	kept = append(appendString(kept, member.name), ':')
	r.mission.Extra[object] = append(append(kept, value...), '}')
}

// readable reports whether every number in a valid value fits a 64-bit float, which most JSON
// parsers use. A larger number would make every response that shows the mission unreadable.
func readable(value jsontext.Value) bool {
	decoder := jsontext.NewDecoder(bytes.NewReader(value))
	for {
		token, err := decoder.ReadToken()
		if err != nil {
			return true // the end of the value, which is valid
		}
		if token.Kind() != jsontext.KindNumber {
			continue
		}
		if number, _ := token.Float(); math.IsInf(number, 0) {
			return false
		}
	}
}

// appendExtra appends the members as one object, sorted by name, each value through appendValue.
func appendExtra(dst []byte, extra map[string]json.RawMessage, appendValue func([]byte, json.RawMessage) []byte) []byte {
	if len(extra) == 0 {
		return append(dst, "{}"...)
	}
	separator := byte('{')
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		dst = append(dst, separator)
		dst = append(appendString(dst, name), ':')
		dst = appendValue(dst, extra[name])
		separator = ','
	}
	return append(dst, '}')
}

func appendVerbatim(dst []byte, value json.RawMessage) []byte { return append(dst, value...) }

// appendCanonical appends the same text for all spellings of a value.
func appendCanonical(dst []byte, value json.RawMessage) []byte {
	parsed, err := parseDocument(value)
	if err != nil {
		return append(dst, value...) // not valid JSON: equal only to itself
	}
	return parsed.appendCanonical(dst, 0)
}

func (d document) appendCanonical(dst []byte, at int32) []byte {
	value := d[at]
	switch value.kind {
	case jsontext.KindString:
		return appendString(dst, unquote(value.text))
	case jsontext.KindNumber:
		number, _ := parseDecimal(value.text)
		if number.saturated {
			return append(dst, value.text...)
		}
		return number.appendCanonical(dst)
	case jsontext.KindBeginArray, jsontext.KindBeginObject:
		return d.appendCanonicalChildren(dst, value)
	default:
		return append(dst, value.text...)
	}
}

func (d document) appendCanonicalChildren(dst []byte, parent node) []byte {
	var children []int32
	for child := parent.first; child != 0; child = d[child].next {
		children = append(children, child)
	}
	isObject := parent.kind == jsontext.KindBeginObject
	if isObject {
		slices.SortFunc(children, func(a, b int32) int {
			if d[a].name < d[b].name {
				return -1
			}
			return 1 // names are unique
		})
	}
	dst = append(dst, byte(parent.kind))
	for i, child := range children {
		if i > 0 {
			dst = append(dst, ',')
		}
		if isObject {
			dst = append(appendString(dst, d[child].name), ':')
		}
		dst = d.appendCanonical(dst, child)
	}
	if isObject {
		return append(dst, '}')
	}
	return append(dst, ']')
}
