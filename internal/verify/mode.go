package verify

import "errors"

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

// The modes that need nothing else. [ParseMode] makes the third, in which a verifier program is asked.
var (
	Curate = Mode{by: byPerson} // a person decides
	Auto   = Mode{by: byChecks} // passing the checks is enough
)

// ParseMode reads curate, auto, or http: followed by the URL of a verifier program.
func ParseMode(text string) (Mode, error) { return Mode{}, errors.ErrUnsupported }

// String says the mode without what may be secret in the verifier's URL.
func (m Mode) String() string { return "" }
