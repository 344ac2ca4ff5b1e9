package app

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// roleTable is the account with the settler role in every contract, and whether the contract
// answers.
type roleTable struct {
	mu    sync.Mutex
	holds map[sortie.Address]bool
	away  bool
	asked int
}

func (r *roleTable) ask(_ context.Context, _, account sortie.Address) (bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if r.away {
		return false, errors.New("no node answers")
	}
	return r.holds[account], nil
}

func (r *roleTable) set(holds ...sortie.Address) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds = make(map[sortie.Address]bool)
	for _, account := range holds {
		r.holds[account] = true
	}
}

// rotation is a testMedia with open receipts of one settler, and a second process with the next
// one.
type rotation struct {
	*testMedia
	roles                 *roleTable
	old, next             sortie.Address
	oldLedger, nextLedger *Ledger
	nextSigns             *int // how often the next settler signed
	paid, open, gone      string
	draft                 store.Draft
}

func rotate(t *testing.T, database string) *rotation {
	t.Helper()
	r := &rotation{roles: new(roleTable), nextSigns: new(int)}
	r.testMedia = openTestMedia(t, database, func(config *Config) { config.SettlerRole = r.roles.ask })
	r.oldLedger, r.old = r.ledger, r.settler
	signer, err := funding.NewKeySigner([32]byte{31: 10})
	r.must(err)
	r.next = signer.Address()
	r.roles.set(r.old)
	r.draft = r.publish("k", 3, "")
	r.paid, r.open, r.gone = r.submitQuickly(contributor(1), r.draft, "a"), r.submitQuickly(contributor(2), r.draft, "b"), r.submitQuickly(contributor(3), r.draft, "c")
	r.pass(testHold)
	r.due()
	r.extend([]onchain.Event{r.paymentOf(r.paid)})
	r.pass(1)
	var counting sync.Mutex
	r.nextLedger = r.another(func(config *Config) {
		sign := settlerOf(signer)
		config.SettlerAddress = r.next
		config.Settler = func(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (sortie.Bytes, error) {
			counting.Lock()
			defer counting.Unlock()
			*r.nextSigns++
			return sign(ctx, domain, settlement)
		}
	}).Ledger
	return r
}

// paymentOf is the event that pays the slot of a submission.
func (s *testMedia) paymentOf(id string) onchain.Event {
	s.t.Helper()
	submission := s.stored(id)
	return onchain.Event{
		Kind: onchain.EventSubmissionPaid, Factory: factory, MissionKey: sortie.MissionKey(submission.Mission.MissionID), Transaction: testHash('p', uint64(*submission.Slot)),
		Payment: &onchain.Payment{
			SubmissionKey: sortie.SubmissionKey(id), Recipient: submission.Contributor, Slot: uint64(*submission.Slot), Amount: submission.Mission.Reward,
		},
	}
}

// wantSigners compares the signers of the receipts of the paid, the open and the third submission.
// Each receipt must have its slot, its contributor and a signature by that key.
func (r *rotation) wantSigners(when string, paid, open, gone sortie.Address) {
	r.t.Helper()
	for id, want := range map[string]sortie.Address{r.paid: paid, r.open: open, r.gone: gone} {
		r.settler = want
		r.wantSigned(id, *r.stored(id).Slot)
		if got := r.submission(id).Receipt.Signer; got == nil || *got != want {
			r.t.Errorf("%s: the receipt of slot %d has signer %v, want %s", when, *r.stored(id).Slot, got, want)
		}
	}
}

func (r *rotation) wantLeft(when string, ledger *Ledger, want int64, known bool) {
	r.t.Helper()
	if got, gotKnown := ledger.ReceiptsToRenew(); got != want || gotKnown != known {
		r.t.Errorf("%s: %d receipts are left (known: %t), want %d (known: %t)", when, got, gotKnown, want, known)
	}
}

// Receipts move to the next settler while their slot is unpaid, keep their recipient, and do not
// move back.
func TestOpenReceiptsAreSignedAgainByTheNextSettler(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		r := rotate(t, database)
		ctx := context.Background()
		before := r.submission(r.open).Receipt
		r.roles.set(r.old, r.next)
		r.wantLeft("before the first look", r.nextLedger, 0, false)
		r.must(r.nextLedger.RenewReceipts(ctx))
		r.wantSigners("after the grant", r.old, r.next, r.next)
		r.wantLeft("after the grant", r.nextLedger, 0, true)
		if after := r.submission(r.open).Receipt; !slices.Equal(after.Payments, before.Payments) || slices.Equal(after.Signature, before.Signature) {
			t.Errorf("renewed %v with the signature %s, want %v with another one", after.Payments, after.Signature, before.Payments)
		}
		r.must(r.oldLedger.RenewReceipts(ctx))
		r.wantSigners("the process with the earlier key, while both keys are good", r.old, r.next, r.next)
		signed := *r.nextSigns
		r.must(r.nextLedger.RenewReceipts(ctx))
		if *r.nextSigns != signed {
			t.Errorf("the next settler signed %d receipts once more, want 0", *r.nextSigns-signed)
		}
		r.roles.set(r.next)
		r.must(r.nextLedger.RenewReceipts(ctx))
		r.wantSigners("after the earlier key was revoked", r.old, r.next, r.next)
		r.roles.set(r.old)
		r.must(r.oldLedger.RenewReceipts(ctx))
		r.wantSigners("after the next key was revoked instead", r.old, r.old, r.old)
	})
}

