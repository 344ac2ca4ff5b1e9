package store

import (
	"context"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
)

func drawFunding(draft Draft, block uint64) onchain.Funding {
	return onchain.Funding{
		DraftID: draft.ID, MissionKey: sortie.MissionKey(draft.MissionID), ChainID: draft.ChainID, Block: block, BlockHash: drawHash(),
		Transaction: drawHash(), LogIndex: rand.Uint64N(1 << 40), ReclaimAfter: 1_790_000_000,
	}
}

func drawClosing(block uint64) *onchain.Closing {
	return &onchain.Closing{Block: block, BlockHash: drawHash(), Transaction: drawHash(), Reason: 2, Refund: new(big.Int).Lsh(big.NewInt(1), 200), RefundDeferred: true}
}

func testFundingAsWritten(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	draft, other := mustCreate(t, db, alice, "a"), mustCreate(t, db, bob, "b")
	funding := drawFunding(draft, 7)
	check := func(want onchain.Funding) {
		t.Helper()
		for _, read := range []func() (onchain.Funding, error){
			func() (onchain.Funding, error) { return db.FundingOf(ctx, draft.ID) },
			func() (onchain.Funding, error) { return db.FundingByKey(ctx, funding.MissionKey) },
		} {
			if got, err := read(); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("read %+v, %v; want %+v", got, err, want)
			}
		}
	}
	mustTx(t, db, func(tx *Tx) error { return tx.AddFunding(funding) })
	check(funding)

	sameKey := drawFunding(other, 8)
	sameKey.MissionKey = funding.MissionKey
	mustTx(t, db, func(tx *Tx) error { // which continues after refusals
		for _, refused := range []onchain.Funding{drawFunding(draft, 9), sameKey} {
			if err := tx.AddFunding(refused); !errors.Is(err, ErrConflict) {
				t.Errorf("AddFunding of what is funded: %v, want ErrConflict", err)
			}
		}
		for _, err := range []error{tx.RemoveFunding(other.ID), tx.SetClosing(other.ID, nil), tx.SetClosing(other.ID, drawClosing(9))} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("a change of what is not funded: %v, want ErrNotFound", err)
			}
		}
		return nil
	})
	check(funding)

	closed := funding
	closed.Closed = drawClosing(9)
	mustTx(t, db, func(tx *Tx) error { return tx.SetClosing(draft.ID, closed.Closed) })
	check(closed)
	mustTx(t, db, func(tx *Tx) error { return tx.SetClosing(draft.ID, nil) })
	check(funding)
	mustTx(t, db, func(tx *Tx) error {
		if err := tx.RemoveFunding(draft.ID); err != nil {
			return err
		}
		return tx.AddFunding(closed) // with its closing
	})
	check(closed)
	mustTx(t, db, func(tx *Tx) error { return tx.RemoveFunding(draft.ID) })
	if _, err := db.FundingOf(ctx, draft.ID); !errors.Is(err, ErrNotFound) {
		t.Errorf("a removed funding: %v, want ErrNotFound", err)
	}
}

func testDraftsOfAnyWallet(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(1_790_000_000_000_000)
	db := open(t, url, Options{Clock: clock.now})
	ctx := context.Background()
	if _, err := db.OldestDraft(ctx); !errors.Is(err, ErrNotFound) {
		t.Errorf("the oldest of none: %v, want ErrNotFound", err)
	}
	later, earlier := drawDraft(alice, "b"), drawDraft(bob, "a")
	earlier.ID, later.ID = mission.NewDraftID(mission.Entropy{}, clock.now()), mission.NewDraftID(mission.Entropy{}, clock.now().Add(time.Minute))
	first, _, err := create(db, earlier, manyDrafts)
	if err != nil {
		t.Fatal(err)
	}
	clock.micros.Add(60_000_000)
	draft, _, err := create(db, later, manyDrafts)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := db.OldestDraft(ctx); err != nil || !got.Equal(first.CreatedAt) {
		t.Errorf("the oldest is of %s, %v; want %s", got, err, first.CreatedAt)
	}
	mustTx(t, db, func(tx *Tx) error {
		for _, read := range []func() (Draft, error){
			func() (Draft, error) { return db.DraftByDraftID(ctx, draft.ID) }, func() (Draft, error) { return tx.DraftByDraftID(draft.ID) },
			func() (Draft, error) { return db.DraftByMissionID(ctx, draft.MissionID) }, func() (Draft, error) { return tx.DraftByMissionID(draft.MissionID) },
		} {
			if got, err := read(); err != nil || !reflect.DeepEqual(got, draft) {
				t.Errorf("read %+v, %v; want %+v", got, err, draft)
			}
		}
		_, err1 := tx.DraftByDraftID(draft.MissionID)
		_, err2 := tx.DraftByMissionID(draft.ID)
		if !errors.Is(err1, ErrNotFound) || !errors.Is(err2, ErrNotFound) {
			t.Errorf("one id in place of the other: %v and %v, want ErrNotFound", err1, err2)
		}
		return nil
	})
}

