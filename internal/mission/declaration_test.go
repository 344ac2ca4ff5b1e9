package mission_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

const (
	fileHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	declared = `{"location":{"lat":52.5200081,"lng":-0.0,"accuracyMeters":4.004},"capturedAt":"2026-02-02T10:00:00.1239+01:00",` +
		`"contentType":"image/jpeg","sizeBytes":1048576,"sha256":"` + fileHash + `"}`
)

// declaring returns a declaration with members replaced.
func declaring(members ...string) string {
	values := map[string]string{
		"location": `{"lat":52.5,"lng":13.4,"accuracyMeters":5}`, "capturedAt": `"2026-02-02T09:00:00Z"`, "contentType": `"image/jpeg"`,
		"sizeBytes": "1", "sha256": `"` + fileHash + `"`,
	}
	order := []string{"location", "capturedAt", "contentType", "sizeBytes", "sha256"}
	for i := 0; i < len(members); i += 2 {
		if !slices.Contains(order, members[i]) {
			order = append(order, members[i])
		}
		values[members[i]] = members[i+1]
	}
	var parts []string
	for _, name := range order {
		if values[name] != "" {
			parts = append(parts, strconv.Quote(name)+":"+values[name])
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestDeclarationIsNormalized(t *testing.T) {
	t.Parallel()
	d, err := mission.NormalizeDeclaration([]byte(declared))
	if err != nil {
		t.Fatal(err)
	}
	want := mission.Declaration{
		Location:   sortie.Location{Lat: "52.520008", Lng: "0", AccuracyMeters: "4"},
		CapturedAt: time.Date(2026, 2, 2, 9, 0, 0, 123e6, time.UTC), ContentType: "image/jpeg", SizeBytes: 1 << 20, Hash: d.Hash,
	}
	if d != want || d.Hash.String() != "0x"+fileHash {
		t.Errorf("normalized declaration: got %+v\nwant %+v", d, want)
	}
}

func TestNormalizeDeclarationRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body string
		code sortie.Code
		want []string // faults
	}{
		"nothing":            {"", sortie.CodeInvalidJSON, nil},
		"a list":             {"[]", sortie.CodeInvalidJSON, nil},
		"empty":              {"{}", sortie.CodeValidationFailed, []string{"location required", "capturedAt required", "contentType required", "sizeBytes required", "sha256 required"}},
		"nulls":              {declaring("location", "null", "sha256", "null"), sortie.CodeValidationFailed, []string{"location required", "sha256 required"}},
		"twice":              {`{"sha256":1,"sha256":2}`, sortie.CodeInvalidJSON, nil},
		"in other case":      {declaring("SizeBytes", "1", "sizeBytes", ""), sortie.CodeInvalidJSON, nil},
		"long s":             {declaring("ſizeBytes", "1", "sizeBytes", ""), sortie.CodeInvalidJSON, nil},
		"trailing":           {declared + "{}", sortie.CodeInvalidJSON, nil},
		"bad UTF-8":          {declaring("x", "\"\xff\""), sortie.CodeInvalidJSON, nil},
		"too long":           {declaring("x", `"`+strings.Repeat("x", 4<<10)+`"`), sortie.CodePayloadTooLarge, nil},
		"unknown":            {declaring("device", `"phone"`), sortie.CodeValidationFailed, []string{"device unsupported"}},
		"unknown place":      {declaring("location", `{"lat":1,"lng":1,"accuracyMeters":1,"altitude":3}`), sortie.CodeValidationFailed, []string{"location.altitude unsupported"}},
		"odd name":           {declaring("\u202e", "1"), sortie.CodeValidationFailed, []string{`\u202e unsupported`}},
		"no place":           {declaring("location", "{}"), sortie.CodeValidationFailed, []string{"location.lat required", "location.lng required", "location.accuracyMeters required"}},
		"place is a list":    {declaring("location", "[1,2]"), sortie.CodeValidationFailed, []string{"location wrong_type"}},
		"outside the globe":  {declaring("location", `{"lat":90.0000001,"lng":-180.0000001,"accuracyMeters":100000.001}`), sortie.CodeValidationFailed, []string{"location.lat out_of_range", "location.lng out_of_range", "location.accuracyMeters out_of_range"}},
		"too accurate":       {declaring("location", `{"lat":0,"lng":0,"accuracyMeters":0}`), sortie.CodeValidationFailed, []string{"location.accuracyMeters out_of_range"}},
		"negative accuracy":  {declaring("location", `{"lat":0,"lng":0,"accuracyMeters":-5}`), sortie.CodeValidationFailed, []string{"location.accuracyMeters out_of_range"}},
		"huge exponent":      {declaring("location", `{"lat":1e999999999,"lng":-1e999999999,"accuracyMeters":1e-999999999}`), sortie.CodeValidationFailed, []string{"location.lat out_of_range", "location.lng out_of_range", "location.accuracyMeters out_of_range"}},
		"text for a number":  {declaring("location", `{"lat":"1","lng":1,"accuracyMeters":1}`), sortie.CodeValidationFailed, []string{"location.lat wrong_type"}},
		"no zone":            {declaring("capturedAt", `"2026-02-02T09:00:00"`), sortie.CodeValidationFailed, []string{"capturedAt invalid_format"}},
		"before 1970":        {declaring("capturedAt", `"1969-12-31T23:59:59Z"`), sortie.CodeValidationFailed, []string{"capturedAt out_of_range"}},
		"a page":             {declaring("contentType", `"text/html"`, "sizeBytes", "0"), sortie.CodeUnsupportedMediaType, []string{"contentType unsupported", "sizeBytes out_of_range"}},
		"a drawing":          {declaring("contentType", `"image/svg+xml"`), sortie.CodeUnsupportedMediaType, []string{"contentType unsupported"}},
		"with parameters":    {declaring("contentType", `"image/jpeg; x=y"`), sortie.CodeUnsupportedMediaType, []string{"contentType unsupported"}},
		"type is a number":   {declaring("contentType", "1"), sortie.CodeValidationFailed, []string{"contentType wrong_type"}},
		"an empty file":      {declaring("sizeBytes", "0"), sortie.CodeValidationFailed, []string{"sizeBytes out_of_range"}},
		"negative size":      {declaring("sizeBytes", "-1e30"), sortie.CodeValidationFailed, []string{"sizeBytes out_of_range"}},
		"half a byte":        {declaring("sizeBytes", "1.5"), sortie.CodeValidationFailed, []string{"sizeBytes not_an_integer"}},
		"a byte too large":   {declaring("sizeBytes", "536870913", "sha256", `""`), sortie.CodePayloadTooLarge, []string{"sizeBytes too_large", "sha256 invalid_format"}},
		"a half too large":   {declaring("sizeBytes", "536870912.5"), sortie.CodePayloadTooLarge, []string{"sizeBytes too_large"}},
		"much too large":     {declaring("sizeBytes", "1e999999999"), sortie.CodePayloadTooLarge, []string{"sizeBytes too_large"}},
		"a short hash":       {declaring("sha256", `"`+fileHash[1:]+`"`), sortie.CodeValidationFailed, []string{"sha256 invalid_format"}},
		"a long hash":        {declaring("sha256", `"`+fileHash+`00"`), sortie.CodeValidationFailed, []string{"sha256 invalid_format"}},
		"a hash without hex": {declaring("sha256", `"`+strings.Repeat("g", 64)+`"`), sortie.CodeValidationFailed, []string{"sha256 invalid_format"}},
		"a hash of a number": {declaring("sha256", "1"), sortie.CodeValidationFailed, []string{"sha256 wrong_type"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, err := mission.NormalizeDeclaration([]byte(c.body))
			if code := sortie.ErrorCode(err); code != c.code || !slices.Equal(faultsOf(err), c.want) {
				t.Fatalf("NormalizeDeclaration: got %+v, error %v with the faults %q; want code %s with %q", d, err, faultsOf(err), c.code, c.want)
			}
			checkRefusal(t, err)
			var coded *sortie.Error
			errors.As(err, &coded)
			if c.code == sortie.CodeUnsupportedMediaType && (!reflect.DeepEqual(coded.Details["allowed"], sortie.ContentTypes()) || !strings.Contains(coded.Message, "contentType")) ||
				c.code == sortie.CodePayloadTooLarge && c.want != nil && (coded.Details["maxBytes"] != sortie.MaxUploadBytes || !strings.Contains(coded.Message, "sizeBytes")) {
				t.Errorf("error %v: got details %v, want allowed or maxBytes, and the field in the message", err, coded.Details)
			}
		})
	}
}

func drawDeclaration(t *rapid.T) tree {
	return tree{
		"location": tree{
			"lat": rapid.SampledFrom(degrees).Draw(t, "lat"), "lng": rapid.SampledFrom(degrees).Draw(t, "lng"),
			"accuracyMeters": rapid.SampledFrom([]number{"0.01", "5", "99999.99", "100000", "12.5"}).Draw(t, "accuracy"),
		},
		"capturedAt":  rapid.SampledFrom([]string{"2026-02-02T09:00:00.000Z", "1970-01-01T00:00:00.001Z", "9999-12-31T23:59:59.999Z"}).Draw(t, "capturedAt"),
		"contentType": rapid.SampledFrom(sortie.ContentTypes()).Draw(t, "contentType"),
		"sizeBytes":   number(strconv.FormatInt(rapid.Int64Range(1, sortie.MaxUploadBytes).Draw(t, "sizeBytes"), 10)),
		"sha256":      rapid.StringMatching(`[0-9a-f]{64}`).Draw(t, "sha256"),
	}
}

// All spellings of a declaration must normalize to the same value, and different declarations to
// different ones.
func TestDeclarationSpellings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawDeclaration(t)
		first, err := mission.NormalizeDeclaration([]byte(spell(t, m)))
		if err != nil {
			t.Fatalf("valid declaration: got error %v with the faults %v, want none", err, faultsOf(err))
		}
		m["sha256"] = strings.ToUpper(m["sha256"].(string))
		m["contentType"] = strings.ToUpper(m["contentType"].(string))
		if again, err := mission.NormalizeDeclaration([]byte(spell(t, m))); err != nil || again != first || again.Fingerprint("m-1") != first.Fingerprint("m-1") {
			t.Fatalf("another spelling: got %+v, error %v; want %+v", again, err, first)
		}
		other, err := mission.NormalizeDeclaration([]byte(spell(t, drawDeclaration(t))))
		if err != nil || (other == first) != (other.Fingerprint("m-1") == first.Fingerprint("m-1")) {
			t.Fatalf("declarations %+v and %+v, error %v: want equal fingerprints if and only if they are equal", first, other, err)
		}
		if first.Fingerprint("m-1") == first.Fingerprint("m-2") {
			t.Fatal("the same declaration for two missions: got equal fingerprints, want different ones")
		}
		checkDeclaration(t, first)
	})
}

