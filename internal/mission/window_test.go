package mission_test

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

var now = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

func at(offset time.Duration) string {
	return now.Add(offset).Format(`"2006-01-02T15:04:05.000Z07:00"`)
}

const day = 24 * time.Hour

func TestCheckTimes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ starts, ends, fault string }{
		"neither":                 {"null", "null", ""},
		"end in an hour":          {"null", at(time.Hour), ""},
		"end a moment too soon":   {"null", at(time.Hour - time.Millisecond), "endsAt out_of_range"},
		"end in 90 days":          {"null", at(90 * day), ""},
		"end a moment too late":   {"null", at(90*day + time.Millisecond), "endsAt out_of_range"},
		"end past":                {"null", at(-day), "endsAt out_of_range"},
		"both past":               {at(-2 * day), at(-day), "endsAt out_of_range"},
		"start past":              {at(-day), at(day), ""},
		"start past, no end":      {at(-day), "null", ""},
		"start soon, no end":      {at(30*day - time.Millisecond), "null", ""},
		"start after implied end": {at(30 * day), "null", "startsAt out_of_range"},
		"start late, with end":    {at(60 * day), at(61 * day), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := mustNormalize(t, with("startsAt", c.starts, "endsAt", c.ends)).CheckTimes(now)
			if got := strings.Join(faultsOf(err), ";"); got != c.fault {
				t.Errorf("got faults %q, want %q", got, c.fault)
			}
			if err != nil {
				wantCode(t, err, sortie.CodeValidationFailed)
			}
		})
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		starts, ends string
		start, end   time.Time
	}{
		"neither":     {"null", "null", now, now.Add(30 * day)},
		"both":        {at(day), at(2 * day), now.Add(day), now.Add(2 * day)},
		"start past":  {at(-day), at(2 * day), now, now.Add(2 * day)},
		"start alone": {at(day), "null", now.Add(day), now.Add(30 * day)},
	} {
		start, end := mustNormalize(t, with("startsAt", c.starts, "endsAt", c.ends)).Window(now)
		if !start.Equal(c.start) || !end.Equal(c.end) {
			t.Errorf("window of %s: got %s to %s, want %s to %s", name, start, end, c.start, c.end)
		}
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	n := mustNormalize(t, with("reward", `{"token":"SERVICE_TOKEN","amount":0.300001}`, "targetCount", "7"))
	terms, err := n.Terms(18)
	if err != nil {
		t.Fatal(err)
	}
	want := sortie.Budget{Token: sortie.TokenService, Amount: "2.100007", BaseUnits: "2100007000000000000"}
	if terms.Total() != want || terms.Reward.String() != "300001000000000000" || terms.TargetCount != 7 {
		t.Errorf("got terms %+v, total %+v; want total %+v", terms, terms.Total(), want)
	}
	for _, decimals := range []int{2, 5, 40} {
		_, err := n.Terms(decimals)
		wantCode(t, err, sortie.CodeValidationFailed)
		if got := faultsOf(err); !slices.Equal(got, []string{"reward.amount too_precise"}) {
			t.Errorf("terms with %d decimals: got faults %q, want reward.amount too_precise", decimals, got)
		}
	}
}

