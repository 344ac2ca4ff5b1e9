package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/sortie-labs/sortie/internal/cli"
	"github.com/sortie-labs/sortie/internal/service"
)

const (
	defaultSolvencyInterval  = 5 * time.Minute
	devSolvencyInterval      = 10 * time.Second
	shortestSolvencyInterval = time.Second
	longestSolvencyInterval  = 24 * time.Hour
)

// solvencyOptions are the flags about the solvency check.
type solvencyOptions struct {
	interval time.Duration
}

func (o *solvencyOptions) addTo(flags *pflag.FlagSet) {
	flags.DurationVar(&o.interval, "solvency-interval", defaultSolvencyInterval, "interval of the solvency check, 1s to 24h")
}

func (o solvencyOptions) apply(config *service.Config) error {
	if o.interval < shortestSolvencyInterval || o.interval > longestSolvencyInterval {
		return cli.UsageError("--solvency-interval %s: want %s to %s; the comparison cannot be turned off", o.interval, shortestSolvencyInterval, longestSolvencyInterval)
	}
	config.SolvencyInterval = o.interval
	return nil
}
