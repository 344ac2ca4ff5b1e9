package sortie

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Ask holds the creator's terms, which a quote must match.
type Ask struct {
	Creator     Address // the wallet that will send the funding transaction
	MissionID   string  // as the draft names it
	Token       Token
	Amount      string // reward of one submission in whole tokens, such as "2.5"
	TargetCount uint64
}

// Trust holds facts about a deployment from a source other than the quote, such as its
// documentation. Values taken from the quote prove nothing.
type Trust struct {
	ChainID     uint64
	Factory     Address
	Authorizers []Address // usually one; two while the service changes its key
	Tokens      map[Token]TrustedToken
}

// TrustedToken is a reward token's contract.
type TrustedToken struct {
	Address  Address
	Decimals int
}

// MaxAuthorizationLifetime is the farthest deadline the contract accepts.
const MaxAuthorizationLifetime = 24 * time.Hour

// MismatchKind is the way in which a field of a quote is wrong.
type MismatchKind string

// The kinds of mismatch.
const (
	MismatchDiffers   MismatchKind = "differs"   // not the value of Ask or Trust
	MismatchMalformed MismatchKind = "malformed" // cannot be decoded
	MismatchExpired   MismatchKind = "expired"   // the deadline has passed: fetch the draft again
	MismatchTooFar    MismatchKind = "too_far"   // the deadline is later than the contract accepts
	MismatchUntrusted MismatchKind = "untrusted" // not in Trust
)

// Mismatch is one reason not to send money.
type Mismatch struct {
	Field string       `json:"field"` // path in the quote; "calldata." is followed by an argument of the call, "asked." by a field of Ask
	Kind  MismatchKind `json:"kind"`
	Want  string       `json:"want"`
	Got   string       `json:"got"`
}

// String is the mismatch in one line.
func (m Mismatch) String() string {
	return fmt.Sprintf("%s %s: want %s, got %s", m.Field, m.Kind, m.Want, m.Got)
}

// Mismatches is everything that is wrong with a quote. The error text has one line per mismatch.
type Mismatches []Mismatch

// Error implements error.
func (m Mismatches) Error() string {
	lines := make([]string, 0, len(m)+1)
	lines = append(lines, "the funding quote is not what was asked for; do not send it:")
	for _, mismatch := range m {
		lines = append(lines, "  "+mismatch.String())
	}
	return strings.Join(lines, "\n")
}

// OnlyExpired reports whether the quote has only expired: fetch the draft again for a new one.
func (m Mismatches) OnlyExpired() bool {
	return len(m) > 0 && !slices.ContainsFunc(m, func(one Mismatch) bool { return one.Kind != MismatchExpired })
}

// VerifyQuote checks a quote against the creator's terms and trusted values, before any money
// moves. It decodes the calldata, encodes it again to the same bytes, compares every field of the
// quote and every argument of the call, and recovers the authorizer from the signature.
//
// The error is nil or of type [Mismatches].
func VerifyQuote(quote Quote, asked Ask, trust Trust, now time.Time) error {
	check := quoteCheck{quote: quote, asked: asked, trust: trust}
	if expected, ok := check.expected(); ok {
		check.terms(expected)
		check.authorization(now)
		check.call(expected)
	}
	if len(check.found) == 0 {
		return nil
	}
	return check.found
}

type quoteCheck struct {
	quote Quote
	asked Ask
	trust Trust
	found Mismatches
}

func (c *quoteCheck) add(field string, kind MismatchKind, want, got string) {
	c.found = append(c.found, Mismatch{Field: field, Kind: kind, Want: want, Got: got})
}

func (c *quoteCheck) same(field, want, got string) {
	if want != got {
		c.add(field, MismatchDiffers, want, got)
	}
}

// expected is the authorization with the creator's terms. Nonce and deadline, which the service
// chooses, are taken from the quote.
func (c *quoteCheck) expected() (MissionAuthorization, bool) {
	token, known := c.trust.Tokens[c.asked.Token]
	if !known {
		c.add("asked.token", MismatchUntrusted, "a token the trusted values name", string(c.asked.Token))
		return MissionAuthorization{}, false
	}
	reward, err := ParseUnits(c.asked.Amount, token.Decimals)
	if err != nil {
		c.add("asked.amount", MismatchMalformed, err.Error(), c.asked.Amount)
		return MissionAuthorization{}, false
	}
	expected := MissionAuthorization{
		MissionID:           c.asked.MissionID,
		Token:               token.Address,
		RewardPerSubmission: reward,
		TargetCount:         c.asked.TargetCount,
		Creator:             c.asked.Creator,
		Nonce:               c.quote.Authorization.Nonce,
		Deadline:            c.quote.Authorization.Deadline,
	}
	if err := expected.Validate(); err != nil {
		c.add("asked", MismatchMalformed, "terms the contract accepts", err.Error())
		return MissionAuthorization{}, false
	}
	return expected, true
}