// testFundingQueries changes drafts at random and compares every query with the rows.
func testFundingQueries(t *testing.T, url string) {
	db := open(t, url, Options{})
	ctx := context.Background()
	random := rand.New(rand.NewPCG(5, 6))
	drafts := make([]Draft, 40)
	for i := range drafts {
		drafts[i] = mustCreate(t, db, alice, key(i))
	}
	elsewhere := drawDraft(alice, "on another chain")
	elsewhere.ChainID = 1
	if _, _, err := create(db, elsewhere, manyDrafts); err != nil {
		t.Fatal(err)
	}
	found := make(map[string]int)
	for step := range 1500 {
		i := random.IntN(len(drafts))
		disturb(t, db, &drafts[i], random)
		if step%50 != 0 {
			continue
		}
		maxBlock := uint64(random.IntN(20))
		all := make([]draftAndFunding, len(drafts))
		for i, draft := range drafts {
			all[i] = draftAndFunding{Draft: draft}
			funding, err := db.FundingOf(ctx, draft.ID)
			if err == nil {
				all[i].Funding = &funding
			} else if !errors.Is(err, ErrNotFound) {
				t.Fatal(err)
			}
		}
		check := func(name string, read func(limit int) ([]string, error), belongs func(draftAndFunding) bool) {
			t.Helper()
			var want []string
			for _, expected := range all {
				if belongs(expected) {
					want = append(want, expected.ID)
				}
			}
			got, err := read(1000)
			if err != nil || !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
				t.Fatalf("%s: %v, %v; want %v", name, got, err, want)
			}
			if page, err := read(3); err != nil || !slices.Equal(page, got[:min(3, len(got))]) {
				t.Fatalf("the first three of %s are %v, %v; want the beginning of %v", name, page, err, got)
			}
			found[name] += len(got)
		}
		for _, depth := range []mission.Depth{mission.DepthSeen, mission.DepthConfirmed} {
			check("to confirm from "+string(depth), func(limit int) ([]string, error) {
				return fundedIDs(db.FundingsToConfirm(ctx, testChain, depth, maxBlock, onchain.Place{}, limit))
			}, func(e draftAndFunding) bool {
				return e.Funding != nil && e.State.Depth == depth && e.Funding.Block <= maxBlock
			})
		}
		check("to refund", func(limit int) ([]string, error) {
			return fundedIDs(db.RefundsToConfirm(ctx, testChain, maxBlock, onchain.Place{}, limit))
		},
			func(e draftAndFunding) bool {
				return e.Funding != nil && e.Funding.Closed != nil && e.Funding.Closed.Block <= maxBlock &&
					e.State.Decision != mission.DecisionApproved && !e.State.Refunded
			})
		check("in review", func(limit int) ([]string, error) { return fundedIDs(db.DraftsInReview(ctx, 0, limit)) },
			func(e draftAndFunding) bool {
				return e.Funding != nil && e.State.View().List == sortie.ListFundedPendingReview
			})
		check("funded", func(limit int) ([]string, error) { return fundedIDs(db.FundedDrafts(ctx, testChain, 0, limit)) },
			func(e draftAndFunding) bool { return e.Funding != nil && e.Funding.Closed == nil })
		for _, since := range []int64{0, 1 << 40} {
			check("fundable", func(limit int) ([]string, error) {
				drafts, err := db.FundableDrafts(ctx, testChain, since, 0, limit)
				return ids(drafts), err
			}, func(e draftAndFunding) bool {
				return e.State.Depth == mission.DepthNone && (e.QuoteDeadline == 0 || int64(e.QuoteDeadline) >= since)
			})
		}
	}
	for _, name := range []string{"to confirm from seen", "to confirm from confirmed", "to refund", "in review", "funded", "fundable"} {
		if found[name] < 10 {
			t.Errorf("got only %d drafts %s, want more to test", found[name], name)
		}
	}
	testFundingOrder(t, db)
}