// checkDeclaration checks that a declaration normalizes to itself.
func checkDeclaration(t interface{ Fatalf(string, ...any) }, d mission.Declaration) {
	wire, err := json.Marshal(sortie.Declaration{
		Location: d.Location, CapturedAt: d.CapturedAt.Format(time.RFC3339Nano), ContentType: d.ContentType, SizeBytes: d.SizeBytes, SHA256: d.Hash.String()[2:],
	})
	if err != nil {
		t.Fatalf("encode %+v: %v", d, err)
	}
	if again, err := mission.NormalizeDeclaration(wire); err != nil || again != d {
		t.Fatalf("NormalizeDeclaration(%s): got %+v, error %v; want %+v", wire, again, err, d)
	}
}

func FuzzNormalizeDeclaration(f *testing.F) {
	f.Add([]byte(declared))
	f.Add([]byte(declaring("x", "1", "location", `{"lat":-90,"lng":180.0000000,"accuracyMeters":1e2,"y":[]}`)))
	f.Add([]byte(declaring("contentType", `"video\/quicktime"`, "sizeBytes", "5.36870912e8")))
	f.Add([]byte(declaring("capturedAt", `"2026-02-29T09:00:00Z"`, "sizeBytes", "536870913")))
	f.Fuzz(func(t *testing.T, body []byte) {
		d, err := mission.NormalizeDeclaration(body)
		if err != nil {
			checkRefusal(t, err)
			return
		}
		if d.SizeBytes < 1 || d.SizeBytes > sortie.MaxUploadBytes || !slices.Contains(sortie.ContentTypes(), d.ContentType) || d.CapturedAt.Location() != time.UTC {
			t.Fatalf("NormalizeDeclaration(%s): got %+v, want values within bounds", body, d)
		}
		checkDeclaration(t, d)
	})
}
