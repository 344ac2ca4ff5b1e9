package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/store"
)

// For any chain and any decisions, every draft has the state that the canonical chain and the
// decision give it.
func TestDraftsFollowTheCanonicalChain(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: draws hundreds of chains with reorganizations")
	}
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "sortie-app-")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		runModel(t, "sqlite:"+filepath.Join(dir, "sortie.db"), 40)
	})
}

func TestDraftsFollowTheCanonicalChainOnPostgreSQL(t *testing.T) {
	t.Parallel()
	const runs = 8 // a database each takes its time
	started, failing := 0, false
	rapid.Check(t, func(r *rapid.T) {
		if started++; started > runs && !failing {
			return
		}
		failing = true // until it has come to its end, so that it is run again to be made smaller
		runModel(r, pgtest.Database(t), 30)
		failing = false
	})
}

func runModel(t *rapid.T, database string, steps int) {
	a := newTestApp(t, database, testAppOptions{autoApprove: rapid.IntRange(0, 4).Draw(t, "auto") == 0})
	defer a.close()
	m := &model{testApp: a, t: t}
	for i, wallet := range []sortie.Address{alice, alice, bob, bob} {
		m.drafts = append(m.drafts, &modelDraft{Draft: a.create(wallet, fmt.Sprint("k", i)), state: mission.Created()})
	}
	actions := []func(){m.mine, m.mine, m.mine, m.reorganize, m.settle, m.settle, m.look, m.act, m.decide, m.decide, m.clear, m.clear, m.clear, m.loseRace, m.wait}
	for range rapid.IntRange(1, steps).Draw(t, "steps") {
		rapid.SampledFrom(actions).Draw(t, "action")()
		m.check()
	}
}

// model is a simple model of the expected state: the canonical chain as a list of events, and the
// decisions.
type model struct {
	*testApp
	t       *rapid.T
	drafts  []*modelDraft
	chain   []modelEvent // on the canonical chain, in its order
	halted  bool
	listed  []onchain.Confirmation // by an earlier look
	retired []onchain.Advance      // made for positions that are past
}

type modelEvent struct {
	*onchain.Event
	draft *modelDraft
	right bool // it is what the draft promised
}

type modelDraft struct {
	store.Draft
	state            mission.State
	funding, closing *onchain.Event
	jobs             int
	deadline         uint64
}

func (d *modelDraft) due() bool { return d.state.RefundDue(d.closing != nil) }

// change makes a change, and expects a job for every refund that becomes due.
func (m *model) change(change func()) {
	due := make(map[*modelDraft]bool)
	for _, draft := range m.drafts {
		due[draft] = draft.due()
	}
	change()
	for _, draft := range m.drafts {
		if draft.due() && !due[draft] {
			draft.jobs++
		}
	}
}

// content draws the events of a block, valid and invalid ones.
func (m *model) content() (events []onchain.Event, meanings []modelEvent) {
	for range rapid.SampledFrom([]int{0, 0, 1, 1, 2, 3}).Draw(m.t, "events") {
		draft := rapid.SampledFrom(m.drafts).Draw(m.t, "draft")
		var event onchain.Event
		right := true
		switch rapid.SampledFrom([]string{"fund", "fund", "fund", "fund", "mismatch", "close", "reclaim", "foreign close", "payment", "stranger"}).Draw(m.t, "event") {
		case "fund":
			event = fundingOf(draft.Draft)
		case "mismatch":
			event, right = m.mismatch(draft.Draft), false
		case "close":
			event = closingOf(draft.Draft, 1)
		case "reclaim":
			event = closingOf(draft.Draft, 2)
		case "foreign close":
			event, right = closingOf(draft.Draft, 2), false
			event.Factory = otherFactory
		case "payment":
			event, right = onchain.Event{Factory: factory, Kind: onchain.EventSubmissionPaid, MissionKey: sortie.MissionKey(draft.MissionID), Payment: &onchain.Payment{Amount: draft.Reward}}, false
		case "stranger":
			event, right = fundingOf(draft.Draft), false
			event.Funded.MissionID = rapid.SampledFrom([]string{"another-service-00000000", "", "\x00\xff", draft.ID}).Draw(m.t, "mission id")
			event.MissionKey = sortie.MissionKey(event.Funded.MissionID)
		}
		events = append(events, event)
		meanings = append(meanings, modelEvent{draft: draft, right: right})
	}
	return events, meanings
}

