package mission_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie/internal/mission"
)

// The tests of this file build missions as trees (maps, lists, strings, numbers, nil), write them
// as JSON in random spellings, and check that the rules read the same tree from each.

type (
	tree   = map[string]any
	number string // a plain decimal
)

var (
	words   = []string{"Photo of the entrance", "Café Zoë", "市場の写真", "Ωmega 5", "naïve “quotes” \\ \"x\"", "a/b <c> & d", "🙂 smile"}
	amounts = []number{"0.01", "2.5", "10", "100", "0.300001", "1000"}
	small   = []number{"1", "2", "10", "100"}
	degrees = []number{"0", "-45.123456", "12.5", "-0.000001", "90"}
)

func drawMission(t *rapid.T) tree {
	m := tree{
		"title":       rapid.SampledFrom(words).Draw(t, "title"),
		"reward":      tree{"token": rapid.SampledFrom([]string{"USDC", "SERVICE_TOKEN"}).Draw(t, "token"), "amount": rapid.SampledFrom(amounts).Draw(t, "amount")},
		"targetCount": rapid.SampledFrom(small).Draw(t, "targetCount"),
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(slices.Sorted(maps.Keys(optional))), 0, 6, rapid.ID[string]).Draw(t, "members") {
		m[name] = optional[name](t)
	}
	if m["video"] != nil {
		m["mediaType"] = "video"
	}
	return m
}

// optional draws a value for each member that may be left out, and for some that the service does
// not know.
var optional = map[string]func(t *rapid.T) any{
	"description": func(t *rapid.T) any {
		return strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 0, 3).Draw(t, "lines"), "\n")
	},
	"mediaType":                    func(t *rapid.T) any { return rapid.SampledFrom([]string{"photo", "video"}).Draw(t, "mediaType") },
	"maxSubmissionsPerContributor": func(*rapid.T) any { return number("1") },
	"verification": func(t *rapid.T) any {
		return tree{"accept": drawStrings(t, words), "reject": drawStrings(t, words)}
	},
	"location": func(t *rapid.T) any {
		return tree{
			"lat": rapid.SampledFrom(degrees).Draw(t, "lat"), "lng": rapid.SampledFrom(degrees).Draw(t, "lng"),
			"radiusMeters": rapid.SampledFrom([]number{"100", "10.5", "50000"}).Draw(t, "radius"), "label": rapid.SampledFrom(words).Draw(t, "label"),
		}
	},
	"video": func(t *rapid.T) any {
		return tree{"maxDurationMs": rapid.SampledFrom([]number{"60000", "5000"}).Draw(t, "max")}
	},
	"startsAt": func(t *rapid.T) any { return "2026-02-02T09:00:00.000Z" },
	"endsAt": func(t *rapid.T) any {
		return rapid.SampledFrom([]string{"2026-03-02T09:00:00.000Z", "2026-03-02T09:00:00.001Z"}).Draw(t, "endsAt")
	},
	"tags":              func(t *rapid.T) any { return drawStrings(t, []string{"a", "b-1", "a", "z"}) },
	"externalReference": func(t *rapid.T) any { return rapid.SampledFrom([]string{"order 7", "order 8"}).Draw(t, "reference") },
	"metadata": func(t *rapid.T) any {
		return tree{"k": rapid.SampledFrom(words).Draw(t, "value"), rapid.SampledFrom([]string{"a", "b"}).Draw(t, "key"): ""}
	},
	"campaign": func(t *rapid.T) any {
		return tree{"id": rapid.SampledFrom(small).Draw(t, "id"), "list": []any{nil, true, rapid.SampledFrom(degrees).Draw(t, "n"), tree{"x": "é"}}}
	},
	"note": func(t *rapid.T) any {
		return rapid.SampledFrom([]any{nil, "", "text", number("0"), []any{}, tree{}}).Draw(t, "note")
	},
}

func drawStrings(t *rapid.T, from []string) []any {
	list := []any{}
	for _, text := range rapid.SliceOfN(rapid.SampledFrom(from), 0, 3).Draw(t, "strings") {
		list = append(list, text)
	}
	return list
}

// spelling writes a tree as JSON in one of its many forms. It takes thousands of choices, so rapid
// draws only their seed.
type spelling struct {
	*rand.Rand
	text strings.Builder
}

