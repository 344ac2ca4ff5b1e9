package verify

import (
	"errors"
	"net/url"
	"strings"
)

// Mode is who decides about a submission that passed all checks. The zero value is [Curate].
type Mode struct {
	by  decider
	url string // of the verifier program
}

type decider byte

const (
	byPerson decider = iota
	byChecks
	byProgram
)

// The modes that need nothing else. [ParseMode] makes the third, in which a verifier program is
// asked.
var (
	Curate = Mode{by: byPerson} // a person decides
	Auto   = Mode{by: byChecks} // passing the checks is enough
)

// The value is not in the error: a verifier's URL may hold a password.
var errMode = errors.New("must be curate, auto, or http: followed by the URL of a verifier, as in http:https://verifier.example/check")

// ParseMode reads curate, auto, or http: followed by the http or https URL of a verifier program,
// or that URL alone.
func ParseMode(text string) (Mode, error) {
	switch text {
	case "curate":
		return Curate, nil
	case "auto":
		return Auto, nil
	}
	address, found := strings.CutPrefix(text, "http:")
	if strings.HasPrefix(address, "//") || strings.HasPrefix(text, "https://") { // the URL alone says enough
		address, found = text, true
	}
	parsed, err := url.Parse(address)
	if !found || err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" || strings.Contains(address, "#") {
		return Mode{}, errMode
	}
	return Mode{by: byProgram, url: address}, nil
}

// String returns the mode, and only the host of the verifier's URL: the rest may be secret.
func (m Mode) String() string {
	switch m.by {
	case byChecks:
		return "auto"
	case byProgram:
		return "http:" + m.host()
	}
	return "curate"
}

func (m Mode) host() string {
	parsed, err := url.Parse(m.url)
	if err != nil {
		return "" // not of a mode that was parsed
	}
	return parsed.Scheme + "://" + parsed.Host
}
