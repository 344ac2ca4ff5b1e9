package sortie

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"time"
)

// Quote is what a creator needs to fund a mission: the terms, the authorization and the calldata to
// send to FactoryAddress. Check it with [VerifyQuote] before funding.
type Quote struct {
	ChainID                      uint64             `json:"chainId"`
	FactoryAddress               Address            `json:"factoryAddress"`
	TokenAddress                 Address            `json:"tokenAddress"`
	RewardPerSubmissionBaseUnits string             `json:"rewardPerSubmissionBaseUnits"`
	TargetCount                  uint64             `json:"targetCount"`
	TotalBudgetBaseUnits         string             `json:"totalBudgetBaseUnits"`
	FunctionName                 string             `json:"functionName"`
	Authorization                QuoteAuthorization `json:"authorization"`
	Calldata                     Bytes              `json:"calldata"`
}

// QuoteAuthorization is the authorizer's part of a quote.
type QuoteAuthorization struct {
	Signer    Address `json:"signer"`
	Creator   Address `json:"creator"`
	Nonce     Hash    `json:"nonce"`
	Deadline  uint64  `json:"deadline"`  // Unix seconds
	ExpiresAt string  `json:"expiresAt"` // the deadline as FormatTime writes it
	Signature Bytes   `json:"signature"`
}

// NewQuote returns the quote for a signed authorization.
func NewQuote(domain Domain, authorization MissionAuthorization, signer Address, signature []byte) Quote {
	return Quote{
		ChainID:                      domain.ChainID,
		FactoryAddress:               domain.Factory,
		TokenAddress:                 authorization.Token,
		RewardPerSubmissionBaseUnits: authorization.RewardPerSubmission.String(),
		TargetCount:                  authorization.TargetCount,
		TotalBudgetBaseUnits:         authorization.TotalBudget().String(),
		FunctionName:                 FunctionCreateMission,
		Authorization: QuoteAuthorization{
			Signer:    signer,
			Creator:   authorization.Creator,
			Nonce:     authorization.Nonce,
			Deadline:  authorization.Deadline,
			ExpiresAt: formatDeadline(authorization.Deadline),
			Signature: signature,
		},
		Calldata: authorization.Calldata(signature),
	}
}

// FormatTime writes a time as the API does: ISO 8601 in UTC with milliseconds.
func FormatTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func formatDeadline(deadline uint64) string { return FormatTime(time.Unix(int64(deadline), 0)) }

// UnmarshalJSON decodes a quote strictly, so that two JSON parsers cannot read it differently:
// every member once, no unknown member, numbers and hex in canonical form.
func (q *Quote) UnmarshalJSON(data []byte) error {
	type wire Quote // without this method
	var decoded wire
	if err := json.Unmarshal(data, &decoded); err != nil {
		return fmt.Errorf("funding quote: %w", err)
	}
	given, err := flatten(data)
	if err != nil {
		return fmt.Errorf("funding quote: %w", err)
	}
	canonical, err := json.Marshal(decoded)
	if err != nil {
		return fmt.Errorf("funding quote: %w", err)
	}
	want, err := flatten(canonical)
	if err != nil {
		return fmt.Errorf("funding quote: %w", err)
	}
	if !maps.Equal(given, want) {
		for name, value := range want {
			if given[name] != value {
				return fmt.Errorf("funding quote: member %s is missing or not in its canonical form", name)
			}
		}
		return errors.New("funding quote: unknown members")
	}
	*q = Quote(decoded)
	return nil
}

// flatten returns the scalars of nested JSON objects by path. It refuses arrays and repeated names.
func flatten(data []byte) (map[string]json.Token, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	scalars := make(map[string]json.Token)
	var object func(prefix string) error
	object = func(prefix string) error {
		seen := make(map[string]bool)
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return err
			}
			path := prefix + name.(string)
			if seen[path] {
				return fmt.Errorf("member %s appears twice", path)
			}
			seen[path] = true
			value, err := decoder.Token()
			if err != nil {
				return err
			}
			switch value {
			case json.Delim('['):
				return fmt.Errorf("member %s is an array", path)
			case json.Delim('{'):
				if err := object(path + "."); err != nil {
					return err
				}
			default:
				scalars[path] = value
			}
		}
		_, err := decoder.Token()
		return err
	}
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return nil, errors.New("want a JSON object")
	}
	if err := object(""); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("data after the object")
	}
	return scalars, nil
}
