package api

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

func TestReasonsAreRead(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		``:                              "",
		`{}`:                            "",
		`{"reason":null}`:               "",
		`{"reason":"It is not there."}`: "It is not there.",
		" {\"reason\" : \" x \\n\"}\n":  " x \n",
		`{"r\u0065ason":"\u00d6de \ud83d\ude00"}`: "Öde 😀",
	} {
		if got, err := decodeReason([]byte(body)); err != nil || got != want {
			t.Errorf("%s: %q %v, want %q", body, got, err, want)
		}
	}
}

// fault returns the path and code of an invalid field, or the error code of any other error.
func fault(err error) string {
	var coded *sortie.Error
	if !errors.As(err, &coded) {
		return fmt.Sprint(err)
	}
	if fields, ok := coded.Details["fields"].([]sortie.FieldError); ok && coded.Code == sortie.CodeValidationFailed && len(fields) == 1 {
		return fields[0].Path + " " + fields[0].Code
	}
	return string(coded.Code)
}

func TestReasonsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		` `:                                     "invalid_json",
		`null`:                                  "invalid_json",
		`"reason"`:                              "invalid_json",
		`[{"reason":"x"}]`:                      "invalid_json",
		`{"reason":"x"`:                         "invalid_json",
		`{"reason":"x"}}`:                       "invalid_json",
		`{"reason":"x"}{"reason":"y"}`:          "invalid_json",
		`{"reason":"x","reason":"y"}`:           "invalid_json",
		`{"reason":"x","r\u0065ason":""}`:       "invalid_json",
		"{\"reason\":\"\xff\"}":                 "invalid_json",
		`{"reason":"\ud800"}`:                   "invalid_json",
		"\ufeff" + `{"reason":"x"}`:             "invalid_json",
		`{"reason":5}`:                          "reason wrong_type",
		`{"reason":["x"]}`:                      "reason wrong_type",
		`{"reason":{"text":"x"}}`:               "reason wrong_type",
		`{"Reason":"x"}`:                        "Reason unsupported",
		`{"reason":"x","note":"y"}`:             "note unsupported",
		`{"` + strings.Repeat("入", 70) + `":1}`: strings.Repeat("入", 57) + "... unsupported",
	} {
		if _, err := decodeReason([]byte(body)); fault(err) != want {
			t.Errorf("%s: %q, want %q", body, fault(err), want)
		}
	}
}

func TestFundingHints(t *testing.T) {
	t.Parallel()
	hash := "0x" + strings.Repeat("aB", 32)
	for body, want := range map[string]string{
		``:                                   "<nil>",
		`{}`:                                 "<nil>",
		`{"transactionHash":null}`:           "<nil>",
		`{"transactionHash":"` + hash + `"}`: "<nil>",
		` `:                                  "invalid_json",
		`null`:                               "invalid_json",
		`"` + hash + `"`:                     "invalid_json",
		`{"transactionHash":"` + hash + `","transactionHash":"` + hash + `"}`: "invalid_json",
		`{"transactionHash":""}`:                                   "transactionHash invalid_format",
		`{"transactionHash":"` + hash[2:] + `"}`:                   "transactionHash invalid_format",
		`{"transactionHash":"` + hash + `0"}`:                      "transactionHash invalid_format",
		`{"transactionHash":"0x` + strings.Repeat("zz", 32) + `"}`: "transactionHash invalid_format",
		`{"transactionHash":5}`:                                    "transactionHash wrong_type",
		`{"transaction_hash":"` + hash + `"}`:                      "transaction_hash unsupported",
		`{"transactionHash":"` + hash + `","blockNumber":5}`:       "blockNumber unsupported",
	} {
		if got := fault(checkFundingHint([]byte(body))); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}
