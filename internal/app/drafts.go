package app

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// View is a draft as its creator sees it.
type View struct {
	DraftID           string
	MissionID         string
	ReviewStatus      sortie.ReviewStatus
	FundingStatus     sortie.FundingStatus
	NextAction        sortie.NextAction
	Status            sortie.ListStatus
	Published         bool
	NormalizedMission json.RawMessage
	Quote             sortie.Quote
	CreatedAt         time.Time
	UpdatedAt         time.Time
}

// CreateDraft stores a mission and returns it with a live quote. Under an idempotency key that the
// wallet has used it returns the existing draft, if the mission is the same; created reports which.
// Calls with one key, in parallel or after a crash, make one draft.
//
// It fails with the codes of [mission.Normalize], idempotency_conflict, wrong_state when the
// creator has too many unfunded drafts, funding_quote_unavailable and service_unavailable.
func (a *App) CreateDraft(ctx context.Context, wallet sortie.Address, key string, body []byte) (view View, created bool, err error) {
	normalized, err := mission.Normalize(body, wallet)
	if err != nil {
		return View{}, false, err
	}
	// Most drafts are new, so the key is read only when the draft could not be stored: what refuses
	// a new draft does not refuse an existing one.
	draft, created, err := a.firstDraft(ctx, wallet, key, normalized)
	if errors.Is(err, store.ErrUnavailable) { // the draft may be stored and not durable: the client must repeat the request
		return View{}, false, storeError(err)
	}
	if err != nil {
		known, lookup := a.store.DraftByKey(ctx, wallet, key)
		if lookup == nil {
			lookup = a.store.AwaitDurable(ctx)
		}
		switch {
		case errors.Is(lookup, store.ErrNotFound):
			return View{}, false, storeError(err)
		case lookup != nil:
			return View{}, false, storeError(lookup)
		}
		draft = known
	}
	if !created {
		if err := sameMission(draft, normalized); err != nil {
			return View{}, false, err
		}
	}
	view, err = a.view(ctx, draft)
	return view, created, err
}

// maxDraws is how often ids are drawn for one draft. Ids of two missions with the same title
// collide once in 10^12 times.
const maxDraws = 3

// firstDraft stores the draft under unused ids. When the wallet has a draft under the key, it
// returns that draft.
func (a *App) firstDraft(ctx context.Context, wallet sortie.Address, key string, normalized mission.Normalized) (draft store.Draft, created bool, err error) {
	now := a.now()
	if err := normalized.CheckTimes(now); err != nil {
		return store.Draft{}, false, err
	}
	for range maxDraws {
		var fresh store.NewDraft
		if fresh, err = a.newDraft(wallet, key, normalized, now); err != nil {
			return store.Draft{}, false, err
		}
		if draft, created, err = a.storeDraft(ctx, fresh); !errors.Is(err, store.ErrIDTaken) {
			break
		}
	}
	if errors.Is(err, store.ErrDraftLimit) {
		err = sortie.NewError(sortie.CodeWrongState, "this wallet holds %d drafts that wait for funding, which is the most; fund some of them first", MaxUnfundedDrafts)
	}
	return draft, created, err
}

// storeDraft stores a draft. Its quote is signed before, so that a failing signer leaves no draft.
func (a *App) storeDraft(ctx context.Context, fresh store.NewDraft) (draft store.Draft, created bool, err error) {
	if _, err := a.quote(ctx, store.Draft{NewDraft: fresh, State: mission.Created()}); err != nil {
		return store.Draft{}, false, err
	}
	event := []byte(`{"draftId":"` + fresh.ID + `","missionId":"` + fresh.MissionID + `"}`) // ids have nothing to escape
	err = a.store.Tx(ctx, func(tx *store.Tx) (err error) {
		draft, created, err = tx.CreateDraft(fresh, MaxUnfundedDrafts, store.NewEvent{Type: "draft.created", Data: event})
		return err
	})
	return draft, created && err == nil, err // the commit may have failed
}

