package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/sortie-labs/sortie"
)

// missionWith returns the good mission with some of its text replaced.
func missionWith(old, replacement string) string {
	if !strings.Contains(goodMission, old) {
		panic("the good mission has no " + old)
	}
	return strings.Replace(goodMission, old, replacement, 1)
}

func amountIs(amount string) string { return missionWith(`"amount":2.5`, `"amount":`+amount) }
func tokenIs(token string) string   { return missionWith(`"token":"USDC"`, `"token":`+token) }
func countIs(count string) string   { return missionWith(`"targetCount":4`, `"targetCount":`+count) }
func titleIs(title string) string {
	quoted, err := json.Marshal(title)
	if err != nil {
		panic(err)
	}
	return missionWith(`"Photo of the main entrance"`, string(quoted))
}

func bigEndian(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		b.WriteByte(byte(unit >> 8))
		b.WriteByte(byte(unit))
	}
	return b.String()
}

func TestBadBodies(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	endsIn := func(wait time.Duration) string {
		return missionWith(`"targetCount"`, fmt.Sprintf(`"endsAt":%q,"targetCount"`, sortie.FormatTime(s.clock.Now().Add(wait))))
	}
	var rows []badRequest
	add := func(status int, code sortie.Code, bodies map[string]string) {
		for name, body := range bodies {
			rows = append(rows,
				badRequest{name: name, text: s.post(draftsPath, "k1", body).String(), status: status, code: code},
				badRequest{name: name + ", preview", text: s.post(previewPath, "", body).String(), status: status, code: code})
		}
	}
	add(http.StatusBadRequest, sortie.CodeInvalidJSON, map[string]string{
		"empty body":                              "",
		"body of blanks":                          " \r\n\t",
		"body null":                               "null",
		"body is a list":                          "[]",
		"list of missions":                        "[" + goodMission + "]",
		"body is a string":                        `"x"`,
		"body is a number":                        "1",
		"truncated body":                          goodMission[:len(goodMission)-1],
		"truncated in a string":                   goodMission[:14],
		"brace after the end":                     goodMission + "}",
		"two documents":                           goodMission + goodMission,
		"two documents on two lines":              goodMission + "\n" + goodMission,
		"byte order mark":                         "\ufeff" + goodMission,
		"UTF-16":                                  bigEndian("\ufeff" + goodMission),
		"UTF-16 without mark":                     bigEndian(goodMission),
		"invalid UTF-8":                           missionWith("Photo", "Ph\xfft"),
		"overlong UTF-8":                          missionWith("Photo", "Ph\xc0\xaft"),
		"surrogate in UTF-8":                      missionWith("Photo", "Ph\xed\xa0\x80"),
		"lone surrogate":                          missionWith("Photo", `Ph\ud800`),
		"surrogates the wrong way":                missionWith("Photo", `\udc00\ud800`),
		"reward twice":                            missionWith(`"targetCount"`, `"reward":{"token":"USDC","amount":1},"targetCount"`),
		"reward twice, escaped":                   missionWith(`"targetCount"`, `"re\u0077ard":{"token":"USDC","amount":1},"targetCount"`),
		"amount twice":                            missionWith(`"amount":2.5`, `"amount":2.5,"amount":1`),
		"member twice in an unknown member":       missionWith(`"targetCount"`, `"x":{"a":1,"a":2},"targetCount"`),
		"Reward and reward":                       missionWith(`"targetCount"`, `"Reward":{"token":"USDC","amount":1},"targetCount"`),
		"REWARD alone":                            missionWith(`"reward"`, `"REWARD"`),
		"long s in a member name":                 missionWith(`"targetCount"`, `"deſcription":"x","targetCount"`),
		"Kelvin sign in a member name":            missionWith(`"token"`, `"to\u212aen"`),
		"nested 100,000 deep":                     strings.Repeat("[", 32<<10) + strings.Repeat("]", 32<<10),
		"nested 9 deep":                           missionWith(`"targetCount"`, `"x":`+strings.Repeat("[", 8)+strings.Repeat("]", 8)+`,"targetCount"`),
		"nested objects, not closed":              strings.Repeat(`{"a":`, 10_000),
		"comment":                                 missionWith(`"targetCount"`, `/* how many */"targetCount"`),
		"line comment":                            goodMission + "// done",
		"trailing comma":                          missionWith(`4}`, `4,}`),
		"single quotes":                           strings.ReplaceAll(goodMission, `"`, `'`),
		"amount NaN":                              amountIs("NaN"),
		"amount Infinity":                         amountIs("Infinity"),
		"count -Infinity":                         countIs("-Infinity"),
		"count in hex":                            countIs("0x4"),
		"count with a leading zero":               countIs("04"),
		"count with a plus":                       countIs("+4"),
		"amount without a digit before the point": amountIs(".5"),
		"title with a raw line feed":              missionWith("main", "main\nside"),
		"title with a raw ESC":                    missionWith("main", "main\x1b[31m"),
		"title with a raw NUL":                    missionWith("main", "main\x00"),
	})
	tooLarge := map[string]string{
		"string of 10 MB":                    titleIs(strings.Repeat("a", 10<<20)),
		"one byte too many":                  goodMission + strings.Repeat(" ", 64<<10+1-len(goodMission)),
		"title of a million combining marks": titleIs("a" + strings.Repeat("\u0301", 1_000_000)),
		"nested a million deep":              strings.Repeat("[", 1_000_000),
		"amount of 100,000 digits":           amountIs(strings.Repeat("9", 100_000)),
		"exponent of 100,000 digits":         amountIs("1e" + strings.Repeat("9", 100_000)),
	}
	add(http.StatusRequestEntityTooLarge, sortie.CodePayloadTooLarge, tooLarge)
	add(http.StatusUnprocessableEntity, sortie.CodeUnsupportedRewardToken, map[string]string{
		"token in small letters":        tokenIs(`"usdc"`),
		"token with a blank after it":   tokenIs(`"USDC "`),
		"token with a zero-width space": tokenIs(`"USDC\u200b"`),
		"token ETH":                     tokenIs(`"ETH"`),
		"token given by its address":    tokenIs(`"0x036CbD53842c5426634e7929541eC2318f3dCF7e"`),
		"token is a list":               tokenIs(`["USDC"]`),
		"token is an object":            tokenIs(`{"symbol":"USDC"}`),
		"token is a number":             tokenIs(`6`),
		"token with a Cyrillic С":       tokenIs(`"USDС"`),
		"token in full-width letters":   tokenIs(`"ＵＳＤＣ"`),
		"token missing":                 missionWith(`"token":"USDC",`, ""),
		"token null":                    tokenIs("null"),
		"token empty":                   tokenIs(`""`),
		"no reward":                     missionWith(`"reward":{"token":"USDC","amount":2.5},`, ""),
		"reward is a string":            missionWith(`{"token":"USDC","amount":2.5}`, `"2.5 USDC"`),
	})
	add(http.StatusUnprocessableEntity, sortie.CodeValidationFailed, map[string]string{
		"amount 1e400":                         amountIs("1e400"),
		"amount 1e-400":                        amountIs("1e-400"),
		"amount with an exponent of 20 digits": amountIs("1e99999999999999999999"),
		"count 1e400":                          countIs("1e400"),
		"amount 0":                             amountIs("0"),
		"amount 0.00":                          amountIs("0.00"),
		"amount negative":                      amountIs("-1"),
		"amount negative, as text":             amountIs(`"-1"`),
		"amount minus zero":                    amountIs("-0"),
		"amount with seven decimals":           amountIs("1.0000001"),
		"amount 0.0000001":                     amountIs("0.0000001"),
		"amount with an exponent, too small":   amountIs("1e-6"),
		"amount 2^256":                         amountIs("115792089237316195423570985008687907853269984665640564039457584007913129639936"),
		"amount of 2^63 millionths":            amountIs("9223372036854.775808"),
		"amount above a million":               amountIs("1000000.000001"),
		"budget too large":                     strings.Replace(amountIs("1000000"), `"targetCount":4`, `"targetCount":10000`, 1),
		"budget one millionth too large":       strings.Replace(amountIs("1000.000001"), `"targetCount":4`, `"targetCount":10000`, 1),
		"amount as text that is no number":     amountIs(`"2,5"`),
		"amount as text with a blank":          amountIs(`" 2.5"`),
		"amount as text in hex":                amountIs(`"0x2"`),
		"amount as text with a unit":           amountIs(`"2.5 USDC"`),
		"amount true":                          amountIs("true"),
		"amount is a list":                     amountIs("[2.5]"),
		"amount that is a sum of floats":       amountIs("0.30000000000000004"),
		"amount nearly 2.5":                    amountIs("2.4999999999999999999999"),
		"count 0":                              countIs("0"),
		"count negative":                       countIs("-4"),
		"count 1.5":                            countIs("1.5"),
		"count nearly whole":                   countIs("3.9999999999999999999999999"),
		"count 2^31":                           countIs("2147483648"),
		"count 2^64":                           countIs("18446744073709551616"),
		"count 10,001":                         countIs("10001"),
		"count as text":                        countIs(`"4"`),
		"title with ESC":                       titleIs("main \x1b[31m entrance"),
		"title with NUL":                       titleIs("main\x00entrance"),
		"title with RTL override":              titleIs("main \u202e entrance"),
		"title with isolates":                  titleIs("main \u2066entrance"),
		"title with 10,000 marks":              titleIs("a" + strings.Repeat("\u0301", 10_000)),
		"title of blanks":                      titleIs("      "),
		"title of invisible characters":        titleIs("\u200b\u200b\u200b\u200b"),
		"end in 59 minutes":                    endsIn(59 * time.Minute),
		"end in 91 days":                       endsIn(91 * 24 * time.Hour),
		"end in the past":                      endsIn(-time.Hour),
		"no title":                             missionWith(`"title":"Photo of the main entrance",`, ""),
	})
	s.refuseAll(t, rows)
}

