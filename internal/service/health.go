package service

import (
	"context"
	"time"

	"github.com/sortie-labs/sortie/internal/api"
	"github.com/sortie-labs/sortie/internal/follower"
	"github.com/sortie-labs/sortie/internal/sender"
)

const healthTimeout = time.Second

// health returns the state of the parts of this process. The reasons are not public: they are in
// the log, the metrics and `sortie chain status`.
func (s *Service) health(ctx context.Context) api.Health {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	health := api.Health{Ready: true, Parts: map[string]string{
		"database": s.databaseHealth(), "clock": s.clockHealth(), "chain": s.chain.chainHealth(), "sender": s.chain.senderHealth(), "media": s.media.health(),
		"mediaIsolation": s.media.isolationHealth(), "payouts": s.chain.payoutHealth(ctx),
	}}
	if err := s.store.Ping(ctx); err != nil {
		health.Ready = false
		health.Parts["database"] = "unavailable"
		return health
	}
	halted, err := s.ledger.Halted(ctx)
	stuck, stuckErr := s.ledger.FollowerStuck(ctx)
	if err != nil || stuckErr != nil {
		health.Parts["database"] = "unavailable"
	}
	if stuck {
		health.Parts["chain"] = "stuck"
	}
	if halted {
		health.Halted = true
		health.Parts["chain"] = "halted"
	}
	return health
}

// databaseHealth returns the health of a database that answers.
func (s *Service) databaseHealth() string {
	if s.store.Stats().Unconfirmed > 0 {
		return "waiting_for_standby"
	}
	return "ok"
}

// clockHealth compares this machine's clock with other clocks.
func (s *Service) clockHealth() string {
	if s.app.Clock().InDoubt {
		return "in_doubt"
	}
	return "ok"
}

// chainHealth returns the health of the follower and the nodes.
func (w *chainWork) chainHealth() string {
	if w.following.Load() {
		if state := w.follower.Status().State(); state != follower.StateOK {
			return state
		}
	}
	if w.nodes.Problem() != "" {
		return follower.StateUnavailable
	}
	return follower.StateOK
}

// senderHealth returns the health of the sender.
func (w *chainWork) senderHealth() string {
	if w.sender == nil || !w.sends {
		return "off"
	}
	if !w.sending.Load() {
		return "ok" // another process sends
	}
	health := "ok"
	for _, alarm := range w.sender.Status().Alarms {
		switch alarm.Kind {
		case sender.AlarmHalted: // reported by the part "chain"
		case sender.AlarmGasLow: // it still sends
			health = alarm.Kind
		default:
			return "stuck"
		}
	}
	return health
}
