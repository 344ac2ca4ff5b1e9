package mission_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

var creator = sortie.MustAddress("0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266")

// smallest is the shortest valid mission. The function with adds or replaces members.
const smallest = `{"title":"Photo of the main entrance","reward":{"token":"USDC","amount":2.5},"targetCount":4}`

func with(members ...string) string {
	values := map[string]string{
		"title": `"Photo of the main entrance"`, "reward": `{"token":"USDC","amount":2.5}`, "targetCount": "4",
	}
	order := []string{"title", "reward", "targetCount"}
	for i := 0; i < len(members); i += 2 {
		if _, known := values[members[i]]; !known {
			order = append(order, members[i])
		}
		values[members[i]] = members[i+1]
	}
	var body strings.Builder
	for i, name := range order {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, "%q:%s", name, values[name])
	}
	return "{" + body.String() + "}"
}

func mustNormalize(t testing.TB, body string) mission.Normalized {
	t.Helper()
	n, err := mission.Normalize([]byte(body), creator)
	if err != nil {
		t.Fatalf("Normalize(%.300s): got %v with the faults %v, want no error", body, err, faultsOf(err))
	}
	return n
}

// faultsOf lists the faults of an error as "path code".
func faultsOf(err error) []string {
	var coded *sortie.Error
	if !errors.As(err, &coded) {
		return nil
	}
	fields, _ := coded.Details["fields"].([]sortie.FieldError)
	var list []string
	for _, fault := range fields {
		list = append(list, fault.Path+" "+fault.Code)
	}
	return list
}

func wantCode(t *testing.T, err error, code sortie.Code) {
	t.Helper()
	var coded *sortie.Error
	if !errors.As(err, &coded) {
		t.Fatalf("got error %v, want a *sortie.Error", err)
	}
	if coded.Code != code {
		t.Fatalf("got code %s (%v), want %s", coded.Code, err, code)
	}
	if len(coded.Message) > 1000 {
		t.Fatalf("message: got %d bytes, want at most 1000: it must not repeat its input", len(coded.Message))
	}
}

func TestNormalizeFillsInDefaults(t *testing.T) {
	t.Parallel()
	got := mustNormalize(t, smallest)
	want := sortie.NormalizedMission{
		Title: "Photo of the main entrance", MediaType: sortie.MediaPhoto,
		Reward:      sortie.Reward{Token: sortie.TokenUSDC, Amount: "2.5"},
		TargetCount: 4, MaxSubmissionsPerContributor: 1,
		Verification: sortie.VerificationRules{Accept: []string{}, Reject: []string{}},
		Tags:         []string{}, Metadata: map[string]string{}, Extra: map[string]json.RawMessage{},
	}
	if !reflect.DeepEqual(got.Mission(), want) {
		t.Errorf("normalized mission:\ngot  %+v\nwant %+v", got.Mission(), want)
	}
	const wantJSON = `{"title":"Photo of the main entrance","description":"","mediaType":"photo",` +
		`"reward":{"token":"USDC","amount":2.5},"targetCount":4,"maxSubmissionsPerContributor":1,` +
		`"verification":{"accept":[],"reject":[]},"location":null,"video":null,"startsAt":null,"endsAt":null,` +
		`"tags":[],"externalReference":null,"metadata":{},"extra":{}}`
	if text := string(got.AppendJSON(nil)); text != wantJSON {
		t.Errorf("AppendJSON:\ngot  %s\nwant %s", text, wantJSON)
	}
}

