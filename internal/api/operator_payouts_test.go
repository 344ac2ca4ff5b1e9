package api

import (
	"context"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	payoutsTarget = "/api/operator/payouts"
	testInterval  = time.Minute // that payouts wait for others in test services
)

// testSender is the account that pays the fees of a test service.
var testSender = sortie.MustAddress("0x976EA74026E726554dB657fA54763abd0C3a0aa9")

// settle runs the settlement of payouts once.
func (s *testService) settle() {
	s.t.Helper()
	if err := s.ledger.Settle(context.Background()); err != nil {
		s.t.Fatal(err)
	}
}

// final lets the hold of all acceptances end.
func (s *testService) final() {
	s.t.Helper()
	s.clock.advance(11 * time.Minute)
	s.due()
}

// payout reads a submission's payout as an operator.
func (s *testService) payout(id string) sortie.PayoutDetail {
	s.t.Helper()
	a := s.send(testRequest{target: payoutsTarget + "/" + id, signer: reviewer})
	if a.StatusCode != http.StatusOK {
		s.t.Fatalf("read a payout: got %d %s, want 200", a.StatusCode, a.body)
	}
	return decode[sortie.PayoutDetail](s.t, a)
}

// order sends an operator's order with a reason.
func (s *testService) order(signer sortie.Signer, target string) answer {
	s.t.Helper()
	return s.send(testRequest{method: http.MethodPost, target: target, body: goodReason, signer: signer})
}

