package service

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// moneyPayout is a row of payouts.
type moneyPayout struct {
	submission, draft, recipient, status string
	slot, block                          uint64 // block 0: not paid
	settlement                           int64  // 0: none
	amount                               *big.Int
	transaction                          string
	credited                             bool
}

// moneyCounters are the counters of a mission's row.
type moneyCounters struct{ finals, waiting, paid, deferred, failed int }

// moneyRows are the rows of the database, read in one transaction.
type moneyRows struct {
	payouts   []moneyPayout
	counters  map[string]moneyCounters // by draft
	completed map[string]bool
	ended     map[int64]bool // whether a settlement has ended
	final     map[string]string
	nonces    []uint64        // of all attempts, without duplicates
	own       map[string]bool // transactions of the service
	fundings  map[string]onchain.Funding
}

func (m *moneyMachine) readRows() moneyRows {
	m.t.Helper()
	var rows moneyRows
	m.must(m.store.Tx(m.ctx, func(tx *store.Tx) (err error) {
		rows = moneyRows{
			counters: make(map[string]moneyCounters), completed: make(map[string]bool), ended: make(map[int64]bool),
			final: make(map[string]string), fundings: make(map[string]onchain.Funding), own: make(map[string]bool),
		}
		err = errors.Join(
			each(tx, `SELECT submission_id, draft_id, slot, recipient, amount, status, COALESCE(settlement_id, 0), COALESCE(transaction_hash, ''),
				COALESCE(block_number, 0), credited FROM payouts ORDER BY seq`, func(row *sql.Rows) error {
				var p moneyPayout
				var amount string
				err := row.Scan(&p.submission, &p.draft, &p.slot, &p.recipient, &amount, &p.status, &p.settlement, &p.transaction, &p.block, &p.credited)
				p.amount, _ = new(big.Int).SetString(amount, 10)
				rows.payouts = append(rows.payouts, p)
				return err
			}),
			each(tx, `SELECT draft_id, finals, waiting, paid, deferred, failed, completed_at IS NOT NULL FROM mission_slots`, func(row *sql.Rows) error {
				var draft string
				var c moneyCounters
				var completed bool
				err := row.Scan(&draft, &c.finals, &c.waiting, &c.paid, &c.deferred, &c.failed, &completed)
				rows.counters[draft], rows.completed[draft] = c, completed
				return err
			}),
			each(tx, `SELECT id, ended_at IS NOT NULL FROM settlements`, func(row *sql.Rows) error {
				var id int64
				var ended bool
				err := row.Scan(&id, &ended)
				rows.ended[id] = ended
				return err
			}),
			each(tx, `SELECT submission_id, status FROM submissions WHERE slot IS NOT NULL`, func(row *sql.Rows) error {
				var id, status string
				err := row.Scan(&id, &status)
				rows.final[id] = status
				return err
			}),
			each(tx, `SELECT nonce, hash FROM attempts ORDER BY nonce`, func(row *sql.Rows) error {
				var nonce uint64
				var hash string
				err := row.Scan(&nonce, &hash)
				if last := len(rows.nonces) - 1; last < 0 || rows.nonces[last] != nonce {
					rows.nonces = append(rows.nonces, nonce)
				}
				rows.own[hash] = true
				return err
			}))
		for _, draft := range m.drafts {
			funding, fundingErr := tx.FundingOf(draft.id)
			if errors.Is(fundingErr, store.ErrNotFound) {
				continue
			}
			rows.fundings[draft.id] = funding
			err = errors.Join(err, fundingErr)
		}
		return err
	}))
	return rows
}

