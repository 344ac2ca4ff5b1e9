package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// Solvency shows both sides of each mission, in pages.
func TestSolvencyShowsBothSidesInPages(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestBooks(t, database)
		for i := range 3 {
			a.publish(fmt.Sprint(i), 2, "")
		}
		if _, err := a.operators.Solvency(context.Background(), alice, Page{}); sortie.ErrorCode(err) != sortie.CodeWalletNotAllowed {
			t.Errorf("asked by a creator: %v, want %s", err, sortie.CodeWalletNotAllowed)
		}
		before, err := a.operators.Solvency(context.Background(), reviewer, Page{})
		if err != nil || before.Agrees || before.Status != sortie.SolvencyNotChecked {
			t.Errorf("before the first check: %s, %v; want %s", before.Status, err, sortie.SolvencyNotChecked)
		}
		a.wantAgrees("at first")
		var seen []string
		for cursor := ""; ; {
			page, err := a.operators.Solvency(context.Background(), reviewer, Page{Limit: 2, Cursor: cursor})
			a.must(err)
			for _, m := range page.Missions {
				if m.Agrees == nil || !*m.Agrees || m.Chain == nil || m.Chain.FundedBaseUnits != m.Database.FundedBaseUnits || m.Database.FundedBaseUnits != "5000000" {
					t.Errorf("mission %+v, want 5000000 funded on both sides", m)
				}
				seen = append(seen, m.DraftID)
			}
			if page.Summary.NextCursor == nil {
				break
			}
			cursor = *page.Summary.NextCursor
		}
		if len(slices.Compact(slices.Sorted(slices.Values(seen)))) != 3 || len(seen) != 3 {
			t.Errorf("pages list %v, want three missions once each", seen)
		}
	})
}

// Each check compares a part of the closed books, so an error in any of them is found after as many
// checks as there are parts.
func TestClosedBooksAreComparedInTurn(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestBooks(t, database)
		const missions, part = 5, 2
		var drafts []store.Draft
		var closings []onchain.Event
		for i := range missions {
			draft := a.publish(fmt.Sprint(i), 2, "")
			drafts, closings = append(drafts, draft), append(closings, a.closes(draft, closedByCreator, 0))
		}
		a.extend(closings)
		a.settleFinal()
		a.app.solvency.page, a.app.solvency.recheck = 1, part
		a.wantAgrees("when the books are closed")
		for _, draft := range drafts {
			where := fmt.Sprintf("draft_id = '%s'", draft.ID)
			a.exec(plus("fundings", "refund", where, 1))
			found := false
			for range (missions+part-1)/part + 1 {
				report := a.check()
				if report.MissionsChecked > part+1 {
					t.Fatalf("a check compared %d missions, want %d at most", report.MissionsChecked, part+1)
				}
				found = found || slices.ContainsFunc(report.Mismatches, func(one sortie.BookMismatch) bool { return one.DraftID == draft.ID })
			}
			if !found {
				t.Errorf("the error in mission %s was not found", draft.MissionID)
			}
			a.exec(plus("fundings", "refund", where, -1))
			a.clear()
		}
	})
}

// The sums for contributors, creators and the public add up in every state of the payouts.
func TestTheSumsThatPeopleSeeAddUp(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		a := openTestBooks(t, database)
		ctx := context.Background()
		draft := a.publish("k", 6, "")
		ids := a.accept(draft, "k", 5)
		a.extend([]onchain.Event{a.pays(ids[0], false), a.pays(ids[1], true)})
		a.settleFinal()
		a.extend([]onchain.Event{a.pays(ids[2], false)})
		a.must(a.ledger.SetPayoutAside(ctx, a.payout(ids[3]), "refused"))
		check := func(when string, want sortie.BookSums, spent, committed, left string) {
			t.Helper()
			ledger, err := a.app.MissionLedger(ctx, draft.MissionID, Page{})
			if err != nil || ledger.BookSums != want {
				t.Errorf("%s: the ledger has %+v, %v; want %+v", when, ledger.BookSums, err, want)
			}
			doctor, err := a.app.Doctor(ctx, alice, draft.ID)
			if err != nil || doctor.Money == nil || doctor.Money.Spent != spent || doctor.Money.Committed != committed || doctor.Money.Left != left {
				t.Errorf("%s: the creator's money is %+v, %v; want %s spent, %s committed, %s left", when, doctor.Money, err, spent, committed, left)
			}
		}
		check("with a payment that is not final", sortie.BookSums{
			FundedBaseUnits: "15000000", PaidBaseUnits: "2500000", DeferredBaseUnits: "2500000", RemainingBaseUnits: "10000000", RefundedBaseUnits: "0",
		}, "5000000", "7500000", "2500000")
		for i, want := range []struct{ status, advice string }{{"paid", ""}, {"deferred", "claimDeferred"}, {"on the way", ""}, {"failed", "operator"}, {"on the way", ""}} {
			earnings, err := a.app.Earnings(ctx, a.stored(ids[i]).Contributor)
			a.must(err)
			if len(earnings.Tokens) != 1 {
				t.Fatalf("contributor %d earned %+v, want one token", i, earnings.Tokens)
			}
			token := earnings.Tokens[0]
			got := map[string]sortie.EarnedAmount{"paid": token.Paid, "deferred": token.Deferred, "on the way": token.OnTheWay, "failed": token.Failed}
			for status, earned := range got {
				expected := sortie.EarnedAmount{BaseUnits: "0", Amount: "0"}
				if status == want.status {
					expected = sortie.EarnedAmount{Payouts: 1, BaseUnits: "2500000", Amount: "2.5"}
				}
				if earned != expected {
					t.Errorf("contributor %d: %s is %+v, want %+v", i, status, earned, expected)
				}
			}
			if (token.Advice == "") != (want.advice == "") || !strings.Contains(token.Advice, want.advice) {
				t.Errorf("contributor %d is advised %q, want %q in it", i, token.Advice, want.advice)
			}
		}
		a.extend([]onchain.Event{a.closes(draft, closedByCreator, 3)})
		a.settleFinal()
		check("at the end", sortie.BookSums{
			FundedBaseUnits: "15000000", PaidBaseUnits: "5000000", DeferredBaseUnits: "2500000", RemainingBaseUnits: "0", RefundedBaseUnits: "7500000",
		}, "7500000", "0", "0")
		var slots []uint32
		for cursor := ""; ; {
			page, err := a.app.MissionLedger(ctx, draft.MissionID, Page{Limit: 2, Cursor: cursor})
			a.must(err)
			for _, payment := range page.Payments {
				slots = append(slots, payment.Slot)
			}
			if page.Summary.NextCursor == nil {
				break
			}
			cursor = *page.Summary.NextCursor
		}
		if !slices.Equal(slots, []uint32{0, 1, 2}) {
			t.Errorf("pages list the slots %v, want 0, 1 and 2", slots)
		}
	})
}

func (a *testBooks) payout(id string) store.Payout {
	a.t.Helper()
	payout, err := a.db.PayoutOf(context.Background(), id)
	a.must(err)
	return payout
}
