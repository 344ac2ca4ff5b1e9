package api

import (
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
)

// maxSmallBody is more than the longest reason needs, every character of it escaped, and far below
// what costs anything.
const maxSmallBody = 16 << 10

// The codes of faults in these bodies. They mean what they mean in a mission's fields.
const (
	faultWrongType   = "wrong_type"
	faultUnsupported = "unsupported"
	faultFormat      = "invalid_format"
)

// readReason reads {"reason": "..."} or nothing. Whether there must be one, and what it may hold,
// the use cases decide.
func readReason(body []byte) (string, error) {
	var given sortie.DecisionRequest
	if len(body) == 0 {
		return "", nil
	}
	err := decodeBody(body, &given)
	return given.Reason, err
}

// readFundingHint reads {"transactionHash": "0x..."} or nothing. The hash is held to its form and
// is no more than a hint: funding is found by the factory's event, whatever a client says.
func readFundingHint(body []byte) error {
	if len(body) == 0 {
		return nil
	}
	var given struct {
		TransactionHash *string `json:"transactionHash"`
	}
	if err := decodeBody(body, &given); err != nil {
		return err
	}
	if given.TransactionHash == nil {
		return nil
	}
	if _, err := sortie.ParseHash(*given.TransactionHash); err != nil {
		return errFault("transactionHash", faultFormat, "must be 0x and 64 hex digits")
	}
	return nil
}

// decodeBody reads one JSON object whose members are all known, strictly: what two parsers could
// read in different ways is not read at all.
func decodeBody(body []byte, target any) error {
	if jsontext.Value(body).Kind() != jsontext.KindBeginObject {
		return errInvalidJSON()
	}
	err := json.Unmarshal(body, target, json.RejectUnknownMembers(true))
	var wrong *json.SemanticError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &wrong):
		return errInvalidJSON().Because(err)
	case errors.Is(err, json.ErrUnknownName):
		return errFault(wrong.JSONPointer.LastToken(), faultUnsupported, "is not a member that this request takes")
	default:
		return errFault(wrong.JSONPointer.LastToken(), faultWrongType, "must be a string")
	}
}

func errInvalidJSON() *sortie.Error {
	return sortie.NewError(sortie.CodeInvalidJSON, "the body is not one strict JSON object in UTF-8; correct it and sign the new body")
}

// errFault is the error of a body with one fault, in the form of a mission's faults.
func errFault(path, code, message string) error {
	const longest = 60 // the name came from outside
	if len(path) > longest {
		path = strings.ToValidUTF8(path[:longest], "") + "..."
	}
	return sortie.NewError(sortie.CodeValidationFailed, "%s %s", path, message).
		Detail("fields", []sortie.FieldError{{Path: path, Code: code, Message: message}})
}
