package sortie_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// quoteCase is the vectors' authorization as a quote, with the creator's terms.
type quoteCase struct {
	quote sortie.Quote
	asked sortie.Ask
	trust sortie.Trust
	now   time.Time
}

func newQuoteCase(t testing.TB) quoteCase {
	t.Helper()
	v := loadVectors(t)
	m := v.Authorization.Message
	quote := sortie.NewQuote(v.domain(), v.authorization(), v.Keys.Service.Address, v.Authorization.Signature)
	return quoteCase{
		quote: quote,
		asked: sortie.Ask{Creator: m.Creator, MissionID: m.MissionID, Token: sortie.TokenUSDC, Amount: "2.5", TargetCount: m.TargetCount},
		trust: sortie.Trust{
			ChainID: v.Domain.ChainID, Factory: v.Domain.VerifyingContract,
			Authorizers: []sortie.Address{v.Keys.Service.Address},
			Tokens: map[sortie.Token]sortie.TrustedToken{
				sortie.TokenUSDC:    {Address: m.Token, Decimals: 6},
				sortie.TokenService: {Address: sortie.MustAddress("0x5FbDB2315678afecb367f032d93F642f64180aa3"), Decimals: 18},
			},
		},
		now: time.Unix(int64(m.Deadline)-900, 0),
	}
}

func (c quoteCase) verify(quote sortie.Quote) error {
	return sortie.VerifyQuote(quote, c.asked, c.trust, c.now)
}

func mismatches(t testing.TB, err error) sortie.Mismatches {
	t.Helper()
	var found sortie.Mismatches
	if err != nil && !errors.As(err, &found) {
		t.Fatalf("VerifyQuote: got an error of type %T, want Mismatches: %v", err, err)
	}
	return found
}

func TestVerifyQuoteAcceptsWhatWasAskedFor(t *testing.T) {
	t.Parallel()
	c := newQuoteCase(t)
	if err := c.verify(c.quote); err != nil {
		t.Fatal(err)
	}
	encoded, err := json.Marshal(c.quote)
	if err != nil {
		t.Fatal(err)
	}
	var decoded sortie.Quote
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	if err := c.verify(decoded); err != nil {
		t.Fatal(err)
	}
}

func TestVerifyQuoteRefusesEveryAlteredByteOfCalldata(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: verifies a quote once for each bit of its calldata")
	}
	c := newQuoteCase(t)
	good := c.quote.Calldata
	altered := c.quote
	for i := range good {
		for bit := range 8 {
			altered.Calldata = bytes.Clone(good)
			altered.Calldata[i] ^= 1 << bit
			if c.verify(altered) == nil {
				t.Fatalf("byte %d with bit %d flipped was accepted", i, bit)
			}
		}
	}
	for length := range good {
		if altered.Calldata = good[:length]; c.verify(altered) == nil {
			t.Fatalf("calldata cut to %d bytes was accepted", length)
		}
	}
	for extra := 1; extra <= 64; extra++ {
		if altered.Calldata = append(bytes.Clone(good), make([]byte, extra)...); c.verify(altered) == nil {
			t.Fatalf("calldata with %d trailing bytes was accepted", extra)
		}
	}
}

// Every bit of the quote's JSON is flipped: the quote must fail to decode or to verify.
func TestVerifyQuoteRefusesEveryAlteredByteOfJSON(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: verifies a quote once for each bit of its JSON")
	}
	c := newQuoteCase(t)
	good, err := json.Marshal(c.quote)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		for bit := range 8 {
			altered := bytes.Clone(good)
			altered[i] ^= 1 << bit
			var quote sortie.Quote
			if json.Unmarshal(altered, &quote) == nil && c.verify(quote) == nil {
				t.Fatalf("accepted with byte %d altered: ...%s...", i, altered[max(0, i-20):min(len(altered), i+20)])
			}
		}
	}
}