// broadcast acts as the sender of a settlement: it signs a transaction for its intent.
func (s *testService) broadcast(settlement int64) sortie.Hash {
	s.t.Helper()
	ctx := context.Background()
	intent, err := s.db.IntentOf(ctx, store.IntentSettle, fmt.Sprint(settlement))
	if err != nil {
		s.t.Fatal(err)
	}
	hash := sortie.MissionKey(fmt.Sprintf("settlement %d", settlement))
	err = s.db.Tx(ctx, func(tx *store.Tx) error {
		return tx.AddAttempt(intent.ID, store.Attempt{Hash: hash, Raw: []byte{1}, Nonce: uint64(settlement), FeeCap: big.NewInt(7), TipCap: big.NewInt(1)})
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return hash
}

// moveIntent acts as the sender after a settlement's transaction was mined.
func (s *testService) moveIntent(settlement int64, change func(*store.Intent)) {
	s.t.Helper()
	ctx := context.Background()
	intent, err := s.db.IntentOf(ctx, store.IntentSettle, fmt.Sprint(settlement))
	if err != nil {
		s.t.Fatal(err)
	}
	next := intent
	change(&next)
	if err := s.db.Tx(ctx, func(tx *store.Tx) error { return tx.MoveIntent(intent, next) }); err != nil {
		s.t.Fatal(err)
	}
}

// paymentOf returns the event of the contract after it paid a slot.
func paymentOf(draft sortie.DraftCreated, payout sortie.ListedPayout, transaction sortie.Hash) onchain.Event {
	amount, _ := new(big.Int).SetString(payout.AmountBaseUnits, 10)
	return onchain.Event{
		Transaction: transaction, Factory: draft.FundingQuote.FactoryAddress, Kind: onchain.EventSubmissionPaid, MissionKey: sortie.MissionKey(draft.MissionID),
		Payment: &onchain.Payment{SubmissionKey: sortie.SubmissionKey(payout.SubmissionID), Recipient: payout.Recipient, Slot: uint64(payout.Slot), Amount: amount},
	}
}

// waitCodes returns what a payout waits for.
func waitCodes(detail sortie.PayoutDetail) string {
	var codes []string
	for _, wait := range detail.WaitsFor {
		codes = append(codes, string(wait.Code))
	}
	return strings.Join(codes, " ")
}

// A payout as its operator, its contributor and the creator of its mission see it.
func TestEveryoneSeesWhatAPayoutWaitsFor(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database, hold: 10 * time.Minute, pays: true})
		draft := s.publish("k1", wideMission)
		id := s.submit(draft.MissionID, "photo-1", s.shoot(1)).SubmissionID
		mustBe(t, "a payout before the acceptance is final", s.send(testRequest{target: payoutsTarget + "/" + id, signer: reviewer}), http.StatusNotFound)
		want := func(when, code, contributor, creator string) sortie.PayoutDetail {
			t.Helper()
			detail := s.payout(id)
			if got := waitCodes(detail); got != code {
				t.Errorf("%s: it waits for %q, want %q: %+v", when, got, code, detail.WaitsFor)
			}
			if got := s.submission(id).Payout.Reason; !strings.Contains(got, contributor) || got == "" && contributor != "" {
				t.Errorf("%s: contributor: got %q, want %q in it", when, got, contributor)
			}
			doctor := string(s.send(testRequest{target: listPath + "/" + draft.DraftID + "/doctor"}).body)
			if !strings.Contains(doctor, creator) {
				t.Errorf("%s: creator: got %s, want %q in it", when, doctor, creator)
			}
			return detail
		}
		s.final()
		want("just final", "batch", "share its transaction", "share its transaction")
		s.settle()
		s.clock.advance(testInterval)
		want("after the interval", "turn", "waits for its turn", "payouts_on_the_way")
		s.settle()
		detail := want("in a settlement", "sender", "waits to be sent", "waits to be sent")
		if detail.Settlement == nil || detail.Settlement.IntentStatus != "queued" || len(detail.Settlement.Attempts) != 0 {
			t.Fatalf("settlement: got %+v, want one that is queued, without transactions", detail.Settlement)
		}

		s.moveIntent(detail.Settlement.ID, func(next *store.Intent) { next.Problem = "node-7.internal: connection refused" })
		detail = want("a node is away", "sender", "its operator sees why", "its operator sees why")
		if text := detail.WaitsFor[0].Message; !strings.Contains(text, "node-7.internal") {
			t.Errorf("operator: got %q, want the problem in it", text)
		}
		for who, body := range map[string]answer{
			"contributor": s.send(testRequest{target: submissionsPath + "/" + id, signer: contributor}), "creator": s.send(testRequest{target: listPath + "/" + draft.DraftID + "/doctor"}),
		} {
			if strings.Contains(string(body.body), "node-7.internal") {
				t.Errorf("the %s: got %s, want an answer without the node", who, body.body)
			}
		}
		s.moveIntent(detail.Settlement.ID, func(next *store.Intent) { next.Problem = "payouts wait: the contract's daily cap leaves no room" })
		want("over the cap", "sender", "daily cap leaves no room", "daily cap leaves no room")

		hash := s.broadcast(detail.Settlement.ID)
		s.settle()
		detail = want("sent", "block", hash.String(), hash.String())
		if attempts := detail.Settlement.Attempts; len(attempts) != 1 || attempts[0].TransactionHash != hash || detail.Payout.Status != sortie.PayoutSent {
			t.Errorf("sent: got %+v with attempts %+v, want one attempt %s", detail.Payout, attempts, hash)
		}
		s.chain.mine(paymentOf(draft, detail.Payout, hash))
		want("in a block", "finality", "not final yet", "not final yet")
		s.chain.finalize()
		s.settle()
		detail = want("final", "", "", "1 of 1 accepted submissions are paid")
		if detail.Payout.Status != sortie.PayoutPaid || detail.Payout.BlockNumber == nil {
			t.Errorf("final: got %+v, want paid in a block", detail.Payout)
		}
		steps := s.app.Stats().PayoutSteps
		for step, want := range map[app.PayoutStep]uint64{app.SettlementStarted: 1, app.PayoutSent: 1, app.PayoutPaid: 1, app.PayoutDeferred: 0, app.PayoutSetAside: 0} {
			if steps[step] != want {
				t.Errorf("counter %s: got %d, want %d", step, steps[step], want)
			}
		}
	})
}

