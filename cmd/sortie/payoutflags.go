package main

import (
	"time"

	"github.com/spf13/pflag"
)

const (
	defaultPayoutInterval = time.Minute
	longestPayoutInterval = 24 * time.Hour
)

// payoutOptions are the flags about payouts as they were given.
type payoutOptions struct {
	interval time.Duration
}

func (o *payoutOptions) addTo(flags *pflag.FlagSet) {
	flags.DurationVar(&o.interval, "payout-interval", defaultPayoutInterval, "how long payouts of a mission wait for others to share a transaction, 0 to 24h")
}

func (o payoutOptions) apply(config *serviceConfig) error {
	if o.interval < 0 || o.interval > longestPayoutInterval {
		return usageError("--payout-interval %s: want 0 to %s", o.interval, longestPayoutInterval)
	}
	config.payoutInterval = o.interval
	return nil
}
