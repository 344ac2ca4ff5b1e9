package sender

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestOffersAndReplacements(t *testing.T) {
	t.Parallel()
	wei := rapid.Custom(func(t *rapid.T) *big.Int {
		return new(big.Int).Lsh(big.NewInt(rapid.Int64Range(0, 1<<40).Draw(t, "wei")), rapid.UintRange(0, 20).Draw(t, "shift"))
	})
	rapid.Check(t, func(t *rapid.T) {
		limit := new(big.Int).Add(wei.Draw(t, "limit"), big.NewInt(1))
		now := market{base: wei.Draw(t, "base"), tip: wei.Draw(t, "tip")}
		then := market{base: wei.Draw(t, "base"), tip: wei.Draw(t, "tip")}
		first := now.offer(limit)
		if first.cap.Cmp(limit) > 0 || first.tip.Cmp(first.cap) > 0 {
			t.Fatalf("got offer %v, want it within the limit %s", first, limit)
		}
		next, possible := first.outbid(then, limit)
		eighth := func(wei *big.Int) *big.Int {
			return new(big.Int).Div(new(big.Int).Mul(wei, big.NewInt(9)), big.NewInt(8))
		}
		if !possible {
			if eighth(first.cap).Cmp(limit) < 0 {
				t.Fatalf("no replacement of %v within %s, want one", first, limit)
			}
			return
		}
		switch {
		case next.cap.Cmp(limit) > 0 || next.tip.Cmp(next.cap) > 0:
			t.Fatalf("got replacement %v, want it within the limit %s", next, limit)
		case next.cap.Cmp(eighth(first.cap)) <= 0 || next.tip.Cmp(eighth(first.tip)) <= 0:
			t.Fatalf("got replacement %v of %v, want an eighth more", next, first)
		case next.below(then) && then.base.Cmp(limit) <= 0:
			t.Fatalf("got replacement %v, want it above the base fee %s", next, then.base)
		}
	})
}
