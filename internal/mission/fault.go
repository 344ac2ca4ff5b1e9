package mission

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/foreign"
)

// The codes of a field's fault. Clients match on them, so their meaning never changes.
const (
	faultRequired      = "required"
	faultWrongType     = "wrong_type"
	faultUnsupported   = "unsupported"       // not one of the values the service knows
	faultNotApplicable = "not_applicable"    // has no meaning with another field's value
	faultTooShort      = "too_short"         // characters
	faultTooLong       = "too_long"          // characters
	faultTooMany       = "too_many"          // elements or pairs
	faultTooLarge      = "too_large"         // a sum over several fields
	faultOutOfRange    = "out_of_range"      // numbers and times
	faultNotInteger    = "not_an_integer"    //
	faultTooPrecise    = "too_precise"       // decimals or digits that could not be kept
	faultFormat        = "invalid_format"    //
	faultCharacter     = "invalid_character" //
	faultBlank         = "blank"             // has no visible character
	faultMediaType     = "wrong_media_type"  // the mission asks for another media type
)

// faults collects everything that is wrong with a mission, so that its author can correct it at
// once.
type faults struct {
	listed []sortie.FieldError
	more   int // found but not listed
}

func (f *faults) add(path, code, format string, args ...any) {
	if len(f.listed) == sortie.MaxFieldErrors {
		f.more++
		return
	}
	f.listed = append(f.listed, sortie.FieldError{Path: path, Code: code, Message: fmt.Sprintf(format, args...)})
}

func (f *faults) none() bool { return len(f.listed) == 0 }

// problem returns the error that reports the faults under a code. Lead is the fault to show first.
func (f *faults) problem(code sortie.Code, lead string) *sortie.Error {
	if others := len(f.listed) + f.more - 1; others > 0 {
		lead += fmt.Sprintf(" (and %d more, see details.fields)", others)
	}
	return sortie.NewError(code, "The mission was not accepted: %s. Correct it and send the mission again.", lead).
		Detail("fields", f.listed)
}

// invalid returns the validation_failed error of a mission that has faults.
func (f *faults) invalid() *sortie.Error {
	return f.problem(sortie.CodeValidationFailed, f.listed[0].Path+" "+f.listed[0].Message)
}

func quoteShort(text string) string { return strconv.QuoteToASCII(foreign.Cut(text, foreign.MaxName)) }

func alternatives[T ~string](values []T) string {
	quoted := make([]string, len(values))
	for i, value := range values {
		quoted[i] = strconv.Quote(string(value))
	}
	return strings.Join(quoted, " or ")
}
