package mission

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/foreign"
)

// MaxBodyBytes is the size of the largest mission definition.
const MaxBodyBytes = 64 << 10

const maxDepth = 8

// document is a strictly parsed JSON text. Its values are in one slice in the order of the text, so
// that a hostile body of many small values costs one allocation, not one for each. Value 0 is the
// root.
type document []node

type node struct {
	name  string // of an object's member, unescaped
	text  string // the value's JSON, unchanged
	first int32  // first member or element; 0: none
	next  int32  // next sibling; 0: none
	kind  jsontext.Kind
}

// parseDocument parses a JSON text. It fails with a [*sortie.Error] of code invalid_json.
func parseDocument(text []byte) (document, error) {
	if err := checkSyntax(text); err != nil {
		return nil, invalidJSON(err)
	}
	source := string(text) // names and values are cut from it without further copies
	s := scanner{source: source, values: make(document, 0, mostValues(source))}
	if err := s.value("", 1); err != nil {
		return nil, invalidJSON(err)
	}
	return s.values, nil
}

// mostValues returns an upper bound of the number of values in a text: all but the root follow a
// comma or the beginning of their parent.
func mostValues(source string) int {
	return 1 + strings.Count(source, ",") + strings.Count(source, "[") + strings.Count(source, "{")
}

// checkSyntax checks the text against the strict grammar: UTF-8, no lone surrogates, no data after
// the value. checkNames checks the names.
func checkSyntax(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowDuplicateNames(true))
	_, err := decoder.ReadValue()
	if errors.Is(err, io.EOF) {
		return errEmpty
	}
	if err != nil {
		return err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return errTrailingData
	}
	return nil
}

var (
	errEmpty        = errors.New("the body is empty")
	errTooDeep      = errors.New("values are nested more than 8 levels deep")
	errTrailingData = errors.New("there is something after the first value")
	errNotAnObject  = errors.New("the value is not an object")
)

// sameNameError reports a duplicate name, or two names that differ only in case.
type sameNameError struct{ name, other string }

func (e *sameNameError) Error() string {
	if e.name == e.other {
		return "the name " + quoteShort(e.name) + " appears twice in one object"
	}
	return "the names " + quoteShort(e.name) + " and " + quoteShort(e.other) + " differ only in case"
}

func invalidJSON(cause error) *sortie.Error {
	reason := cause.Error()
	var syntactic *jsontext.SyntacticError
	if errors.As(cause, &syntactic) {
		reason = strings.TrimPrefix(reason, "jsontext: ")
	}
	return sortie.NewError(sortie.CodeInvalidJSON,
		"The body is not one strict JSON object in UTF-8: %s. Correct it and sign the new body.", foreign.Cut(reason, foreign.MaxMessage))
}

// scanner splits a valid JSON text into its values.
type scanner struct {
	source string
	at     int
	values document
}

// value appends the next value and its members or elements. It stops after the value and the white
// space that follows.
func (s *scanner) value(name string, depth int) error {
	s.skipSpace()
	start, index := s.at, len(s.values)
	kind := kindOf(s.source[start])
	s.values = append(s.values, node{name: name, kind: kind})
	switch kind {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		if err := s.children(index, depth); err != nil {
			return err
		}
	case jsontext.KindString:
		s.skipString()
	default:
		s.skipLiteral()
	}
	s.values[index].text = s.source[start:s.at]
	s.skipSpace()
	return nil
}

func kindOf(first byte) jsontext.Kind {
	if first == '-' || '0' <= first && first <= '9' {
		return jsontext.KindNumber
	}
	return jsontext.Kind(first)
}

// children appends the members or elements of the object or array at index, and stops after its
// end.
func (s *scanner) children(index, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	isObject := s.values[index].kind == jsontext.KindBeginObject
	previous := 0
	s.at++
	for s.skipSpace(); s.source[s.at] != ']' && s.source[s.at] != '}'; {
		if s.source[s.at] == ',' {
			s.at++
		}
		name := ""
		if isObject {
			name = s.name()
		}
		child := len(s.values)
		if err := s.value(name, depth+1); err != nil {
			return err
		}
		if previous == 0 {
			s.values[index].first = int32(child)
		} else {
			s.values[previous].next = int32(child)
		}
		previous = child
	}
	s.at++
	if isObject {
		return s.values.checkNames(index)
	}
	return nil
}

// name reads the name of a member and stops after the colon.
func (s *scanner) name() string {
	s.skipSpace()
	start := s.at
	s.skipString()
	name := unquote(s.source[start:s.at])
	s.skipSpace()
	s.at++
	return name
}

func (s *scanner) skipSpace() {
	for s.at < len(s.source) && isSpace(s.source[s.at]) {
		s.at++
	}
}

func (s *scanner) skipString() {
	for s.at++; s.source[s.at] != '"'; s.at++ {
		if s.source[s.at] == '\\' {
			s.at++ // an escaped character does not end the string
		}
	}
	s.at++
}

func (s *scanner) skipLiteral() {
	for s.at < len(s.source) && s.source[s.at] != ',' && s.source[s.at] != ']' && s.source[s.at] != '}' && !isSpace(s.source[s.at]) {
		s.at++
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

// checkNames refuses an object in which two names are equal or differ only in case: other programs
// may read either.
func (d document) checkNames(object int) error {
	const few = 16 // up to this number comparing all pairs is cheaper than a map
	count := 0
	for a := d[object].first; a != 0; a = d[a].next {
		if count++; count > few {
			return d.checkManyNames(object)
		}
		for b := d[object].first; b != a; b = d[b].next {
			if strings.EqualFold(d[a].name, d[b].name) {
				return &sameNameError{name: d[a].name, other: d[b].name}
			}
		}
	}
	return nil
}

func (d document) checkManyNames(object int) error {
	seen := make(map[string]string)
	for child := d[object].first; child != 0; child = d[child].next {
		name := d[child].name
		folded := foldName(name)
		if other, taken := seen[folded]; taken {
			return &sameNameError{name: name, other: other}
		}
		seen[folded] = name
	}
	return nil
}

// foldName maps all names that are equal under [strings.EqualFold], and only those, to one name.
// ASCII becomes lower case, so that most names map to themselves.
func foldName(name string) string {
	for i := range len(name) {
		if c := name[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return strings.Map(foldRune, name)
		}
	}
	return name
}

func foldRune(r rune) rune {
	least := r
	for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
		least = min(least, next)
	}
	if 'A' <= least && least <= 'Z' {
		return least - 'A' + 'a'
	}
	return least
}

// unquote returns the text of a valid JSON string.
func unquote(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return string(text)
}
