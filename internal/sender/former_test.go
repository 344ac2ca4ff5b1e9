package sender_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/anviltest"
	"github.com/sortie-labs/sortie/internal/devnet"
	"github.com/sortie-labs/sortie/internal/leases"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/store"
)

// custody is a former sender, without its key, next to the new sender.
type custody struct {
	*testSender
	former sortie.Address
	sender *sender.Sender
	lease  store.Lease
}

// changeSender changes the sender's account, and returns the former sender.
func (r *testSender) changeSender() *custody {
	r.t.Helper()
	c := &custody{testSender: r, former: r.key.Address()}
	r.key = devnet.WalletByRole(devnet.RoleCreator2).Key
	r.firstNonce, r.firstBlock = r.nonce(), r.Head()+1
	r.restart()
	c.restart()
	r.clock.advance(-time.Hour) // restart has moved it
	return c
}

// restart gives the lease of the former account to a new process.
func (c *custody) restart() {
	c.t.Helper()
	lease, err := c.db.AcquireLease(context.Background(), sender.LeaseName(c.Deployment.ChainID, c.former), rand.Text(), time.Minute)
	if err != nil {
		c.t.Fatal(err)
	}
	config := c.config
	config.Nodes, config.Store, config.ChainID, config.Signer = c.nodes, c.db, c.Deployment.ChainID, anviltest.SignerOf(c.key)
	config.Final, config.Clock, config.Logger = c.final, c.clock.now, quiet
	c.lease, c.sender = lease, sender.NewFormer(config, c.former)
}

// step does a step of the former sender, and one of the new sender.
func (c *custody) step() {
	c.t.Helper()
	if err := c.sender.Step(context.Background(), c.lease); err != nil {
		c.t.Fatalf("step of the former sender: got error %v, want none", err)
	}
	c.testSender.step()
}

// drain mines until neither account has active intents.
func (c *custody) drain(limit int) {
	c.t.Helper()
	for range limit {
		c.step()
		former, err := c.db.Intents(context.Background(), c.Deployment.ChainID, c.former, store.IntentQueued, store.IntentSent, store.IntentMined)
		if err != nil {
			c.t.Fatal(err)
		}
		if len(former)+len(c.intents(store.IntentQueued, store.IntentSent, store.IntentMined)) == 0 {
			return
		}
		c.mine()
	}
	c.t.Fatalf("active intents after %d blocks: new sender %+v, former sender %+v, want none", limit, c.testSender.sender.Status(), c.sender.Status())
}

// wantClosedOnce checks the closings on the chain since a block.
func (c *custody) wantClosedOnce(since uint64, missions []string) {
	c.t.Helper()
	times := c.closings(since)
	for _, id := range missions {
		if times[id] != 1 {
			c.t.Errorf("%s was closed %d times, want 1", id, times[id])
		}
	}
}

// Queued intents move to the new account; sent ones are followed until they are final, without the
// key.
func TestANewSenderFinishesWhatTheFormerOneBegan(t *testing.T) {
	t.Parallel()
	onBothEngines(t, 20, func(t *testing.T, r *testSender) {
		since := r.firstBlock
		r.want(r.Missions...) // eight are sent at a time
		r.step()
		r.mine()
		r.step()                                // eight mined and not final, eight sent, four queued
		r.RPC(nil, "anvil_dropAllTransactions") // the node forgets the transactions
		c := r.changeSender()
		c.drain(40)
		c.wantClosedOnce(since, r.Missions)
		if got := r.nonce() - r.firstNonce; got != 4 {
			t.Errorf("the new account used %d nonces, want 4: those that were queued", got)
		}
		if left := c.sender.Status().Active(); left != 0 {
			t.Errorf("the former sender has %d intents left, want 0", left)
		}
	})
}

// The new account takes over transactions of the former one that are not mined for long. If the old
// transaction is mined later, one of the two has no effect.
func TestANewSenderTakesOverWhatIsNotMined(t *testing.T) {
	t.Parallel()
	for name, revive := range map[string]bool{"the old transactions are gone": false, "the old transactions are mined late": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newTestSender(t, 5, sqliteDatabase(t))
			since := r.firstBlock
			r.want(r.Missions...)
			r.step()
			var raw [][]byte
			for _, intent := range r.intents(store.IntentSent) {
				raw = append(raw, intent.Attempts[0].Raw)
			}
			if len(raw) != 5 {
				t.Fatalf("sent: got %d, want 5", len(raw))
			}
			r.front.with(func(q request) (any, bool) { // no transaction of the former account reaches the chain
				if q.Method != "eth_sendRawTransaction" {
					return nil, false
				}
				for _, one := range raw {
					if strings.Contains(string(q.Params[0]), fmt.Sprintf("%x", one)) {
						return errors.New("it is not taken"), true
					}
				}
				return nil, false
			})
			r.RPC(nil, "anvil_dropAllTransactions")
			c := r.changeSender()
			for range 30 {
				c.step()
				r.mine()
			}
			if got := r.nonce() - r.firstNonce; got != 0 {
				t.Fatalf("the new account sent %d transactions before the time, want 0", got)
			}
			r.clock.advance(10 * time.Minute)
			c.step()
			if revive {
				for _, one := range raw {
					r.RPC(nil, "eth_sendRawTransaction", fmt.Sprintf("0x%x", one))
				}
			}
			c.drain(60)
			c.wantClosedOnce(since, r.Missions)
			if got := r.nonce() - r.firstNonce; got != 5 {
				t.Errorf("the new account used %d nonces, want 5: one for each mission", got)
			}
			for _, id := range r.Missions {
				if now := r.intent(id); now.Sender != r.key.Address() || now.Status != store.IntentDone && now.Status != store.IntentVoid {
					t.Errorf("the intent of %s: got %s of %s, want it over for %s", id, now.Status, now.Sender, r.key.Address())
				}
			}
		})
	}
}

// While another process holds the lease of the former account, its intents are not touched.
func TestTheIntentsOfALivingSenderAreLeftAlone(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 2, sqliteDatabase(t))
	r.want(r.Missions...)
	old, oldLease := r.sender, r.lease
	former := sender.NewFormer(sender.Config{
		Nodes: r.nodes, Store: r.db, Signer: anviltest.SignerOf(otherKey), ChainID: r.Deployment.ChainID, Final: r.final, Clock: r.clock.now, Logger: quiet,
		Prepare: map[string]sender.Prepare{"close": r.prepareClose},
	}, r.key.Address())
	stale := oldLease
	stale.Epoch--
	if err := former.Step(context.Background(), stale); !errors.Is(err, leases.ErrLost) {
		t.Errorf("a step under the lease of another: got %v, want %v", err, leases.ErrLost)
	}
	if err := old.Step(context.Background(), oldLease); err != nil {
		t.Fatal(err)
	}
	if got := len(r.intents(store.IntentSent)); got != 2 {
		t.Errorf("the living sender sent %d, want 2", got)
	}
}

// closings counts the closings on the chain by mission, since a block.
func (r *testSender) closings(since uint64) map[string]int {
	r.t.Helper()
	logs, err := r.Client.FilterLogs(context.Background(), ethereum.FilterQuery{
		FromBlock: new(big.Int).SetUint64(since), Addresses: []common.Address{common.Address(r.Deployment.Factory)},
		Topics: [][]common.Hash{{anviltest.Factory.GetABI().Events["MissionClosed"].ID}},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	times := make(map[string]int)
	for _, log := range logs {
		for _, id := range r.Missions {
			if log.Topics[1] == common.Hash(sortie.MissionKey(id)) {
				times[id]++
			}
		}
	}
	return times
}
