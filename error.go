package sortie

import (
	"errors"
	"fmt"
	"net/http"
)

// Code is a stable, machine-readable name of an error. Codes never change their meaning; new ones
// may be added.
type Code string

// The codes of the API.
const (
	CodeInvalidRequest         Code = "invalid_request"
	CodeInvalidJSON            Code = "invalid_json"
	CodeInvalidParameter       Code = "invalid_parameter"
	CodeInvalidCursor          Code = "invalid_cursor"
	CodeIdempotencyKeyRequired Code = "idempotency_key_required"
	CodeInvalidIdempotencyKey  Code = "invalid_idempotency_key"

	CodeMissingAuthHeaders  Code = "missing_auth_headers"
	CodeInvalidAuthHeaders  Code = "invalid_auth_headers"
	CodeTimestampOutOfRange Code = "timestamp_out_of_range"
	CodeInvalidSignature    Code = "invalid_signature"

	CodeCreatorMismatch  Code = "creator_mismatch"
	CodeWalletNotAllowed Code = "wallet_not_allowed"
	CodeMediaURLInvalid  Code = "media_url_invalid"
	CodeOwnSubmission    Code = "own_submission"

	CodeNotFound         Code = "not_found"
	CodeMethodNotAllowed Code = "method_not_allowed"

	CodeIdempotencyConflict   Code = "idempotency_conflict"
	CodeIdempotencyInProgress Code = "idempotency_in_progress"
	CodeMissionNotPublished   Code = "mission_not_published"
	CodeMissionFull           Code = "mission_full"
	CodeMissionClosed         Code = "mission_closed"
	CodeContributorLimit      Code = "contributor_limit"
	CodeWrongState            Code = "wrong_state"
	CodeSecondOperatorNeeded  Code = "second_operator_required"

	CodeMediaURLExpired      Code = "media_url_expired"
	CodePayloadTooLarge      Code = "payload_too_large"
	CodeUnsupportedMediaType Code = "unsupported_media_type"
	CodeRangeNotSatisfiable  Code = "range_not_satisfiable"

	CodeUnsupportedRewardToken Code = "unsupported_reward_token"
	CodeValidationFailed       Code = "validation_failed"

	CodeRateLimited Code = "rate_limited"

	CodeInternal                         Code = "internal_error"
	CodeSignatureVerificationUnavailable Code = "signature_verification_unavailable"
	CodeFundingQuoteUnavailable          Code = "funding_quote_unavailable"
	CodeServiceUnavailable               Code = "service_unavailable"
)

// httpStatus is the table of codes and HTTP statuses.
var httpStatus = map[Code]int{
	CodeInvalidRequest:         http.StatusBadRequest,
	CodeInvalidJSON:            http.StatusBadRequest,
	CodeInvalidParameter:       http.StatusBadRequest,
	CodeInvalidCursor:          http.StatusBadRequest,
	CodeIdempotencyKeyRequired: http.StatusBadRequest,
	CodeInvalidIdempotencyKey:  http.StatusBadRequest,

	CodeMissingAuthHeaders:  http.StatusUnauthorized,
	CodeInvalidAuthHeaders:  http.StatusUnauthorized,
	CodeTimestampOutOfRange: http.StatusUnauthorized,
	CodeInvalidSignature:    http.StatusUnauthorized,

	CodeCreatorMismatch:  http.StatusForbidden,
	CodeWalletNotAllowed: http.StatusForbidden,
	CodeMediaURLInvalid:  http.StatusForbidden,
	CodeOwnSubmission:    http.StatusForbidden,

	CodeNotFound:         http.StatusNotFound,
	CodeMethodNotAllowed: http.StatusMethodNotAllowed,

	CodeIdempotencyConflict:   http.StatusConflict,
	CodeIdempotencyInProgress: http.StatusConflict,
	CodeMissionNotPublished:   http.StatusConflict,
	CodeMissionFull:           http.StatusConflict,
	CodeMissionClosed:         http.StatusConflict,
	CodeContributorLimit:      http.StatusConflict,
	CodeWrongState:            http.StatusConflict,
	CodeSecondOperatorNeeded:  http.StatusConflict,

	CodeMediaURLExpired:      http.StatusGone,
	CodePayloadTooLarge:      http.StatusRequestEntityTooLarge,
	CodeUnsupportedMediaType: http.StatusUnsupportedMediaType,
	CodeRangeNotSatisfiable:  http.StatusRequestedRangeNotSatisfiable,

	CodeUnsupportedRewardToken: http.StatusUnprocessableEntity,
	CodeValidationFailed:       http.StatusUnprocessableEntity,

	CodeRateLimited: http.StatusTooManyRequests,

	CodeInternal:                         http.StatusInternalServerError,
	CodeSignatureVerificationUnavailable: http.StatusServiceUnavailable,
	CodeFundingQuoteUnavailable:          http.StatusServiceUnavailable,
	CodeServiceUnavailable:               http.StatusServiceUnavailable,
}

// HTTPStatus is the HTTP status of the code; 500 for an unknown code.
func (c Code) HTTPStatus() int {
	if status, known := httpStatus[c]; known {
		return status
	}
	return http.StatusInternalServerError
}

// Error is the error type of the API: the service answers with it and the client returns it.
type Error struct {
	Code      Code           `json:"code"`
	Message   string         `json:"message"` // for people: what is wrong and what to do
	Details   map[string]any `json:"details,omitempty"`
	RequestID string         `json:"requestId,omitempty"`

	cause error // for the log only; never sent
}

// NewError returns an error. The message says what is wrong and what to do.
func NewError(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Detail adds one machine-readable fact and returns the error.
func (e *Error) Detail(name string, value any) *Error {
	if e.Details == nil {
		e.Details = make(map[string]any, 1)
	}
	e.Details[name] = value
	return e
}

// Because records the cause, which is logged and never sent, and returns the error.
func (e *Error) Because(cause error) *Error {
	e.cause = cause
	return e
}

// Error implements error.
func (e *Error) Error() string {
	text := string(e.Code) + ": " + e.Message
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// ErrorCode is the code of the first [Error] in err's chain, [CodeInternal] for any other error,
// and empty for nil.
func ErrorCode(err error) Code {
	if err == nil {
		return ""
	}
	var coded *Error
	if errors.As(err, &coded) {
		return coded.Code
	}
	return CodeInternal
}
