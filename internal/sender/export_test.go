package sender

import "time"

// AbandonWhen ends a sender's step at the moments at which a process may die.
func (s *Sender) AbandonWhen(die func(moment string) error) {
	s.checkpoint = func(p point) error { return die(string(p)) }
}

// LookEvery sets the time between steps.
func (s *Sender) LookEvery(interval time.Duration) { s.interval = interval }

// ReadRefusal names the meaning of a node's answer to a transaction.
func ReadRefusal(err error) string {
	return map[refusal]string{
		nodeHasIt: "has it", refusedNonceUsed: "nonce used", refusedNonceGap: "nonce gap", refusedReplacing: "replacing",
		refusedPrice: "price", refusedBalance: "balance", refusedUnknown: "unknown",
	}[readRefusal(err)]
}
