package mission_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// hostileBodies returns the bodies that cost the most for their size, each close to 64 KiB.
func hostileBodies() map[string]string {
	var manyNames strings.Builder
	for i := range 7_000 {
		fmt.Fprintf(&manyNames, `"%x":1,`, i)
	}
	var mixedCase strings.Builder
	for i := range 6_000 {
		fmt.Fprintf(&mixedCase, `"A%x":1,`, i)
	}
	return map[string]string{
		"many numbers":    with("foo", "["+strings.Repeat("1,", 32_000)+"1]"),
		"many objects":    with("foo", "["+strings.Repeat("{},", 21_000)+"1]"),
		"many tags":       with("tags", "["+strings.Repeat(`"",`, 21_000)+`""]`),
		"many pairs":      with("metadata", "{"+manyNames.String()+`"z":1}`),
		"many members":    with("foo", "1", "bar", "{"+manyNames.String()+`"z":1}`),
		"many unknown":    smallest[:len(smallest)-1] + "," + manyNames.String() + `"z":1}`,
		"many in reward":  with("reward", `{"token":"USDC","amount":1,`+manyNames.String()+`"z":1}`),
		"mixed case":      with("foo", "{"+mixedCase.String()+`"z":1}`),
		"long number":     with("targetCount", "1"+strings.Repeat("0", 65_000)),
		"large exponent":  with("targetCount", "1e"+strings.Repeat("9", 65_000)),
		"combining marks": with("title", `"x`+strings.Repeat("\u0301", 32_000)+`"`),
		"decomposing":     with("description", `"`+strings.Repeat("\u1d160", 15_000)+`"`),
		"white space":     with("title", `"`+strings.Repeat(" a", 32_000)+`"`),
		"escapes":         with("title", `"`+strings.Repeat(`\u00e9`, 10_000)+`"`),
		"nesting":         with("foo", "["+strings.Repeat("[[[[[[]]]]]],", 5_000)+"1]"),
	}
}

// This test is not parallel: it counts what the whole process allocates. The most expensive body
// takes about 6 MiB, and the runtime's own allocations vary, so the limit leaves a third of that.
// It finds costs that grow faster than the body.
func TestHostileBodiesAreCheap(t *testing.T) {
	const limit = 128 * mission.MaxBodyBytes
	for name, body := range hostileBodies() {
		if len(body) > mission.MaxBodyBytes {
			t.Errorf("body %s: got %d bytes, want at most %d", name, len(body), mission.MaxBodyBytes)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		n, err := mission.Normalize([]byte(body), creator)
		if err == nil {
			_ = n.Fingerprint()
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > limit {
			t.Errorf("body %s of %d bytes: got %d bytes allocated, want at most %d", name, len(body), used, limit)
		}
	}
}

func FuzzNormalize(f *testing.F) {
	f.Add([]byte(smallest))
	f.Add([]byte(with("location", `{"lat":1.5,"lng":-2e0,"label":"x","k":1}`, "mediaType", `"video"`, "video", `{"minDurationMs":1000}`)))
	f.Add([]byte(with("startsAt", `"2026-02-02T09:00:00+01:00"`, "endsAt", `"2026-03-02T09:00:00.5Z"`, "tags", `["A","b"]`)))
	f.Add([]byte(with("metadata", `{"a":"b"}`, "externalReference", `"x"`, "foo", `{"b":[1.0,"\ud83d\ude42"],"a":null}`)))
	f.Add([]byte(with("verification", `{"accept":["a"],"reject":[]}`, "description", `"a\r\nb"`, "Foo", `1`, "extra", `{}`)))
	f.Add([]byte(with("title", `"e\u0301\u202e\u0000"`, "reward", `{"token":"usdc","amount":"1e-7"}`)))
	f.Fuzz(func(t *testing.T, body []byte) {
		n, err := mission.Normalize(body, creator)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		if !jsontext.Value(body).IsValid() {
			t.Fatal("body that is not strict JSON: got no error, want one")
		}
		stored := n.AppendJSON(nil)
		restored, err := mission.Restore(stored)
		if err != nil {
			t.Fatalf("restore %s: got %v, want no error", stored, err)
		}
		if string(restored.AppendJSON(nil)) != string(stored) || restored.Fingerprint() != n.Fingerprint() {
			t.Fatalf("restored mission: got %s, want %s", restored.AppendJSON(nil), stored)
		}
		if !mission.ValidMissionID(mission.NewMissionID(n.Mission().Title, mission.Entropy{})) {
			t.Fatalf("mission id of the title %q: got an invalid one, want a valid one", n.Mission().Title)
		}
		if _, err := n.Terms(6); err != nil {
			t.Fatal(err)
		}
		if len(n.Mission().Extra) > 0 {
			return // it would be an unknown member
		}
		again, err := mission.Normalize(stored, creator)
		if err != nil || again.Fingerprint() != n.Fingerprint() {
			t.Fatalf("normalize %s again: got another fingerprint or error %v, want the same mission", stored, err)
		}
	})
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	var coded *sortie.Error
	if !errors.As(err, &coded) {
		t.Fatalf("got error %v, want a *sortie.Error", err)
	}
	if status := coded.Code.HTTPStatus(); status < 400 || status > 422 {
		t.Fatalf("status of error %v: got %d, want 400 to 422", err, status)
	}
	if fields, _ := coded.Details["fields"].([]sortie.FieldError); len(fields) > 50 || len(coded.Message) > 1000 {
		t.Fatalf("got %d faults and a message of %d bytes, want at most 50 and 1000", len(fields), len(coded.Message))
	}
}

const typical = `{
  "title": "Photo of the main entrance of the town hall",
  "description": "Stand on the pavement opposite the door.\nThe whole door and the sign above it must be visible.",
  "mediaType": "photo",
  "reward": {"token": "USDC", "amount": 2.5},
  "targetCount": 40,
  "maxSubmissionsPerContributor": 2,
  "verification": {"accept": ["The door is closed", "The sign is readable"], "reject": ["People can be recognised"]},
  "location": {"lat": 52.520008, "lng": 13.404954, "radiusMeters": 150, "label": "Rathausstraße 15"},
  "endsAt": "2026-03-02T09:00:00Z",
  "tags": ["entrance", "berlin"],
  "externalReference": "order-2026-0042",
  "metadata": {"campaign": "spring", "batch": "7"}
}`

func BenchmarkNormalize(b *testing.B) {
	for name, body := range map[string]string{"smallest": smallest, "typical": typical, "unknown": typical[:len(typical)-1] + `,"foo":{"a":[1,2,{"b":"c"}]},"bar":1.0}`} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := mission.Normalize([]byte(body), creator); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFingerprint(b *testing.B) {
	n := mustNormalize(b, typical)
	b.ReportAllocs()
	for b.Loop() {
		_ = n.Fingerprint()
	}
}

func BenchmarkRestore(b *testing.B) {
	stored := mustNormalize(b, typical).AppendJSON(nil)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := mission.Restore(stored); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkHostile(b *testing.B) {
	for name, body := range hostileBodies() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = mission.Normalize([]byte(body), creator)
			}
		})
	}
}
