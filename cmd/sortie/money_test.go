package main

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	moneyVariable    = "SORTIE_MONEY_STEPS" // how many steps TestBooksEqualTheChain takes at least; empty: few enough for every test run
	moneySteps       = 500
	moneyStepsOnPG   = 100
	moneyTriesPerRun = 200 // on average, on a new database; about half of them can be done
)

// Whatever people, the chain and the machine do, after every step the books of the service equal the contract's at the block that
// was followed, each slot is paid once to the one it belongs to, and no token is lost. At the end of each run everything that was
// accepted is paid and every mission closed. More steps: make money.
func TestBooksEqualTheChain(t *testing.T) {
	steps := moneySteps
	if text := os.Getenv(moneyVariable); text != "" {
		var err error
		if steps, err = strconv.Atoi(text); err != nil {
			t.Fatalf("%s=%s: want a number of steps", moneyVariable, text)
		}
	}
	runMoney(t, steps, func() (string, func()) {
		dir, err := os.MkdirTemp("", "sortie-money-")
		if err != nil {
			t.Fatal(err)
		}
		return "sqlite:" + filepath.Join(dir, "sortie.db"), func() { _ = os.RemoveAll(dir) }
	})
}

func TestBooksEqualTheChainOnPostgreSQL(t *testing.T) {
	runMoney(t, moneyStepsOnPG, func() (string, func()) { return pgtest.Database(t), func() {} })
}

// runMoney makes runs until all of them together have taken so many steps.
func runMoney(t *testing.T, steps int, database func() (url string, remove func())) {
	for name, value := range map[string]string{"rapid.steps": strconv.Itoa(moneyTriesPerRun), "rapid.checks": strconv.Itoa(steps)} {
		before := flag.Lookup(name).Value.String()
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = flag.Set(name, before) })
	}
	c := startMoneyChain(t)
	taken := newTally()
	failing, told := false, 0
	rapid.Check(t, func(r *rapid.T) {
		if taken.steps >= steps && !failing {
			return
		}
		failing = true // until it comes to its end: a run that fails is repeated, to make it smaller
		files, err := os.MkdirTemp("", "sortie-money-")
		if err != nil {
			r.Fatal(err)
		}
		defer func() { _ = os.RemoveAll(files) }()
		url, remove := database()
		defer remove()
		c.reset(r)
		m := &moneyMachine{moneyService: openMoneyService(r, c, url, files), t: r, tally: taken, settled: make(map[string]moneyPayout)}
		defer func() { m.stop() }()
		m.begin()
		r.Repeat(m.actions())
		m.finish()
		failing = false
		if taken.steps/1000 > told {
			told = taken.steps / 1000
			t.Logf("%d steps", taken.steps)
		}
	})
	t.Log(taken)
}

// moneyMachine is the service, with what may happen to it and to its money.
type moneyMachine struct {
	*moneyService
	t      *rapid.T
	tally  *tally
	drafts []moneyDraft

	submissions []moneySubmission
	settled     map[string]moneyPayout // payouts that counted as paid or deferred, by submission
	paused      bool                   // the factory was told to pause
	changed     bool                   // the last action could be done
}

type moneyDraft struct {
	id, missionID string
	creator       sortie.Address
}

type moneySubmission struct {
	id          string
	contributor sortie.Address
}

// seldom skips most steps of a kind that ends, or holds up, what the others are about.
func seldom(t *rapid.T) {
	if rapid.IntRange(0, 7).Draw(t, "seldom") != 5 {
		notNow()
	}
}

// actions are what may happen. Those that bring a mission on are there more than once.
func (m *moneyMachine) actions() map[string]func(*rapid.T) {
	actions := map[string]func(*rapid.T){
		"create": m.create, "fund": m.fund, "review": m.review, "accept": m.accept, "revoke": m.revoke, "withdraw": m.withdraw,
		"settle": m.settle, "redeem": m.redeem, "claim": m.claim, "close": m.end, "reclaim": m.reclaim, "reorg": m.reorganize,
		"restart": m.startAgain, "mine": m.grow, "follow": m.catchUp, "wait": m.wait, "deny": m.deny, "pause": m.pause,
		"limit": m.limit, "disturb": m.disturb, "drop": m.drop,
	}
	for name, action := range actions {
		actions[name] = func(t *rapid.T) {
			if m.changed = m.try(t, action); m.changed {
				m.tally.count(name)
			}
		}
	}
	for _, often := range []string{"accept", "settle", "mine", "follow", "accept", "settle", "review", "revoke", "reorg"} {
		name := often + " more"
		for actions[name] != nil {
			name += " more"
		}
		actions[name] = actions[often]
	}
	actions[""] = func(*rapid.T) {
		if m.changed {
			m.checkBooks()
		}
	}
	return actions
}

