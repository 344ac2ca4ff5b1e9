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
)

// MaxBodyBytes is the size of the largest mission definition.
const MaxBodyBytes = 64 << 10

const maxDepth = 8

// document is a strictly parsed JSON text. Its values lie in one slice in the order of the text, so that a hostile body of
// many small values costs one allocation that grows, not one for each. Value 0 is the root.
type document []node

type node struct {
	name  string // of an object's member, without escapes
	text  string // the value's JSON, as it came
	first int32  // first member or element; 0: none
	next  int32  // next sibling; 0: none
	kind  jsontext.Kind
}

// parseDocument fails with a [*sortie.Error] of code invalid_json.
func parseDocument(text []byte) (document, error) {
	p := parser{
		decoder: jsontext.NewDecoder(bytes.NewBuffer(text)),
		source:  string(text), // names and values are cut from it without further copies
		values:  make(document, 0, 64),
	}
	if err := p.value(""); err != nil {
		return nil, invalidJSON(err)
	}
	if _, err := p.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, invalidJSON(errTrailingData)
	}
	return p.values, nil
}

var (
	errEmpty        = errors.New("the body is empty")
	errTooDeep      = errors.New("values are nested more than 8 levels deep")
	errTrailingData = errors.New("there is something after the first value")
	errNotAnObject  = errors.New("the value is not an object")
)

// caseVariantError says that a name differs only in case from another one that has a meaning.
type caseVariantError struct{ name, other string }

func (e *caseVariantError) Error() string {
	return "the names " + quoteShort(e.name) + " and " + quoteShort(e.other) + " differ only in case"
}

func invalidJSON(cause error) *sortie.Error {
	reason := cause.Error()
	var syntactic *jsontext.SyntacticError
	if errors.As(cause, &syntactic) {
		reason = strings.TrimPrefix(reason, "jsontext: ")
	}
	return sortie.NewError(sortie.CodeInvalidJSON,
		"The body is not one strict JSON object in UTF-8: %s. Correct it and sign the new body.", cut(reason, 300))
}

type parser struct {
	decoder *jsontext.Decoder
	source  string
	values  document
}

// value reads the next value and appends it, its members and its elements.
func (p *parser) value(name string) error {
	at := len(p.values)
	switch kind := p.decoder.PeekKind(); kind {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
		if _, err := p.decoder.ReadToken(); err != nil {
			return err
		}
		if p.decoder.StackDepth() > maxDepth {
			return errTooDeep
		}
		start := p.decoder.InputOffset() - 1
		p.values = append(p.values, node{name: name, kind: kind})
		if err := p.children(at); err != nil {
			return err
		}
		p.values[at].text = p.source[start:p.decoder.InputOffset()]
		return nil
	default:
		text, err := p.scalar()
		p.values = append(p.values, node{name: name, kind: kind, text: text})
		return err
	}
}

// children reads what is inside the object or array at, and its end.
func (p *parser) children(at int) error {
	isObject := p.values[at].kind == jsontext.KindBeginObject
	folds := false
	for previous := -1; ; {
		switch p.decoder.PeekKind() {
		case jsontext.KindEndObject, jsontext.KindEndArray:
			if _, err := p.decoder.ReadToken(); err != nil {
				return err
			}
			if folds {
				return p.values.checkCase(at)
			}
			return nil
		}
		var name string
		if isObject {
			quoted, err := p.scalar()
			if err != nil {
				return err
			}
			name = unquote(quoted)
			folds = folds || foldName(name) != name
		}
		child := len(p.values)
		if err := p.value(name); err != nil {
			return err
		}
		if previous < 0 {
			p.values[at].first = int32(child)
		} else {
			p.values[previous].next = int32(child)
		}
		previous = child
	}
}

// scalar reads a string, number or literal, or an object's name.
func (p *parser) scalar() (string, error) {
	raw, err := p.decoder.ReadValue()
	if errors.Is(err, io.EOF) && p.decoder.InputOffset() == 0 {
		return "", errEmpty
	}
	if err != nil {
		return "", err
	}
	end := int(p.decoder.InputOffset())
	return p.source[end-len(raw) : end], nil
}

// checkCase refuses an object in which two names differ only in case: the next program to read it may take either.
func (d document) checkCase(object int) error {
	seen := make(map[string]string)
	for child := d[object].first; child != 0; child = d[child].next {
		name := d[child].name
		folded := foldName(name)
		if other, taken := seen[folded]; taken {
			return &caseVariantError{name: name, other: other}
		}
		seen[folded] = name
	}
	return nil
}

// foldName maps all names that differ only in case to one: Unicode simple case folding, with the result in lower case so
// that most names are their own folding.
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
	return unicode.ToLower(least)
}

// unquote gives the text of a JSON string that is known to be valid.
func unquote(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	text, _ := jsontext.AppendUnquote(nil, quoted)
	return string(text)
}