// A receipt that can be redeemed is never replaced by one that cannot.
func TestReceiptsAreNotRenewedByAKeyWithoutTheRole(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		r := rotate(t, database)
		ctx := context.Background()
		r.must(r.nextLedger.RenewReceipts(ctx))
		r.wantSigners("before the grant", r.old, r.old, r.old)
		r.wantLeft("before the grant", r.nextLedger, 2, true)
		r.roles.set()
		if err := r.nextLedger.RenewReceipts(ctx); err == nil {
			t.Error("no settler has the role: got no error, want one")
		}
		r.roles.set(r.next)
		r.roles.away = true
		if err := r.nextLedger.RenewReceipts(ctx); err == nil {
			t.Error("no node answers: got no error, want one")
		}
		r.wantSigners("while the roles are not known", r.old, r.old, r.old)
		if *r.nextSigns != 0 {
			t.Errorf("the next settler signed %d times, want 0", *r.nextSigns)
		}
		r.roles.away = false
		r.must(r.nextLedger.RenewReceipts(ctx))
		r.wantSigners("after the theft of the earlier key: revoked first", r.old, r.next, r.next)
	})
}

// After a reorganization removes a payment the receipt is open again.
func TestReceiptsOfPaymentsThatWereTakenBackAreRenewed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		r := rotate(t, database)
		r.roles.set(r.old, r.next)
		r.advance(r.step(r.position.Tip.Number-1, nil))
		r.must(r.nextLedger.RenewReceipts(context.Background()))
		r.wantSigners("after the reorganization", r.next, r.next, r.next)
	})
}

// Receipts without a stored signer get one, and the contract is not asked when there is nothing to
// renew.
func TestReceiptsWithoutAStoredSignerAreRenewed(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		r := rotate(t, database)
		ctx := context.Background()
		r.must(r.oldLedger.RenewReceipts(ctx))
		if r.roles.asked != 0 {
			t.Errorf("the contract was asked %d times about nothing, want 0", r.roles.asked)
		}
		final := r.stored(r.open)
		r.must(r.db.Tx(ctx, func(tx *store.Tx) error { return tx.RenewReceipt(final, final.Receipt, sortie.Address{}) }))
		if got := r.submission(r.open).Receipt.Signer; got != nil {
			t.Errorf("a receipt without a stored signer has signer %s, want null", got)
		}
		r.must(r.oldLedger.RenewReceipts(ctx))
		r.wantSigners("renewed by the same key", r.old, r.old, r.old)
	})
}

// More receipts than one call reads are renewed by the next calls, and receipts that the signer
// refuses do not delay others.
func TestManyReceiptsAreRenewedInBatches(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: signs several batches of receipts")
	}
	s := openTestMedia(t, sqliteDatabase(t), nil)
	ctx := context.Background()
	const receipts = maxDue + 3
	draft := s.publish("k", receipts, "")
	var ids []string
	for i := range receipts {
		ids = append(ids, s.submitQuickly(contributor(i), draft, "k"))
	}
	s.pass(testHold)
	for range 2 {
		s.due()
	}
	slices.Sort(ids) // the order of renewals
	signer, err := funding.NewKeySigner([32]byte{31: 10})
	s.must(err)
	refused := sortie.SubmissionKey(ids[0])
	next := s.another(func(config *Config) {
		config.SettlerAddress, config.SettlerRole = signer.Address(), func(context.Context, sortie.Address, sortie.Address) (bool, error) { return true, nil }
		sign := settlerOf(signer)
		config.Settler = func(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (sortie.Bytes, error) {
			if settlement.Payments[0].SubmissionKey == refused {
				return nil, errors.New("not this one")
			}
			return sign(ctx, domain, settlement)
		}
	})
	if err := next.Ledger.RenewReceipts(ctx); err == nil {
		t.Error("got no error, want that of the signer")
	}
	renewed := func() int {
		return s.count(`SELECT COUNT(*) FROM submissions WHERE receipt_signer <> '' AND receipt_signer <> (SELECT receipt_signer FROM submissions WHERE submission_id = $1)`, ids[0])
	}
	if got := renewed(); got != receipts-1 {
		t.Errorf("%d receipts are renewed, want %d", got, receipts-1)
	}
	refused = sortie.Hash{}
	s.must(next.Ledger.RenewReceipts(ctx))
	s.settler = signer.Address()
	for _, id := range ids {
		s.wantReceipt(id, *s.stored(id).Slot)
	}
}