// No unit of money appears or disappears between the creator's text and the chain.
func TestTermsAreExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		micro := rapid.Int64Range(10_000, 1_000_000_000_000).Draw(t, "micro")
		count := rapid.Int64Range(1, min(10_000, 10_000_000_000_000/micro)).Draw(t, "count")
		text := fmt.Sprintf("%d.%06d", micro/1_000_000, micro%1_000_000)
		n, err := mission.Normalize([]byte(with("reward", `{"token":"USDC","amount":`+text+`}`, "targetCount", fmt.Sprint(count))), creator)
		if err != nil {
			t.Fatal(err)
		}
		for _, decimals := range []int{6, 18} {
			terms, err := n.Terms(decimals)
			if err != nil {
				t.Fatal(err)
			}
			scale := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(decimals-6)), nil)
			reward := new(big.Int).Mul(big.NewInt(micro), scale)
			if budget := new(big.Int).Mul(reward, big.NewInt(count)); terms.Reward.Cmp(reward) != 0 || terms.Budget.Cmp(budget) != 0 {
				t.Fatalf("terms of %s x %d: got %+v, want the exact product", text, count, terms)
			}
			back, err := sortie.ParseUnits(terms.Total().Amount, decimals)
			if err != nil || back.Cmp(terms.Budget) != 0 {
				t.Fatalf("total: got %s, want %s base units", terms.Total().Amount, terms.Budget)
			}
		}
	})
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	good := []string{"description", `"x"`, "verification", `{"accept":["x"]}`}
	for name, c := range map[string]struct {
		members []string
		want    []string // a word of each warning
	}{
		"none":               {nil, nil},
		"no description":     {[]string{"description", `""`}, []string{"description"}},
		"no rules":           {[]string{"verification", `{"reject":["x"]}`}, []string{"verification.accept"}},
		"small reward":       {[]string{"reward", `{"token":"USDC","amount":0.099999}`}, []string{"very small"}},
		"reward just enough": {[]string{"reward", `{"token":"USDC","amount":0.1}`}, nil},
		"one contributor":    {[]string{"maxSubmissionsPerContributor", "4"}, []string{"one person"}},
		"one submission":     {[]string{"targetCount", "1"}, nil},
		"radius":             {[]string{"location", `{"lat":1,"lng":1,"radiusMeters":49.9}`}, []string{"radiusMeters"}},
		"nowhere":            {[]string{"location", `{"lat":0,"lng":0}`}, []string{"Atlantic"}},
		"place":              {[]string{"location", `{"lat":1,"lng":1}`}, nil},
		"ends soon":          {[]string{"endsAt", at(day - time.Second)}, []string{"less than a day"}},
		"ends later":         {[]string{"endsAt", at(day)}, nil},
		"short":              {[]string{"startsAt", at(5 * day), "endsAt", at(5*day + time.Hour)}, []string{"less than a day"}},
		"no end":             {[]string{"startsAt", at(5 * day)}, []string{"30 days after publication"}},
		"unknown":            {[]string{"starts_at", "1"}, []string{`"starts_at"`}},
		"many unknown":       {[]string{"a1", "1", "a2", "1", "a3", "1", "a4", "1", "a5", "1", "a6", "1"}, []string{"and 1 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := mustNormalize(t, with(append(slices.Clone(good), c.members...)...)).Warnings(now)
			if got == nil || len(got) != len(c.want) {
				t.Fatalf("got warnings %q, want %q", got, c.want)
			}
			for i, word := range c.want {
				if !strings.Contains(got[i], word) {
					t.Errorf("warning: got %q, want %q in it", got[i], word)
				}
			}
		})
	}
}

// A mission is published early enough that its submissions are decided about and paid before its
// creator may reclaim the money.
func TestPublishBy(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	reclaim := time.Date(2026, 8, 1, 12, 0, 0, 0, time.UTC)
	at := func(before time.Duration) *time.Time { t := reclaim.Add(-before); return &t }
	never := time.Unix(0, 0).UTC()
	for name, c := range map[string]struct {
		ends *time.Time
		want time.Time
	}{
		"without an end of its own":              {nil, reclaim.Add(-(30 + 74) * day)},
		"an end long before the reclaim":         {at(150 * day), *at(150 * day)},
		"an end that just fits":                  {at(74 * day), *at(74 * day)},
		"an end a millisecond too close":         {at(74*day - time.Millisecond), never},
		"an end after the creator could reclaim": {at(-day), never},
	} {
		if got := mission.PublishBy(c.ends, uint64(reclaim.Unix())); !got.Equal(c.want) {
			t.Errorf("PublishBy of %s: got %s, want %s", name, got, c.want)
		}
	}
	if got := mission.PublishBy(nil, 1<<63+5); got.Before(reclaim) || got.UnixMicro() < 0 {
		t.Errorf("PublishBy with the largest reclaim time: got %s, want a time far ahead", got)
	}
}
