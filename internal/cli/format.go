package cli

import (
	"fmt"
	"math/big"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
)

// formatCount returns a number with its noun: "1 file", "2 files".
func formatCount[N int | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// formatBytes returns a size in decimal units: "2.0 MB".
func formatBytes(n int64) string {
	switch {
	case n < 1000:
		return fmt.Sprintf("%d B", n)
	case n < 1000*1000:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	case n < 1000*1000*1000:
		return fmt.Sprintf("%.1f MB", float64(n)/1e6)
	default:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	}
}

// formatDuration returns a duration in its largest unit: "29 days".
func formatDuration(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h", int(d.Hours()))
	default:
		return fmt.Sprintf("%d days", int(d.Hours()/24))
	}
}

// formatAge returns the time since at: "3 min".
func formatAge(at string) string {
	parsed, err := time.Parse(time.RFC3339, at)
	if err != nil {
		parsed, err = time.Parse(sortie.SubmissionTime, at)
	}
	if err != nil {
		return clean(at)
	}
	return formatDuration(time.Since(parsed))
}

// formatUntil returns the time until at, or "over".
func formatUntil(at string) string {
	parsed, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return clean(at)
	}
	if left := time.Until(parsed); left > 0 {
		return formatDuration(left)
	}
	return "over"
}

// formatAmount returns an amount in whole tokens: "2.5 USDC". An unknown token's amount is in base
// units.
func formatAmount(units string, token sortie.Token) string {
	if token != sortie.TokenUSDC && token != sortie.TokenService {
		return strings.TrimSpace(clean(units) + " base units " + clean(string(token)))
	}
	return formatUnits(units, chain.Decimals(token)) + " " + string(token)
}

// formatUnits returns base units as whole tokens: "2.5".
func formatUnits(units string, decimals int) string {
	amount, ok := new(big.Int).SetString(units, 10)
	if !ok || decimals < 0 || decimals > 77 {
		return clean(units)
	}
	return sortie.FormatUnits(amount, decimals)
}