func TestNormalizeKeepsEverything(t *testing.T) {
	t.Parallel()
	got := mustNormalize(t, `{
		"title": "  Caf\u0065\u0301 \t of the\r\nmonth ", "description": "\r\nOne\r\nTwo\rThree\t \n", "mediaType": "video",
		"reward": {"token": "SERVICE_TOKEN", "amount": "1e1", "note": {"b": 1.0, "a": "\u0041"}, "more": []},
		"targetCount": 4.0, "maxSubmissionsPerContributor": 40e-1,
		"verification": {"accept": [" a  rule "], "reject": ["b"], "weight": 3},
		"location": {"lat": -0.00000049, "lng": 179.9999995, "radiusMeters": 12.50, "label": " Old  town "},
		"video": {"minDurationMs": 1e3},
		"startsAt": "2026-02-02T10:00:00.1239+01:00", "endsAt": "2026-02-03t09:00:00z",
		"tags": ["b-1", "A", "a"], "externalReference": " x~", "metadata": {"b": "", "a": "  \u00e9 "},
		"creator": "0xF39FD6E51AAD88F6F4CE6AB8827279CFFFB92266",
		"campaign": [ 1 , { "k" : null } ], "nothing": null, "extra": { }
	}`)
	const want = `{"title":"Café of the month","description":"One\nTwo\nThree","mediaType":"video",` +
		`"reward":{"token":"SERVICE_TOKEN","amount":10},"targetCount":4,"maxSubmissionsPerContributor":4,` +
		`"verification":{"accept":["a rule"],"reject":["b"]},` +
		`"location":{"lat":0,"lng":180,"radiusMeters":12.5,"maxAccuracyMeters":50,"label":"Old town"},` +
		`"video":{"minDurationMs":1000,"maxDurationMs":60000},` +
		`"startsAt":"2026-02-02T09:00:00.123Z","endsAt":"2026-02-03T09:00:00.000Z",` +
		`"tags":["a","b-1"],"externalReference":" x~","metadata":{"a":"  é ","b":""},` +
		`"extra":{"campaign":[1,{"k":null}],"nothing":null,` +
		`"reward":{"note":{"b":1.0,"a":"\u0041"},"more":[]},"verification":{"weight":3}}}`
	if text := string(got.AppendJSON(nil)); text != want {
		t.Errorf("AppendJSON:\ngot  %s\nwant %s", text, want)
	}
}

// The service also encodes missions through their Go type; both encodings must be equal.
func TestAppendJSONAgreesWithTheWireType(t *testing.T) {
	t.Parallel()
	n := mustNormalize(t, with("location", `{"lat":1,"lng":2}`, "mediaType", `"video"`, "extra1", `{"a":[1.50,"<é>"]}`,
		"metadata", `{"k":"<&>"}`, "endsAt", `"2026-02-03T09:00:00Z"`))
	encoded, err := json.Marshal(n.Mission())
	if err != nil {
		t.Fatal(err)
	}
	var viaType, viaAppend any
	if err := json.Unmarshal(encoded, &viaType); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(n.AppendJSON(nil), &viaAppend); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(viaType, viaAppend) {
		t.Errorf("AppendJSON: got %v\nwant %v as encoded through the type", viaAppend, viaType)
	}
}

