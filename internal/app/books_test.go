package app

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// testBooks is a testMedia whose books are compared with a testContract.
type testBooks struct {
	*testMedia
	contract *testContract
}

func openTestBooks(t *testing.T, database string) *testBooks {
	t.Helper()
	a := &testBooks{contract: newTestContract()}
	a.testMedia = openTestMedia(t, database, func(config *Config) { config.Contract = a.contract })
	a.app.solvency.retryIn = 0
	a.onStep = a.contract.see
	return a
}

// accept makes a number of final acceptances, and returns their ids in the order of their slots.
func (a *testBooks) accept(draft store.Draft, key string, number int) (ids []string) {
	a.t.Helper()
	for i := range number {
		ids = append(ids, a.submitQuickly(contributor(i), draft, fmt.Sprintf("%s-%d", key, i)))
	}
	a.pass(testHold)
	a.due()
	slices.SortFunc(ids, func(x, y string) int { return int(*a.stored(x).Slot) - int(*a.stored(y).Slot) })
	return ids
}

// pays is the payment of a submission's slot, as a transfer or a deferred credit.
func (a *testBooks) pays(id string, credit bool) onchain.Event {
	a.t.Helper()
	event := a.paymentOf(id)
	if credit {
		event.Kind = onchain.EventPayoutDeferred
	}
	return event
}

// closes is the closing of a mission with a number of paid slots.
func (a *testBooks) closes(draft store.Draft, reason uint8, paid int64) onchain.Event {
	event := closingOf(draft, reason)
	event.Closed.Refund = times(draft.Reward, int64(draft.TargetCount)-paid)
	return event
}

// settleFinal makes everything final and runs the periodic work.
func (a *testBooks) settleFinal() {
	a.t.Helper()
	a.finalize(a.position.Tip.Number)
	a.settle()
	a.must(a.ledger.finalizePayouts(context.Background()))
	a.due()
}

func (a *testBooks) check() sortie.SolvencyReport {
	a.t.Helper()
	report, err := a.ledger.CheckBooks(context.Background())
	a.must(err)
	return report
}

func (a *testBooks) wantAgrees(when string) sortie.SolvencyReport {
	a.t.Helper()
	report := a.check()
	if !report.Agrees || report.Status != sortie.SolvencyAgrees || len(report.Mismatches) > 0 {
		a.t.Fatalf("%s: the books are %s (%s), mismatches %+v; want them to agree", when, report.Status, report.Problem, report.Mismatches)
	}
	return report
}

// exec changes rows directly.
func (a *testBooks) exec(statement string, args ...any) {
	a.t.Helper()
	a.must(a.db.Tx(context.Background(), func(tx *store.Tx) error {
		result, err := tx.SQL().ExecContext(tx.Context(), statement, args...)
		if err != nil {
			return err
		}
		if changed, err := result.RowsAffected(); err != nil || changed != 1 {
			return fmt.Errorf("%s: changed %d rows, %v; want 1", statement, changed, err)
		}
		return nil
	}))
}

// clear clears every open incident, as an operator does.
func (a *testBooks) clear() {
	a.t.Helper()
	open, err := a.db.OpenIncidents(context.Background())
	a.must(err)
	for _, incident := range open {
		_, err := a.operators.ClearIncident(context.Background(), reviewer, incident.ID, "Corrected by hand.")
		a.must(err)
	}
}

// plus is a statement that adds to a number that is kept as text.
func plus(table, column, where string, by int) string {
	return fmt.Sprintf("UPDATE %[1]s SET %[2]s = CAST(CAST(%[2]s AS BIGINT) + %[4]d AS TEXT) WHERE %[3]s", table, column, where, by)
}