// draftAndFunding is a draft with its funding, if it has one.
type draftAndFunding struct {
	Draft
	Funding *onchain.Funding
}

// disturb changes a draft or its funding in a random way.
func disturb(t *testing.T, db *DB, draft *Draft, random *rand.Rand) {
	t.Helper()
	var err error
	switch random.IntN(6) {
	case 0, 1:
		if moved, refused := apply(db, *draft, mission.Events()[random.IntN(len(mission.Events()))]); refused == nil {
			*draft = moved
		}
	case 2:
		err = db.Tx(context.Background(), func(tx *Tx) error { return tx.AddFunding(drawFunding(*draft, uint64(random.IntN(20)))) })
	case 3:
		err = db.Tx(context.Background(), func(tx *Tx) error { return tx.SetClosing(draft.ID, drawClosing(uint64(random.IntN(20)))) })
	case 4:
		err = db.Tx(context.Background(), func(tx *Tx) error { return tx.SetClosing(draft.ID, nil) })
	case 5:
		if random.IntN(4) == 0 {
			err = db.Tx(context.Background(), func(tx *Tx) error { return tx.RemoveFunding(draft.ID) })
		}
	}
	if err != nil && !errors.Is(err, ErrConflict) && !errors.Is(err, ErrNotFound) {
		t.Fatal(err)
	}
}

// testFundingOrder checks the order and the pages of the queries.
func testFundingOrder(t *testing.T, db *DB) {
	t.Helper()
	ctx := context.Background()
	byBlock, err1 := db.FundingsToConfirm(ctx, testChain, mission.DepthSeen, math.MaxUint64, onchain.Place{}, 1000)
	byClosing, err2 := db.RefundsToConfirm(ctx, testChain, math.MaxUint64, onchain.Place{}, 1000)
	bySeq, err3 := db.FundedDrafts(ctx, testChain, 0, 1000)
	inReview, err4 := db.DraftsInReview(ctx, 0, 1000)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	oldestFirst := func(a, b FundedDraft) int { return int(a.Seq - b.Seq) }
	if !slices.IsSortedFunc(byBlock, func(a, b FundedDraft) int { return int(a.Block) - int(b.Block) }) ||
		!slices.IsSortedFunc(byClosing, func(a, b FundedDraft) int { return int(a.Closed.Block) - int(b.Closed.Block) }) ||
		!slices.IsSortedFunc(bySeq, oldestFirst) || !slices.IsSortedFunc(inReview, oldestFirst) {
		t.Error("a query is out of order")
	}
	rest, err := db.FundedDrafts(ctx, testChain, bySeq[0].Seq, 1000)
	if err != nil || !reflect.DeepEqual(rest, bySeq[1:]) {
		t.Errorf("drafts after the first: got %d, error %v; want %d", len(rest), err, len(bySeq)-1)
	}
}

func fundedIDs(drafts []FundedDraft, err error) ([]string, error) {
	ids := make([]string, len(drafts))
	for i, draft := range drafts {
		ids[i] = draft.ID
		if draft.DraftID != draft.ID || draft.MissionKey != sortie.MissionKey(draft.MissionID) {
			return nil, errors.New("a draft came with another's funding")
		}
	}
	return ids, err
}
