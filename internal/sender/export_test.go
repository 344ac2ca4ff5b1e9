package sender

import "time"

// AbandonWhen lets tests end a sender's step at any of the moments at which a process may die.
func (s *Sender) AbandonWhen(die func(moment string) error) {
	s.checkpoint = func(p point) error { return die(string(p)) }
}

// LookEvery lets tests wait longer between looks than a service does.
func (s *Sender) LookEvery(interval time.Duration) { s.interval = interval }

// ReadRefusal says in a word how the answer to a transaction is understood.
func ReadRefusal(err error) string {
	return map[refusal]string{
		nodeHasIt: "has it", refusedNonceUsed: "nonce used", refusedNonceGap: "nonce gap", refusedReplacing: "replacing",
		refusedPrice: "price", refusedBalance: "balance", refusedUnknown: "unknown",
	}[readRefusal(err)]
}