// mismatch is a funding that differs from the quote in one field.
func (m *model) mismatch(draft store.Draft) onchain.Event {
	event := fundingOf(draft)
	switch rapid.SampledFrom([]string{"factory", "key", "creator", "token", "reward", "count", "nonce"}).Draw(m.t, "mismatch") {
	case "factory":
		event.Factory = otherFactory
	case "key":
		event.MissionKey[31]++
	case "creator":
		event.Funded.Creator = sortie.Address{9}
	case "token":
		event.Funded.Token = sortie.Address{9}
	case "reward":
		event.Funded.Reward = bigPlusOne(event.Funded.Reward)
	case "count":
		event.Funded.TargetCount = bigPlusOne(event.Funded.TargetCount)
	case "nonce":
		event.Funded.Nonce[0]++
	}
	return event
}

// mine adds blocks, or none: then only head and final move.
func (m *model) mine() { m.move(m.position.Tip.Number, rapid.IntRange(0, 4).Draw(m.t, "blocks")) }

// reorganize replaces the newest blocks, sometimes final ones.
func (m *model) reorganize() {
	depth := rapid.IntRange(1, 8).Draw(m.t, "depth")
	after := max(testStart, m.position.Tip.Number-min(m.position.Tip.Number, uint64(depth)))
	if rapid.IntRange(0, 3).Draw(m.t, "final, too") > 0 {
		after = max(after, m.position.Final)
	}
	if after < m.position.Tip.Number {
		m.move(after, rapid.IntRange(0, depth+2).Draw(m.t, "blocks"))
	}
}

func (m *model) move(after uint64, blocks int) {
	var contents [][]onchain.Event
	var meanings []modelEvent
	for range blocks {
		events, means := m.content()
		contents, meanings = append(contents, events), append(meanings, means...)
	}
	step := m.step(after, contents...)
	step.Head += uint64(rapid.IntRange(0, 2).Draw(m.t, "ahead"))
	if behind := uint64(rapid.IntRange(0, 6).Draw(m.t, "unfinal")); step.Head > behind {
		step.Final = max(step.Final, min(step.Head-behind, newTip(step).Number))
	}
	if broken := after < m.position.Final; broken {
		m.halted = true
		step.Final = min(step.Final, newTip(step).Number)
	}
	step.Head = max(step.Head, step.Final)
	m.retired = append(m.retired, step)
	m.change(func() {
		m.advance(step)
		m.replay(after, step, meanings)
	})
}

// replay computes from the canonical chain which funding and which closing each draft has.
func (m *model) replay(after uint64, step onchain.Advance, meanings []modelEvent) {
	var chain []modelEvent
	for _, event := range m.chain {
		if event.Block <= after {
			chain = append(chain, event)
		}
	}
	kept := len(chain)
	for i := range step.Events {
		chain = append(chain, modelEvent{&step.Events[i], meanings[i].draft, meanings[i].right})
	}
	m.chain = chain
	for _, draft := range m.drafts {
		var funding, closing *onchain.Event
		paid := false
		for i, event := range chain {
			switch {
			case event.draft != draft:
			case event.Kind == onchain.EventSubmissionPaid:
				paid = paid || i >= kept
			case !event.right:
			case event.Kind == onchain.EventMissionFunded && funding == nil:
				funding = event.Event
			case event.Kind == onchain.EventMissionClosed && funding != nil && closing == nil:
				closing = event.Event
				if i >= kept && closing.Closed.Reason != closedByCreator && draft.state.Decision != mission.DecisionRejected {
					m.halted = true // a thief has the settler's key
				}
			}
		}
		if paid && funding != nil {
			m.halted = true // nothing was accepted, so nothing was to be paid
		}
		if draft.place(funding, closing) {
			m.halted = true
		}
	}
}

// place records the blocks of a draft's funding and closing. An event in another block starts
// again; broken reports that a final one did.
func (d *modelDraft) place(funding, closing *onchain.Event) (broken bool) {
	before := d.state
	if funding != d.funding {
		broken = before.Depth == mission.DepthLocked
		d.state.Refunded = false
		d.state.Depth = mission.DepthNone
		if funding != nil {
			d.state.Depth = mission.DepthSeen
		}
	}
	if closing != d.closing {
		broken = broken || before.Refunded
		d.state.Refunded = false
	}
	d.funding, d.closing = funding, closing
	return broken
}