// All invalid fields are reported at once, by path.
func TestFaultsComeTogether(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	for body, want := range map[string][]string{
		`{}`: {"reward.amount", "reward.token", "targetCount", "title"},
		`{"title":"x","reward":{"token":"ETH","amount":0},"targetCount":0,"tags":["A B"],"location":{"lat":91}}`: {"location.lat", "location.lng", "reward.amount", "reward.token", "tags[0]", "targetCount", "title"},
	} {
		a := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: body})
		var paths []string
		for _, fault := range a.details()["fields"].([]any) {
			paths = append(paths, fault.(map[string]any)["path"].(string))
		}
		slices.Sort(paths)
		if a.code() != sortie.CodeUnsupportedRewardToken || !slices.Equal(paths, want) {
			t.Errorf("%s: got %s, want unsupported_reward_token for the fields %q", body, a.body, want)
		}
		if got := fmt.Sprint(a.details()["allowed"]); got != "[SERVICE_TOKEN USDC]" {
			t.Errorf("allowed tokens: got %s, want [SERVICE_TOKEN USDC]", got)
		}
	}
	s.storesNothing(t)
}

// Unusual bodies with one exact meaning are accepted.
func TestUnusualBodiesThatAreTaken(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	for name, row := range map[string]struct{ body, path, want string }{
		"unknown member":                    {missionWith(`"targetCount"`, `"note":{"b": 1.50},"targetCount"`), "extra.note", `{"b":1.50}`},
		"nested 8 deep":                     {missionWith(`"targetCount"`, `"x":`+strings.Repeat("[", 7)+strings.Repeat("]", 7)+`,"targetCount"`), "extra.x", "[[[[[[[]]]]]]]"},
		"exactly 64 KiB":                    {goodMission + strings.Repeat(" ", 64<<10-len(goodMission)), "reward.amount", "2.5"},
		"amount with an exponent":           {amountIs("25e-1"), "reward.amount", "2.5"},
		"amount with an exponent and zeros": {amountIs("0.0025E+003"), "reward.amount", "2.5"},
		"largest budget":                    {strings.Replace(amountIs("1000"), `"targetCount":4`, `"targetCount":10000`, 1), "reward.amount", "1000"},
		"amount as text":                    {amountIs(`"2.50"`), "reward.amount", "2.5"},
		"amount with six decimals":          {amountIs("0.100001"), "reward.amount", "0.100001"},
		"amount with twelve digits":         {strings.Replace(amountIs("123456.789012"), `"targetCount":4`, `"targetCount":1`, 1), "reward.amount", "123456.789012"},
		"count 4.0":                         {countIs("4.0"), "targetCount", "4"},
		"count 4e0":                         {countIs("4e0"), "targetCount", "4"},
		"count 10,000":                      {strings.Replace(countIs("10000"), "2.5", "1", 1), "targetCount", "10000"},
		"title with CR LF":                  {titleIs("main\r\n entrance"), "title", `"main entrance"`},
		"title with an accent":              {titleIs("entre\u0301e"), "title", `"entrée"`},
		"title of 120 wide characters":      {titleIs(strings.Repeat("入", 120)), "title", `"` + strings.Repeat("入", 120) + `"`},
		"markup in the title":               {titleIs("<script>alert(1)</script> & more"), "title", `"<script>alert(1)</script> & more"`},
		"a pair of surrogates":              {missionWith("Photo", `\ud83d\ude00`), "title", `"😀 of the main entrance"`},
		"an escaped name of a member":       {missionWith(`"reward"`, `"re\u0077ard"`), "reward.token", `"USDC"`},
		"null is the same as left out":      {missionWith(`"targetCount"`, `"location":null,"endsAt":null,"tags":null,"targetCount"`), "location", "null"},
		"SQL is text":                       {titleIs(`'; DROP TABLE drafts; --`), "title", `"'; DROP TABLE drafts; --"`},
	} {
		a := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: name, body: row.body})
		if a.StatusCode != http.StatusCreated {
			t.Errorf("%s: got %d %s, want 201", name, a.StatusCode, a.body)
			continue
		}
		status := s.send(testRequest{target: a.Header.Get("Location")})
		value := decode[struct{ NormalizedMission json.RawMessage }](t, status).NormalizedMission
		for step := range strings.SplitSeq(row.path, ".") {
			value = decode[map[string]json.RawMessage](t, answer{body: value})[step]
		}
		if string(value) != row.want {
			t.Errorf("%s: %s is %s, want %s", name, row.path, value, row.want)
		}
	}
}