func spell(t *rapid.T, m tree) string {
	s := &spelling{Rand: rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "spelling"), 0))}
	s.value(m)
	return s.text.String()
}

func (s *spelling) space() { s.text.WriteString([]string{"", "", "", " ", "\n\t", "\r\n"}[s.IntN(6)]) }

func (s *spelling) value(value any) {
	s.space()
	switch v := value.(type) {
	case tree:
		s.text.WriteByte('{')
		names := slices.Sorted(maps.Keys(v))
		s.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		for i, name := range names {
			s.separate(i)
			s.string(name)
			s.space()
			s.text.WriteByte(':')
			s.value(v[name])
		}
		s.text.WriteByte('}')
	case []any:
		s.text.WriteByte('[')
		for i, element := range v {
			s.separate(i)
			s.value(element)
		}
		s.text.WriteByte(']')
	case string:
		s.string(v)
	case number:
		s.number(string(v))
	case bool:
		s.text.WriteString(strconv.FormatBool(v))
	default:
		s.text.WriteString("null")
	}
	s.space()
}

func (s *spelling) separate(i int) {
	if i > 0 {
		s.text.WriteByte(',')
	}
	s.space()
}

func (s *spelling) string(text string) {
	s.text.WriteByte('"')
	for _, r := range text {
		switch {
		case r < ' ' || s.IntN(8) == 0:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&s.text, []string{`\u%04x`, `\u%04X`}[s.IntN(2)], unit)
			}
		case r == '"' || r == '\\':
			s.text.WriteString(`\` + string(r))
		default:
			s.text.WriteRune(r)
		}
	}
	s.text.WriteByte('"')
}

func (s *spelling) number(text string) {
	if text == "0" && s.IntN(2) == 0 {
		s.text.WriteString("-0")
		return
	}
	unsigned, negative := strings.CutPrefix(text, "-")
	if negative {
		s.text.WriteByte('-')
	}
	whole, fraction, hasFraction := strings.Cut(unsigned, ".")
	switch s.IntN(4) {
	case 0:
		s.text.WriteString(unsigned)
	case 1:
		if !hasFraction {
			unsigned += "."
		}
		s.text.WriteString(unsigned + strings.Repeat("0", 1+s.IntN(20)))
	case 2: // all digits before the exponent
		digits := strings.TrimLeft(whole+fraction, "0")
		s.text.WriteString(cmp.Or(digits, "0") + []string{"e-", "E-"}[s.IntN(2)] + strconv.Itoa(len(fraction)))
	case 3: // all digits after the point
		s.text.WriteString("0." + whole + fraction + []string{"e", "e+", "E0"}[s.IntN(3)] + strconv.Itoa(len(whole)))
	}
}

// reword changes a tree in ways that do not matter: another Unicode form, white space, defaults
// spelled out or left out.
func reword(t *rapid.T, m tree) tree {
	m = maps.Clone(m)
	flip := func(what string) bool { return rapid.Bool().Draw(t, what) }
	if flip("title") {
		m["title"] = "  " + norm.NFD.String(strings.ReplaceAll(m["title"].(string), " ", " \t ")) + "\n"
	}
	if text, ok := m["description"].(string); ok && flip("description") {
		m["description"] = "\n" + norm.NFD.String(strings.ReplaceAll(text, "\n", "\r\n")) + " "
	}
	if text, ok := m["startsAt"].(string); ok && flip("startsAt") {
		m["startsAt"] = strings.Replace(strings.Replace(text, "T09", "t10", 1), "00.000Z", "00.0009+01:00", 1)
	}
	if tags, ok := m["tags"].([]any); ok && len(tags) > 0 && flip("tags") {
		m["tags"] = append([]any{strings.ToUpper(tags[len(tags)-1].(string))}, tags...)
	}
	if flip("amount") {
		reward := maps.Clone(m["reward"].(tree))
		if plain, ok := reward["amount"].(number); ok {
			reward["amount"] = string(plain)
		}
		m["reward"] = reward
	}
	for name, value := range map[string]any{
		"description": "", "mediaType": "photo", "maxSubmissionsPerContributor": number("1"), "verification": tree{"accept": []any{}},
		"location": nil, "startsAt": nil, "endsAt": nil, "tags": []any{}, "externalReference": nil, "metadata": tree{}, "video": nil,
		"creator": strings.ToLower(creator.String()), "extra": tree{},
	} {
		if _, given := m[name]; !given && flip(name) {
			m[name] = value
		}
	}
	return m
}

// sameJSON compares two JSON texts by value, numbers exactly: an implementation that shares nothing
// with the package.
func sameJSON(t interface{ Fatal(...any) }, a, b []byte) bool {
	decode := func(text []byte) (value any) {
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		if err := decoder.Decode(&value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	return sameValue(decode(a), decode(b))
}

func sameValue(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		return ok && maps.EqualFunc(x, y, sameValue)
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameValue)
	case json.Number:
		y, ok := b.(json.Number)
		if !ok {
			return false
		}
		p, _ := new(big.Rat).SetString(string(x))
		q, _ := new(big.Rat).SetString(string(y))
		return p.Cmp(q) == 0
	default:
		return a == b
	}
}

// 100 checks of 100 pairs: fingerprints are equal if and only if the normalized missions are. Half
// of the pairs are two spellings of one mission, the others differ in one or more members,
// sometimes in none that matters.
func TestFingerprintOf10000Pairs(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: rapid draws too few pairs")
	}
	equal, unequal := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		for range 100 {
			a := drawMission(t)
			b := reword(t, a)
			changed := rapid.Bool().Draw(t, "change")
			if changed {
				other := drawMission(t)
				name := rapid.SampledFrom(slices.Sorted(maps.Keys(other))).Draw(t, "changed")
				if b[name] = other[name]; b["video"] != nil {
					b["mediaType"] = "video"
				}
			}
			x, y := mustSpell(t, a), mustSpell(t, b)
			same := sameJSON(t, x.AppendJSON(nil), y.AppendJSON(nil))
			if !changed && !same {
				t.Fatalf("two spellings of one mission:\ngot  %s\nwant %s", y.AppendJSON(nil), x.AppendJSON(nil))
			}
			if same {
				equal++
			} else {
				unequal++
			}
			if (x.Fingerprint() == y.Fingerprint()) != same {
				t.Fatalf("got fingerprints %s and %s, want them equal: %v\n%s\n%s", x.Fingerprint(), y.Fingerprint(), same, x.AppendJSON(nil), y.AppendJSON(nil))
			}
			if differences := mission.Differences(x, y); (len(differences) == 0) != same {
				t.Fatalf("got differences %v, want none: %v", differences, same)
			}
		}
	})
	if equal < 1000 || unequal < 1000 {
		t.Errorf("got %d equal and %d unequal pairs, want many of both", equal, unequal)
	}
}

func mustSpell(t *rapid.T, m tree) mission.Normalized {
	body := spell(t, m)
	n, err := mission.Normalize([]byte(body), creator)
	if err != nil {
		t.Fatalf("Normalize(%s): got %v with the faults %v, want no error", body, err, faultsOf(err))
	}
	return n
}

// A mission from a response can be sent as input: a normalized mission is its own
// normalization.
func TestNormalizedMissionNormalizesToItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMission(t)
		delete(m, "campaign") // an extra that is not empty is an unknown member of the next input
		delete(m, "note")
		first := mustSpell(t, m)
		second, err := mission.Normalize(first.AppendJSON(nil), creator)
		if err != nil {
			t.Fatalf("Normalize(%s): got %v, want no error", first.AppendJSON(nil), err)
		}
		if second.Fingerprint() != first.Fingerprint() || string(second.AppendJSON(nil)) != string(first.AppendJSON(nil)) {
			t.Fatalf("normalized again:\ngot  %s\nwant %s", second.AppendJSON(nil), first.AppendJSON(nil))
		}
	})
}

// An accepted title normalizes to itself and contains no forbidden character.
func TestTitleNormalization(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		quoted, err := json.Marshal(rapid.StringN(3, 60, -1).Draw(t, "title"))
		if err != nil {
			t.Fatal(err)
		}
		n, err := mission.Normalize([]byte(with("title", string(quoted))), creator)
		if err != nil {
			return
		}
		title := n.Mission().Title
		if !norm.NFC.IsNormalString(title) || strings.Join(strings.Fields(title), " ") != title || strings.ContainsAny(title, "\x00\x1b\x7f\u202e\u2066\n\r\t") {
			t.Fatalf("accepted title: got %q, want its normal form", title)
		}
		quoted, _ = json.Marshal(title)
		again, err := mission.Normalize([]byte(with("title", string(quoted))), creator)
		if err != nil || again.Fingerprint() != n.Fingerprint() {
			t.Fatalf("normalize the title %q again: got another title or error %v, want the same", title, err)
		}
	})
}

func TestDifferences(t *testing.T) {
	t.Parallel()
	base := with("location", `{"lat":1,"lng":2}`, "mediaType", `"video"`, "foo", `{"a":1,"b":[1,2]}`)
	for change, want := range map[string]string{
		`"title":"Another title"`:                         "title",
		`"description":"x"`:                               "description",
		`"reward":{"token":"USDC","amount":2.500001}`:     "reward.amount",
		`"reward":{"token":"SERVICE_TOKEN","amount":2.5}`: "reward.token",
		`"targetCount":5`:                                 "targetCount",
		`"maxSubmissionsPerContributor":2`:                "maxSubmissionsPerContributor",
		`"verification":{"accept":["x"],"reject":["y"]}`:  "verification.accept verification.reject",
		`"location":null`:                                 "location",
		`"location":{"lat":1,"lng":2.000001,"label":"x"}`: "location.lng location.label",
		`"video":{"maxDurationMs":5000}`:                  "video.maxDurationMs",
		`"mediaType":"photo"`:                             "mediaType video",
		`"startsAt":"2026-02-02T09:00:00Z"`:               "startsAt",
		`"endsAt":"2026-02-02T09:00:00Z"`:                 "endsAt",
		`"tags":["a"]`:                                    "tags",
		`"externalReference":"a"`:                         "externalReference",
		`"metadata":{"a":"b"}`:                            "metadata",
		`"foo":{"a":1,"b":[2,1]}`:                         "extra",
		`"foo":{"b":[1.0,2e0],"a":10e-1}`:                 "",
		`"foo":{"a":1,"b":[1,2],"c":null}`:                "extra",
		`"foo":{"a":"1","b":[1,2]}`:                       "extra",
		`"reward":{"amount":"2.50","token":"USDC"}`:       "",
		`"reward":{"token":"USDC","amount":2.5,"note":0}`: "extra",
	} {
		name, value, _ := strings.Cut(change, ":")
		name = strings.Trim(name, `"`)
		a := mustNormalize(t, base)
		members := []string{"location", `{"lat":1,"lng":2}`, "mediaType", `"video"`, "foo", `{"a":1,"b":[1,2]}`, name, value}
		b := mustNormalize(t, with(members...))
		if got := strings.Join(mission.Differences(a, b), " "); got != want {
			t.Errorf("change of %s: got differences %q, want %q", change, got, want)
		}
		if (a.Fingerprint() == b.Fingerprint()) != (want == "") {
			t.Errorf("change of %s: got fingerprints that contradict the differences %q", change, want)
		}
	}
}

// A fingerprint is stored with the draft: changing how it is made without a new version would turn
// replays into conflicts.
func TestFingerprintIsStable(t *testing.T) {
	t.Parallel()
	n := mustNormalize(t, with("foo", `{"b":1.0,"a":"\u0041"}`, "metadata", `{"k":"v"}`, "location", `{"lat":1,"lng":2}`))
	const want = "v1:f71ee06044fe0d05a4e0961ac8b995f9f8e0983ef9f5b10e7511a25d0758eec0"
	if got := n.Fingerprint(); got != want || !got.Current() {
		t.Errorf("got fingerprint %s, want %s", got, want)
	}
	if mission.Fingerprint("v0:00").Current() {
		t.Error("Current of a fingerprint with an unknown version: got true, want false")
	}
	for _, pair := range [][2]string{{"1e-1000001", "1e-1000002"}, {"1e-1000001", "-1e-1000001"}, {"1e-999999999", "1e-9999999999"}} {
		if mustNormalize(t, with("foo", pair[0])).Fingerprint() == mustNormalize(t, with("foo", pair[1])).Fingerprint() {
			t.Errorf("missions %v: got equal fingerprints, want different ones", pair)
		}
	}
}