func (c *quoteCheck) terms(expected MissionAuthorization) {
	q := c.quote
	c.same("chainId", formatUint(c.trust.ChainID), formatUint(q.ChainID))
	c.same("factoryAddress", c.trust.Factory.String(), q.FactoryAddress.String())
	c.same("functionName", FunctionCreateMission, q.FunctionName)
	c.same("tokenAddress", expected.Token.String(), q.TokenAddress.String())
	c.same("rewardPerSubmissionBaseUnits", expected.RewardPerSubmission.String(), q.RewardPerSubmissionBaseUnits)
	c.same("targetCount", formatUint(expected.TargetCount), formatUint(q.TargetCount))
	c.same("totalBudgetBaseUnits", expected.TotalBudget().String(), q.TotalBudgetBaseUnits)
}

func (c *quoteCheck) authorization(now time.Time) {
	a := c.quote.Authorization
	if !slices.Contains(c.trust.Authorizers, a.Signer) {
		c.add("authorization.signer", MismatchUntrusted, "a trusted authorizer", a.Signer.String())
	}
	c.same("authorization.creator", c.asked.Creator.String(), a.Creator.String())
	if a.Deadline > math.MaxInt64 {
		c.add("authorization.deadline", MismatchMalformed, "Unix seconds", formatUint(a.Deadline))
		return
	}
	c.same("authorization.expiresAt", formatDeadline(a.Deadline), a.ExpiresAt)
	switch deadline := time.Unix(int64(a.Deadline), 0); {
	case !now.Before(deadline):
		c.add("authorization.deadline", MismatchExpired, "after "+FormatTime(now), FormatTime(deadline))
	case deadline.After(now.Add(MaxAuthorizationLifetime)):
		c.add("authorization.deadline", MismatchTooFar, "at most "+FormatTime(now.Add(MaxAuthorizationLifetime)), FormatTime(deadline))
	}
}

// call compares the arguments of the calldata with the expected authorization.
func (c *quoteCheck) call(expected MissionAuthorization) {
	sent, signature, err := DecodeCalldata(c.quote.Calldata)
	if err != nil {
		c.add("calldata", MismatchMalformed, "a canonical call of "+FunctionCreateMission, fmt.Sprintf("%d other bytes", len(c.quote.Calldata)))
		return
	}
	a := c.quote.Authorization
	c.same("calldata.missionId", strconv.Quote(expected.MissionID), strconv.Quote(sent.MissionID))
	c.same("calldata.token", expected.Token.String(), sent.Token.String())
	c.same("calldata.rewardPerSubmission", expected.RewardPerSubmission.String(), sent.RewardPerSubmission.String())
	c.same("calldata.targetCount", formatUint(expected.TargetCount), formatUint(sent.TargetCount))
	c.same("calldata.creator", expected.Creator.String(), sent.Creator.String())
	c.same("calldata.nonce", expected.Nonce.String(), sent.Nonce.String())
	c.same("calldata.deadline", formatUint(expected.Deadline), formatUint(sent.Deadline))
	if !bytes.Equal(signature, a.Signature) {
		c.add("calldata.signature", MismatchDiffers, a.Signature.String(), Bytes(signature).String())
	}
	domain := Domain{ChainID: c.trust.ChainID, Factory: c.trust.Factory}
	signer, err := RecoverAddress(sent.Digest(domain.Separator()), signature)
	switch {
	case err != nil:
		c.add("authorization.signature", MismatchMalformed, "a signature of the authorizer", a.Signature.String())
	case signer != a.Signer:
		c.add("authorization.signature", MismatchDiffers, "signed by "+a.Signer.String(), "signed by "+signer.String())
	}
}

func formatUint(n uint64) string { return strconv.FormatUint(n, 10) }