// Each spelling of a mission, under the same key, returns the first draft.
func TestSpellingsOfOneMission(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		first := s.create("k1", goodMission)
		for name, body := range map[string]string{
			"members in another order":  `{"targetCount":4,"reward":{"amount":2.5,"token":"USDC"},"mediaType":"photo","title":"Photo of the main entrance"}`,
			"with the creator's wallet": missionWith(`"targetCount"`, fmt.Sprintf(`"creator":%q,"targetCount"`, creator.Address())),
			"with the defaults":         missionWith(`"targetCount"`, `"description":"","verification":{"accept":[],"reject":null},"tags":[],"metadata":{},"targetCount"`),
			"with an escaped letter":    missionWith("main", `ma\u0069n`),
		} {
			a := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: body})
			if a.StatusCode != http.StatusOK || decode[sortie.DraftCreated](t, a).DraftID != first.DraftID {
				t.Errorf("%s: got %d %s, want 200 and draft %s", name, a.StatusCode, a.body, first.DraftID)
			}
		}
		for field, body := range map[string]string{
			"reward": amountIs("2.500001"), "targetCount": countIs("5"), "extra": missionWith(`"targetCount"`, `"note":null,"targetCount"`),
		} {
			a := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: body})
			if a.StatusCode != http.StatusConflict || !strings.HasPrefix(fmt.Sprint(a.details()["fields"]), "["+field) {
				t.Errorf("another %s: got %d %s, want 409 that names it", field, a.StatusCode, a.body)
			}
		}
	})
}

func TestCreatorMustBeTheWallet(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	for _, named := range []string{fmt.Sprintf("%q", stranger.Address()), `"me"`, "1", `"0x0000000000000000000000000000000000000000"`} {
		a := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: missionWith(`"targetCount"`, `"creator":`+named+`,"targetCount"`)})
		if a.StatusCode != http.StatusForbidden || a.code() != sortie.CodeCreatorMismatch {
			t.Errorf("creator %s: got %d %s, want 403 creator_mismatch", named, a.StatusCode, a.body)
		}
	}
	s.storesNothing(t)
}