// Contributors and creators get events about payouts. Contributors learn nothing about the
// creator's draft.
func TestPayoutEventsReachContributorAndCreator(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database, pays: true})
		draft := s.publish("k1", wideMission)
		id := s.submit(draft.MissionID, "photo-1", s.shoot(1)).SubmissionID
		s.final()
		s.clock.advance(testInterval)
		s.settle()
		hash := s.broadcast(*s.payout(id).Payout.SettlementID)
		s.settle()
		s.chain.mine(paymentOf(draft, s.payout(id).Payout, hash))
		s.chain.finalize()
		s.settle()

		answered := s.send(testRequest{target: eventsPath, signer: contributor})
		var types []string
		for _, event := range decode[sortie.EventPage](t, answered).Events {
			types = append(types, string(event.Type))
			if event.DraftID != "" || event.MissionID != draft.MissionID || !strings.Contains(string(event.Data), id) {
				t.Errorf("event %s of the contributor: got draft %q, mission %q, data %s; want no draft, mission %s and %s", event.Type, event.DraftID, event.MissionID, event.Data, draft.MissionID, id)
			}
		}
		if got := strings.Join(types, " "); got != "payout.sent payout.paid" {
			t.Errorf("events of the contributor: got %q, want payout.sent payout.paid", got)
		}
		if strings.Contains(string(answered.body), draft.DraftID) {
			t.Errorf("the contributor is shown the draft id of the creator: %s", answered.body)
		}
		page := decode[sortie.EventPage](t, s.send(testRequest{target: eventsPath}))
		last := page.Events[len(page.Events)-1]
		if last.Type != sortie.EventPayoutPaid || last.DraftID != draft.DraftID {
			t.Errorf("last event of the creator: got %s of draft %q, want payout.paid of %s", last.Type, last.DraftID, draft.DraftID)
		}
	})
}

func TestPayoutLists(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database, pays: true})
		first, second := s.publish("k1", wideMission), s.publish("k2", wideMission)
		var ids []string // newest first
		for i, mission := range []string{first.MissionID, second.MissionID, first.MissionID, second.MissionID, first.MissionID} {
			ids = append([]string{s.submit(mission, fmt.Sprint("photo-", i), s.shoot(i)).SubmissionID}, ids...)
			s.final()
		}
		list := func(query string) (found []string, page sortie.PayoutPage) {
			t.Helper()
			a := s.send(testRequest{target: payoutsTarget + query, signer: reviewer})
			mustBe(t, "list "+query, a, http.StatusOK)
			page = decode[sortie.PayoutPage](t, a)
			for _, payout := range page.Payouts {
				found = append(found, payout.SubmissionID)
			}
			return found, page
		}
		payout, err := s.db.PayoutOf(t.Context(), ids[2])
		if err == nil {
			err = s.ledger.SetPayoutAside(t.Context(), payout, "the contract refuses it")
		}
		if err != nil {
			t.Fatal(err)
		}
		recipient := contributor.Address().String()
		for query, want := range map[string][]string{
			"":                            ids,
			"?status=queued":              {ids[0], ids[1], ids[3], ids[4]},
			"?status=failed":              {ids[2]},
			"?status=paid":                nil,
			"?missionId=" + first.DraftID: {ids[0], ids[2], ids[4]},
			"?missionId=" + first.MissionID + "&status=queued":                          {ids[0], ids[4]},
			"?recipient=" + recipient:                                                   ids,
			"?recipient=" + recipient + "&status=failed":                                {ids[2]},
			"?recipient=" + strings.ToLower(recipient) + "&missionId=" + second.DraftID: {ids[1], ids[3]},
			"?recipient=" + another.Address().String():                                  nil,
		} {
			if got, _ := list(query); !slices.Equal(got, want) {
				t.Errorf("list %s: got %v, want %v", query, got, want)
			}
		}
		for _, filter := range []string{"", "&missionId=" + first.DraftID, "&recipient=" + recipient} {
			all, _ := list("?limit=100" + filter)
			var walked []string
			for cursor := ""; ; {
				found, page := list("?limit=2" + filter + cursor)
				walked = append(walked, found...)
				if page.Summary.NextCursor == nil {
					break
				}
				cursor = "&cursor=" + *page.Summary.NextCursor
			}
			if !slices.Equal(walked, all) {
				t.Errorf("pages of %q: got %v, want %v", filter, walked, all)
			}
		}
		load, err := s.db.PayoutLoad(t.Context())
		oldest, oldestErr := s.db.PayoutOf(t.Context(), ids[4])
		want := store.PayoutLoad{Queued: 4, Failed: 1, Oldest: oldest.QueuedAt}
		if err != nil || oldestErr != nil || load != want {
			t.Errorf("load: got %+v, %v, %v; want %+v", load, err, oldestErr, want)
		}
		_, page := list("?limit=1")
		for query, code := range map[string]sortie.Code{
			"?status=none": sortie.CodeInvalidParameter, "?status=": sortie.CodeInvalidParameter, "?recipient=0x12": sortie.CodeInvalidParameter,
			"?recipient=0x0000000000000000000000000000000000000000": sortie.CodeInvalidParameter, "?mission=x": sortie.CodeInvalidParameter,
			"?missionId=nowhere-00000000": sortie.CodeNotFound, "?limit=0": sortie.CodeInvalidParameter,
			"?status=queued&cursor=" + *page.Summary.NextCursor: sortie.CodeInvalidCursor,
		} {
			if a := s.send(testRequest{target: payoutsTarget + query, signer: reviewer}); a.code() != code {
				t.Errorf("list %s: got %d %s, want %s", query, a.StatusCode, a.body, code)
			}
		}
	})
}

