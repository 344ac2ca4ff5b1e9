package main

import (
	"math/big"
	"time"

	"github.com/spf13/pflag"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/cli"
	"github.com/sortie-labs/sortie/internal/sender"
	"github.com/sortie-labs/sortie/internal/service"
)

const (
	defaultPayoutInterval = time.Minute
	longestPayoutInterval = 24 * time.Hour

	// defaultPayoutCap is in whole tokens. It is the default limit of ten operators.
	defaultPayoutCap = "10000"
)

// payoutOptions are the flags about payouts.
type payoutOptions struct {
	interval                 time.Duration
	capUSDC, capServiceToken string
	minGasBalance            string
	allowSharedKeys          bool
}

func (o *payoutOptions) addTo(flags *pflag.FlagSet) {
	flags.DurationVar(&o.interval, "payout-interval", defaultPayoutInterval, "how long payouts of a mission wait for others to share a transaction, 0 to 24h")
	flags.StringVar(&o.capUSDC, "payout-cap-usdc", "", "most USDC paid out within an hour, or none (default 10000; none on a development chain)")
	flags.StringVar(&o.capServiceToken, "payout-cap-service-token", "", "most SERVICE_TOKEN paid out within an hour, or none (default 10000; none on a development chain)")
	flags.StringVar(&o.minGasBalance, "min-gas-balance", sortie.FormatUnits(sender.DefaultMinBalance(), cli.EtherDecimals), "balance of the sender, in the chain's coin, below which an alarm is raised; 0 for no alarm")
	flags.BoolVar(&o.allowSharedKeys, "allow-shared-keys", false, "allow the same account for two of --authorizer, --settler and --sender")
}

func (o payoutOptions) apply(config *service.Config) (err error) {
	if o.interval < 0 || o.interval > longestPayoutInterval {
		return cli.UsageError("--payout-interval %s: want 0 to %s", o.interval, longestPayoutInterval)
	}
	config.PayoutInterval = o.interval
	if config.PayoutCaps, err = o.caps(sortie.IsDevelopmentChain(config.Deployment.ChainID)); err != nil {
		return err
	}
	config.MinGasBalance, err = sortie.ParseUnits(o.minGasBalance, cli.EtherDecimals)
	if err != nil {
		return cli.UsageError("--min-gas-balance %q: want an amount of the chain's coin such as 0.05, or 0 for no alarm: %w", o.minGasBalance, err)
	}
	return nil
}

// caps reads the hourly caps in base units. A token without an entry has no cap.
func (o payoutOptions) caps(development bool) (map[sortie.Token]*big.Int, error) {
	caps := make(map[sortie.Token]*big.Int)
	for _, given := range []struct {
		flag, text string
		token      sortie.Token
	}{
		{"payout-cap-usdc", o.capUSDC, sortie.TokenUSDC},
		{"payout-cap-service-token", o.capServiceToken, sortie.TokenService},
	} {
		switch {
		case given.text == noLimit, given.text == "" && development:
			continue
		case given.text == "":
			given.text = defaultPayoutCap
		}
		units, err := sortie.ParseUnits(given.text, chain.Decimals(given.token))
		if err != nil {
			return nil, cli.UsageError("--%s %q: want an amount in whole tokens, or none: %w", given.flag, given.text, err)
		}
		if units.Sign() == 0 {
			return nil, cli.UsageError("--%s 0 would pay nothing: want an amount in whole tokens, or none for no cap; to stop payouts use sortie payouts halt", given.flag)
		}
		caps[given.token] = units
	}
	return caps, nil
}

// checkKeys requires three different accounts outside of development chains, so that a stolen key
// has only its own rights. If shared keys are allowed, it adds a warning.
func (o payoutOptions) checkKeys(config *service.Config) error {
	if sortie.IsDevelopmentChain(config.Deployment.ChainID) {
		return nil
	}
	type account struct {
		flag    string
		address sortie.Address
	}
	accounts := []account{{"authorizer", config.Authorizer.Address()}}
	if config.Settler != nil {
		accounts = append(accounts, account{"settler", config.Settler.Address()})
	}
	if config.Sender != nil {
		accounts = append(accounts, account{"sender", config.Sender.Address()})
	}
	for i, one := range accounts {
		for _, other := range accounts[:i] {
			if one.address != other.address {
				continue
			}
			if !o.allowSharedKeys {
				return cli.UsageError("--%s and --%s are the same account, %s: a thief of one key would have the rights of both; give each its own key (docs/operating.md explains how to change keys), or add --allow-shared-keys",
					other.flag, one.flag, one.address)
			}
			config.Warnings = append(config.Warnings, "--"+other.flag+" and --"+one.flag+" are the same account, "+one.address.String()+
				": a thief of that key has the rights of both; give each its own key")
		}
	}
	return nil
}
