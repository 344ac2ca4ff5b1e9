package sender_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/params"

	"github.com/sortie-labs/sortie/internal/sender"
)

// setBalance sets the balance of the sender, in wei.
func (r *testSender) setBalance(wei *big.Int) {
	r.t.Helper()
	r.RPC(nil, "anvil_setBalance", r.key.Address().String(), fmt.Sprintf("0x%x", wei))
	r.mine()
}

func (r *testSender) gasAlarm() string {
	r.t.Helper()
	for _, alarm := range r.sender.Status().Alarms {
		if alarm.Kind == sender.AlarmGasLow {
			return alarm.Detail
		}
	}
	return ""
}

// The balance is read while nothing is sent. Below the minimum there is an alarm, with the days
// left once they are known.
func TestALowBalanceIsAnAlarmBeforeItIsTooLate(t *testing.T) {
	t.Parallel()
	onBothEngines(t, 6, func(t *testing.T, r *testSender) {
		tenth := big.NewInt(params.Ether / 10)
		r.config.MinBalance = tenth
		r.restart()
		r.step()
		if status := r.sender.Status(); status.Balance == nil || status.DaysLeft != nil || r.gasAlarm() != "" {
			t.Errorf("rich and idle: got balance %v, days %v, alarm %q; want a balance and neither days nor alarm", status.Balance, status.DaysLeft, r.gasAlarm())
		}
		r.setBalance(new(big.Int).Sub(tenth, big.NewInt(1)))
		r.clock.advance(time.Minute)
		r.step()
		if got := r.gasAlarm(); !strings.Contains(got, "the configured minimum") || !strings.Contains(got, "not known") {
			t.Errorf("alarm of an idle sender: got %q, want the configured minimum, and that the pace is not known", got)
		}
		before := r.balance()
		r.want(r.Missions...)
		r.drain(40)
		spent := new(big.Int).Sub(before, r.balance())
		cost, err := r.db.GasCost(context.Background(), r.Deployment.ChainID)
		rounding := new(big.Int).Sub(spent, cost.Wei)
		if err != nil || rounding.Sign() < 0 || rounding.Cmp(big.NewInt(int64(len(r.Missions))*params.GWei)) >= 0 {
			t.Errorf("cost of the transactions: got %s wei, %v, want %s up to rounding", cost.Wei, err, spent)
		}
		r.clock.advance(time.Minute)
		r.step()
		status := r.sender.Status()
		if status.DaysLeft == nil || *status.DaysLeft <= 0 || !strings.Contains(r.gasAlarm(), "days at the present pace") {
			t.Fatalf("after some transactions: got days %v and alarm %q, want both", status.DaysLeft, r.gasAlarm())
		}
		r.setBalance(big.NewInt(params.Ether))
		r.clock.advance(time.Minute)
		r.step()
		if richer := r.sender.Status().DaysLeft; r.gasAlarm() != "" || richer == nil || *richer <= *status.DaysLeft {
			t.Errorf("with more money: got days %v (before: %v) and alarm %q, want more days and no alarm", richer, *status.DaysLeft, r.gasAlarm())
		}
	})
}

func (r *testSender) balance() *big.Int {
	r.t.Helper()
	var text string
	r.RPC(&text, "eth_getBalance", r.key.Address().String(), "latest")
	balance, _ := new(big.Int).SetString(text, 0)
	return balance
}

// An idle sender reads its balance once a minute, not with every step.
func TestAnIdleSenderAsksRarely(t *testing.T) {
	t.Parallel()
	r := newTestSender(t, 1, sqliteDatabase(t))
	asked := 0
	r.front.with(func(q request) (any, bool) {
		if q.Method == "eth_getBalance" {
			asked++
		}
		return nil, false
	})
	for range 120 {
		r.step()
		r.clock.advance(time.Second)
	}
	if asked < 2 || asked > 3 {
		t.Errorf("within two minutes the balance was asked for %d times, want 2 or 3", asked)
	}
}