func (a *App) newDraft(wallet sortie.Address, key string, normalized mission.Normalized, now time.Time) (store.NewDraft, error) {
	definition := normalized.Mission()
	token := a.tokens[definition.Reward.Token]
	terms, err := normalized.Terms(token.Decimals)
	if err != nil {
		return store.NewDraft{}, err
	}
	var draftEntropy, missionEntropy mission.Entropy
	var nonce sortie.Hash
	for _, random := range [][]byte{draftEntropy[:], missionEntropy[:], nonce[:]} {
		_, _ = rand.Read(random) // never fails
	}
	return store.NewDraft{
		ID:             mission.NewDraftID(draftEntropy, now),
		MissionID:      mission.NewMissionID(definition.Title, missionEntropy),
		Wallet:         wallet,
		IdempotencyKey: key,
		Fingerprint:    normalized.Fingerprint(),
		Mission:        normalized.AppendJSON(nil),
		Title:          definition.Title,
		Token:          terms.Token,
		TokenAddress:   token.Address,
		ChainID:        a.domain.ChainID,
		Factory:        a.domain.Factory,
		Reward:         terms.Reward,
		TargetCount:    terms.TargetCount,
		Nonce:          nonce,
		EndsAt:         normalized.EndsAt(),
	}, nil
}

// sameMission refuses a key that was used for another mission, and names the differences.
func sameMission(draft store.Draft, normalized mission.Normalized) error {
	if draft.Fingerprint == normalized.Fingerprint() {
		return nil
	}
	stored, err := mission.Restore(draft.Mission)
	if err != nil {
		return fmt.Errorf("restore the mission of draft %s: %w", draft.ID, err)
	}
	fields := mission.Differences(stored, normalized)
	if len(fields) == 0 {
		return nil // stored by earlier rules, equal under the present ones
	}
	return sortie.NewError(sortie.CodeIdempotencyConflict, "this idempotency key belongs to draft %s, whose mission differs; use another key for another mission", draft.ID).
		Detail("draftId", draft.ID).Detail("fields", fields)
}

// Mission returns a draft by its draft id or mission id.
//
// It fails with not_found, also for a draft of another wallet.
func (a *App) Mission(ctx context.Context, wallet sortie.Address, id string) (View, error) {
	draft, err := a.draftOf(ctx, wallet, id)
	if err != nil {
		return View{}, err
	}
	return a.view(ctx, draft)
}

// draftOf finds a draft of the wallet by its draft id or mission id.
func (a *App) draftOf(ctx context.Context, wallet sortie.Address, id string) (store.Draft, error) {
	if !mission.ValidDraftID(id) && !mission.ValidMissionID(id) {
		return store.Draft{}, errNotFound()
	}
	draft, err := a.store.DraftByID(ctx, wallet, id)
	if errors.Is(err, store.ErrNotFound) {
		return store.Draft{}, errNotFound()
	}
	if err != nil {
		return store.Draft{}, storeError(err)
	}
	return draft, nil
}

// MaxDraftsPerPage is the size of a page of drafts when no smaller one is asked for.
const MaxDraftsPerPage = 1000

// DraftQuery selects a page of a wallet's drafts, newest first.
type DraftQuery struct {
	Status sortie.ListStatus // empty: all
	Limit  int               // 0: MaxDraftsPerPage
	Cursor string            // empty: from the newest
}

// Drafts are read in portions, so that no database connection and no full page of rows is held
// while a client receives the page. Portions are bounded in bytes, too: creators choose how large a
// draft is.
const (
	draftPortion      = 128
	draftPortionBytes = 256 << 10
)

// DraftSummary describes a page of drafts.
type DraftSummary struct {
	Returned    int
	NextCursor  string // empty on the last page
	GeneratedAt time.Time
}

// Drafts calls show for each draft of a page. The page ends at the limit of the query, or at the
// first draft for which show returns false; the next page begins with that draft. The cost of a
// page does not depend on how many drafts there are.
//
// It fails with invalid_cursor for a cursor of another list or wallet, and with the error of show.
func (a *App) Drafts(ctx context.Context, wallet sortie.Address, query DraftQuery, show func(View) (bool, error)) (DraftSummary, error) {
	limit := query.Limit
	if limit == 0 {
		limit = MaxDraftsPerPage
	}
	list := "drafts\n" + wallet.String() + "\n" + string(query.Status)
	before, err := a.cursors.open(list, query.Cursor)
	if err != nil {
		return DraftSummary{}, err
	}
	summary := DraftSummary{GeneratedAt: a.now()}
	for isLast := false; !isLast; {
		// One row more than the limit shows whether there is another page.
		asked := min(limit-summary.Returned+1, draftPortion)
		drafts, err := a.store.ListDrafts(ctx, wallet, store.DraftFilter{Status: query.Status, BeforeSeq: before, Limit: asked, MaxBytes: draftPortionBytes})
		if err != nil {
			return DraftSummary{}, storeError(err)
		}
		bytes := 0
		for _, draft := range drafts {
			shown := false
			if summary.Returned < limit {
				if shown, err = a.showDraft(ctx, draft, show); err != nil {
					return DraftSummary{}, err
				}
			}
			if !shown {
				summary.NextCursor = a.cursors.seal(list, before)
				return summary, nil
			}
			summary.Returned++
			before = draft.Seq
			bytes += len(draft.Mission)
		}
		isLast = len(drafts) < asked && bytes < draftPortionBytes
	}
	return summary, nil
}