// impossible is what an action panics with that cannot be done now. It counts as no step.
var impossible = errors.New("not now")

func notNow() { panic(impossible) }

// try does an action, and reports whether it could be done.
func (m *moneyMachine) try(t *rapid.T, action func(*rapid.T)) (done bool) {
	defer func() {
		if fault := recover(); fault != nil && fault != any(impossible) {
			panic(fault)
		}
	}()
	action(t)
	return true
}

// begin publishes a few missions.
func (m *moneyMachine) begin() {
	m.tally.runs++
	for range 3 {
		m.create(m.t)
		m.handInFunding(m.drafts[len(m.drafts)-1])
	}
	m.mine(moneyFinality)
	m.follow()
	for _, draft := range m.drafts {
		_, err := m.app.Approve(m.ctx, moneyOperator, draft.id, "")
		m.must(err)
	}
	m.mine(1)
	m.follow()
}

func (m *moneyMachine) create(t *rapid.T) {
	if open := m.find(func(d store.Draft) bool { return !m.isClosed(d) }); len(open) >= 6 || len(m.drafts) >= 30 {
		notNow()
	}
	token := rapid.SampledFrom([]sortie.Token{sortie.TokenUSDC, sortie.TokenService}).Draw(t, "token")
	amount := rapid.SampledFrom([]string{"2.5", "0.01", "7", "1000.000001"}).Draw(t, "reward")
	target := rapid.IntRange(1, 8).Draw(t, "slots")
	creator := devnet.WalletByRole(rapid.SampledFrom(moneyCreators).Draw(t, "creator")).Address
	ends := ""
	if hours := rapid.SampledFrom([]int{0, 24, 24 * 60, 2}).Draw(t, "hours"); hours > 0 {
		ends = fmt.Sprintf(`,"endsAt":%q`, sortie.FormatTime(m.clock().Add(time.Duration(hours)*time.Hour)))
	}
	body := fmt.Sprintf(`{"title":"Photo of the tower","reward":{"token":%q,"amount":%s},"targetCount":%d%s}`, token, amount, target, ends)
	view, _, err := m.app.CreateDraft(m.ctx, creator, rand.Text(), []byte(body))
	m.must(err)
	m.drafts = append(m.drafts, moneyDraft{view.DraftID, view.MissionID, creator})
}

func (m *moneyMachine) handInFunding(draft moneyDraft) {
	view, err := m.app.Mission(m.ctx, draft.creator, draft.id)
	m.must(err)
	m.chain.transact(m.t, draft.creator, view.Quote.FactoryAddress, view.Quote.Calldata)
}

// fund pays for a mission that is not paid for, as far as the service knows: sometimes twice.
func (m *moneyMachine) fund(t *rapid.T) {
	draft := m.draw(t, func(d store.Draft) bool { return d.State.QuoteLive() })
	m.handInFunding(draft)
	if rapid.Bool().Draw(t, "at once") {
		m.mine(moneyConfirmations)
		m.follow()
	}
}

// isClosed reports whether a mission's money has left the contract, as far as the service knows.
func (m *moneyMachine) isClosed(d store.Draft) bool {
	funding, err := m.store.FundingOf(m.ctx, d.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false
	}
	m.must(err)
	return funding.Closed != nil
}

// takesWork reports whether a mission takes submissions.
func (m *moneyMachine) takesWork(d store.Draft) bool {
	slots, err := m.store.SlotsOf(m.ctx, d.ID)
	if errors.Is(err, store.ErrNotFound) {
		return false
	}
	m.must(err)
	return slots.Open(m.clock())
}

