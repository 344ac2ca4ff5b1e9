package cli

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

func TestAPlaceWithoutANameEndsWithItsRadius(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{"": " within 100 m\n", "Gate": " within 100 m (Gate)\n"} {
		var shown bytes.Buffer
		table := newTable(&shown)
		showDefinition(table, sortie.NormalizedMission{TargetCount: 1, Location: &sortie.Area{Lat: "1", Lng: "2", RadiusMeters: "100", Label: label}})
		_ = table.Flush()
		if !strings.HasSuffix(shown.String(), want) || !strings.Contains(shown.String(), "1 submission (") {
			t.Errorf("%q, want %q at its end", shown.String(), want)
		}
	}
}

// What can no longer be taken back is not said to be.
func TestAnAcceptanceIsTakenBackOnlyWhileItCan(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) *string {
		text := sortie.FormatTime(time.Now().Add(d))
		return &text
	}
	later := at(time.Hour)
	for want, final := range map[string]*string{
		"It can be taken back until " + *later + "; then its receipt is signed": later,
		"That is final; its receipt is signed":                                  at(-time.Second),
		"When that is final, its receipt is signed":                             nil,
	} {
		accepted := sortie.ReviewedSubmission{Submission: sortie.Submission{Status: sortie.SubmissionCurationAccepted}, FinalAt: final}
		if got := outlook(accepted); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWhoLookedWithoutAWalletIsToldOfOne(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		defaultURL: " --wallet contributor1", "http://localhost:1": " --wallet contributor1", "http://[::1]:1": " --wallet contributor1",
		"https://api.example.com": " --keystore FILE",
	} {
		if got := contributorFlag(url); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}

// A newcomer has the README in one window and what `sortie dev` prints in the other: they must tell
// the same story.
func TestTheGreetingIsInTheOrderOfTheReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var greeting bytes.Buffer
	ReadyFile{BaseURL: defaultURL}.Greet(&greeting, defaultTrust)
	suggested := regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(program())+` (.*)$`).FindAllStringSubmatch(greeting.String(), -1)
	if len(suggested) < 7 {
		t.Fatalf("it suggests %q", suggested)
	}
	spaces := regexp.MustCompile(` +`)
	rest := spaces.ReplaceAllString(string(readme), " ")
	for _, match := range suggested {
		words := strings.Fields(match[1])
		command := "bin/sortie " + strings.Join(words[:min(len(words), 3)], " ")
		at := strings.Index(rest, command)
		if at < 0 {
			t.Fatalf("the README has no %q behind the ones before", command)
		}
		rest = rest[at:]
	}
}