func (a *App) showDraft(ctx context.Context, draft store.Draft, show func(View) (bool, error)) (bool, error) {
	view, err := a.view(ctx, draft)
	if err != nil {
		return false, err
	}
	return show(view)
}

// Preview returns what a mission definition is normalized to. It stores nothing.
func (a *App) Preview(wallet sortie.Address, body []byte) (sortie.Preview, error) {
	normalized, err := mission.Normalize(body, wallet)
	if err != nil {
		return sortie.Preview{}, err
	}
	now := a.now()
	if err := normalized.CheckTimes(now); err != nil {
		return sortie.Preview{}, err
	}
	definition := normalized.Mission()
	terms, err := normalized.Terms(a.tokens[definition.Reward.Token].Decimals)
	if err != nil {
		return sortie.Preview{}, err
	}
	return sortie.Preview{OK: true, NormalizedMission: definition, TotalBudget: terms.Total(), Warnings: normalized.Warnings(now)}, nil
}

func (a *App) view(ctx context.Context, draft store.Draft) (View, error) {
	quote, err := a.quote(ctx, draft)
	if err != nil {
		return View{}, err
	}
	shown := draft.State.View()
	return View{
		DraftID: draft.ID, MissionID: draft.MissionID,
		ReviewStatus: shown.Review, FundingStatus: shown.Funding, NextAction: shown.NextAction, Status: shown.List, Published: shown.Published,
		NormalizedMission: draft.Mission, Quote: quote, CreatedAt: draft.CreatedAt, UpdatedAt: draft.UpdatedAt,
	}, nil
}

// liveDeadline is the deadline of a quote that is issued now. It is before the mission's end, so
// that no quote is valid after the end, and not after the draft's retention.
func (c *core) liveDeadline(draft store.Draft, now time.Time) uint64 {
	deadline := c.lastDeadline(draft, c.issuer.Deadline(now))
	if draft.EndsAt == nil {
		return deadline
	}
	return min(deadline, uint64(draft.EndsAt.Add(-time.Nanosecond).Unix()))
}

// quote is the draft's quote: live while the draft can be funded, and the last one after that.
func (a *App) quote(ctx context.Context, draft store.Draft) (sortie.Quote, error) {
	terms := sortie.MissionAuthorization{
		MissionID: draft.MissionID, Token: draft.TokenAddress, RewardPerSubmission: draft.Reward,
		TargetCount: uint64(draft.TargetCount), Creator: draft.Wallet, Nonce: draft.Nonce,
	}
	now := a.now()
	terms.Deadline = a.liveDeadline(draft, now)
	if frozen := draft.QuoteDeadline; frozen != 0 && !draft.State.QuoteLive() {
		terms.Deadline = min(frozen, terms.Deadline) // the clock of the process that froze it may be ahead of this one
	}
	if draft.State.QuoteLive() {
		if err := a.refuseWhileStuck(ctx); err != nil {
			return sortie.Quote{}, err
		}
	}
	domain := sortie.Domain{ChainID: draft.ChainID, Factory: draft.Factory}
	key := newQuoteKey(domain, terms)
	if known, ok := a.quotes.Get(key); ok {
		return known, nil
	}
	quote, err := a.issuer.In(domain).QuoteUntil(ctx, terms, now)
	var unsigned *funding.SignError
	if errors.As(err, &unsigned) {
		return sortie.Quote{}, sortie.NewError(sortie.CodeFundingQuoteUnavailable, "the service cannot sign funding quotes now; try again shortly").Because(err)
	}
	if err == nil {
		a.quotes.Add(key, quote)
	}
	return quote, err
}