// draw chooses a draft in a state.
func (m *moneyMachine) draw(t *rapid.T, fits func(store.Draft) bool) moneyDraft {
	found := m.find(fits)
	if len(found) == 0 {
		notNow()
	}
	return rapid.SampledFrom(found).Draw(t, "mission")
}

// find lists the drafts in a state.
func (m *moneyMachine) find(fits func(store.Draft) bool) (found []moneyDraft) {
	for _, draft := range m.drafts {
		stored, err := m.store.DraftByDraftID(m.ctx, draft.id)
		m.must(err)
		if fits(stored) {
			found = append(found, draft)
		}
	}
	return found
}

// skipRefused gives up on a step that the service refuses with a code.
func (m *moneyMachine) skipRefused(t *rapid.T, err error) {
	var refused *sortie.Error
	if errors.As(err, &refused) && refused.Code != sortie.CodeInternal {
		notNow()
	}
	m.must(err)
}

func (m *moneyMachine) review(t *rapid.T) {
	draft := m.draw(t, func(d store.Draft) bool { return inReview(d) })
	decide := m.app.Approve
	if rapid.IntRange(0, 3).Draw(t, "rejected") == 0 {
		decide = m.app.Reject
	}
	_, err := decide(m.ctx, moneyOperator, draft.id, "Nothing may be photographed there.")
	m.skipRefused(t, err)
}

func (m *moneyMachine) reserve(t *rapid.T) (sortie.SubmissionDeclared, []byte) {
	draft := m.draw(t, m.takesWork)
	contributor := rapid.SampledFrom(moneyContributors).Draw(t, "contributor")
	declared, file, err := m.declare(contributor, draft.missionID)
	m.skipRefused(t, err)
	m.submissions = append(m.submissions, moneySubmission{declared.SubmissionID, contributor})
	return declared, file
}

func (m *moneyMachine) accept(t *rapid.T) {
	declared, file := m.reserve(t)
	m.submit(declared, file)
	for range rapid.IntRange(0, 3).Draw(t, "more") {
		another := rapid.SampledFrom(m.drafts).Draw(t, "mission")
		contributor := rapid.SampledFrom(moneyContributors).Draw(t, "contributor")
		if declared, file, err := m.declare(contributor, another.missionID); err == nil {
			m.submissions = append(m.submissions, moneySubmission{declared.SubmissionID, contributor})
			m.submit(declared, file)
		}
	}
}

// withdraw declares a submission, or takes one back.
func (m *moneyMachine) withdraw(t *rapid.T) {
	if len(m.submissions) == 0 || rapid.Bool().Draw(t, "new") {
		m.reserve(t)
		return
	}
	submission := rapid.SampledFrom(m.submissions).Draw(t, "submission")
	_, err := m.app.Withdraw(m.ctx, submission.contributor, submission.id)
	m.skipRefused(t, err)
}

func (m *moneyMachine) drawSubmission(t *rapid.T) moneySubmission {
	if len(m.submissions) == 0 {
		notNow()
	}
	return rapid.SampledFrom(m.submissions).Draw(t, "submission")
}

func (m *moneyMachine) revoke(t *rapid.T) {
	order := app.Order{Operator: moneyOperator}
	_, _ = rand.Read(order.Request[:])
	_, err := m.app.RejectSubmission(m.ctx, moneyBase, order, m.drawSubmission(t).id, "It shows another tower.")
	m.skipRefused(t, err)
}

// settle lets a worker and the sender work.
func (m *moneyMachine) settle(t *rapid.T) {
	m.pass(rapid.SampledFrom([]time.Duration{time.Second, moneyPayoutInterval, moneyHold}).Draw(t, "later"))
	m.due()
	m.send()
}

// redeem sends a receipt to the contract, whoever pays for it, and whether or not the slot is paid.
func (m *moneyMachine) redeem(t *rapid.T) {
	submission := m.drawSubmission(t)
	detail, err := m.app.Submission(m.ctx, submission.contributor, submission.id)
	m.must(err)
	receipt := detail.Submission.Receipt
	if receipt == nil {
		notNow()
	}
	m.chain.transact(t, devnet.WalletByRole(devnet.RoleContributor3).Address, m.chain.deployment.Factory, receipt.Settlement.Calldata(receipt.Signature))
	m.mine(rapid.IntRange(0, 1).Draw(t, "blocks"))
}