func TestVerifyQuoteNamesEveryMismatch(t *testing.T) {
	t.Parallel()
	stranger := sortie.MustAddress("0x90F79bf6EB2c4f870365E785982E1f101E93b906")
	tests := map[string]struct {
		alter func(*quoteCase)
		want  []string // field kind
	}{
		"chain":         {func(c *quoteCase) { c.quote.ChainID++ }, []string{"chainId differs"}},
		"factory":       {func(c *quoteCase) { c.quote.FactoryAddress = stranger }, []string{"factoryAddress differs"}},
		"token":         {func(c *quoteCase) { c.quote.TokenAddress = stranger }, []string{"tokenAddress differs"}},
		"reward":        {func(c *quoteCase) { c.quote.RewardPerSubmissionBaseUnits = "2500001" }, []string{"rewardPerSubmissionBaseUnits differs"}},
		"reward format": {func(c *quoteCase) { c.quote.RewardPerSubmissionBaseUnits = "02500000" }, []string{"rewardPerSubmissionBaseUnits differs"}},
		"count":         {func(c *quoteCase) { c.quote.TargetCount++ }, []string{"targetCount differs"}},
		"budget":        {func(c *quoteCase) { c.quote.TotalBudgetBaseUnits = "10000001" }, []string{"totalBudgetBaseUnits differs"}},
		"function":      {func(c *quoteCase) { c.quote.FunctionName = "approve" }, []string{"functionName differs"}},
		"signer":        {func(c *quoteCase) { c.quote.Authorization.Signer = stranger }, []string{"authorization.signer untrusted", "authorization.signature differs"}},
		"creator":       {func(c *quoteCase) { c.quote.Authorization.Creator = stranger }, []string{"authorization.creator differs"}},
		"nonce":         {func(c *quoteCase) { c.quote.Authorization.Nonce[31] ^= 1 }, []string{"calldata.nonce differs"}},
		"deadline":      {func(c *quoteCase) { c.quote.Authorization.Deadline++ }, []string{"authorization.expiresAt differs", "calldata.deadline differs"}},
		"huge deadline": {func(c *quoteCase) { c.quote.Authorization.Deadline = 1 << 63 }, []string{"authorization.deadline malformed", "calldata.deadline differs"}},
		"expiresAt":     {func(c *quoteCase) { c.quote.Authorization.ExpiresAt = "2026-02-02T03:10:01.000Z" }, []string{"authorization.expiresAt differs"}},
		"signature": {func(c *quoteCase) {
			c.quote.Authorization.Signature = bytes.Clone(c.quote.Authorization.Signature)
			c.quote.Authorization.Signature[3] ^= 1
		}, []string{"calldata.signature differs"}},
		"calldata":              {func(c *quoteCase) { c.quote.Calldata = nil }, []string{"calldata malformed"}},
		"untrusted key":         {func(c *quoteCase) { c.trust.Authorizers = []sortie.Address{stranger} }, []string{"authorization.signer untrusted"}},
		"no trusted authorizer": {func(c *quoteCase) { c.trust.Authorizers = nil }, []string{"authorization.signer untrusted"}},
		"expired":               {func(c *quoteCase) { c.now = c.now.Add(900 * time.Second) }, []string{"authorization.deadline expired"}},
		"deadline a day away":   {func(c *quoteCase) { c.now = c.now.Add(-25 * time.Hour) }, []string{"authorization.deadline too_far"}},
		"other creator asked":   {func(c *quoteCase) { c.asked.Creator = stranger }, []string{"authorization.creator differs", "calldata.creator differs"}},
		"other mission asked":   {func(c *quoteCase) { c.asked.MissionID += "x" }, []string{"calldata.missionId differs"}},
		"other amount asked":    {func(c *quoteCase) { c.asked.Amount = "2.4" }, []string{"rewardPerSubmissionBaseUnits differs", "totalBudgetBaseUnits differs", "calldata.rewardPerSubmission differs"}},
		"other count asked":     {func(c *quoteCase) { c.asked.TargetCount = 3 }, []string{"targetCount differs", "totalBudgetBaseUnits differs", "calldata.targetCount differs"}},
		"unknown token asked":   {func(c *quoteCase) { c.asked.Token = "DAI" }, []string{"asked.token untrusted"}},
		"inexact amount":        {func(c *quoteCase) { c.asked.Amount = "0.0000001" }, []string{"asked.amount malformed"}},
		"impossible terms":      {func(c *quoteCase) { c.asked.TargetCount = 0 }, []string{"asked malformed"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newQuoteCase(t)
			test.alter(&c)
			var got []string
			for _, mismatch := range mismatches(t, c.verify(c.quote)) {
				got = append(got, mismatch.Field+" "+string(mismatch.Kind))
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("\n got %q\nwant %q", got, test.want)
			}
		})
	}
}

// A correct signature for another chain or factory is refused.
func TestVerifyQuoteRefusesAnotherDeploymentsSignature(t *testing.T) {
	t.Parallel()
	v := loadVectors(t)
	key := mustKey(t, v.Keys.Service.PrivateKey)
	for name, domain := range map[string]sortie.Domain{
		"other chain":   {ChainID: 1, Factory: v.Domain.VerifyingContract},
		"other factory": {ChainID: v.Domain.ChainID, Factory: v.Authorization.Message.Token},
	} {
		c := newQuoteCase(t)
		signature := key.SignDigest(v.authorization().Digest(domain.Separator()))
		quote := sortie.NewQuote(v.domain(), v.authorization(), key.Address(), signature)
		found := mismatches(t, c.verify(quote))
		if len(found) != 1 || found[0].Field != "authorization.signature" {
			t.Errorf("%s: got %v, want a mismatch of authorization.signature", name, found)
		}
	}
}

func TestMismatchesOnlyExpired(t *testing.T) {
	t.Parallel()
	c := newQuoteCase(t)
	c.now = c.now.Add(time.Hour)
	if found := mismatches(t, c.verify(c.quote)); !found.OnlyExpired() {
		t.Errorf("OnlyExpired of an expired quote: got false, want true: %v", found)
	}
	c.quote.ChainID++
	if found := mismatches(t, c.verify(c.quote)); found.OnlyExpired() {
		t.Errorf("OnlyExpired of an expired quote for another chain: got true, want false: %v", found)
	}
}

