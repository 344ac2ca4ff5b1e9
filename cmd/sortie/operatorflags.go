package main

import (
	"math/big"

	"github.com/spf13/pflag"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/cli"
	"github.com/sortie-labs/sortie/internal/service"
)

// operatorOptions are the flags that limit what a single operator accepts.
type operatorOptions struct {
	usdc, serviceToken string
	second             bool
}

// defaultOperatorLimit is in whole tokens: more than an operator usually accepts in an hour, less
// than a thief would.
const defaultOperatorLimit = "1000"

func (o *operatorOptions) define(flags *pflag.FlagSet) {
	flags.StringVar(&o.usdc, "operator-hourly-limit-usdc", defaultOperatorLimit, "USDC that one operator accepts within an hour without an alarm, or none")
	flags.StringVar(&o.serviceToken, "operator-hourly-limit-service-token", defaultOperatorLimit, "SERVICE_TOKEN that one operator accepts within an hour without an alarm, or none")
	flags.BoolVar(&o.second, "second-operator", false, "above these limits a second operator must accept too")
}

// parse reads the limits. Operators is the number of operators.
func (o operatorOptions) parse(operators int) (service.OperatorLimits, error) {
	limits := service.OperatorLimits{PerHour: make(map[sortie.Token]*big.Int), SecondOperator: o.second}
	for _, limit := range []struct {
		flag, text string
		token      sortie.Token
	}{
		{"operator-hourly-limit-usdc", o.usdc, sortie.TokenUSDC},
		{"operator-hourly-limit-service-token", o.serviceToken, sortie.TokenService},
	} {
		if limit.text == noLimit {
			continue
		}
		units, err := sortie.ParseUnits(limit.text, chain.Decimals(limit.token))
		if err != nil {
			return service.OperatorLimits{}, cli.UsageError("--%s %q: want an amount in whole tokens, or none: %w", limit.flag, limit.text, err)
		}
		limits.PerHour[limit.token] = units
	}
	switch {
	case o.second && len(limits.PerHour) == 0:
		return service.OperatorLimits{}, cli.UsageError("--second-operator needs a limit: give --operator-hourly-limit-usdc or --operator-hourly-limit-service-token an amount")
	case o.second && operators < 2:
		return service.OperatorLimits{}, cli.UsageError("--second-operator needs two operators or more: name them in --operators, or leave it out")
	}
	return limits, nil
}