func each(tx *store.Tx, query string, scan func(*sql.Rows) error) error {
	rows, err := tx.SQL().QueryContext(tx.Context(), query)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// checkBooks checks what must hold after every step.
func (m *moneyMachine) checkBooks() {
	m.t.Helper()
	rows := m.readRows()
	m.checkRows(rows)
	logs := m.chain.factoryLogs(m)
	m.checkHoldings(logs)
	m.checkNonces(rows)
	position, err := m.store.ChainPosition(m.ctx, m.chain.deployment.ChainID)
	if errors.Is(err, store.ErrNotFound) {
		return
	}
	m.must(err)
	header, err := m.chain.eth.HeaderByNumber(m.ctx, new(big.Int).SetUint64(position.Tip.Number))
	if errors.Is(err, ethereum.NotFound) || err == nil && header.Hash() != common.Hash(position.Tip.Hash) {
		return // not followed yet
	}
	m.must(err)
	m.checkAgainstContract(rows, logs, position.Tip.Number)
}

// checkRows compares the rows with each other.
func (m *moneyMachine) checkRows(rows moneyRows) {
	m.t.Helper()
	counted := make(map[string]moneyCounters)
	owners := make(map[string]sortie.Address)
	for _, submission := range m.submissions {
		owners[submission.id] = submission.contributor
	}
	for _, p := range rows.payouts {
		c := counted[p.draft]
		c.finals++
		switch {
		case p.status == "queued" && p.settlement == 0:
			c.waiting++
		case p.status == "paid":
			c.paid++
		case p.status == "deferred":
			c.deferred++
		case p.status == "failed":
			c.failed++
		}
		counted[p.draft] = c
		if owner := owners[p.submission]; !strings.EqualFold(p.recipient, owner.String()) {
			m.t.Fatalf("recipient of the payout of %s: got %s, want its contributor %s", p.submission, p.recipient, owner)
		}
		if status := rows.final[p.submission]; status != "accepted" && status != "curation_accepted" {
			m.t.Fatalf("submission %s with a payout: got status %q, want accepted", p.submission, status)
		}
		if p.block == 0 && (p.status == "queued" || p.status == "sent") && rows.ended[p.settlement] {
			m.t.Fatalf("got payout %+v in a settlement that has ended, want it in an open one or none", p)
		}
		if p.status == "failed" && (rows.fundings[p.draft].Closed == nil || rows.fundings[p.draft].Closed.Reason != reclaimed) {
			m.t.Fatalf("got failed payout %+v of a mission that was not reclaimed, want none", p)
		}
		before, isSettled := m.settled[p.submission]
		if isSettled && (before.status != p.status || before.transaction != p.transaction || before.block != p.block) {
			m.t.Fatalf("payout that was paid or deferred: got %+v, want it unchanged: %+v", p, before)
		}
		if p.status == "paid" || p.status == "deferred" {
			m.settled[p.submission] = p
		}
	}
	if len(rows.final) != len(rows.payouts) {
		m.t.Fatalf("got %d payouts, want %d, one for each submission with a slot", len(rows.payouts), len(rows.final))
	}
	for draft, got := range rows.counters {
		if want := counted[draft]; got != want {
			m.t.Fatalf("counters of mission %s: got %+v, want %+v as in its payouts", draft, got, want)
		}
	}
	open, err := m.store.OpenIncidents(m.ctx)
	m.must(err)
	for _, incident := range open {
		if incident.Kind == "payout_failed" && strings.Contains(incident.Detail, "left the contract") {
			continue // a creator reclaimed before all was paid
		}
		m.t.Fatalf("got incident %s: %s; want none", incident.Kind, incident.Detail)
	}
}

// reclaimed is the contract's reason of a close by the creator.
const reclaimed = 2

// checkHoldings compares the balances in the newest block with the events: each account and the
// factory have what the events add up to, and the sum of each token has not changed.
func (m *moneyMachine) checkHoldings(logs *moneyLogs) {
	m.t.Helper()
	credits := make(map[holding]*big.Int)
	left := make(map[sortie.Address]*big.Int) // by token: money of missions that are not closed
	reading := m.chain.readAt("latest")
	for place := range logs.credits {
		ask(reading, m.chain.deployment.Factory, factoryBinding.PackDeferred(common.Address(place.token), common.Address(place.account)),
			factoryBinding.UnpackDeferred, func(credit *big.Int) { credits[place] = credit })
	}
	for _, token := range m.chain.tokens() {
		left[token] = new(big.Int)
	}
	for key, mission := range logs.missions {
		ask(reading, m.chain.deployment.Factory, factoryBinding.PackRemaining(key), factoryBinding.UnpackRemaining,
			func(remaining *big.Int) { left[mission.token].Add(left[mission.token], remaining) })
	}
	m.chain.do(m.t, reading)
	balances := m.chain.balances(m.t)
	sums, first := make(map[sortie.Address]*big.Int), make(map[sortie.Address]*big.Int)
	for _, token := range m.chain.tokens() {
		sums[token], first[token] = new(big.Int), new(big.Int)
	}
	owed := left
	for place, got := range balances {
		sums[place.token].Add(sums[place.token], got)
		first[place.token].Add(first[place.token], m.chain.setup.balances[place])
		owed[place.token].Add(owed[place.token], credits[place])
		if want := logs.balances[place]; got.Cmp(want) != 0 {
			m.t.Fatalf("balance of %s in token %s: got %s, want %s", place.account, place.token, got, want)
		}
		if got, want := credits[place], logs.credits[place]; got.Cmp(want) != 0 {
			m.t.Fatalf("deferred credit of %s in token %s: got %s, want %s", place.account, place.token, got, want)
		}
	}
	for _, token := range m.chain.tokens() {
		if got := balances[holding{token, m.chain.deployment.Factory}]; got.Cmp(owed[token]) != 0 {
			m.t.Fatalf("balance of the factory in token %s: got %s, want the %s that it owes", token, got, owed[token])
		}
		if sums[token].Cmp(first[token]) != 0 {
			m.t.Fatalf("sum of all balances in token %s: got %s, want %s as at the start", token, sums[token], first[token])
		}
	}
}

// checkNonces checks that the sender's transactions have consecutive nonces from 0.
func (m *moneyMachine) checkNonces(rows moneyRows) {
	m.t.Helper()
	mined, err := m.chain.eth.NonceAt(m.ctx, common.Address(devnet.WalletByRole(devnet.RoleSender).Address), nil)
	m.must(err)
	for i, nonce := range rows.nonces {
		if nonce != uint64(i) {
			m.t.Fatalf("nonces of all attempts: got %v, want consecutive numbers from 0", rows.nonces)
		}
	}
	if mined > uint64(len(rows.nonces)) {
		m.t.Fatalf("mined transactions of the sender: got %d, want at most the %d stored nonces", mined, len(rows.nonces))
	}
}

// checkAgainstContract compares the rows with the contract at the followed block.
func (m *moneyMachine) checkAgainstContract(rows moneyRows, logs *moneyLogs, tip uint64) {
	m.t.Helper()
	states, remaining := make(map[string]missionfactory.IMissionFactoryMission), make(map[string]*big.Int)
	reading := m.chain.readAt(hexutil.EncodeUint64(tip))
	for _, draft := range m.drafts {
		key := sortie.MissionKey(draft.missionID)
		ask(reading, m.chain.deployment.Factory, factoryBinding.PackMissions(key), factoryBinding.UnpackMissions,
			func(state missionfactory.IMissionFactoryMission) { states[draft.id] = state })
		ask(reading, m.chain.deployment.Factory, factoryBinding.PackRemaining(key), factoryBinding.UnpackRemaining,
			func(left *big.Int) { remaining[draft.id] = left })
	}
	m.chain.do(m.t, reading)
	m.checkPayments(rows, logs, tip)
	for _, draft := range m.drafts {
		m.checkMission(draft, rows, states[draft.id], remaining[draft.id])
	}
}

// checkPayments checks that exactly the payments on the chain up to the block have a paid row.
func (m *moneyMachine) checkPayments(rows moneyRows, logs *moneyLogs, tip uint64) {
	m.t.Helper()
	keys := make(map[string]common.Hash)
	for _, draft := range m.drafts {
		keys[draft.id] = common.Hash(sortie.MissionKey(draft.missionID))
	}
	noted := make(map[paymentKey]bool)
	for _, p := range rows.payouts {
		if p.block == 0 {
			continue
		}
		key := paymentKey{keys[p.draft], p.slot}
		noted[key] = true
		payment, found := logs.payments[key]
		if !found || payment.block != p.block || payment.transaction != p.transaction || payment.deferred != p.credited ||
			!strings.EqualFold(payment.recipient.String(), p.recipient) || payment.submission != sortie.SubmissionKey(p.submission) ||
			payment.amount.Cmp(p.amount) != 0 {
			m.t.Fatalf("paid payout: got %+v, want the payment on the chain %+v (found: %t)", p, payment, found)
		}
	}
	for key, payment := range logs.payments {
		if payment.block <= tip && !noted[key] {
			m.t.Fatalf("payment %+v of slot %d of mission %s: got no payout row at block %d, want one", payment, key.slot, key.mission, tip)
		}
	}
}

// checkMission checks that funded = paid + deferred + remaining + refunded, in the rows and in the
// contract.
func (m *moneyMachine) checkMission(draft moneyDraft, rows moneyRows, state missionfactory.IMissionFactoryMission, remaining *big.Int) {
	m.t.Helper()
	funding, funded := rows.fundings[draft.id]
	if isFunded := state.TargetCount.Sign() > 0; funded != isFunded {
		m.t.Fatalf("mission %s funded: got %t in the database, want %t as in the contract", draft.missionID, funded, isFunded)
	}
	if !funded {
		return
	}
	paid, deferred, refunded, number := new(big.Int), new(big.Int), new(big.Int), int64(0)
	for _, p := range rows.payouts {
		switch {
		case p.draft != draft.id || p.block == 0:
			continue
		case p.credited:
			deferred.Add(deferred, p.amount)
		default:
			paid.Add(paid, p.amount)
		}
		number++
	}
	if funding.Closed != nil {
		refunded = funding.Closed.Refund
	}
	if isClosed := state.Closed != 0; (funding.Closed != nil) != isClosed || isClosed && funding.Closed.Reason != state.Closed {
		m.t.Fatalf("close of mission %s: got %+v in the database, want %d as in the contract", draft.missionID, funding.Closed, state.Closed)
	}
	if state.PaidCount.Int64() != number {
		m.t.Fatalf("payments of mission %s: got %d in the database, want %s as in the contract", draft.missionID, number, state.PaidCount)
	}
	sum := new(big.Int).Add(new(big.Int).Add(paid, deferred), new(big.Int).Add(remaining, refunded))
	if total := new(big.Int).Mul(state.RewardPerSubmission, state.TargetCount); sum.Cmp(total) != 0 {
		m.t.Fatalf("mission %s: paid %s + deferred %s + remaining %s + refunded %s = %s, want the funded %s",
			draft.missionID, paid, deferred, remaining, refunded, sum, total)
	}
}

// isOver reports whether no transaction, payout or settlement is open and every funded mission is
// closed.
func (m *moneyMachine) isOver() bool { return m.describeOpen() == "" }

// describeOpen describes the work that is still open.
func (m *moneyMachine) describeOpen() string {
	m.t.Helper()
	var open []string
	rows := m.readRows()
	for _, p := range rows.payouts {
		if p.status == "queued" || p.status == "sent" {
			open = append(open, fmt.Sprintf("payout %+v", p))
		}
	}
	for _, draft := range slices.Sorted(maps.Keys(rows.completed)) {
		if !rows.completed[draft] && rows.fundings[draft].Block > 0 {
			open = append(open, fmt.Sprintf("mission %s with %+v, closed %+v", draft, rows.counters[draft], rows.fundings[draft].Closed))
		}
	}
	for draft, funding := range rows.fundings {
		if funding.Closed == nil {
			open = append(open, fmt.Sprintf("draft %s is funded and not closed", draft))
		}
	}
	for id, ended := range rows.ended {
		if !ended {
			open = append(open, fmt.Sprintf("settlement %d has not ended", id))
		}
	}
	intents, err := m.store.Intents(m.ctx, m.work.chainID, m.work.account, store.IntentQueued, store.IntentSent, store.IntentMined)
	m.must(err)
	for _, intent := range intents {
		open = append(open, fmt.Sprintf("intent %s %s is %s with %d attempts: %s", intent.Kind, intent.Subject, intent.Status, len(intent.Attempts), intent.Problem))
	}
	return strings.Join(open, "\n")
}

// checkEnd checks that the factory owes only deferred credits, and that every nonce was used.
func (m *moneyMachine) checkEnd() {
	m.t.Helper()
	rows := m.readRows()
	mined, err := m.chain.eth.NonceAt(m.ctx, common.Address(m.work.account), nil)
	m.must(err)
	if mined != uint64(len(rows.nonces)) {
		m.t.Fatalf("mined transactions of the sender: got %d, want all %d", mined, len(rows.nonces))
	}
	m.checkEvents(rows)
	balances, logs := m.chain.balances(m.t), m.chain.factoryLogs(m)
	for _, token := range m.chain.tokens() {
		credits := new(big.Int)
		for place, credit := range logs.credits {
			if place.token == token {
				credits.Add(credits, credit)
			}
		}
		if got := balances[holding{token, m.chain.deployment.Factory}]; got.Cmp(credits) != 0 {
			m.t.Fatalf("balance of the factory in token %s at the end: got %s, want the deferred credits of %s", token, got, credits)
		}
	}
}

// checkEvents checks that contributors got one event for each payout that is paid or deferred, and
// no other event about payouts.
func (m *moneyMachine) checkEvents(rows moneyRows) {
	m.t.Helper()
	type notice struct{ event, submission string }
	got, want := make(map[notice]int), make(map[notice]int)
	for _, p := range rows.payouts {
		switch p.status {
		case "paid":
			want[notice{string(sortie.EventPayoutPaid), p.submission}] = 1
		case "deferred":
			want[notice{string(sortie.EventPayoutDeferred), p.submission}] = 1
		}
	}
	for _, contributor := range moneyContributors {
		const page = 100
		for after, full := int64(0), true; full; {
			events, err := m.store.EventsAfter(m.ctx, contributor, after, page)
			m.must(err)
			full = len(events) == page
			for _, event := range events {
				after = event.Seq
				var facts struct{ SubmissionID string }
				m.must(json.Unmarshal(event.Data, &facts))
				if kind := sortie.EventType(event.Type); kind == sortie.EventPayoutPaid || kind == sortie.EventPayoutDeferred {
					got[notice{event.Type, facts.SubmissionID}]++
				}
			}
		}
	}
	if !maps.Equal(got, want) {
		m.t.Fatalf("events of contributors: got %v, want %v", got, want)
	}
}
