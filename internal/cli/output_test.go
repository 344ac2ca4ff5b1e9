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

func TestALocationIsShownWithItsRadius(t *testing.T) {
	t.Parallel()
	for label, want := range map[string]string{"": " within 100 m\n", "Gate": " within 100 m (Gate)\n"} {
		var shown bytes.Buffer
		table := newTable(&shown)
		showDefinition(table, sortie.NormalizedMission{TargetCount: 1, Location: &sortie.Area{Lat: "1", Lng: "2", RadiusMeters: "100", Label: label}})
		_ = table.Flush()
		if !strings.HasSuffix(shown.String(), want) || !strings.Contains(shown.String(), "1 submission (") {
			t.Errorf("location with label %q: got %q, want %q at its end", label, shown.String(), want)
		}
	}
}

// A final acceptance is not shown as revocable.
func TestAFinalAcceptanceIsNotRevocable(t *testing.T) {
	t.Parallel()
	at := func(d time.Duration) *string {
		text := sortie.FormatTime(time.Now().Add(d))
		return &text
	}
	later := at(time.Hour)
	for want, final := range map[string]*string{
		"It can be revoked until " + *later + "; then its receipt is signed": later,
		"The acceptance is final; its receipt is signed":                     at(-time.Second),
		"When the acceptance is final, its receipt is signed":                nil,
	} {
		accepted := sortie.ReviewedSubmission{Submission: sortie.Submission{Status: sortie.SubmissionCurationAccepted}, FinalAt: final}
		if got := formatNextStep(accepted); !strings.HasPrefix(got, want) {
			t.Errorf("next step: got %q, want %q", got, want)
		}
	}
}

func TestTheSuggestedWalletFitsTheService(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		defaultURL: " --wallet contributor1", "http://localhost:1": " --wallet contributor1", "http://[::1]:1": " --wallet contributor1",
		"https://api.example.com": " --keystore FILE",
	} {
		if got := walletFlag(url); got != want {
			t.Errorf("wallet flag for %s: got %q, want %q", url, got, want)
		}
	}
}

// The greeting of `sortie dev` and the README suggest the same commands in the same order.
func TestTheGreetingFollowsTheReadme(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var greeting bytes.Buffer
	ReadyFile{BaseURL: defaultURL}.Greet(&greeting, defaultTrust)
	suggested := regexp.MustCompile(`(?m)^  `+regexp.QuoteMeta(programName())+` (.*)$`).FindAllStringSubmatch(greeting.String(), -1)
	if len(suggested) < 7 {
		t.Fatalf("suggested commands: got %q, want 7 or more", suggested)
	}
	spaces := regexp.MustCompile(` +`)
	rest := spaces.ReplaceAllString(string(readme), " ")
	for _, match := range suggested {
		words := strings.Fields(match[1])
		command := "bin/sortie " + strings.Join(words[:min(len(words), 3)], " ")
		at := strings.Index(rest, command)
		if at < 0 {
			t.Fatalf("README: got no %q after the commands before it, want it there", command)
		}
		rest = rest[at:]
	}
}
