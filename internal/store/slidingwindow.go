package store

import (
	"encoding/json"
	"math/big"
	"slices"
	"time"
)

// window is a sliding time in which amounts are summed. Amounts are stored in buckets, which bounds
// their number.
type window struct {
	length time.Duration
	bucket time.Duration // whole minutes
}

var (
	// operatorWindow covers what an operator accepted within an hour.
	operatorWindow = window{time.Hour, time.Minute}
	// payoutWindow is a minute longer than an hour, so that an amount of the last second of a
	// minute counts for a whole hour.
	payoutWindow = window{time.Hour + time.Minute, time.Minute}
	// gasWindow spans several nights and days.
	gasWindow = window{72 * time.Hour, time.Hour}
)

// amounts are the amounts of one window, oldest first.
type amounts []amountOf

// amountOf is the amount of one bucket.
type amountOf struct {
	Minute    int64    `json:"minute"` // since 1970, in which the bucket begins
	BaseUnits *big.Int `json:"baseUnits"`
}

// begin returns the minute in which the bucket of a time begins.
func (w window) begin(at time.Time) int64 {
	return at.Unix() / int64(w.bucket/time.Second) * int64(w.bucket/time.Minute)
}

// read returns the stored amounts that are in the window now.
func (w window) read(text []byte, now time.Time) (amounts, error) {
	var kept amounts
	if err := json.Unmarshal(text, &kept); err != nil {
		return nil, err
	}
	oldest := w.begin(now) - int64(w.length/time.Minute)
	return slices.DeleteFunc(kept, func(one amountOf) bool { return one.Minute <= oldest }), nil
}

// add counts an amount now. If the clock was set back, it counts in the newest bucket.
func (w window) add(kept amounts, now time.Time, units *big.Int) amounts {
	begin := w.begin(now)
	if last := len(kept) - 1; last >= 0 && kept[last].Minute >= begin {
		kept[last].BaseUnits = new(big.Int).Add(kept[last].BaseUnits, units)
		return kept
	}
	return append(kept, amountOf{begin, units})
}

// take subtracts an amount that was counted at a time, if it is still in the window.
func (w window) take(kept amounts, counted time.Time, units *big.Int) amounts {
	begin := w.begin(counted)
	for i := range kept {
		if kept[i].Minute == begin {
			kept[i].BaseUnits = new(big.Int).Sub(kept[i].BaseUnits, units)
			if kept[i].BaseUnits.Sign() < 0 {
				kept[i].BaseUnits.SetInt64(0)
			}
		}
	}
	return kept
}

func (a amounts) sum() *big.Int {
	sum := new(big.Int)
	for _, one := range a {
		sum.Add(sum, one.BaseUnits)
	}
	return sum
}
