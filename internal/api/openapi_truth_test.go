package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// These tests compare openapi.yaml, its examples included, with the code and the vectors.

func TestRoutesAndDocumentedPathsAreTheSame(t *testing.T) {
	t.Parallel()
	var served, documented []string
	for _, r := range routes {
		served = append(served, r.method+" "+strings.TrimSuffix(r.pattern, "{$}"))
	}
	document := newContract(t).document
	for path, item := range document.Paths.Map() {
		for method, operation := range item.Operations() {
			documented = append(documented, method+" "+path)
			isSigned := operation.Security == nil || len(*operation.Security) > 0
			for _, r := range routes {
				if r.method != method || strings.TrimSuffix(r.pattern, "{$}") != path {
					continue
				}
				if r.access.isSigned() != isSigned {
					t.Errorf("%s %s: documented as signed: %t, got %t", method, path, isSigned, r.access.isSigned())
				}
				forbidden := operation.Responses.Value("403")
				isOperators := forbidden != nil && (strings.HasSuffix(forbidden.Ref, "/WalletNotAllowed") || strings.HasSuffix(forbidden.Ref, "/MayNotAccept"))
				if isOperators != (r.access == operator) {
					t.Errorf("%s %s: documented for operators only: %t, got %t", method, path, isOperators, r.access == operator)
				}
				if r.access.checksQuery() {
					sameSet(t, method+" "+path+": query parameters", queryParameters(item, operation), r.query)
				}
			}
		}
	}
	sameSet(t, "paths", documented, served)
}

// queryParameters returns the names of the documented query parameters of an operation.
func queryParameters(item *openapi3.PathItem, operation *openapi3.Operation) (names []string) {
	for _, parameters := range []openapi3.Parameters{item.Parameters, operation.Parameters} {
		for _, parameter := range parameters {
			if parameter.Value.In == openapi3.ParameterInQuery {
				names = append(names, parameter.Value.Name)
			}
		}
	}
	return names
}