// An error of one unit in any row about money is found by the next check. It halts until an
// operator clears it.
func TestAPlantedErrorOfOneUnitIsFoundAndHalts(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestBooks(t, database)
		open, over, late := a.publish("open", 6, ""), a.publish("over", 3, ""), a.publish("late", 2, "")
		ids, paidOff := a.accept(open, "open", 5), a.accept(over, "over", 2)
		a.extend([]onchain.Event{a.pays(ids[0], false), a.pays(ids[1], true), a.pays(paidOff[0], false), a.pays(paidOff[1], true)})
		a.extend([]onchain.Event{a.closes(over, closedByCreator, 2)})
		a.settleFinal()
		a.extend([]onchain.Event{a.pays(ids[2], false), a.closes(late, closedByCreator, 0)}, nil) // in a block that is not final
		if a.slots(over).CompletedAt == nil {
			t.Fatalf("the closed mission is not complete: %+v", a.slots(over))
		}
		report := a.wantAgrees("before anything is planted")
		if len(report.Tokens) != 1 || report.Tokens[0].ClosedMissions != 1 || report.Tokens[0].OpenMissions != 2 {
			t.Fatalf("tokens %+v, want one with one closed mission and two others", report.Tokens)
		}
		where := func(draft store.Draft) string { return fmt.Sprintf("draft_id = '%s'", draft.ID) }
		of := func(id string) string { return fmt.Sprintf("submission_id = '%s'", id) }
		counter := func(column string, by int) string {
			return fmt.Sprintf("UPDATE mission_slots SET %[1]s = %[1]s + %[2]d WHERE %[3]s", column, by, where(open))
		}
		status := func(id string, to sortie.PayoutStatus) string {
			return fmt.Sprintf("UPDATE payouts SET status = '%s' WHERE %s", to, of(id))
		}
		for name, plant := range map[string]struct{ do, undo string }{
			"the reward of a mission":              {plus("drafts", "reward", where(open), 1), plus("drafts", "reward", where(open), -1)},
			"the target of a mission":              {"UPDATE drafts SET target_count = target_count + 1 WHERE " + where(open), "UPDATE drafts SET target_count = target_count - 1 WHERE " + where(open)},
			"the amount of a payout that waits":    {plus("payouts", "amount", of(ids[4]), 1), plus("payouts", "amount", of(ids[4]), -1)},
			"the amount of a paid payout":          {plus("payouts", "amount", of(ids[0]), -1), plus("payouts", "amount", of(ids[0]), 1)},
			"the amount of a deferred payout":      {plus("payouts", "amount", of(ids[1]), 1), plus("payouts", "amount", of(ids[1]), -1)},
			"a payment that is not final":          {"UPDATE payouts SET block_number = NULL WHERE " + of(ids[2]), fmt.Sprintf("UPDATE payouts SET block_number = %d WHERE %s", a.position.Tip.Number-1, of(ids[2]))},
			"a payout that waits, noted as paid":   {status(ids[4], sortie.PayoutPaid), status(ids[4], sortie.PayoutQueued)},
			"a paid payout, noted as deferred":     {status(ids[0], sortie.PayoutDeferred), status(ids[0], sortie.PayoutPaid)},
			"the counter of paid payouts, up":      {counter("paid", 1), counter("paid", -1)},
			"the counter of paid payouts, down":    {counter("paid", -1), counter("paid", 1)},
			"the counter of deferred payouts":      {counter("deferred", 1), counter("deferred", -1)},
			"the counter of failed payouts":        {counter("failed", 1), counter("failed", -1)},
			"the counter of payouts that wait":     {counter("waiting", 1), counter("waiting", -1)},
			"the refund of a mission that is over": {plus("fundings", "refund", where(over), 1), plus("fundings", "refund", where(over), -1)},
			"a refund that is not final":           {plus("fundings", "refund", where(late), 1), plus("fundings", "refund", where(late), -1)},
			"a payout of a mission that is over":   {plus("payouts", "amount", of(paidOff[0]), 1), plus("payouts", "amount", of(paidOff[0]), -1)},
			"the closed sums of a mission":         {plus("closed_books", "paid", where(over), 1), plus("closed_books", "paid", where(over), -1)},
			"the total of closed missions":         {plus("book_totals", "funded", "missions = 1", 1), plus("book_totals", "funded", "missions = 1", -1)},
		} {
			a.exec(plant.do)
			report := a.check()
			if report.Status != sortie.SolvencyMismatch || report.Agrees || report.MismatchCount == 0 {
				t.Errorf("%s: the books are %s, %d mismatches; want a mismatch", name, report.Status, report.MismatchCount)
			}
			a.wantHalted(true)
			a.exec(plant.undo)
			if report := a.check(); !report.Agrees {
				t.Fatalf("%s: after it was corrected the books are %s: %+v", name, report.Status, report.Mismatches)
			}
			a.wantHalted(true) // that the books agree again does not end it
			a.clear()
			a.wantHalted(false)
		}
	})
}

