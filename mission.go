package sortie

import "encoding/json"

// MediaType is what contributors submit.
type MediaType string

// The media types.
const (
	MediaPhoto MediaType = "photo"
	MediaVideo MediaType = "video"
)

// Reward is what one accepted submission is paid.
type Reward struct {
	Token  Token       `json:"token"`
	Amount json.Number `json:"amount"` // whole tokens; text, so that it is never rounded
}

// VerificationRules tell operators and verifiers what to accept and what to reject.
type VerificationRules struct {
	Accept []string `json:"accept"`
	Reject []string `json:"reject"`
}

// Area is where a submission must be made.
type Area struct {
	Lat               json.Number `json:"lat"`
	Lng               json.Number `json:"lng"`
	RadiusMeters      json.Number `json:"radiusMeters,omitempty"`
	MaxAccuracyMeters json.Number `json:"maxAccuracyMeters,omitempty"`
	Label             string      `json:"label"`
}

// VideoBounds limit the length of submitted videos.
type VideoBounds struct {
	MinDurationMs int64 `json:"minDurationMs,omitempty"`
	MaxDurationMs int64 `json:"maxDurationMs,omitempty"`
}

// Mission is a mission definition as a creator writes it. Title, Reward and TargetCount are
// required; for everything else the zero value means the service's documented default.
type Mission struct {
	Title                        string             `json:"title"`
	Description                  string             `json:"description,omitempty"`
	MediaType                    MediaType          `json:"mediaType,omitempty"`
	Reward                       Reward             `json:"reward"`
	TargetCount                  int                `json:"targetCount"`
	MaxSubmissionsPerContributor int                `json:"maxSubmissionsPerContributor,omitempty"`
	Verification                 *VerificationRules `json:"verification,omitempty"`
	Location                     *Area              `json:"location,omitempty"`
	Video                        *VideoBounds       `json:"video,omitempty"`
	StartsAt                     string             `json:"startsAt,omitempty"` // RFC 3339 with a zone
	EndsAt                       string             `json:"endsAt,omitempty"`
	Tags                         []string           `json:"tags,omitempty"`
	ExternalReference            string             `json:"externalReference,omitempty"`
	Metadata                     map[string]string  `json:"metadata,omitempty"`
}

// NormalizedMission is the mission as the service understood it: defaults filled in, text trimmed,
// numbers in their shortest form. Two inputs with the same normalized mission are the same mission.
type NormalizedMission struct {
	Title                        string                     `json:"title"`
	Description                  string                     `json:"description"`
	MediaType                    MediaType                  `json:"mediaType"`
	Reward                       Reward                     `json:"reward"`
	TargetCount                  int                        `json:"targetCount"`
	MaxSubmissionsPerContributor int                        `json:"maxSubmissionsPerContributor"`
	Verification                 VerificationRules          `json:"verification"`
	Location                     *Area                      `json:"location"` // nil: anywhere
	Video                        *VideoBounds               `json:"video"`    // nil unless MediaType is video
	StartsAt                     *string                    `json:"startsAt"` // nil: from publication
	EndsAt                       *string                    `json:"endsAt"`   // nil: 30 days after publication
	Tags                         []string                   `json:"tags"`
	ExternalReference            *string                    `json:"externalReference"`
	Metadata                     map[string]string          `json:"metadata"`
	Extra                        map[string]json.RawMessage `json:"extra"` // unknown members, unchanged
}