// settle confirms everything that can be confirmed.
func (m *model) settle() {
	m.change(func() {
		m.testApp.settle()
		for _, draft := range m.drafts {
			if draft.funding != nil && draft.funding.Block+testConfirmations-1 <= m.position.Head {
				m.confirm(draft)
			}
			if draft.funding != nil && draft.state.Depth == mission.DepthConfirmed {
				m.lock(draft)
			}
			m.refund(draft)
		}
	})
}

func (m *model) confirm(draft *modelDraft) {
	if draft.state.Depth != mission.DepthSeen {
		return
	}
	draft.state.Depth = mission.DepthConfirmed
	if m.app.autoApprove && draft.state.Decision == mission.DecisionNone && draft.closing == nil {
		draft.state.Decision = mission.DecisionApproved
	}
}

func (m *model) lock(draft *modelDraft) {
	payable := draft.closing == nil || draft.state.Decision != mission.DecisionApproved
	if draft.funding.Block <= m.position.Final && payable && !m.halted {
		draft.state.Depth = mission.DepthLocked
	}
}

func (m *model) refund(draft *modelDraft) {
	if draft.closing == nil || draft.closing.Block > m.position.Final || draft.state.Decision == mission.DecisionApproved {
		return
	}
	if draft.state.Depth == mission.DepthSeen {
		draft.state.Depth = mission.DepthConfirmed
	}
	draft.state.Decision, draft.state.Refunded = mission.DecisionRejected, true
}

// look lists pending confirmations, for later.
func (m *model) look() { m.listed = m.pendingConfirmations() }

// act confirms what was listed before, as far as it is still true: the funding is in the same
// block, and deep enough.
func (m *model) act() {
	m.change(func() {
		m.must(m.ledger.Confirm(context.Background(), m.listed))
		for _, item := range m.listed {
			for _, draft := range m.drafts {
				if draft.ID == item.Terms.DraftID && draft.funding != nil && draft.funding.BlockHash == item.BlockHash {
					m.actOn(draft, item)
				}
			}
		}
	})
}

func (m *model) actOn(draft *modelDraft, item onchain.Confirmation) {
	deep := draft.funding.Block+testConfirmations-1 <= m.position.Head || draft.funding.Block <= m.position.Final
	switch {
	case item.Refund && draft.closing != nil && draft.closing.Transaction == item.Closed.Transaction:
		m.refund(draft)
	case !item.Refund && deep:
		m.confirm(draft)
		if item.To == mission.DepthLocked {
			m.lock(draft)
		}
	}
}

func (m *model) decide() {
	draft := rapid.SampledFrom(m.drafts).Draw(m.t, "draft")
	operator := rapid.SampledFrom([]sortie.Address{reviewer, colleague}).Draw(m.t, "operator")
	approve := rapid.Bool().Draw(m.t, "approve")
	if approve {
		m.approve(draft, operator)
		return
	}
	m.change(func() {
		_, err := m.operators.Reject(context.Background(), operator, draft.ID, "Because of "+operator.String())
		switch draft.state.Decision {
		case mission.DecisionNone:
			m.must(err)
			draft.state.Decision = mission.DecisionRejected
		case mission.DecisionApproved:
			m.wantCode(err, sortie.CodeWrongState)
		default: // allowed only to the operator who decided it
			if err != nil {
				m.wantCode(err, sortie.CodeWrongState)
			}
		}
	})
}

func (m *model) approve(draft *modelDraft, operator sortie.Address) {
	_, err := m.operators.Approve(context.Background(), operator, draft.MissionID, "")
	funded := draft.state.Depth == mission.DepthConfirmed || draft.state.Depth == mission.DepthLocked
	switch {
	case draft.state.Decision == mission.DecisionApproved:
		if err != nil {
			m.wantCode(err, sortie.CodeWrongState)
		}
	case draft.state.Decision == mission.DecisionRejected || !funded || draft.closing != nil:
		m.wantCode(err, sortie.CodeWrongState)
	case draft.state.Depth == mission.DepthLocked && m.halted:
		m.wantCode(err, sortie.CodeServiceUnavailable)
	default:
		m.must(err)
		draft.state.Decision = mission.DecisionApproved
	}
}

func (m *model) wantCode(err error, code sortie.Code) {
	m.t.Helper()
	if sortie.ErrorCode(err) != code {
		m.t.Fatalf("got %v, want %s", err, code)
	}
}

// clear ends every incident.
func (m *model) clear() {
	incidents, err := m.db.OpenIncidents(context.Background())
	m.must(err)
	for _, incident := range incidents {
		_, err := m.operators.ClearIncident(context.Background(), reviewer, incident.ID, "Looked at it.")
		m.must(err)
	}
	m.halted = false
}