// claim has a deferred credit paid out, if there is one.
func (m *moneyMachine) claim(t *rapid.T) {
	seldom(t)
	token := rapid.SampledFrom(m.chain.tokens()).Draw(t, "token")
	account := rapid.SampledFrom(m.chain.accounts).Draw(t, "account")
	m.chain.transact(t, devnet.WalletByRole(devnet.RoleContributor3).Address, m.chain.deployment.Factory,
		factoryBinding.PackClaimDeferred(common.Address(token), common.Address(account)))
}

// end lets a mission's time pass: the service closes it.
func (m *moneyMachine) end(t *rapid.T) {
	seldom(t)
	draft := m.draw(t, func(d store.Draft) bool { return d.State.View().Published })
	slots, err := m.store.SlotsOf(m.ctx, draft.id)
	m.must(err)
	if left := slots.EndsAt.Sub(m.clock()); left > 0 {
		m.pass(left)
	}
	m.mine(1)
	m.due()
	m.send()
}

// reclaim lets half a year pass, and the creator take the money back.
func (m *moneyMachine) reclaim(t *rapid.T) {
	seldom(t)
	draft := m.draw(t, func(d store.Draft) bool { return !d.State.QuoteLive() && !m.isClosed(d) })
	m.pass(181 * 24 * time.Hour)
	m.chain.transact(t, draft.creator, m.chain.deployment.Factory, factoryBinding.PackReclaim(sortie.MissionKey(draft.missionID)))
	m.mine(rapid.IntRange(0, 1).Draw(t, "blocks"))
}

// reorganize takes blocks back that are not final. Their transactions are lost, or come back in later blocks.
func (m *moneyMachine) reorganize(t *rapid.T) {
	depth := uint64(rapid.IntRange(1, moneyFinality-1).Draw(t, "depth"))
	removed, before := m.chain.removable(t, depth), len(m.chain.factoryLogs(m).payments)
	m.chain.call(t, nil, "anvil_reorg", depth, []any{})
	m.tally.unpaid += before - len(m.chain.factoryLogs(m).payments)
	for _, raw := range removed {
		if rapid.IntRange(0, 2).Draw(t, "lost") > 0 {
			_ = m.chain.rpc.CallContext(m.ctx, nil, "eth_sendRawTransaction", raw) // its account may have used the nonce
		}
	}
}

func (m *moneyMachine) startAgain(*rapid.T) { m.restart() }

func (m *moneyMachine) grow(t *rapid.T) { m.mine(rapid.IntRange(1, 4).Draw(t, "blocks")) }

func (m *moneyMachine) catchUp(*rapid.T) { m.follow() }

func (m *moneyMachine) wait(t *rapid.T) {
	m.pass(rapid.SampledFrom([]time.Duration{7 * time.Second, time.Minute, 7 * time.Minute, 25 * time.Hour}).Draw(t, "time"))
}

func (m *moneyMachine) byDeployer(to sortie.Address, data []byte) {
	m.chain.transact(m.t, devnet.WalletByRole(devnet.RoleDeployer).Address, to, data)
}

// deny puts an account on the denylist of one token, or takes it off: its payments are deferred meanwhile.
func (m *moneyMachine) deny(t *rapid.T) {
	everyone := append(slices.Clone(moneyContributors), devnet.WalletByRole(devnet.RoleCreator).Address)
	account := rapid.SampledFrom(everyone).Draw(t, "account")
	m.byDeployer(m.chain.deployment.USDC, usdcBinding.PackSetDenylisted(common.Address(account), rapid.IntRange(0, 3).Draw(t, "allowed") < 3))
	m.mine(rapid.IntRange(0, 1).Draw(t, "blocks"))
}

// pause pauses the factory or lifts the pause.
func (m *moneyMachine) pause(t *rapid.T) {
	if !m.paused {
		seldom(t)
	}
	data := factoryBinding.PackPause()
	if m.paused {
		data = factoryBinding.PackUnpause()
	}
	m.byDeployer(m.chain.deployment.Factory, data)
	m.paused = !m.paused
}