func TestPayoutsThatWereSetAsideAreRetried(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database, pays: true})
		draft := s.publish("k1", wideMission)
		id := s.submit(draft.MissionID, "photo-1", s.shoot(1)).SubmissionID
		s.final()
		retry := payoutsTarget + "/" + id + "/retry"
		if a := s.order(reviewer, retry); a.code() != sortie.CodeWrongState || a.details()["payoutStatus"] != "queued" {
			t.Errorf("retry of a queued payout: got %d %s, want wrong_state", a.StatusCode, a.body)
		}
		setAside := func() {
			t.Helper()
			payout, err := s.db.PayoutOf(t.Context(), id)
			if err == nil {
				err = s.ledger.SetPayoutAside(t.Context(), payout, "the contract refuses it")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		setAside()
		doctor := decode[sortie.Doctor](t, s.send(testRequest{target: listPath + "/" + draft.DraftID + "/doctor"}))
		if doctor.Health != sortie.HealthBlocked || doctor.WaitingOn != sortie.PartyOperator || !strings.Contains(fmt.Sprint(doctor.Blockers), id) {
			t.Errorf("doctor of a mission with a payout that was set aside: got %+v, want it blocked, waiting for the operator, with %s", doctor, id)
		}
		mustBe(t, "retry by a creator", s.order(creator, retry), http.StatusForbidden)
		mustBe(t, "retry without a reason", s.send(testRequest{method: http.MethodPost, target: retry, body: `{"reason":""}`, signer: reviewer}), http.StatusUnprocessableEntity)
		mustBe(t, "retry of what has no payout", s.order(reviewer, payoutsTarget+"/sub_00000000000000000000000000/retry"), http.StatusNotFound)

		a := s.order(reviewer, retry)
		mustBe(t, "retry", a, http.StatusOK)
		if got := decode[sortie.PayoutDetail](t, a); got.Payout.Status != sortie.PayoutQueued || got.Payout.Problem != "" {
			t.Errorf("retried: got %+v, want it queued without a problem", got.Payout)
		}
		s.clock.advance(testInterval)
		s.settle()
		if got := s.payout(id); got.Settlement == nil {
			t.Errorf("after the retry: got %+v, want it in a settlement", got)
		}
		setAside()
		refund := refundOf(draft)
		refund.Closed.Reason = 2 // the creator's reclaim
		s.chain.mine(refund)
		if a := s.order(reviewer, retry); a.code() != sortie.CodeWrongState || !strings.Contains(string(a.body), "left the contract") {
			t.Errorf("retry after the money left: got %d %s, want wrong_state", a.StatusCode, a.body)
		}
		if actions := s.auditOf(id); actions != "payout.retried" {
			t.Errorf("audit of the payout: got %q, want payout.retried once", actions)
		}
	})
}

// auditOf returns the audited actions of a subject, newest first.
func (s *testService) auditOf(subject string) string {
	s.t.Helper()
	var actions []string
	for _, entry := range decode[sortie.AuditPage](s.t, s.send(testRequest{target: auditPath, signer: reviewer})).Entries {
		if entry.Subject == subject {
			actions = append(actions, entry.Action)
		}
	}
	return strings.Join(actions, " ")
}

