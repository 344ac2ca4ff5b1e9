package service

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	moneyVariable    = "SORTIE_MONEY_STEPS" // minimum number of steps of TestBooksEqualTheChain; empty: a small default
	moneySteps       = 1000
	moneyStepsOnPG   = 200
	moneyTriesPerRun = 200 // on average, on a new database; about half of them are possible
)

// For random sequences of actions, the books of the service equal the contract's at the followed
// block after every step, each slot is paid once to its contributor, and no token is lost. At the
// end of each run every accepted submission is paid and every mission is closed. Run more steps
// with make money.
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

// runMoney runs the machine until the given number of steps is done in total.
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
	failing, logged := false, 0
	rapid.Check(t, func(r *rapid.T) {
		if taken.steps >= steps && !failing {
			return
		}
		failing = true // until the run ends; rapid repeats a failing run to shrink it
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
		if taken.steps/1000 > logged {
			logged = taken.steps / 1000
			t.Logf("%d steps", taken.steps)
		}
	})
	t.Log(taken)
}

// moneyMachine has the service and the random actions on it.
type moneyMachine struct {
	*moneyService
	t      *rapid.T
	tally  *tally
	drafts []moneyDraft

	submissions []moneySubmission
	settled     map[string]moneyPayout // paid and deferred payouts, by submission
	paused      bool                   // the factory is paused
	changed     bool                   // the last action was possible
	wild        bool                   // rare actions are frequent in this run
}

type moneyDraft struct {
	id, missionID string
	creator       sortie.Address
}

type moneySubmission struct {
	id          string
	contributor sortie.Address
}

// seldom skips most steps that end or delay missions; fewer in a wild run.
func (m *moneyMachine) seldom(t *rapid.T) {
	if drawn := rapid.IntRange(0, 7).Draw(t, "seldom"); drawn != 5 && !(m.wild && drawn > 0) {
		notNow()
	}
}

// actions returns the possible actions. Those that advance a mission are listed more than once.
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

// errImpossible is the panic of an action that is not possible now. It does not count as a step.
var errImpossible = errors.New("not now")

func notNow() { panic(errImpossible) }

// try runs an action and reports whether it was possible.
func (m *moneyMachine) try(t *rapid.T, action func(*rapid.T)) (done bool) {
	defer func() {
		if fault := recover(); fault != nil && fault != any(errImpossible) {
			panic(fault)
		}
	}()
	action(t)
	return true
}

// finish removes pauses and caps, ends every mission, and runs the service until no work is open.
func (m *moneyMachine) finish() {
	m.chain.front.misbehave(reliable, 0)
	m.chain.call(m.t, nil, "anvil_dropAllTransactions")                    // a reorganization may have made a pause pending
	m.byDeployer(m.chain.deployment.Factory, factoryBinding.PackUnpause()) // reverts unless it is paused
	for _, token := range m.chain.tokens() {
		m.byDeployer(m.chain.deployment.Factory, factoryBinding.PackSetDailyCap(common.Address(token), maxUint256))
	}
	m.mine(1)
	m.pass(61 * 24 * time.Hour) // after the end of every mission, before the earliest reclaim of a new one
	const rounds = 80
	for round := range rounds {
		if round == rounds/4 { // for newly published missions
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
	m.t.Fatalf("after %d more blocks: got open work, want none: %s", rounds, m.describeOpen())
}

func inReview(d store.Draft) bool { return d.State.View().Review == sortie.ReviewInReview }

func (m *moneyMachine) rejectUndecided() {
	for _, draft := range m.drafts {
		stored, err := m.store.DraftByDraftID(m.ctx, draft.id)
		m.must(err)
		if inReview(stored) {
			_, err := m.operators.Reject(m.ctx, moneyOperator, draft.id, "Nothing may be photographed there.")
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

// add counts the ends of the missions of a run.
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
	return fmt.Sprintf("%d steps in %d runs: %d payouts paid and %d deferred, %d of them by a redeemed receipt; %d failed because of a reclaim; reorganizations removed "+
		"%d payments; %d missions closed and %d reclaimed; steps %s", s.steps, s.runs, s.paid, s.deferred, s.redeemed, s.failed, s.unpaid, s.closed,
		s.reclaimed, strings.TrimPrefix(fmt.Sprint(s.byAction), "map"))
}