func TestQuoteDecodingIsStrict(t *testing.T) {
	t.Parallel()
	encoded, err := json.Marshal(newQuoteCase(t).quote)
	if err != nil {
		t.Fatal(err)
	}
	good := string(encoded)
	var reordered bytes.Buffer
	if err := json.Indent(&reordered, encoded, "", "  "); err != nil {
		t.Fatal(err)
	}
	if err := new(sortie.Quote).UnmarshalJSON(reordered.Bytes()); err != nil {
		t.Errorf("indented: %v", err)
	}
	for name, text := range map[string]string{
		"unknown member":   strings.Replace(good, `{"chainId"`, `{"tip":1,"chainId"`, 1),
		"repeated member":  strings.Replace(good, `{"chainId"`, `{"chainId":84532,"chainId"`, 1),
		"repeated nested":  strings.Replace(good, `"deadline":1770001800`, `"deadline":1770001800,"deadline":1770001800`, 1),
		"other case":       strings.Replace(good, `"chainId"`, `"ChainId"`, 1),
		"missing member":   strings.Replace(good, `"functionName":"createAuthorizedFundedMission",`, "", 1),
		"null member":      strings.Replace(good, `"targetCount":4`, `"targetCount":null`, 1),
		"number as text":   strings.Replace(good, `"targetCount":4`, `"targetCount":"4"`, 1),
		"number as float":  strings.Replace(good, `"targetCount":4`, `"targetCount":4.0`, 1),
		"upper-case hex":   strings.Replace(good, `"calldata":"0xc7c2731e`, `"calldata":"0xC7C2731E`, 1),
		"no checksum":      strings.ToLower(good),
		"array":            "[" + good + "]",
		"nested array":     strings.Replace(good, `"targetCount":4`, `"targetCount":[4]`, 1),
		"trailing data":    good + "{}",
		"null":             "null",
		"empty":            "",
		"no authorization": `{"chainId":1}`,
	} {
		if err := new(sortie.Quote).UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestAuthorizationValidate(t *testing.T) {
	t.Parallel()
	good := loadVectors(t).authorization()
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	limit := new(big.Int).Lsh(big.NewInt(1), sortie.MaxRewardBits)
	for name, alter := range map[string]func(*sortie.MissionAuthorization){
		"no mission id":      func(a *sortie.MissionAuthorization) { a.MissionID = "" },
		"long mission id":    func(a *sortie.MissionAuthorization) { a.MissionID = strings.Repeat("x", 65) },
		"mission id bytes":   func(a *sortie.MissionAuthorization) { a.MissionID = "\xff" },
		"no token":           func(a *sortie.MissionAuthorization) { a.Token = sortie.Address{} },
		"no creator":         func(a *sortie.MissionAuthorization) { a.Creator = sortie.Address{} },
		"nil reward":         func(a *sortie.MissionAuthorization) { a.RewardPerSubmission = nil },
		"no reward":          func(a *sortie.MissionAuthorization) { a.RewardPerSubmission = new(big.Int) },
		"negative reward":    func(a *sortie.MissionAuthorization) { a.RewardPerSubmission = big.NewInt(-1) },
		"reward over uint96": func(a *sortie.MissionAuthorization) { a.RewardPerSubmission = limit },
		"no slots":           func(a *sortie.MissionAuthorization) { a.TargetCount = 0 },
		"too many slots":     func(a *sortie.MissionAuthorization) { a.TargetCount = sortie.MaxSlots + 1 },
	} {
		altered := good
		if alter(&altered); altered.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestErrorCodesHaveStatuses(t *testing.T) {
	t.Parallel()
	for code, want := range map[sortie.Code]int{
		sortie.CodeInvalidJSON: 400, sortie.CodeInvalidSignature: 401, sortie.CodeCreatorMismatch: 403, sortie.CodeNotFound: 404,
		sortie.CodeMethodNotAllowed: 405, sortie.CodeIdempotencyConflict: 409, sortie.CodeMediaURLExpired: 410,
		sortie.CodePayloadTooLarge: 413, sortie.CodeUnsupportedMediaType: 415, sortie.CodeRangeNotSatisfiable: 416,
		sortie.CodeUnsupportedRewardToken: 422, sortie.CodeRateLimited: 429, sortie.CodeInternal: 500,
		sortie.CodeServiceUnavailable: 503, "never_heard_of": 500,
	} {
		equal(t, string(code), code.HTTPStatus(), want)
	}
	cause := errors.New("disk on fire")
	err := sortie.NewError(sortie.CodeNotFound, "no draft %s", "x").Detail("id", "x").Because(cause)
	if !errors.Is(err, cause) || sortie.ErrorCode(err) != sortie.CodeNotFound || sortie.ErrorCode(cause) != sortie.CodeInternal {
		t.Errorf("error %v: got code %s, want not_found with its cause", err, sortie.ErrorCode(err))
	}
	encoded, _ := json.Marshal(err)
	if strings.Contains(string(encoded), "fire") {
		t.Errorf("the encoded error contains its cause: %s", encoded)
	}
	if !maps.Equal(err.Details, map[string]any{"id": "x"}) {
		t.Errorf("details: got %v, want id x", err.Details)
	}
}
