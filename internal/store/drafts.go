package store

import (
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// NewDraft holds the values of a new draft. They never change.
type NewDraft struct {
	ID             string
	MissionID      string
	Wallet         sortie.Address
	IdempotencyKey string
	Fingerprint    mission.Fingerprint
	Mission        json.RawMessage // the normalized mission, as responses carry it
	Title          string
	Token          sortie.Token
	TokenAddress   sortie.Address
	ChainID        uint64
	Factory        sortie.Address
	Reward         *big.Int // base units, for one submission
	TargetCount    int
	Nonce          sortie.Hash
	EndsAt         *time.Time // the end that the creator gave; nil: some time after publication
}

// Draft is a stored draft.
type Draft struct {
	NewDraft
	Seq           int64 // newer drafts have greater ones
	State         mission.State
	QuoteDeadline uint64     // Unix seconds at which the quote was frozen; 0 while it is live
	PublishBy     *time.Time // from when a funded mission that was never published cannot be published; nil for all others
	CreatedAt     time.Time
	UpdatedAt     time.Time
	Version       int64 // grows with every transition
}

// DraftFilter selects a page of drafts, newest first.
type DraftFilter struct {
	Status    sortie.ListStatus // empty: all
	BeforeSeq int64             // 0: from the newest
	Limit     int
	MaxBytes  int // reading stops after the draft whose mission reaches this sum of bytes; 0: no bound
}

// Transition is the new state of a draft.
type Transition struct {
	State         mission.State
	QuoteDeadline uint64     // Unix seconds if the quote is frozen in this state; 0 if it is live
	PublishBy     *time.Time // as in [Draft]
}

// CreateDraft stores a draft and its event. If the wallet already has a draft under the same
// idempotency key, it returns that draft and created is false; the caller must compare the
// missions.
//
// It fails with [ErrDraftLimit] when the wallet has maxUnfunded unfunded drafts, and with
// [ErrIDTaken], after which the transaction can continue with other ids.
func (tx *Tx) CreateDraft(draft NewDraft, maxUnfunded int, event NewEvent) (stored Draft, created bool, err error) {
	stored = Draft{NewDraft: draft, State: mission.Created(), CreatedAt: tx.Now, UpdatedAt: tx.Now, Version: 1}
	stored.Seq, err = tx.insert(insertDraft,
		draft.ID, draft.MissionID, hexAddress(draft.Wallet), draft.IdempotencyKey, string(draft.Fingerprint), string(draft.Mission),
		draft.Title, string(draft.Token), hexAddress(draft.TokenAddress), int64(draft.ChainID), hexAddress(draft.Factory),
		draft.Reward.String(), draft.TargetCount, draft.Nonce.String(), tx.Now.UnixMicro(), nullableTime(draft.EndsAt))
	if errors.Is(err, ErrNotFound) { // a unique index refused the row
		stored, err = tx.DraftByKey(draft.Wallet, draft.IdempotencyKey)
		if errors.Is(err, ErrNotFound) {
			err = ErrIDTaken
		}
		return stored, false, err
	}
	if err != nil {
		return Draft{}, false, fmt.Errorf("create draft: %w", err)
	}
	if err := tx.countNewDraft(draft.Wallet, maxUnfunded); err != nil {
		return Draft{}, false, fmt.Errorf("create draft: %w", err)
	}
	if err := tx.insertEvent(draft.Wallet, draft.ID, event); err != nil {
		return Draft{}, false, err
	}
	return stored, true, nil
}

// TransitionDraft moves a draft from the state that was read to another, stores the event and
// returns the new draft. If another transaction moved it first, it fails with [ErrConflict] and
// changes nothing.
func (tx *Tx) TransitionDraft(draft Draft, to Transition, event NewEvent) (Draft, error) {
	moved := draft
	moved.State, moved.QuoteDeadline, moved.PublishBy = to.State, to.QuoteDeadline, to.PublishBy
	moved.UpdatedAt, moved.Version = tx.Now, draft.Version+1
	if err := tx.moveDraft(&draft, to, 1); err != nil {
		return Draft{}, err
	}
	if err := tx.countTransition(draft.Wallet, unfunded(to.State)-unfunded(draft.State)); err != nil {
		return Draft{}, fmt.Errorf("move draft %s: %w", draft.ID, err)
	}
	return moved, tx.insertEvent(draft.Wallet, draft.ID, event)
}

// DraftMove is a draft as it was read, and its new state.
type DraftMove struct {
	Draft Draft
	To    Transition
	Steps int64 // number of transitions, which is added to the version
}

// TransitionDrafts is [Tx.TransitionDraft] for many drafts, with all their events in order. A
// conflict over one of them fails the transaction.
func (tx *Tx) TransitionDrafts(moves []DraftMove, events []DraftEvent) error {
	counts := make(map[sortie.Address]walletCount)
	for i := range moves {
		draft, to := &moves[i].Draft, moves[i].To
		if err := tx.moveDraft(draft, to, moves[i].Steps); err != nil {
			return tx.session.refuse(err)
		}
		count := counts[draft.Wallet]
		count.unfunded += unfunded(to.State) - unfunded(draft.State)
		counts[draft.Wallet] = count
	}
	return tx.appendEvents(counts, events)
}

// moveDraft changes the draft's row and what depends on its state.
func (tx *Tx) moveDraft(draft *Draft, to Transition, steps int64) error {
	changed, err := tx.exec(moveDraft, draft.ID, draft.Version,
		string(to.State.Depth), string(to.State.Decision), to.State.Refunded, string(to.State.View().List),
		nullable(to.QuoteDeadline), tx.Now.UnixMicro(), steps, nullableTime(to.PublishBy))
	if err == nil && changed == 0 {
		err = ErrConflict
	}
	if err == nil {
		err = tx.followRefund(draft, to.State)
	}
	if err != nil {
		return fmt.Errorf("move draft %s: %w", draft.ID, err)
	}
	return nil
}

// DraftByID finds a draft of the wallet by its draft id or its mission id. If the draft is absent
// or belongs to another wallet, it fails with [ErrNotFound].
func (db *DB) DraftByID(ctx context.Context, wallet sortie.Address, id string) (Draft, error) {
	return read(ctx, db, func(r reader) (Draft, error) { return r.DraftByID(wallet, id) })
}

// DraftByKey finds the wallet's draft with an idempotency key, or fails with [ErrNotFound].
func (db *DB) DraftByKey(ctx context.Context, wallet sortie.Address, key string) (Draft, error) {
	return read(ctx, db, func(r reader) (Draft, error) { return r.DraftByKey(wallet, key) })
}

// ListDrafts reads a page of the wallet's drafts. Its cost does not depend on their number or on
// the position of the page.
func (db *DB) ListDrafts(ctx context.Context, wallet sortie.Address, filter DraftFilter) ([]Draft, error) {
	return read(ctx, db, func(r reader) ([]Draft, error) { return r.listDrafts(wallet, filter) })
}

func (r reader) listDrafts(wallet sortie.Address, filter DraftFilter) ([]Draft, error) {
	before := filter.BeforeSeq
	if before == 0 {
		before = math.MaxInt64
	}
	query, args := selectDrafts, []any{hexAddress(wallet), before, filter.Limit}
	if filter.Status != "" {
		query, args = selectDraftsInStatus, append(args, string(filter.Status))
	}
	drafts := make([]Draft, 0, min(filter.Limit, 64))
	budget := byteBudget(filter.MaxBytes)
	err := r.each(query, args, func(row scanner) error {
		draft, err := scanDraft(row)
		if err != nil {
			return err
		}
		drafts = append(drafts, draft)
		return budget.spend(len(draft.Mission))
	})
	if err != nil {
		return nil, fmt.Errorf("list drafts: %w", err)
	}
	return drafts, nil
}

// DraftsToLapse reads up to limit drafts whose time to be published ended before a time, the
// longest ended first.
func (db *DB) DraftsToLapse(ctx context.Context, at time.Time, limit int) ([]Draft, error) {
	return read(ctx, db, func(r reader) (drafts []Draft, err error) {
		err = r.each(selectDraftsToLapse, []any{at.UnixMicro(), limit}, func(row scanner) error {
			draft, err := scanDraft(row)
			drafts = append(drafts, draft)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read drafts to lapse: %w", err)
		}
		return drafts, nil
	})
}

// DraftByKey is [DB.DraftByKey] inside the transaction.
func (r reader) DraftByKey(wallet sortie.Address, key string) (Draft, error) {
	return r.draft(selectDraftByKey, hexAddress(wallet), key)
}

// DraftByID is [DB.DraftByID] inside the transaction.
func (r reader) DraftByID(wallet sortie.Address, id string) (Draft, error) {
	query := selectDraftByMissionID
	if strings.HasPrefix(id, "draft_") { // a mission id is a slug, without underscores
		query = selectDraftByDraftID
	}
	return r.draft(query, hexAddress(wallet), id)
}

func (r reader) draft(query string, args ...any) (draft Draft, err error) {
	err = r.one(query, args, func(row scanner) error {
		draft, err = scanDraft(row)
		return err
	})
	if err != nil {
		return Draft{}, fmt.Errorf("read draft: %w", err)
	}
	return draft, nil
}

// unfunded returns what a draft in this state adds to its wallet's count of unfunded drafts.
func unfunded(state mission.State) int {
	if state.View().List == sortie.ListPendingFunding {
		return 1
	}
	return 0
}

const (
	draftColumns = `seq, draft_id, mission_id, wallet, idempotency_key, fingerprint, mission, title, token, token_address,
	chain_id, factory_address, reward, target_count, nonce, created_at, depth, decision, refunded, quote_deadline, updated_at, version,
	mission_ends_at, publish_by`
)

var (
	moveDraft = preparedWrite(`UPDATE drafts SET depth = $3, decision = $4, refunded = $5, list_status = $6, quote_deadline = $7,
	updated_at = $8, version = version + $9, publish_by = $10
WHERE draft_id = $1 AND version = $2`)

	selectDraftByDraftID   = preparedRead(`SELECT ` + draftColumns + ` FROM drafts WHERE wallet = $1 AND draft_id = $2`)
	selectDraftByMissionID = preparedRead(`SELECT ` + draftColumns + ` FROM drafts WHERE wallet = $1 AND mission_id = $2`)
	selectDraftByKey       = preparedRead(`SELECT ` + draftColumns + ` FROM drafts WHERE wallet = $1 AND idempotency_key = $2`)

	// SQLite would plan the statement again each time a limit that is a bare parameter is bound.
	selectDrafts = preparedRead(`SELECT ` + draftColumns + ` FROM drafts
WHERE wallet = $1 AND seq < $2 ORDER BY seq DESC LIMIT $3 + 0`)
	selectDraftsInStatus = preparedRead(`SELECT ` + draftColumns + ` FROM drafts
WHERE wallet = $1 AND list_status = $4 AND seq < $2 ORDER BY seq DESC LIMIT $3 + 0`)

	selectDraftsToLapse = preparedRead(`SELECT ` + draftColumns + ` FROM drafts
WHERE publish_by IS NOT NULL AND publish_by <= $1 ORDER BY publish_by LIMIT $2 + 0`)
)

// insertDraft adds a draft in its first state. Any unique index may refuse the row: the wallet's
// key, or an id that exists already.
var insertDraft = func() string {
	begin := mission.Created()
	return preparedWrite(fmt.Sprintf(`INSERT INTO drafts (draft_id, mission_id, wallet, idempotency_key, fingerprint, mission, title, token,
	token_address, chain_id, factory_address, reward, target_count, nonce, created_at, updated_at,
	mission_ends_at, depth, decision, refunded, list_status, version)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15, $16, '%s', '%s', %t, '%s', 1)
ON CONFLICT DO NOTHING`, begin.Depth, begin.Decision, begin.Refunded, begin.View().List))
}()

// scanDraft reads a row of draftColumns.
func scanDraft(row scanner) (Draft, error) {
	var (
		draft                                      Draft
		wallet, token, factory, nonce              string
		reward                                     string
		missionJSON                                []byte
		chainID, targetCount, createdAt, updatedAt int64
		deadline, endsAt, publishBy                sql.NullInt64
	)
	// Scanning into *string is several times cheaper than into a pointer to a named type.
	err := row.Scan(&draft.Seq, &draft.ID, &draft.MissionID, &wallet, &draft.IdempotencyKey, (*string)(&draft.Fingerprint),
		&missionJSON, &draft.Title, (*string)(&draft.Token), &token, &chainID, &factory, &reward, &targetCount, &nonce,
		&createdAt, (*string)(&draft.State.Depth), (*string)(&draft.State.Decision), &draft.State.Refunded, &deadline,
		&updatedAt, &draft.Version, &endsAt, &publishBy)
	if err != nil {
		return Draft{}, err
	}
	draft.Mission, draft.ChainID, draft.TargetCount, draft.QuoteDeadline = missionJSON, uint64(chainID), int(targetCount), uint64(deadline.Int64)
	draft.CreatedAt, draft.UpdatedAt = time.UnixMicro(createdAt).UTC(), time.UnixMicro(updatedAt).UTC()
	draft.EndsAt, draft.PublishBy = optionalTime(endsAt), optionalTime(publishBy)
	var exact bool
	draft.Reward, exact = new(big.Int).SetString(reward, 10)
	if !exact {
		return Draft{}, fmt.Errorf("draft %s: reward %q is not an integer", draft.ID, reward)
	}
	err = errors.Join(
		parse(&draft.Wallet, wallet, sortie.ParseAddress), parse(&draft.TokenAddress, token, sortie.ParseAddress),
		parse(&draft.Factory, factory, sortie.ParseAddress), parse(&draft.Nonce, nonce, sortie.ParseHash))
	if err != nil {
		return Draft{}, fmt.Errorf("draft %s: %w", draft.ID, err)
	}
	return draft, nil
}

func parse[T any](to *T, text string, parser func(string) (T, error)) (err error) {
	*to, err = parser(text)
	return err
}

// hexAddress returns the form of an address in columns: one spelling, so that addresses can be
// compared as text.
func hexAddress(address sortie.Address) string {
	var text [2 + 2*len(address)]byte
	hex.Encode(text[copy(text[:], "0x"):], address[:])
	return string(text[:])
}

func nullable(value uint64) sql.NullInt64 {
	return sql.NullInt64{Int64: int64(value), Valid: value != 0}
}
