package app

// PayoutStep is something that became of a payout, a settlement or the closing of a mission.
type PayoutStep string

// The steps. They are counted when they are durable, in the process that made them.
const (
	SettlementStarted PayoutStep = "settlement_started"
	SettlementEnded   PayoutStep = "settlement_ended"  // its transaction is in a final block
	SettlementUndone  PayoutStep = "settlement_undone" // it ended without a transaction that had an effect
	SettlementShrunk  PayoutStep = "settlement_shrunk" // it was made smaller before it was sent
	PayoutSent        PayoutStep = "payout_sent"
	PayoutPaid        PayoutStep = "payout_paid"
	PayoutDeferred    PayoutStep = "payout_deferred"
	PayoutSetAside    PayoutStep = "payout_set_aside" // it failed
	PayoutRetried     PayoutStep = "payout_retried"
	ClosingStarted    PayoutStep = "closing_started"
)

// PayoutSteps lists all steps, for metrics that start at 0.
var PayoutSteps = []PayoutStep{
	SettlementStarted, SettlementEnded, SettlementUndone, SettlementShrunk,
	PayoutSent, PayoutPaid, PayoutDeferred, PayoutSetAside, PayoutRetried, ClosingStarted,
}

// step notes steps of the transaction, which count when it is committed.
func (b *books) step(step PayoutStep, times int) {
	for range times {
		b.steps = append(b.steps, step)
	}
}