// While payouts are halted, no settlement is made or signed; everything else continues.
func TestHaltedPayouts(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database, pays: true})
		draft := s.publish("k1", wideMission)
		id := s.submit(draft.MissionID, "photo-1", s.shoot(1)).SubmissionID
		s.final()
		s.clock.advance(testInterval)
		mustBe(t, "halt by a creator", s.order(creator, payoutsTarget+"/halt"), http.StatusForbidden)
		mustBe(t, "halt without a reason", s.send(testRequest{method: http.MethodPost, target: payoutsTarget + "/halt", body: `{"reason":" "}`, signer: reviewer}), http.StatusUnprocessableEntity)

		early, replayed := s.record(testRequest{method: http.MethodPost, target: payoutsTarget + "/resume", body: goodReason, signer: reviewer})
		mustBe(t, "resume when nothing is halted", early, http.StatusOK)
		a := s.order(reviewer, payoutsTarget+"/halt")
		mustBe(t, "halt", a, http.StatusOK)
		halted := decode[sortie.PayoutsHalted](t, a)
		if !halted.Halted || halted.Halt == nil || halted.Halt.By != reviewer.Address().String() || halted.Halt.Reason != "The place is private." {
			t.Fatalf("halt: got %s, want it halted by %s", a.body, reviewer.Address())
		}
		if again := decode[sortie.PayoutsHalted](t, s.order(colleague, payoutsTarget+"/halt")); again.Halt == nil || *again.Halt != *halted.Halt {
			t.Errorf("halt by another: got %+v, want the halt that holds, %+v", again.Halt, halted.Halt)
		}
		mustBe(t, "the earlier resume, replayed", replayed(), http.StatusOK)

		s.settle()
		detail := s.payout(id)
		if got := waitCodes(detail); got != "resume turn" || detail.Settlement != nil {
			t.Errorf("halted: it waits for %q in settlement %+v; want resume turn in none", got, detail.Settlement)
		}
		if reason := s.submission(id).Payout.Reason; !strings.Contains(reason, "The operator has halted payouts") || strings.Contains(reason, "private") {
			t.Errorf("contributor: got %q, want that payouts are halted, without the reason", reason)
		}
		doctor := decode[sortie.Doctor](t, s.send(testRequest{target: listPath + "/" + draft.DraftID + "/doctor"}))
		if doctor.WaitingOn != sortie.PartyOperator || len(doctor.Blockers) == 0 || doctor.Blockers[0].Code != sortie.BlockerPayoutsHalted {
			t.Errorf("doctor: got %+v, want it to wait for the operator, with payouts_halted first", doctor)
		}
		overview := decode[sortie.ChainOverview](t, s.send(testRequest{target: chainPath, signer: reviewer}))
		if overview.PayoutHalt == nil || overview.Halted {
			t.Errorf("chain: got halt %+v and halted %t, want the halt, and no incident that halts", overview.PayoutHalt, overview.Halted)
		}

		resumed := decode[sortie.PayoutsHalted](t, s.order(colleague, payoutsTarget+"/resume"))
		if resumed.Halted || resumed.Halt != nil {
			t.Errorf("resume: got %+v, want no halt", resumed)
		}
		s.settle()
		settlement := s.payout(id).Settlement
		if settlement == nil {
			t.Fatal("after the resume no settlement carries the payout")
		}
		s.clock.advance(time.Second) // in which nothing is signed, the same order is the same request
		mustBe(t, "halt again", s.order(reviewer, payoutsTarget+"/halt"), http.StatusOK)
		if _, err := s.ledger.SettleCall(t.Context(), fmt.Sprint(settlement.ID)); err == nil || !strings.Contains(err.Error(), "payouts are halted by "+reviewer.Address().String()) {
			t.Errorf("the call of a settlement while payouts are halted: got error %v, want that they are", err)
		}
		if actions := s.auditOf("31337"); actions != "payouts.halted payouts.resumed payouts.halted payouts.halted payouts.resumed" {
			t.Errorf("audit: got %q", actions)
		}
	})
}
