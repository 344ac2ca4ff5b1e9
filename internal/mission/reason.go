package mission

import "github.com/sortie-labs/sortie"

const maxReason = 1000

// NormalizeReason returns the normalized form of an operator's reason: text of several lines under
// the rules of a description, of up to 1000 characters. A required reason must have a visible
// character.
//
// The error is a [*sortie.Error] of code validation_failed with details.fields.
func NormalizeReason(text string, required bool) (string, error) {
	low := 0
	if required {
		low = 1
	}
	reason := normalizeBlock(text)
	code, message := textFault(reason, low, maxReason)
	if code == "" {
		return reason, nil
	}
	return "", sortie.NewError(sortie.CodeValidationFailed, "The reason was not accepted: it %s. Correct it and decide again.", message).
		Detail("fields", []sortie.FieldError{{Path: "reason", Code: code, Message: message}})
}