// loseRace repeats an earlier step: another process was faster.
func (m *model) loseRace() {
	if len(m.retired) == 0 {
		return
	}
	step := rapid.SampledFrom(m.retired).Draw(m.t, "step")
	if _, err := m.ledger.Advance(context.Background(), step); !errors.Is(err, store.ErrConflict) {
		m.t.Fatalf("a move from a past position: %v", err)
	}
}

func (m *model) wait() {
	m.pass(time.Duration(rapid.IntRange(1, 3600).Draw(m.t, "seconds")) * time.Second)
}

// check compares everything.
func (m *model) check() {
	m.t.Helper()
	unfunded := make(map[sortie.Address]int)
	for _, draft := range m.drafts {
		stored := m.checkDraft(draft.ID)
		if stored.State != draft.state {
			m.t.Fatalf("draft %s is %+v, want %+v; events %v", draft.ID, stored.State, draft.state, m.typesOf(stored))
		}
		if jobs := m.refundJobs(stored); jobs != draft.jobs {
			m.t.Fatalf("draft %s has %d refund jobs, want %d; events %v", draft.ID, jobs, draft.jobs, m.typesOf(stored))
		}
		if draft.deadline != 0 && stored.QuoteDeadline != 0 && stored.QuoteDeadline != draft.deadline {
			m.t.Fatalf("draft %s: the frozen quote changed", draft.ID)
		}
		draft.deadline = stored.QuoteDeadline
		m.checkFunding(draft)
		m.checkReview(draft)
		if stored.State.View().List == sortie.ListPendingFunding {
			unfunded[draft.Wallet]++
		}
	}
	for _, wallet := range []sortie.Address{alice, bob} {
		if counted := m.unfundedDrafts(wallet); counted != unfunded[wallet] {
			m.t.Fatalf("%s has %d unfunded drafts, %d are counted, want %v", wallet, unfunded[wallet], counted, unfunded[wallet])
		}
	}
	m.checkChain()
}

func (m *model) checkFunding(draft *modelDraft) {
	funding, err := m.db.FundingOf(context.Background(), draft.ID)
	if draft.funding == nil {
		if !errors.Is(err, store.ErrNotFound) {
			m.t.Fatalf("draft %s has a funding: %+v, %v", draft.ID, funding, err)
		}
		return
	}
	m.must(err)
	if funding.BlockHash != draft.funding.BlockHash || funding.Transaction != draft.funding.Transaction {
		m.t.Fatalf("draft %s is funded in block %d (%s), want %d", draft.ID, funding.Block, funding.BlockHash, draft.funding.Block)
	}
	if (funding.Closed == nil) != (draft.closing == nil) || funding.Closed != nil && funding.Closed.Transaction != draft.closing.Transaction {
		m.t.Fatalf("draft %s is closed by %+v, want %+v", draft.ID, funding.Closed, draft.closing)
	}
}

func (m *model) checkReview(draft *modelDraft) {
	review, err := m.db.ReviewOf(context.Background(), draft.ID)
	if draft.state.Decision == mission.DecisionNone {
		if !errors.Is(err, store.ErrNotFound) {
			m.t.Fatalf("draft %s has a review: %+v, %v", draft.ID, review, err)
		}
		return
	}
	m.must(err)
	if review.Decision != draft.state.Decision {
		m.t.Fatalf("draft %s is %s in its review, want %s", draft.ID, review.Decision, draft.state.Decision)
	}
}

// checkChain compares the stored events with those of the canonical chain.
func (m *model) checkChain() {
	stored, err := m.db.ChainEvents(context.Background(), testChain, 0, 1<<40)
	m.must(err)
	if len(stored) != len(m.chain) {
		m.t.Fatalf("%d events are stored, %d are on the chain, want %v", len(stored), len(m.chain), len(m.chain))
	}
	for i, event := range stored {
		if event.Transaction != m.chain[i].Transaction || event.BlockHash != m.chain[i].BlockHash {
			m.t.Fatalf("stored event %d is %s, that of the chain %s", i, event.Transaction, m.chain[i].Transaction)
		}
	}
	position, err := m.ledger.Position(context.Background(), testChain)
	m.must(err)
	if position != m.position {
		m.t.Fatalf("the position is %+v, want %+v", position, m.position)
	}
	halted, err := m.ledger.Halted(context.Background())
	m.must(err)
	if halted != m.halted {
		m.t.Fatalf("halted is %t, want %t; incidents %v", halted, m.halted, m.incidents())
	}
}