// The incident of a mismatch names the mission, the token and both amounts, and is opened once.
func TestTheIncidentOfAMismatchSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestBooks(t, database)
		draft := a.publish("k", 4, "")
		a.wantAgrees("before anything is planted")
		a.exec(plus("drafts", "reward", fmt.Sprintf("draft_id = '%s'", draft.ID), 1))
		a.check()
		a.extend(nil)
		a.check()
		open, err := a.db.OpenIncidents(context.Background())
		a.must(err)
		found := 0
		for _, incident := range open {
			if incident.Kind == incidentBooksMismatch && strings.Contains(incident.Detail, ": reward: ") {
				found++
				for _, part := range []string{draft.MissionID, draft.ID, "USDC", "expected 2500000", "found 2500001"} {
					if !strings.Contains(incident.Detail, part) || !incident.Halting {
						t.Errorf("incident %+v, want a halting one with %q", incident, part)
					}
				}
			}
		}
		if found != 1 {
			t.Errorf("%d incidents about the reward, want 1: %+v", found, open)
		}
	})
}

// Checks find no mismatch while the chain is reorganized with payments, deferred credits and
// closings.
func TestReorganizationsAreNoMismatch(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestBooks(t, database)
		drafts := []store.Draft{a.publish("a", 8, ""), a.publish("b", 8, ""), a.publish("c", 8, "")}
		payments := make([][]onchain.Event, len(drafts))
		for i, draft := range drafts {
			for n, id := range a.accept(draft, draft.ID, 6) {
				payments[i] = append(payments[i], a.pays(id, n%3 == 2))
			}
		}
		floor := a.position.Tip.Number
		a.settleFinal()
		stop := make(chan struct{})
		var checking sync.WaitGroup
		checking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				report, err := a.ledger.CheckBooks(context.Background())
				if err != nil || report.Status == sortie.SolvencyMismatch {
					t.Errorf("while the chain was reorganized: %v, %+v", err, report.Mismatches)
					return
				}
			}
		})
		random := rand.New(rand.NewPCG(1, 2))
		for range 60 {
			// Each fork has its own payments and closings, spread over several blocks.
			blocks := make([][]onchain.Event, 1+random.IntN(6))
			for i, draft := range drafts {
				paid, at := random.IntN(len(payments[i])+1), 0
				for _, payment := range payments[i][:paid] {
					at = min(at+random.IntN(2), len(blocks)-1)
					blocks[at] = append(blocks[at], payment)
				}
				if random.IntN(3) == 0 {
					blocks[len(blocks)-1] = append(blocks[len(blocks)-1], a.closes(draft, closedByCreator, int64(paid)))
				}
			}
			a.advance(a.step(floor, blocks...))
		}
		close(stop)
		checking.Wait()
		a.wantAgrees("at the end")
		a.wantHalted(false)
	})
}

// A reorganization between two pages of a check removes a payment. The check must restart.
func TestAReorganizationBetweenTwoPagesIsNoMismatch(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestBooks(t, database)
		first, second := a.publish("a", 3, ""), a.publish("b", 3, "")
		if first.ID > second.ID {
			first, second = second, first
		}
		ids := a.accept(second, "second", 2)
		a.app.solvency.page = 1
		floor := a.position.Tip.Number
		a.extend([]onchain.Event{a.pays(ids[0], false), a.pays(ids[1], true)})
		var once sync.Once
		a.contract.asked = func(int) {
			once.Do(func() { a.advance(a.step(floor, nil)) })
		}
		report := a.wantAgrees("with a reorganization in between")
		if *report.BlockHash != a.position.Tip.Hash {
			t.Errorf("compared as of %s, want the new block %s", report.BlockHash, a.position.Tip.Hash)
		}
		a.wantHalted(false)
	})
}

// Payments after the block of the check do not count, on either side.
func TestPaymentsAfterTheBlockDoNotCount(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestBooks(t, database)
		first, second := a.publish("a", 3, ""), a.publish("b", 3, "")
		if first.ID > second.ID {
			second = first
		}
		ids := a.accept(second, "second", 1)
		a.app.solvency.page = 1
		var once sync.Once
		a.contract.asked = func(int) {
			once.Do(func() {
				a.extend([]onchain.Event{a.pays(ids[0], false)}, []onchain.Event{a.closes(second, closedByCreator, 1)})
			})
		}
		a.wantAgrees("with a payment and a closing in between")
	})
}

