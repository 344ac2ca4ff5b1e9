package api

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/foreign"
)

// maxSmallBody fits the longest reason with every character escaped.
const maxSmallBody = 16 << 10

// The codes of invalid fields, as in a mission.
const (
	fieldWrongType   = "wrong_type"
	fieldUnsupported = "unsupported"
	fieldFormat      = "invalid_format"
)

// decodeReason decodes {"reason": "..."} or an empty body. The use cases decide whether a reason is
// required and what it may contain.
func decodeReason(body []byte) (string, error) {
	var given sortie.DecisionRequest
	if len(body) == 0 {
		return "", nil
	}
	err := decodeBody(body, &given)
	return given.Reason, err
}

// checkFundingHint checks {"transactionHash": "0x..."} or an empty body. The hash must be
// well-formed, but is not used: the factory's event proves a funding.
func checkFundingHint(body []byte) error {
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
		return errInvalidField("transactionHash", fieldFormat, "must be 0x and 64 hex digits")
	}
	return nil
}

// decodeBody decodes one JSON object. It is strict: unknown or repeated members and invalid UTF-8
// are errors, because two parsers could read them differently.
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
		return errInvalidField(wrong.JSONPointer.LastToken(), fieldUnsupported, "is not a member of this request")
	default:
		return errInvalidField(wrong.JSONPointer.LastToken(), fieldWrongType, "must be a string")
	}
}

func errInvalidJSON() *sortie.Error {
	return sortie.NewError(sortie.CodeInvalidJSON, "the body is not one strict JSON object in UTF-8; correct it and sign the new body")
}

// errInvalidField is the error of a body with one invalid field, in the form of a mission's errors.
func errInvalidField(path, code, message string) error {
	path = foreign.Cut(path, foreign.MaxName) // the client chooses the name
	return sortie.NewError(sortie.CodeValidationFailed, "%s %s", path, message).
		Detail("fields", []sortie.FieldError{{Path: path, Code: code, Message: message}})
}
