package mission_test

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

func utf16Of(text string, order binary.AppendByteOrder) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune(text)) {
		out = order.AppendUint16(out, unit)
	}
	return string(out)
}

func TestInvalidJSON(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string { return strings.Repeat("[", depth) + strings.Repeat("]", depth) }
	manyNames := ""
	for i := range 40 {
		manyNames += fmt.Sprintf(`"k%d":1,`, i)
	}
	cases := map[string]string{
		"empty":                           "",
		"white space":                     " \n",
		"null":                            "null",
		"array":                           "[]",
		"string":                          `"x"`,
		"number":                          "1",
		"truncated":                       smallest[:len(smallest)-1],
		"truncated in a string":           `{"title":"abc`,
		"truncated after a name":          `{"title"`,
		"trailing brace":                  smallest + "}",
		"two documents":                   smallest + smallest,
		"two documents on lines":          smallest + "\n" + smallest,
		"trailing NUL":                    smallest + "\x00",
		"byte order mark":                 "\xef\xbb\xbf" + smallest,
		"UTF-16 LE":                       utf16Of(smallest, binary.LittleEndian),
		"UTF-16 BE":                       utf16Of(smallest, binary.BigEndian),
		"UTF-16 with mark":                utf16Of("\ufeff"+smallest, binary.LittleEndian),
		"invalid UTF-8":                   with("title", "\"abc\xff\""),
		"overlong UTF-8":                  with("title", "\"abc\xc0\xaf\""),
		"UTF-8 surrogate":                 with("title", "\"abc\xed\xa0\x80\""),
		"invalid UTF-8 in unknown":        with("foo", "\"\xff\""),
		"lone high surrogate":             with("title", `"abc\ud800"`),
		"lone low surrogate":              with("title", `"abc\udc00"`),
		"surrogates swapped":              with("title", `"abc\udc00\ud800"`),
		"lone surrogate in a name":        with(`a`, `{"\ud800":1}`),
		"duplicate":                       `{"reward":{"token":"USDC","amount":1},` + smallest[1:],
		"duplicate by escape":             `{"\u0072eward":{"token":"USDC","amount":1},` + smallest[1:],
		"duplicate below":                 with("reward", `{"token":"USDC","amount":1,"amount":1}`),
		"duplicate in unknown":            with("foo", `{"a":{"b":1,"b":1}}`),
		"duplicate in an array":           with("foo", `[{"b":1,"b":1}]`),
		"case variant after":              with("Reward", `{"token":"USDC","amount":1}`),
		"case variant before":             `{"Reward":1,` + smallest[1:],
		"case variant alone":              `{"title":"abc","Reward":{"token":"USDC","amount":1},"targetCount":1}`,
		"case variant optional":           with("Tags", `[]`),
		"case variant null":               with("TAGS", `null`),
		"case variant below":              with("reward", `{"Token":"USDC","amount":1}`),
		"case variant in location":        with("location", `{"lat":1,"lng":1,"LABEL":"x"}`),
		"case variant in video":           with("mediaType", `"video"`, "video", `{"mindurationms":1000}`),
		"case variant in rules":           with("verification", `{"Accept":[]}`),
		"case variant of unknown":         with("foo", "1", "FOO", "2"),
		"case variant in metadata":        with("metadata", `{"k":"1","K":"2"}`),
		"case variant in unknown":         with("foo", `[[{"a":1,"A":2}]]`),
		"case variant non-ASCII":          with("foo", `{"straße":1,"STRAßE":2}`),
		"long s":                          with("tagſ", `[]`),
		"long s alone in verification":    with("verification", `{"reject":[]}`, "deſcription", `"x"`),
		"Kelvin sign":                     with("reward", "{\"to\u212aen\":\"USDC\",\"amount\":1}"),
		"escaped case variant":            strings.Replace(with("foo", "1", "bar", "2"), "bar", `\u0046oo`, 1),
		"duplicate among many":            with("foo", "{"+manyNames+`"k3":1}`),
		"case variant among many":         with("foo", "{"+manyNames+`"K3":1}`),
		"depth 9":                         with("foo", nested(8)),
		"depth 9 of objects":              with("foo", strings.Repeat(`{"a":`, 8)+"1"+strings.Repeat("}", 8)),
		"deep":                            with("foo", nested(30_000)),
		"deep and open":                   strings.Repeat("[", 60_000),
		"deep, open objects":              strings.Repeat(`{"a":`, 12_000),
		"line comment":                    "// a mission\n" + smallest,
		"block comment":                   with("foo", "/* no */ 1"),
		"NaN":                             with("targetCount", "NaN"),
		"Infinity":                        with("targetCount", "Infinity"),
		"hexadecimal":                     with("targetCount", "0x10"),
		"leading zero":                    with("targetCount", "04"),
		"plus":                            with("targetCount", "+4"),
		"bare fraction":                   with("targetCount", ".5"),
		"single quotes":                   `{'title':'abc'}`,
		"bare name":                       `{title:"abc"}`,
		"trailing comma":                  smallest[:len(smallest)-1] + ",}",
		"control character in a string":   with("title", "\"ab\ncd\""),
		"unknown escape":                  with("title", `"ab\x41"`),
		"upper-case literal":              with("foo", "True"),
		"missing comma":                   `{"title":"abc" "targetCount":1}`,
		"mismatched end":                  `{"title":["abc"}`,
		"long invalid name, not echoed":   `{"` + strings.Repeat("a", 60_000) + `":1,"` + strings.Repeat("a", 2_000) + `":x}`,
		"long duplicate name, not echoed": `{"` + strings.Repeat("a", 30_000) + `":1,"` + strings.Repeat("a", 30_000) + `":1}`,
		"long case variant, not echoed":   `{"` + strings.Repeat("a", 30_000) + `":1,"` + strings.Repeat("A", 30_000) + `":1}`,
		"case variant and a wrong type":   `{"title":5,"Reward":1}`,
	}
	for name, body := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := mission.Normalize([]byte(body), creator)
			wantCode(t, err, sortie.CodeInvalidJSON)
		})
	}
}