func TestDocumentedObjectsAreTheWireTypes(t *testing.T) {
	t.Parallel()
	schemas := newContract(t).document.Components.Schemas
	inside := func(name string, path ...string) *openapi3.Schema {
		schema := schemas[name].Value
		for _, step := range path {
			schema = schema.Properties[step].Value
		}
		return schema
	}
	for name, c := range map[string]struct {
		schema *openapi3.Schema
		wire   any
	}{
		"DraftCreated":          {inside("DraftCreated"), sortie.DraftCreated{}},
		"MissionStatus":         {inside("MissionStatus"), sortie.MissionStatus{}},
		"ListedDraft":           {inside("ListedDraft"), sortie.ListedDraft{}},
		"DraftList":             {inside("DraftList"), sortie.DraftList{}},
		"ListSummary":           {inside("DraftList", "summary"), sortie.ListSummary{}},
		"Preview":               {inside("Preview"), sortie.Preview{}},
		"Budget":                {inside("Budget"), sortie.Budget{}},
		"Quote":                 {inside("FundingQuote"), sortie.Quote{}},
		"QuoteAuthorization":    {inside("FundingAuthorization"), sortie.QuoteAuthorization{}},
		"NormalizedMission":     {inside("NormalizedMission"), sortie.NormalizedMission{}},
		"Area":                  {inside("NormalizedMission", "location"), sortie.Area{}},
		"FieldError":            {inside("FieldError"), sortie.FieldError{}},
		"health":                {inside("Health"), healthAnswer{}},
		"VerificationRules":     {inside("NormalizedMission", "verification"), sortie.VerificationRules{}},
		"Reward":                {inside("NormalizedMission", "reward"), sortie.Reward{}},
		"VideoBounds":           {inside("NormalizedMission", "video"), sortie.VideoBounds{}},
		"MissionInput.location": {inside("Mission", "location"), sortie.Area{}},
		"Doctor":                {inside("Doctor"), sortie.Doctor{}},
		"Blocker":               {inside("Blocker"), sortie.Blocker{}},
		"FundingDepth":          {inside("FundingDepth"), sortie.FundingDepth{}},
		"FundingCheck":          {inside("FundingCheck"), sortie.FundingCheck{}},
		"Event":                 {inside("Event"), sortie.Event{}},
		"EventPage":             {inside("EventPage"), sortie.EventPage{}},
		"EventSummary":          {inside("EventPage", "summary"), sortie.EventSummary{}},
		"Decision":              {inside("Decision"), sortie.Decision{}},
		"Review":                {inside("Review"), sortie.Review{}},
		"ReviewPage":            {inside("ReviewPage"), sortie.ReviewPage{}},
		"ReviewSummary":         {inside("ReviewPage", "summary"), sortie.ReviewSummary{}},
		"ReviewDetail":          {inside("ReviewDetail"), sortie.ReviewDetail{}},
		"Reason":                {inside("Reason"), sortie.DecisionRequest{}},
		"AuditEntry":            {inside("AuditEntry"), sortie.AuditEntry{}},
		"AuditPage":             {inside("AuditPage"), sortie.AuditPage{}},
		"AuditSummary":          {inside("AuditPage", "summary"), sortie.AuditSummary{}},
		"ChainOverview":         {inside("ChainOverview"), sortie.ChainOverview{}},
		"ChainPosition":         {inside("ChainPosition"), sortie.ChainPosition{}},
		"Incident":              {inside("Incident"), sortie.Incident{}},
		"IncidentCleared":       {inside("IncidentCleared"), sortie.IncidentCleared{}},
		"SenderBacklog":         {inside("SenderBacklog"), sortie.SenderBacklog{}},
		"ReconcileReport":       {inside("ReconcileReport"), sortie.ReconcileReport{}},
		"ReconcileRequested":    {inside("ReconcileRequested"), sortie.ReconcileRequested{}},
		"FollowerStatus":        {inside("FollowerStatus"), sortie.FollowerStatus{}},
		"ChainAlarm":            {inside("ChainAlarm"), sortie.ChainAlarm{}},

		"Declaration":              {inside("Declaration"), sortie.Declaration{}},
		"Declaration.location":     {inside("Declaration", "location"), sortie.Location{}},
		"SubmissionDeclared":       {inside("SubmissionDeclared"), sortie.SubmissionDeclared{}},
		"UploadLinks":              {inside("UploadLinks"), sortie.UploadLinks{}},
		"SubmissionCheck":          {inside("SubmissionCheck"), sortie.SubmissionCheck{}},
		"Payout":                   {inside("Payout"), sortie.Payout{}},
		"Receipt":                  {inside("Receipt"), sortie.Receipt{}},
		"ReceiptCondition":         {inside("ReceiptCondition"), sortie.ReceiptCondition{}},
		"Payment":                  {inside("Payment"), sortie.Payment{}},
		"Submission":               {inside("Submission"), sortie.Submission{}},
		"SubmissionDetail":         {inside("SubmissionDetail"), sortie.SubmissionDetail{}},
		"SubmissionPage":           {inside("SubmissionPage"), sortie.SubmissionPage{}},
		"SubmissionSummary":        {inside("SubmissionSummary"), sortie.SubmissionSummary{}},
		"OpenMission":              {inside("OpenMission"), sortie.OpenMission{}},
		"OpenMissionDetail":        {inside("OpenMissionDetail"), sortie.OpenMissionDetail{}},
		"MissionFeed":              {inside("MissionFeed"), sortie.MissionFeed{}},
		"FeedSummary":              {inside("MissionFeed", "summary"), sortie.FeedSummary{}},
		"OpenMission.reward":       {inside("Reward"), sortie.Reward{}},
		"ReviewedSubmission":       {inside("ReviewedSubmission"), sortie.ReviewedSubmission{}},
		"ReviewedSubmissionDetail": {inside("ReviewedSubmissionDetail"), sortie.ReviewedSubmissionDetail{}},
		"ReviewedSubmissionPage":   {inside("ReviewedSubmissionPage"), sortie.ReviewedSubmissionPage{}},
		"Deliverables":             {inside("Deliverables"), sortie.Deliverables{}},
		"DeliverablesMission":      {inside("Deliverables", "mission"), sortie.DeliverablesMission{}},
		"DeliverablesSummary":      {inside("Deliverables", "summary"), sortie.DeliverablesSummary{}},
		"Deliverable":              {inside("Deliverable"), sortie.Deliverable{}},
		"Location":                 {inside("Location"), sortie.Location{}},
		"Verification":             {inside("Deliverable", "verification"), sortie.Verification{}},
		"Media":                    {inside("Media"), sortie.Media{}},
		"Provenance":               {inside("Deliverable", "provenance"), sortie.Provenance{}},
		"LinkKeysRotated":          {inside("LinkKeysRotated"), linkKeysRotated{}},

		"PayoutHalt":       {inside("PayoutHalt"), sortie.PayoutHalt{}},
		"ListedPayout":     {inside("ListedPayout"), sortie.ListedPayout{}},
		"PayoutPage":       {inside("PayoutPage"), sortie.PayoutPage{}},
		"PayoutSummary":    {inside("PayoutPage", "summary"), sortie.PayoutSummary{}},
		"PayoutWait":       {inside("PayoutWait"), sortie.PayoutWait{}},
		"PayoutSettlement": {inside("PayoutSettlement"), sortie.PayoutSettlement{}},
		"PayoutAttempt":    {inside("PayoutAttempt"), sortie.PayoutAttempt{}},
		"PayoutDetail":     {inside("PayoutDetail"), sortie.PayoutDetail{}},
		"PayoutsHalted":    {inside("PayoutsHalted"), sortie.PayoutsHalted{}},
		"MissionClose":     {inside("MissionClose"), sortie.MissionClose{}},
		"Solvency":         {inside("Solvency"), sortie.Solvency{}},
		"SolvencySummary":  {inside("Solvency", "summary"), sortie.SolvencySummary{}},
		"BookMismatch":     {inside("BookMismatch"), sortie.BookMismatch{}},
		"TokenBooks":       {inside("TokenBooks"), sortie.TokenBooks{}},
		"BookSums":         {inside("BookSums"), sortie.BookSums{}},
		"ContractSums":     {inside("ContractSums"), sortie.ContractSums{}},
		"MissionBooks":     {inside("MissionBooks"), sortie.MissionBooks{}},
		"MissionLedger":    {inside("MissionLedger"), sortie.MissionLedger{}},
		"LedgerSummary":    {inside("MissionLedger", "summary"), sortie.LedgerSummary{}},
		"LedgerEntry":      {inside("LedgerEntry"), sortie.LedgerEntry{}},
		"LedgerPayment":    {inside("LedgerPayment"), sortie.LedgerPayment{}},
		"Earnings":         {inside("Earnings"), sortie.Earnings{}},
		"TokenEarnings":    {inside("TokenEarnings"), sortie.TokenEarnings{}},
		"EarnedAmount":     {inside("EarnedAmount"), sortie.EarnedAmount{}},
		"MissionMoney":     {inside("MissionMoney"), sortie.MissionMoney{}},
	} {
		want := members(reflect.TypeOf(c.wire))
		sameSet(t, name, slices.Collect(maps.Keys(c.schema.Properties)), want)
		if closed := c.schema.AdditionalProperties.Has; name != "MissionInput.location" {
			sameSet(t, name+" required", c.schema.Required, want)
			if closed == nil || *closed {
				t.Errorf("%s: additionalProperties must be false", name)
			}
		}
	}
	sameSet(t, "Mission", slices.Collect(maps.Keys(inside("Mission").Properties)), append(members(reflect.TypeOf(sortie.Mission{})), "creator"))
}