// A contract that does not answer is neither a mismatch nor a pass.
func TestNodesThatDoNotAnswerAreNotAMismatch(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestBooks(t, database)
		a.publish("k", 3, "")
		agreed := a.wantAgrees("at first")
		a.contract.fail = errors.New("too few nodes agree")
		report := a.check()
		if report.Status != sortie.SolvencyNotChecked || report.Agrees || !strings.Contains(report.Problem, "too few nodes agree") {
			t.Errorf("with nodes away the books are %s (%q), want %s", report.Status, report.Problem, sortie.SolvencyNotChecked)
		}
		if report.CompletedAt == nil || *report.CompletedAt != *agreed.CompletedAt {
			t.Errorf("last completed at %v, want %s", report.CompletedAt, *agreed.CompletedAt)
		}
		a.wantHalted(false)
		shown, err := a.operators.Solvency(context.Background(), reviewer, Page{})
		if err != nil || shown.Agrees || len(shown.Missions) != 1 || shown.Missions[0].Agrees != nil || shown.Summary.Problem == "" {
			t.Errorf("the answer is %+v, %v; want a mission that was not checked", shown, err)
		}
		a.contract.fail = nil
		a.wantAgrees("with the nodes back")
	})
}

// An old report is not a pass.
func TestAnOldReportIsNotAPass(t *testing.T) {
	t.Parallel()
	a := openTestBooks(t, sqliteDatabase(t))
	a.publish("k", 3, "")
	a.wantAgrees("at first")
	a.pass(2 * 60 * 1e9)
	shown, err := a.operators.Solvency(context.Background(), reviewer, Page{})
	if err != nil || shown.Agrees || shown.Status != sortie.SolvencyNotChecked {
		t.Errorf("two minutes later the books are %s, %v; want %s", shown.Status, err, sortie.SolvencyNotChecked)
	}
}

// The factory must hold the rest of all missions and all deferred credits. It may hold more, for
// other missions.
func TestTheBalanceCoversWhatTheFactoryOwes(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestBooks(t, database)
		draft := a.publish("k", 4, "")
		ids := a.accept(draft, "k", 2)
		a.extend([]onchain.Event{a.pays(ids[0], false), a.pays(ids[1], true)})
		a.settleFinal()
		wantOwed := func(when string, report sortie.SolvencyReport, owed int64) {
			t.Helper()
			token := report.Tokens[0]
			if token.ObligationBaseUnits == nil || *token.ObligationBaseUnits != fmt.Sprint(owed) || token.Covered == nil || !*token.Covered {
				t.Errorf("%s: owed %v, covered %v; want %d, true", when, *token.ObligationBaseUnits, *token.Covered, owed)
			}
		}
		wantOwed("with a credit", a.wantAgrees("with a credit"), 3*2_500_000)
		a.contract.extra.SetInt64(1)
		a.wantAgrees("with money of others")
		a.contract.extra.SetInt64(-1)
		report := a.check()
		if len(report.Mismatches) != 1 || report.Mismatches[0].What != "balance of the factory" || report.Mismatches[0].Found != "7499999" {
			t.Errorf("one unit short: %+v", report.Mismatches)
		}
		a.wantHalted(true)
		a.contract.extra = new(big.Int)
		a.clear()
		a.contract.claim(a.stored(ids[1]).Contributor)
		wantOwed("after the claim", a.wantAgrees("after the claim"), 2*2_500_000)
	})
}

// A mission whose money left in a final block is added to the totals once. A reorganization removes
// it from them.
func TestBooksAreClosedOnceAndReopened(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestBooks(t, database)
		draft := a.publish("k", 3, "")
		floor := a.position.Tip.Number
		a.extend([]onchain.Event{a.closes(draft, closedByCreator, 0)})
		a.wantAgrees("closed in a block that is not final")
		totals := func() string {
			list, err := a.db.BookTotals(context.Background(), testChain)
			a.must(err)
			if len(list) == 0 {
				return "none"
			}
			return fmt.Sprintf("%d missions, %s funded, %s refunded", list[0].Missions, list[0].Funded, list[0].Refunded)
		}
		if got := totals(); got != "none" {
			t.Errorf("totals before the closing is final: %s, want none", got)
		}
		a.settleFinal()
		for _, when := range []string{"closed for good", "again"} {
			a.wantAgrees(when)
			if got, want := totals(), "1 missions, 7500000 funded, 7500000 refunded"; got != want {
				t.Errorf("%s: totals %s, want %s", when, got, want)
			}
		}
		step := a.step(floor, nil, nil)
		step.Final = floor
		a.advance(step)
		if got, want := totals(), "0 missions, 0 funded, 0 refunded"; got != want {
			t.Errorf("after finality was broken: totals %s, want %s", got, want)
		}
		report := a.wantAgrees("after finality was broken")
		if token := report.Tokens[0]; token.OpenMissions != 1 || token.ClosedMissions != 0 || token.Database.RemainingBaseUnits != "7500000" {
			t.Errorf("token %+v, want one open mission with all of its money", token)
		}
	})
}