// A receipt that is signed while an incident begins to halt the service is not stored, new or
// renewed.
func TestHaltingIsLookedAtForEachReceipt(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		ctx := context.Background()
		var s *testMedia
		halting := false
		halt := func(sign Settler) Settler {
			return func(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (sortie.Bytes, error) {
				if halting {
					if err := s.ledger.ReportIncident(ctx, "test", "Stop.", true); err != nil {
						return nil, err
					}
				}
				return sign(ctx, domain, settlement)
			}
		}
		s = openTestMedia(t, database, func(config *Config) { config.Settler = halt(config.Settler) })
		draft := s.publish("k", 1, "")
		id := s.submitQuickly(bob, draft, "one")
		s.pass(testHold)
		halting = true
		s.due()
		if receipt := s.stored(id).Receipt; len(receipt) != 0 {
			t.Errorf("the service was halted while it signed, and keeps the receipt %s, want 0", receipt)
		}
		halting = false
		s.clearIncidents()
		s.due()
		s.wantReceipt(id, 0)

		signer, err := funding.NewKeySigner([32]byte{31: 10})
		s.must(err)
		next := s.another(func(config *Config) {
			config.SettlerAddress, config.Settler = signer.Address(), halt(settlerOf(signer))
			config.SettlerRole = func(context.Context, sortie.Address, sortie.Address) (bool, error) { return true, nil }
		})
		halting = true
		s.must(next.Ledger.RenewReceipts(ctx))
		s.wantReceipt(id, 0) // of the former settler still
		halting = false
		s.clearIncidents()
		s.must(next.Ledger.RenewReceipts(ctx))
		s.settler = signer.Address()
		s.wantReceipt(id, 0)
	})
}

// An incident that halts the service after the due acceptances were read keeps them from becoming
// final.
func TestHaltingIsLookedAtForEachAcceptance(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 1, "")
		id := s.submitQuickly(bob, draft, "one")
		s.pass(testHold)
		due := s.stored(id)
		s.must(s.ledger.ReportIncident(ctx, "test", "Stop.", true))
		s.must(s.ledger.once(ctx, func(tx *writeTx) error { return tx.finalize(due) }))
		if got := s.stored(id); got.Slot != nil {
			t.Errorf("the service is halted, and the acceptance has slot %d, want none", *got.Slot)
		}
		s.clearIncidents()
		s.must(s.ledger.once(ctx, func(tx *writeTx) error { return tx.finalize(due) }))
		if got := s.stored(id); got.Slot == nil {
			t.Error("the incident is cleared, and the acceptance has no slot, want one")
		}
	})
}

// A receipt states what it depends on.
func TestReceiptsSayWhatTheyDependOn(t *testing.T) {
	t.Parallel()
	s := openTestMedia(t, sqliteDatabase(t), nil)
	draft := s.publish("k", 1, "")
	id := s.submitQuickly(bob, draft, "one")
	s.pass(testHold)
	s.due()
	funding, err := s.db.FundingOf(context.Background(), draft.ID)
	s.must(err)
	receipt := s.submission(id).Receipt
	reclaim := sortie.FormatTime(time.Unix(int64(funding.ReclaimAfter), 0))
	if receipt.Signer == nil || *receipt.Signer != s.settler || receipt.ReclaimAfter == nil || *receipt.ReclaimAfter != reclaim {
		t.Errorf("signer %v and reclaimAfter %v, want %s and %s", receipt.Signer, receipt.ReclaimAfter, s.settler, reclaim)
	}
	var codes []sortie.ReceiptConditionCode
	for _, condition := range receipt.DependsOn {
		codes = append(codes, condition.Code)
		if condition.Message == "" {
			t.Errorf("condition %s has no message", condition.Code)
		}
	}
	want := []sortie.ReceiptConditionCode{sortie.ReceiptPause, sortie.ReceiptCap, sortie.ReceiptRole, sortie.ReceiptClose, sortie.ReceiptReclaim}
	if !slices.Equal(codes, want) {
		t.Errorf("the receipt depends on %v, want %v", codes, want)
	}
	if reviewed, err := s.operators.ReviewedSubmission(context.Background(), testBase, reviewer, id); err != nil || len(reviewed.Submission.Receipt.DependsOn) != len(want) {
		t.Errorf("an operator sees %+v, %v; want the same conditions", reviewed.Submission.Receipt, err)
	}
}