// vector is the part of spec/vectors.json that these tests use.
type vector struct {
	Requests []struct{ Body, Text, Digest, Signature string }
	Keys     struct {
		Creator struct {
			Address    sortie.Address
			PrivateKey string
		}
		Service struct{ Address sortie.Address }
	}
	Domain struct {
		ChainID           uint64
		VerifyingContract sortie.Address
	}
	Authorization struct {
		Message struct {
			MissionID           string
			Token               sortie.Address
			RewardPerSubmission string
			TargetCount         uint64
			Creator             sortie.Address
			Nonce               sortie.Hash
			Deadline            uint64
		}
		ExpiresAt, Signature, Calldata string
	}
}

func readVectors(t *testing.T) (v vector) {
	t.Helper()
	data, err := os.ReadFile("../../spec/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSigningExamplesAreTheVectors(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	prose := newContract(t).document.Info.Description
	for _, want := range []string{
		"```text\n" + v.Requests[0].Text + "\n```", "```text\n" + v.Requests[1].Text + "\n```", v.Requests[1].Body,
		v.Requests[0].Digest, v.Requests[0].Signature, v.Requests[1].Signature, v.Keys.Creator.PrivateKey,
	} {
		if !strings.Contains(prose, want) {
			t.Errorf("the description does not have the vector %q", want)
		}
	}
	scheme := newContract(t).document.Components.SecuritySchemes["serviceSignature"].Value.Description
	if !strings.Contains(scheme, v.Requests[1].Text) {
		t.Error("the security scheme does not have the vector's text")
	}
	signedMessage := example[map[string]any](t, "InvalidSignature")["error"].(map[string]any)["details"].(map[string]any)["signedMessage"]
	if signedMessage != v.Requests[0].Text {
		t.Errorf("example InvalidSignature: signed message %q", signedMessage)
	}
}

func TestQuoteExamplesAreTheVectors(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	created := example[sortie.DraftCreated](t, "Created")
	status := example[sortie.MissionStatus](t, "Status")
	list := example[sortie.DraftList](t, "List")
	for name, quote := range map[string]sortie.Quote{"Created": created.FundingQuote, "Status": status.FundingQuote, "List": list.Drafts[0].FundingQuote} {
		m := v.Authorization.Message
		asked := sortie.Ask{Creator: v.Keys.Creator.Address, MissionID: created.MissionID, Token: sortie.TokenUSDC, Amount: "2.5", TargetCount: 4}
		trust := sortie.Trust{
			ChainID: v.Domain.ChainID, Factory: v.Domain.VerifyingContract, Authorizers: []sortie.Address{v.Keys.Service.Address},
			Tokens: map[sortie.Token]sortie.TrustedToken{sortie.TokenUSDC: {Address: m.Token, Decimals: 6}},
		}
		if err := sortie.VerifyQuote(quote, asked, trust, time.Unix(1770000000, 0)); err != nil {
			t.Errorf("example %s: %v", name, err)
		}
		if quote.Calldata.String() != v.Authorization.Calldata || quote.Authorization.Nonce != m.Nonce || quote.Authorization.Deadline != m.Deadline {
			t.Errorf("example %s is not the quote of the vectors", name)
		}
	}
	if created.MissionID != v.Authorization.Message.MissionID || !mission.ValidMissionID(created.MissionID) || !mission.ValidDraftID(created.DraftID) {
		t.Errorf("example Created has the ids %s and %s", created.DraftID, created.MissionID)
	}
	view := mission.Created().View()
	if created.Status != view.List || created.ReviewStatus != view.Review || created.FundingStatus != view.Funding || created.NextAction != view.NextAction {
		t.Errorf("example Created is not a new draft: %+v", created)
	}
}

func TestMissionExamplesAreWhatNormalizationMakesOfThem(t *testing.T) {
	t.Parallel()
	v := readVectors(t)
	now := time.Unix(1770000000, 0)
	if body := exampleJSON(t, "Mission"); !equalJSON(body, []byte(v.Requests[1].Body)) {
		t.Errorf("example Mission is not the body of the vectors: %s", body)
	}
	normalized, err := mission.Normalize([]byte(v.Requests[1].Body), v.Keys.Creator.Address)
	if err != nil {
		t.Fatal(err)
	}
	terms, err := normalized.Terms(6)
	if err != nil {
		t.Fatal(err)
	}
	preview, _ := json.Marshal(sortie.Preview{OK: true, NormalizedMission: normalized.Mission(), TotalBudget: terms.Total(), Warnings: normalized.Warnings(now)})
	if shown := exampleJSON(t, "Preview"); !equalJSON(shown, preview) {
		t.Errorf("example Preview: shown %s, the service says %s", shown, preview)
	}
	shown, _ := json.Marshal(example[map[string]any](t, "Status")["normalizedMission"])
	if want := normalized.AppendJSON(nil); !equalJSON(shown, want) {
		t.Errorf("example Status: shown %s, the service says %s", shown, want)
	}
	everything, err := mission.Normalize(exampleJSON(t, "VideoMission"), v.Keys.Creator.Address)
	if err != nil {
		t.Fatalf("example VideoMission: %v", err)
	}
	if err := everything.CheckTimes(now); err != nil {
		t.Errorf("example VideoMission: %v", err)
	}
	if warnings := everything.Warnings(now); len(warnings) > 0 {
		t.Errorf("example VideoMission has warnings: %q", warnings)
	}
}

func TestErrorExamplesAreWhatTheServiceSays(t *testing.T) {
	t.Parallel()
	creator := readVectors(t).Keys.Creator.Address
	for name, body := range map[string]string{
		"InvalidJSON":            `{"title":"a","title":"b"}`,
		"CreatorMismatch":        `{"creator":"0x70997970C51812dc3A010C7d01b50e0d17dc79C8"}`,
		"ValidationFailed":       `{"title":"Hi","reward":{"token":"USDC","amount":0.001},"targetCount":4}`,
		"UnsupportedRewardToken": `{"title":"Photo of the main entrance","reward":{"token":"usdc","amount":2.5},"targetCount":4}`,
	} {
		_, err := mission.Normalize([]byte(body), creator)
		var said *sortie.Error
		if !errors.As(err, &said) {
			t.Fatalf("example %s: got error %v, want a sortie.Error", name, err)
		}
		said.RequestID = "req_5f0c6b1de5a94c0f8e21a7b3"
		want, _ := json.Marshal(map[string]any{"ok": false, "error": said})
		if shown := exampleJSON(t, name); !equalJSON(shown, want) {
			t.Errorf("example %s: shown %s, the service says %s", name, shown, want)
		}
	}
}

func exampleJSON(t *testing.T, name string) []byte {
	t.Helper()
	found := newContract(t).document.Components.Examples[name]
	if found == nil {
		t.Fatalf("there is no example %s", name)
	}
	encoded, err := json.Marshal(found.Value.Value)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

func example[T any](t *testing.T, name string) (value T) {
	t.Helper()
	if err := json.Unmarshal(exampleJSON(t, name), &value); err != nil {
		t.Fatalf("example %s: %v", name, err)
	}
	return value
}

func equalJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func sameSet(t *testing.T, what string, documented, actual []string) {
	t.Helper()
	documented, actual = slices.Sorted(slices.Values(documented)), slices.Sorted(slices.Values(actual))
	if !slices.Equal(documented, actual) {
		t.Errorf("%s: documented %q, the code has %q", what, documented, actual)
	}
}

func texts(values []any) []string {
	var list []string
	for _, value := range values {
		list = append(list, fmt.Sprint(value))
	}
	return list
}

// members returns the JSON names of a struct's fields.
func members(structure reflect.Type) []string {
	var names []string
	for _, field := range reflect.VisibleFields(structure) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}