func TestRestore(t *testing.T) {
	t.Parallel()
	for _, body := range []string{smallest, with("foo", `{"b":[1.0],"a":2}`, "location", `{"lat":1,"lng":2,"x":"\u0041"}`)} {
		n := mustNormalize(t, body)
		stored := n.AppendJSON(nil)
		restored, err := mission.Restore(stored)
		if err != nil {
			t.Fatal(err)
		}
		if again := restored.AppendJSON(nil); string(again) != string(stored) {
			t.Errorf("restored mission:\ngot  %s\nwant %s", again, stored)
		}
		if restored.Fingerprint() != n.Fingerprint() || len(mission.Differences(n, restored)) != 0 {
			t.Errorf("restored mission: got differences %v, want none", mission.Differences(n, restored))
		}
	}
	if _, err := mission.Restore([]byte(`{"title":5}`)); err == nil {
		t.Error("Restore of a text that is no mission: got no error, want one")
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	long := func(n int) string { return `"` + strings.Repeat("é", n) + `"` }
	list := func(n int, element string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(element+",", n), ",") + "]"
	}
	pairs := func(n int) string {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, `,"k%d":"v"`, i)
		}
		return "{" + text.String()[1:] + "}"
	}
	tags := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"t%d"`, i))
		}
		return "[" + strings.Join(list, ",") + "]"
	}
	cases := []struct {
		member, value, fault string // no fault: accepted
	}{
		{"title", `null`, "title required"},
		{"title", `5`, "title wrong_type"},
		{"title", `""`, "title too_short"},
		{"title", `" a b "`, ""},
		{"title", `"  a    "`, "title too_short"},
		{"title", `"e\u0301e\u0301"`, "title too_short"}, // two characters in NFC
		{"title", long(120), ""},
		{"title", long(121), "title too_long"},
		{"title", `"abc\u0000"`, "title invalid_character"},
		{"title", `"abc\u001b[31m"`, "title invalid_character"},
		{"title", `"abc\u007f"`, "title invalid_character"},
		{"title", `"abc\u202Edef"`, "title invalid_character"},
		{"title", `"abc\u2066def"`, "title invalid_character"},
		{"title", `"abc\ufeff"`, "title invalid_character"},
		{"title", `"abc\uffff"`, "title invalid_character"},
		{"title", `"abc\udb40\udc41"`, "title invalid_character"}, // a tag
		{"title", `"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u200f"`, ""},
		{"title", `"\u200b\u200b\u200b"`, "title blank"},
		{"title", `"a` + strings.Repeat(`\u0328`, 16) + `bc"`, ""},
		{"title", `"x` + strings.Repeat(`\u0328`, 17) + `bc"`, "title invalid_character"},
		{"title", `"x` + strings.Repeat("\u0301", 30_000) + `"`, "title invalid_character"},

		{"description", `null`, ""},
		{"description", `"a\n\tb"`, ""},
		{"description", `"a\u0008b"`, "description invalid_character"},
		{"description", `"a\u0085b"`, "description invalid_character"},
		{"description", long(4000), ""},
		{"description", long(4001), "description too_long"},
		{"description", `["a"]`, "description wrong_type"},

		{"mediaType", `"photo"`, ""}, {"mediaType", `"video"`, ""}, {"mediaType", `null`, ""},
		{"mediaType", `"Photo"`, "mediaType unsupported"}, {"mediaType", `""`, "mediaType unsupported"}, {"mediaType", `1`, "mediaType wrong_type"},

		{"targetCount", `0`, "targetCount out_of_range"},
		{"targetCount", `-1`, "targetCount out_of_range"},
		{"targetCount", `1.5`, "targetCount not_an_integer"},
		{"targetCount", `2147483648`, "targetCount out_of_range"},
		{"targetCount", `18446744073709551617`, "targetCount out_of_range"},
		{"note", `1e400`, "note out_of_range"},
		{"note", `{"deep":[1,-1e999999999]}`, "note out_of_range"},
		{"targetCount", `1e400`, "targetCount out_of_range"},
		{"targetCount", `10000`, ""}, {"targetCount", `10001`, "targetCount out_of_range"}, {"targetCount", `1e4`, ""},
		{"targetCount", `10000.0000000000000000001`, "targetCount out_of_range"},
		{"targetCount", `"4"`, "targetCount wrong_type"}, {"targetCount", `true`, "targetCount wrong_type"}, {"targetCount", `null`, "targetCount required"},
		{"maxSubmissionsPerContributor", `4`, ""},
		{"maxSubmissionsPerContributor", `5`, "maxSubmissionsPerContributor out_of_range"},
		{"maxSubmissionsPerContributor", `0`, "maxSubmissionsPerContributor out_of_range"},

		{"verification", `[]`, "verification wrong_type"},
		{"verification", `{"accept":null,"reject":null}`, ""},
		{"verification", `{"accept":` + list(10, `"a"`) + `}`, ""},
		{"verification", `{"accept":` + list(11, `"a"`) + `}`, "verification.accept too_many"},
		{"verification", `{"reject":["ok",""]}`, "verification.reject[1] too_short"},
		{"verification", `{"reject":["ok",null]}`, "verification.reject[1] wrong_type"},
		{"verification", `{"reject":"ok"}`, "verification.reject wrong_type"},
		{"verification", `{"accept":[` + long(280) + `]}`, ""},
		{"verification", `{"accept":[` + long(281) + `]}`, "verification.accept[0] too_long"},

		{"location", `null`, ""}, {"location", `"here"`, "location wrong_type"},
		{"location", `{"lat":90,"lng":-180}`, ""},
		{"location", `{"lat":90.0000001,"lng":0}`, "location.lat out_of_range"},
		{"location", `{"lat":-90.0000001,"lng":0}`, "location.lat out_of_range"},
		{"location", `{"lat":0,"lng":180.00000000001}`, "location.lng out_of_range"},
		{"location", `{"lat":0,"lng":1e999999999}`, "location.lng out_of_range"},
		{"location", `{"lat":0,"lng":-1e-999999999}`, ""},
		{"location", `{"lng":0}`, "location.lat required"}, {"location", `{"lat":0,"lng":null}`, "location.lng required"},
		{"location", `{"lat":"0","lng":0}`, "location.lat wrong_type"},
		{"location", `{"lat":0,"lng":0,"radiusMeters":9.9999999}`, "location.radiusMeters out_of_range"},
		{"location", `{"lat":0,"lng":0,"radiusMeters":50000}`, ""},
		{"location", `{"lat":0,"lng":0,"radiusMeters":50000.1}`, "location.radiusMeters out_of_range"},
		{"location", `{"lat":0,"lng":0,"maxAccuracyMeters":4}`, "location.maxAccuracyMeters out_of_range"},
		{"location", `{"lat":0,"lng":0,"maxAccuracyMeters":1001}`, "location.maxAccuracyMeters out_of_range"},
		{"location", `{"lat":0,"lng":0,"label":` + long(121) + `}`, "location.label too_long"},

		{"video", `null`, ""}, {"video", `{}`, "video not_applicable"},

		{"startsAt", `"2026-02-02T09:00:00Z"`, ""}, {"startsAt", `"2026-02-02T09:00:00-00:00"`, ""},
		{"startsAt", `"2026-02-02T09:00:00"`, "startsAt invalid_format"},
		{"startsAt", `"2026-02-02 09:00:00Z"`, "startsAt invalid_format"},
		{"startsAt", `"2026-02-02"`, "startsAt invalid_format"},
		{"startsAt", `"2026-02-30T09:00:00Z"`, "startsAt invalid_format"},
		{"startsAt", `"2026-02-02T24:00:00Z"`, "startsAt invalid_format"},
		{"startsAt", `"2026-06-30T23:59:60Z"`, "startsAt invalid_format"}, // leap second
		{"startsAt", `"2026-02-02T9:00:00Z"`, "startsAt invalid_format"},
		{"startsAt", `"2026-02-02T09:00:00,5Z"`, "startsAt invalid_format"},
		{"startsAt", `"2026-02-02T09:00:00.Z"`, "startsAt invalid_format"},
		{"startsAt", `"2026-02-02T09:00:00+24:00"`, "startsAt invalid_format"},
		{"startsAt", `"2026-02-02T09:00:00+01"`, "startsAt invalid_format"},
		{"startsAt", `"1969-12-31T23:59:59Z"`, "startsAt out_of_range"},
		{"startsAt", `"9999-12-31T23:59:59-01:00"`, "startsAt out_of_range"},
		{"startsAt", `1770000000`, "startsAt wrong_type"}, {"startsAt", `""`, "startsAt invalid_format"},

		{"tags", tags(10), ""}, {"tags", tags(11), "tags too_many"}, {"tags", list(11, `"a"`), ""},
		{"tags", `[""]`, "tags[0] invalid_format"}, {"tags", `["a b"]`, "tags[0] invalid_format"},
		{"tags", `["a","ſ"]`, "tags[1] invalid_format"}, {"tags", `["\u212a"]`, "tags[0] invalid_format"}, // the Kelvin sign
		{"tags", `["` + strings.Repeat("a", 33) + `"]`, "tags[0] invalid_format"}, {"tags", `["a@"]`, "tags[0] invalid_format"},
		{"tags", `{}`, "tags wrong_type"},

		{"externalReference", `"` + strings.Repeat("a", 128) + `"`, ""},
		{"externalReference", `"` + strings.Repeat("a", 129) + `"`, "externalReference invalid_format"},
		{"externalReference", `""`, "externalReference invalid_format"},
		{"externalReference", `"é"`, "externalReference invalid_format"}, {"externalReference", `"a\n"`, "externalReference invalid_format"},

		{"metadata", pairs(20), ""}, {"metadata", pairs(21), "metadata too_many"}, {"metadata", `[]`, "metadata wrong_type"},
		{"metadata", `{"a":1}`, "metadata.a wrong_type"}, {"metadata", `{"a":null}`, "metadata.a wrong_type"},
		{"metadata", `{"":"a"}`, "metadata. too_short"}, {"metadata", `{"` + strings.Repeat("k", 41) + `":"a"}`, "metadata." + strings.Repeat("k", 41) + " too_long"},
		{"metadata", `{"a":` + long(500) + `}`, ""}, {"metadata", `{"a":` + long(501) + `}`, "metadata.a too_long"},
		{"metadata", `{"a\u001b":"v"}`, `metadata.a\x1b invalid_character`}, {"metadata", `{"a":"\u202e"}`, "metadata.a invalid_character"},

		{"extra1", `"` + strings.Repeat("x", 8<<10-len(`{"extra1":""}`)) + `"`, ""},
		{"extra1", `"` + strings.Repeat("x", 8<<10-len(`{"extra1":""}`)+1) + `"`, "extra too_large"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%s=%.40s", c.member, c.value), func(t *testing.T) {
			t.Parallel()
			_, err := mission.Normalize([]byte(with(c.member, c.value)), creator)
			if c.fault == "" {
				if err != nil {
					t.Fatalf("Normalize: got %v, want no error", err)
				}
				return
			}
			wantCode(t, err, sortie.CodeValidationFailed)
			if got := faultsOf(err); !slices.Equal(got, []string{c.fault}) {
				t.Errorf("got faults %q, want %q", got, c.fault)
			}
		})
	}
}

func TestAmounts(t *testing.T) {
	t.Parallel()
	cases := []struct{ amount, want, fault string }{
		{`2.5`, "2.5", ""}, {`"2.5"`, "2.5", ""}, {`10`, "10", ""}, {`10.0`, "10", ""}, {`1e1`, "10", ""}, {`"1E+1"`, "10", ""},
		{`0.01`, "0.01", ""}, {`1000000`, "1000000", ""}, {`1e6`, "1000000", ""}, {`0.010000000000000000000000`, "0.01", ""},
		{`999999.999999`, "999999.999999", ""}, {`123.456789`, "123.456789", ""},
		{`0`, "", "out_of_range"}, {`-1`, "", "out_of_range"}, {`-0`, "", "out_of_range"}, {`0e999999999`, "", "out_of_range"},
		{`0.0000001`, "", "out_of_range"}, {`1e-6`, "", "out_of_range"}, {`0.0099999999999`, "", "out_of_range"},
		{`1.0000001`, "", "too_precise"}, {`0.30000000000000004`, "", "too_precise"}, {`999999.9999999`, "", "too_precise"},
		{`1000000.000001`, "", "out_of_range"}, {`1e400`, "", "out_of_range"}, {`1e999999999`, "", "out_of_range"},
		{`1e-999999999`, "", "out_of_range"}, {`1e99999999999999999999999999`, "", "out_of_range"},
		{`115792089237316195423570985008687907853269984665640564039457584007913129639936`, "", "out_of_range"},
		{`"115792089237316195423570985008687907853269984665640564039457584007913129639936"`, "", "out_of_range"},
		{`""`, "", "invalid_format"}, {`" 1"`, "", "invalid_format"}, {`"+1"`, "", "invalid_format"}, {`".5"`, "", "invalid_format"},
		{`"1."`, "", "invalid_format"}, {`"01"`, "", "invalid_format"}, {`"1,5"`, "", "invalid_format"}, {`"1_0"`, "", "invalid_format"},
		{`"0x10"`, "", "invalid_format"}, {`"NaN"`, "", "invalid_format"}, {`"Infinity"`, "", "invalid_format"}, {`"1e"`, "", "invalid_format"},
		{`"١"`, "", "invalid_format"}, {`"1 USDC"`, "", "invalid_format"},
		{`true`, "", "wrong_type"}, {`[1]`, "", "wrong_type"}, {`{}`, "", "wrong_type"}, {`null`, "", "required"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%.40s", c.amount), func(t *testing.T) {
			t.Parallel()
			n, err := mission.Normalize([]byte(with("reward", `{"token":"USDC","amount":`+c.amount+`}`)), creator)
			if c.fault == "" {
				if got := n.Mission().Reward.Amount; err != nil || string(got) != c.want {
					t.Fatalf("got amount %s, error %v; want %s", got, err, c.want)
				}
				return
			}
			wantCode(t, err, sortie.CodeValidationFailed)
			if got := faultsOf(err); !slices.Equal(got, []string{"reward.amount " + c.fault}) {
				t.Errorf("got faults %q, want %q", got, c.fault)
			}
		})
	}
}

func TestBudget(t *testing.T) {
	t.Parallel()
	mustNormalize(t, with("reward", `{"token":"USDC","amount":1000}`, "targetCount", "10000"))
	_, err := mission.Normalize([]byte(with("reward", `{"token":"USDC","amount":1000.000001}`, "targetCount", "10000")), creator)
	wantCode(t, err, sortie.CodeValidationFailed)
	if got := faultsOf(err); !slices.Equal(got, []string{"reward.amount too_large"}) {
		t.Errorf("budget above the maximum: got faults %q, want reward.amount too_large", got)
	}
}

func TestVideo(t *testing.T) {
	t.Parallel()
	cases := []struct{ video, fault string }{
		{`null`, ""}, {`{}`, ""}, {`{"minDurationMs":1000,"maxDurationMs":600000}`, ""},
		{`{"minDurationMs":999}`, "video.minDurationMs out_of_range"}, {`{"maxDurationMs":600001}`, "video.maxDurationMs out_of_range"},
		{`{"minDurationMs":60001}`, "video.minDurationMs out_of_range"}, {`{"minDurationMs":5000,"maxDurationMs":5000}`, ""},
		{`{"minDurationMs":1000.5}`, "video.minDurationMs not_an_integer"}, {`[]`, "video wrong_type"},
	}
	for _, c := range cases {
		_, err := mission.Normalize([]byte(with("mediaType", `"video"`, "video", c.video)), creator)
		if got := strings.Join(faultsOf(err), ";"); got != c.fault {
			t.Errorf("video %s: got faults %q, want %q", c.video, got, c.fault)
		}
	}
}

func TestEndAfterStart(t *testing.T) {
	t.Parallel()
	mustNormalize(t, with("startsAt", `"2026-02-02T09:00:00.000Z"`, "endsAt", `"2026-02-02T09:00:00.001Z"`))
	for starts, ends := range map[string]string{
		`"2026-02-02T09:00:00Z"`:      `"2026-02-02T10:00:00+01:00"`,
		`"2026-02-02T09:00:00.0001Z"`: `"2026-02-02T09:00:00.0009Z"`, // one millisecond
		`"2026-02-03T09:00:00Z"`:      `"2026-02-02T09:00:00Z"`,
	} {
		_, err := mission.Normalize([]byte(with("startsAt", starts, "endsAt", ends)), creator)
		if got := faultsOf(err); !slices.Equal(got, []string{"endsAt out_of_range"}) {
			t.Errorf("from %s to %s: got faults %q, want endsAt out_of_range", starts, ends, got)
		}
	}
}

func TestRewardToken(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"lower case": `"usdc"`, "space": `"USDC "`, "another": `"ETH"`, "list": `["USDC"]`, "homoglyph": `"USD\u0421"`,
		"null": `null`, "number": `1`, "empty": `""`, "NUL": `"USDC\u0000"`, "object": `{}`,
	}
	for name, token := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			checkBadToken(t, with("title", `5`, "reward", `{"token":`+token+`,"amount":2.5}`))
		})
	}
	for _, body := range []string{with("title", "5", "reward", `{"amount":2.5}`), with("title", "5", "reward", "null"), with("title", "5", "reward", `"USDC"`)} {
		checkBadToken(t, body)
	}
	mustNormalize(t, with("reward", `{"token":"\u0055SDC","amount":1}`)) // an escape is a spelling, not another token
	mustNormalize(t, with("reward", `{"token":"SERVICE_TOKEN","amount":1}`))
}

func checkBadToken(t *testing.T, body string) {
	t.Helper()
	_, err := mission.Normalize([]byte(body), creator)
	wantCode(t, err, sortie.CodeUnsupportedRewardToken)
	var coded *sortie.Error
	errors.As(err, &coded)
	if !reflect.DeepEqual(coded.Details["allowed"], sortie.Tokens()) {
		t.Errorf("details.allowed: got %v, want %v", coded.Details["allowed"], sortie.Tokens())
	}
	got := faultsOf(err)
	if len(got) < 2 || got[0] != "title wrong_type" || !strings.HasPrefix(got[1], "reward") {
		t.Errorf("got faults %q, want those of title and reward", got)
	}
}

func TestCreator(t *testing.T) {
	t.Parallel()
	for _, same := range []string{creator.String(), strings.ToLower(creator.String()), "0x" + strings.ToUpper(creator.String()[2:])} {
		n := mustNormalize(t, with("creator", `"`+same+`"`))
		if n.Fingerprint() != mustNormalize(t, smallest).Fingerprint() {
			t.Errorf("mission with creator %s: got another fingerprint, want the same as without", same)
		}
	}
	mustNormalize(t, with("creator", "null"))
	for _, other := range []string{
		`"0x70997970C51812dc3A010C7d01b50e0d17dc79C8"`, `"0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266"`, // wrong checksum
		`"f39Fd6e51aad88F6F4ce6aB8827279cffFb92266"`, `""`, `5`, `["` + creator.String() + `"]`, `{}`,
	} {
		_, err := mission.Normalize([]byte(with("creator", other, "title", "5")), creator)
		wantCode(t, err, sortie.CodeCreatorMismatch)
	}
}

func TestAllFaultsAtOnceUpToALimit(t *testing.T) {
	t.Parallel()
	_, err := mission.Normalize([]byte(`{"tags":["!"],"startsAt":"x","reward":{"token":"USDC"},"title":"ab"}`), creator)
	wantCode(t, err, sortie.CodeValidationFailed)
	want := []string{"title too_short", "reward.amount required", "targetCount required", "startsAt invalid_format", "tags[0] invalid_format"}
	if got := faultsOf(err); !slices.Equal(got, want) {
		t.Errorf("got faults %q, want %q", got, want)
	}
	_, err = mission.Normalize([]byte(with("targetCount", "0", "maxSubmissionsPerContributor", "5")), creator)
	if got := faultsOf(err); !slices.Equal(got, []string{"targetCount out_of_range"}) {
		t.Errorf("got faults %q, want targetCount out_of_range alone", got)
	}
	many := "[" + strings.Repeat("1,", 30_000) + "1]"
	_, err = mission.Normalize([]byte(with("tags", many)), creator)
	wantCode(t, err, sortie.CodeValidationFailed)
	if got := faultsOf(err); len(got) != 50 {
		t.Errorf("got %d faults listed, want 50", len(got))
	}
	if !strings.Contains(err.Error(), "and 30000 more") {
		t.Errorf("message: got %v, want it to count 30000 more faults", err)
	}
}