// limit sets the daily cap of a token: none, or about as much as a few rewards.
func (m *moneyMachine) limit(t *rapid.T) {
	token := rapid.SampledFrom(m.chain.tokens()).Draw(t, "token")
	limit := maxUint256
	if rapid.Bool().Draw(t, "low") {
		limit = big.NewInt(10_000_000)
		if token == m.chain.deployment.ServiceToken {
			limit = new(big.Int).Mul(limit, big.NewInt(1e12))
		}
	}
	m.byDeployer(m.chain.deployment.Factory, factoryBinding.PackSetDailyCap(common.Address(token), limit))
}

var maxUint256 = new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(1))

// disturb has the node mishandle the next transactions of the service.
func (m *moneyMachine) disturb(t *rapid.T) {
	seldom(t)
	m.chain.front.misbehave(rapid.SampledFrom([]misbehaviour{refusing, mute, forgetting}).Draw(t, "misbehaviour"), rapid.IntRange(1, 3).Draw(t, "times"))
}

// drop loses every transaction that waits for a block.
func (m *moneyMachine) drop(t *rapid.T) {
	seldom(t)
	m.chain.call(t, nil, "anvil_dropAllTransactions")
}

// finish lifts what is in the way, lets every mission end, and lets the service work until nothing is left to do.
func (m *moneyMachine) finish() {
	m.chain.front.misbehave(reliable, 0)
	m.chain.call(m.t, nil, "anvil_dropAllTransactions")                    // a pause that a reorganization put back may wait there
	m.byDeployer(m.chain.deployment.Factory, factoryBinding.PackUnpause()) // reverts unless it is paused
	for _, token := range m.chain.tokens() {
		m.byDeployer(m.chain.deployment.Factory, factoryBinding.PackSetDailyCap(common.Address(token), maxUint256))
	}
	m.mine(1)
	m.pass(61 * 24 * time.Hour) // the longest mission ends, and no creator may reclaim yet what was funded just now
	const rounds = 80
	for round := range rounds {
		if round == rounds/4 { // for missions that were published just now
			m.pass(31 * 24 * time.Hour)
		}
		m.mine(1)
		m.follow()
		m.rejectUndecided()
		m.due()
		m.send()
		m.pass(moneyPayoutInterval)
		if m.isOver() {
			m.checkBooks()
			m.checkEnd()
			m.tally.add(m.readRows())
			return
		}
	}
	m.t.Fatalf("after %d more blocks something is not over: %s", rounds, m.describeOpen())
}

func inReview(d store.Draft) bool { return d.State.View().Review == sortie.ReviewInReview }

func (m *moneyMachine) rejectUndecided() {
	for _, draft := range m.drafts {
		stored, err := m.store.DraftByDraftID(m.ctx, draft.id)
		m.must(err)
		if inReview(stored) {
			_, err := m.app.Reject(m.ctx, moneyOperator, draft.id, "Nothing may be photographed there.")
			var refused *sortie.Error
			if err != nil && !errors.As(err, &refused) {
				m.t.Fatal(err)
			}
		}
	}
}

// tally counts the steps of all runs.
type tally struct {
	steps, runs int
	byAction    map[string]int

	paid, deferred, failed, redeemed, unpaid, closed, reclaimed int
}

func newTally() *tally { return &tally{byAction: make(map[string]int)} }

func (s *tally) count(action string) {
	s.steps++
	s.byAction[action]++
}

// add counts how the missions of a run ended.
func (s *tally) add(rows moneyRows) {
	for _, p := range rows.payouts {
		switch p.status {
		case "paid":
			s.paid++
		case "deferred":
			s.deferred++
		case "failed":
			s.failed++
		}
		if p.status != "failed" && !rows.own[p.transaction] {
			s.redeemed++
		}
	}
	for _, funding := range rows.fundings {
		if funding.Closed.Reason == reclaimed {
			s.reclaimed++
		} else {
			s.closed++
		}
	}
}

func (s *tally) String() string {
	return fmt.Sprintf("%d steps in %d runs: %d payouts paid and %d deferred, %d of them by a redeemed receipt; %d lost to a reclaim; reorganizations took "+
		"%d payments back; %d missions closed and %d reclaimed; steps %s", s.steps, s.runs, s.paid, s.deferred, s.redeemed, s.failed, s.unpaid, s.closed,
		s.reclaimed, strings.TrimPrefix(fmt.Sprint(s.byAction), "map"))
}
