package e2e

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

const (
	maxReorg       = 20
	soakFinality   = maxReorg + 4 // no reorganization of the soak reaches what is final
	soakMissions   = 120
	soakVariable   = "SORTIE_SOAK"      // times as many reorganizations
	soakSeed       = "SORTIE_SOAK_SEED" // the seed of a run to repeat
	reorgsSQLite   = 200
	reorgsPostgres = 50
)

// The chain is reorganized repeatedly while missions are funded, decided and refunded and the
// service is killed. At the end the rows match the canonical chain, and every draft has the state
// that follows from it.
func TestReorgSoak(t *testing.T) {
	t.Parallel()
	for engine, run := range map[string]struct {
		database func(*testing.T) string
		reorgs   int
	}{
		"sqlite":   {sqliteIn, reorgsSQLite},
		"postgres": {func(t *testing.T) string { return pgtest.Database(t) }, reorgsPostgres},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			database := run.database(t)
			s := newSoak(t, database)
			for range run.reorgs * soakFactor(t) {
				s.step()
			}
			s.settle()
			s.awaitTip()
			s.checkEvents()
			s.noticed += s.reorgsNoticed()
			s.stop()
			checkRows(t, s.chain, database)
			t.Logf("%d reorganizations, of which %d were noticed, %d kills, %d missions, %d transactions by the sender",
				s.reorgs, s.noticed, s.kills, len(s.missions), s.chain.minedBy("sender"))
			if s.noticed*3 < uint64(s.reorgs) || s.kills == 0 {
				t.Error("too few reorganizations happened while the service ran: the test proves nothing")
			}
		})
	}
}

func soakFactor(t *testing.T) int {
	t.Helper()
	text := os.Getenv(soakVariable)
	if text == "" {
		return 1
	}
	factor, err := strconv.Atoi(text)
	if err != nil || factor < 1 {
		t.Fatalf("%s=%q: want how many times as long to run", soakVariable, text)
	}
	return factor
}

func seededRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(soakSeed); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("parse %s: %v", soakSeed, err)
		}
	}
	t.Logf("seed: %s=%d", soakSeed, seed)
	return rand.New(rand.NewPCG(seed, seed))
}

// soak is a service under reorganizations and kills.
type soak struct {
	*following
	random        *rand.Rand
	node          *proxy
	missions      []*soaked
	reorgs, kills int
	noticed       uint64 // reorganizations, by processes that were killed
}

// soaked is a mission and the decision that was acknowledged to the operator.
type soaked struct {
	drafted
	decision sortie.ReviewStatus
}

func newSoak(t *testing.T, database string) *soak {
	t.Helper()
	chain := startAnvil(t)
	node := startProxy(t, chain.RPCURL)
	environment := chain.serviceEnvironment(database, strconv.Itoa(soakFinality), node.url)
	return &soak{following: follow(t, chain, environment), random: seededRandom(t), node: node}
}

// step makes a few random changes, and then replaces some blocks.
func (s *soak) step() {
	s.t.Helper()
	for range 2 + s.random.IntN(5) {
		s.act()
	}
	if s.random.IntN(3) > 0 { // otherwise it does not see what is replaced now
		s.confirmFunding()
		s.awaitTip()
	}
	depth := 1 + s.random.Uint64N(maxReorg)
	var carried []map[string]any
	if mission := s.pick(); mission != nil && s.random.IntN(3) == 0 {
		carried = append(carried, s.chain.transaction(mission.creator, mission.quote.FactoryAddress, mission.quote.Calldata))
	}
	s.chain.reorg(depth, carried...)
	s.reorgs++
	switch s.random.IntN(4) {
	case 0: // the next step happens before the service has seen this one
	case 1:
		s.confirmFunding()
		s.node.awaitRequests(1+s.random.IntN(6), s.service)
	default:
		s.confirmFunding()
		s.awaitTip()
	}
}

// confirmFunding calls confirm-funding as the creator.
func (s *soak) confirmFunding() {
	s.t.Helper()
	if mission := s.pick(); mission != nil {
		if _, err := s.creator.ConfirmFunding(s.ctx, mission.draftID, sortie.Hash{}); err != nil {
			s.t.Fatalf("confirm the funding of %s: %v", mission.missionID, err)
		}
	}
}

func (s *soak) pick() *soaked {
	if len(s.missions) == 0 {
		return nil
	}
	return s.missions[s.random.IntN(len(s.missions))]
}

