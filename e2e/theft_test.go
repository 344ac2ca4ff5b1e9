package e2e

import (
	"slices"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/pgtest"
)

// settlerSignature is a signature with the stolen settler's key.
func (f *following) settlerSignature(digest func(separator sortie.Hash) sortie.Hash) sortie.Bytes {
	f.t.Helper()
	key, err := sortie.ParseKey(f.chain.key(f.t, "settler"))
	if err != nil {
		f.t.Fatal(err)
	}
	return key.SignDigest(digest(sortie.Domain{ChainID: f.chain.ChainID, Factory: f.chain.FactoryAddress}.Separator()))
}

// incidentKinds are the kinds of the open incidents.
func (f *following) incidentKinds() (kinds []string) {
	f.t.Helper()
	for _, incident := range f.overview().Incidents {
		kinds = append(kinds, incident.Kind)
	}
	return kinds
}

// A thief pays itself with the settler's key, which halts the service. A contributor who redeems a
// receipt causes no incident.
func TestAStolenSettlerKeyThatPaysItselfHalts(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, chain.keepingFiles(pgtest.Database(t), t.TempDir()))
	mission := f.publish(photoMission(3))
	submitted := f.submit("contributor1", mission, photo(1))
	f.awaitStatus(submitted, sortie.SubmissionAccepted)
	var receipt *sortie.Receipt
	f.service.await(t, "receipt of "+submitted.id, func() bool {
		receipt = f.own(submitted).Receipt
		return receipt != nil
	})
	f.chain.transact("contributor2", f.chain.FactoryAddress, receipt.Settlement.Calldata(receipt.Signature))
	f.chain.mine(1)
	if paid := f.chain.payments(mission.missionID); paid != 1 {
		t.Fatalf("the receipt paid %d slots, want 1", paid)
	}
	f.awaitTip()
	if kinds := f.incidentKinds(); len(kinds) != 0 || f.overview().Halted {
		t.Fatalf("after an honest payment the incidents are %v, want none", kinds)
	}

	theft := sortie.Settlement{MissionKey: sortie.MissionKey(mission.missionID), Payments: []sortie.Payment{
		{Slot: 1, Recipient: f.chain.wallet("creator2"), SubmissionKey: sortie.SubmissionKey(submitted.id)},
	}}
	f.chain.transact("creator2", f.chain.FactoryAddress, theft.Calldata(f.settlerSignature(theft.Digest)))
	f.chain.mine(1)
	if paid := f.chain.payments(mission.missionID); paid != 2 {
		t.Fatalf("%d slots are paid, want 2: the theft did not succeed", paid)
	}
	f.checkHalted()
	if kinds := f.incidentKinds(); !slices.Equal(kinds, []string{"unexpected_payment"}) {
		t.Errorf("the incidents are %v, want unexpected_payment", kinds)
	}
}

// payments counts the slots of a mission that were paid on the canonical chain.
func (a *anvil) payments(missionID string) (count int) {
	a.t.Helper()
	key := sortie.MissionKey(missionID)
	for _, log := range a.followedLogs() {
		if log.Topics[0] == factoryABI.Events["SubmissionPaid"].ID && sortie.Hash(log.Topics[1]) == key {
			count++
		}
	}
	return count
}

// A thief closes a published mission with the settler's key. That halts the service, also when the
// block is reorganized out: then the mission takes submissions again, and was never reported as
// complete.
func TestAStolenSettlerKeyThatClosesAMissionHalts(t *testing.T) {
	t.Parallel()
	withTestChain(t, "published", func(f *following, node *proxy) {
		mission := f.publish(photoMission(3))
		theft := sortie.Close{MissionKey: sortie.MissionKey(mission.missionID)}
		f.chain.transact("creator2", f.chain.FactoryAddress, theft.Calldata(f.settlerSignature(theft.Digest)))
		f.chain.mine(1)
		if closings := f.chain.closings(mission.missionID); closings != 1 {
			f.t.Fatalf("the mission was closed %d times, want 1: the theft did not succeed", closings)
		}
		f.checkHalted()
		if kinds := f.incidentKinds(); !slices.Equal(kinds, []string{"unexpected_close"}) {
			f.t.Errorf("the incidents are %v, want unexpected_close", kinds)
		}
		f.checkNothingSent(node, mission, viewPublished)
		f.chain.reorg(1) // the close is reorganized out
		f.awaitTip()
		f.checkHalted()
		f.clear()
		f.checkTakesWork(mission)
		f.checkNotCompleted(mission)
	})
}

// checkTakesWork checks that the mission is in the feed.
func (f *following) checkTakesWork(d drafted) {
	f.t.Helper()
	open, err := f.creator.OpenMission(f.ctx, d.missionID)
	if err != nil || !open.Open {
		f.t.Errorf("contributors see %+v, %v; want the mission %s open", open, err, d.missionID)
	}
}

// checkNotCompleted checks that the creator has no mission.completed event.
func (f *following) checkNotCompleted(d drafted) {
	f.t.Helper()
	for event, err := range f.creator.AllEvents(f.ctx, sortie.PageQuery{}) {
		if err != nil {
			f.t.Fatal(err)
		}
		if event.DraftID == d.draftID && event.Type == sortie.EventMissionCompleted {
			f.t.Errorf("the creator has mission.completed of %s, want no such event", d.missionID)
		}
	}
}
