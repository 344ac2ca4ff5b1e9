package mission

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
)

// Normalized is a valid mission in normalized form: equal for all spellings of the same mission.
// Only [Normalize] and [Restore] make one. It must not be changed: copies share its lists and maps.
type Normalized struct {
	mission sortie.NormalizedMission
}

// Normalize reads a mission definition sent by creator, the wallet that signed the request.
//
// The error is a [*sortie.Error] with, in this order of precedence, payload_too_large,
// invalid_json, creator_mismatch, unsupported_reward_token (with details.allowed and
// details.fields) or validation_failed (with details.fields).
func Normalize(body []byte, creator sortie.Address) (Normalized, error) {
	if len(body) > MaxBodyBytes {
		return Normalized{}, sortie.NewError(sortie.CodePayloadTooLarge,
			"The mission has %d bytes, at most %d are allowed. Shorten it and sign the new body.", len(body), MaxBodyBytes)
	}
	parsed, err := parseDocument(body)
	if err != nil {
		return Normalized{}, err
	}
	if parsed[0].kind != jsontext.KindBeginObject {
		return Normalized{}, invalidJSON(errNotAnObject)
	}
	r := rules{document: parsed}
	r.mission.Extra = map[string]json.RawMessage{}
	r.read()
	if err := r.verdict(creator); err != nil {
		return Normalized{}, err
	}
	return Normalized{mission: r.mission}, nil
}

// verdict returns the error to report, or nil.
func (r *rules) verdict(creator sortie.Address) error {
	if r.variant != nil {
		return invalidJSON(r.variant)
	}
	if err := r.checkCreator(creator); err != nil {
		return err
	}
	switch {
	case r.badToken:
		return r.problem(sortie.CodeUnsupportedRewardToken, "reward.token must be exactly "+alternatives(sortie.Tokens())).
			Detail("allowed", sortie.Tokens())
	case !r.none():
		return r.invalid()
	}
	return nil
}

func (r *rules) checkCreator(signer sortie.Address) error {
	if r.creator.absent() {
		return nil
	}
	mismatch := sortie.NewError(sortie.CodeCreatorMismatch,
		"The member creator is not the wallet that signed the request, %s. Leave it out, or sign with that wallet.", signer)
	if r.creator.value.kind != jsontext.KindString {
		return mismatch
	}
	named, err := sortie.ParseAddress(unquote(r.creator.value.text))
	if err != nil {
		return mismatch.Because(err)
	}
	if named != signer {
		return mismatch
	}
	return nil
}

// Mission returns the mission as the API shows it. It must not be changed.
func (n Normalized) Mission() sortie.NormalizedMission { return n.mission }

// Restore reads back what [Normalized.AppendJSON] wrote. It does not apply the rules again: an
// accepted mission stays valid when the rules change.
func Restore(stored []byte) (Normalized, error) {
	var n Normalized
	if err := json.Unmarshal(stored, &n.mission); err != nil {
		return Normalized{}, fmt.Errorf("restore a stored mission: %w", err)
	}
	return n, nil
}
