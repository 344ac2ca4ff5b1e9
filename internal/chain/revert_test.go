package chain

import "testing"

// answered is an error of a node. Such errors always have data, which may be empty.
type answered struct {
	code int
	text string
	data any
}

func (a answered) Error() string  { return a.text }
func (a answered) ErrorCode() int { return a.code }
func (a answered) ErrorData() any { return a.data }

// Only a revert, or too much gas, makes a settlement smaller. Other errors of a node decide
// nothing.
func TestWhatARefusalMeans(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		answered
		known  bool
		reason string
	}{
		"too much gas":      {answered{-32000, "gas required exceeds allowance (30000000)", nil}, true, "it takes too much gas"},
		"all gas burnt":     {answered{-32000, "Out of gas: the call used it up", nil}, true, "it takes too much gas"},
		"a revert":          {answered{3, "execution reverted", "0x"}, true, "the contract refuses it without a reason"},
		"an unknown error":  {answered{3, "execution reverted", "0xdeadbeef"}, true, "it is refused with the error 0xdeadbeef"},
		"a busy node":       {answered{-32005, "limit exceeded", nil}, false, ""},
		"a node without it": {answered{-32000, "header not found", nil}, false, ""},
	} {
		trial, known := judgeRefusal(one.answered)
		if known != one.known || known && (trial.Verdict != TooLarge || trial.Reason != one.reason) {
			t.Errorf("%s: %+v, known %t; want %t, %q", name, trial, known, one.known, one.reason)
		}
	}
}