func (s *soak) act() {
	s.t.Helper()
	mission := s.pick()
	switch dice := s.random.IntN(20); {
	case mission == nil || dice < 4 && len(s.missions) < soakMissions:
		s.missions = append(s.missions, &soaked{s.draft(), sortie.ReviewDraft})
	case dice < 9: // mined at once; a mission that is funded already makes it revert
		s.chain.fund(mission.creator, mission.quote)
		s.chain.mine(1)
	case dice < 11:
		_, err := s.operator.Approve(s.ctx, mission.draftID, "")
		s.note(mission, sortie.ReviewApproved, err)
	case dice < 13:
		_, err := s.operator.Reject(s.ctx, mission.draftID, "That must not be photographed.")
		s.note(mission, sortie.ReviewRejected, err)
	case dice < 18:
		s.chain.mine(1 + s.random.Uint64N(5))
	case dice < 19 && s.kills*10 < s.reorgs:
		s.killAtRandom()
	default:
		s.chain.call(nil, "anvil_dropAllTransactions") // a node may drop pending transactions
	}
}

// note stores an acknowledged decision. A decision may be refused only because of the draft's
// state.
func (s *soak) note(mission *soaked, decided sortie.ReviewStatus, err error) {
	s.t.Helper()
	var refused *sortie.Error
	switch {
	case err == nil && mission.decision != sortie.ReviewDraft && mission.decision != decided:
		s.t.Errorf("%s was %s, and then %s", mission.missionID, mission.decision, decided)
	case err == nil:
		mission.decision = decided
	case !errors.As(err, &refused) || refused.Code != sortie.CodeWrongState:
		s.t.Fatalf("decide about %s: %v", mission.missionID, err)
	}
}

// killAtRandom kills the service at a random call of the node.
func (s *soak) killAtRandom() {
	s.t.Helper()
	s.chain.mine(1 + s.random.Uint64N(2)) // gives it work
	s.kills++
	s.noticed += s.reorgsNoticed()
	s.node.awaitRequests(1+s.random.IntN(10), s.service)
	s.restart()
}

func (s *soak) reorgsNoticed() uint64 {
	s.t.Helper()
	if follower := s.overview().Follower; follower != nil {
		return follower.Reorgs
	}
	return 0 // it has just been started
}

// settle mines blocks until every draft has the state that follows from the chain and the
// decisions, and no refund is outstanding.
func (s *soak) settle() {
	s.t.Helper()
	began := time.Now()
	var wrong []string
	for wrong = s.unsettled(); len(wrong) > 0 && time.Since(began) < patience; wrong = s.unsettled() {
		s.chain.mine(2)
		s.awaitTip()
	}
	for _, line := range wrong {
		s.t.Error(line)
	}
	s.t.Logf("settled after %s", time.Since(began).Round(time.Millisecond))
}

// unsettled lists the drafts whose state does not follow from the canonical chain.
func (s *soak) unsettled() (wrong []string) {
	s.t.Helper()
	funded, closed := make(map[common.Hash]bool), make(map[common.Hash]bool)
	for _, log := range s.chain.followedLogs() {
		switch eventName(s.t, log) {
		case "MissionFunded":
			funded[log.Topics[1]] = true
		case "MissionClosed":
			closed[log.Topics[1]] = true
		}
	}
	views := make(map[string]view)
	for draft, err := range s.creator.AllDrafts(s.ctx, sortie.ListQuery{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		views[draft.DraftID] = view{draft.FundingStatus, draft.ReviewStatus, draft.Published, draft.NextAction}
	}
	for _, mission := range s.missions {
		key := common.Hash(sortie.MissionKey(mission.missionID))
		want := settledView(mission.decision, funded[key], closed[key])
		if got := views[mission.draftID]; got != want {
			wrong = append(wrong, fmt.Sprintf("%s, %s by the operator, funded %t and closed %t on the chain: got %v, want %v",
				mission.missionID, mission.decision, funded[key], closed[key], got, want))
		}
	}
	return wrong
}

// settledView is the state of a draft when everything on the chain is final.
func settledView(decision sortie.ReviewStatus, funded, closed bool) view {
	switch {
	case decision == sortie.ReviewRejected && !funded:
		return viewRejectedUnfunded
	case decision == sortie.ReviewRejected:
		return viewRefunded // and not before it is closed
	case !funded:
		return viewQuoted
	case decision == sortie.ReviewApproved:
		return viewPublished
	default:
		return viewInReview
	}
}