func TestPayloadTooLarge(t *testing.T) {
	t.Parallel()
	padding := strings.Repeat(" ", mission.MaxBodyBytes-len(smallest))
	mustNormalize(t, padding+smallest)
	_, err := mission.Normalize([]byte(padding+" "+smallest), creator)
	wantCode(t, err, sortie.CodePayloadTooLarge)
	_, err = mission.Normalize([]byte(`{"title":"`+strings.Repeat("x", 10<<20)+`"}`), creator)
	wantCode(t, err, sortie.CodePayloadTooLarge)
}

func TestSoundJSON(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"depth 8":                 with("foo", strings.Repeat("[", 7)+strings.Repeat("]", 7)),
		"depth 8 of objects":      with("foo", strings.Repeat(`{"a":`, 7)+"1"+strings.Repeat("}", 7)),
		"brackets in strings":     with("foo", `"[[[[[[[[[[[[\"{{{{{{{{{{{{"`),
		"escaped known name":      strings.Replace(smallest, "title", `\u0074itle`, 1),
		"surrogate pair":          with("foo", `"\ud83d\ude42"`),
		"white space around":      "\r\n\t " + smallest + " \n",
		"unknown":                 with("foo", "1", "fooBar", "2", "foobaz", "3"),
		"not a variant":           with("target_count", "1", "titles", `"x"`, "reward ", "1"),
		"same name at two levels": with("foo", `{"Foo":{"foo":1}}`, "meta", `{"title":1,"Title2":2}`),
		"dotted capital I":        with("foo", `{"İ":1,"i":2}`),
		"tiny number in unknown":  with("foo", "1e-999999999"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mustNormalize(t, body)
		})
	}
}
