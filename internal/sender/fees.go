package sender

import "math/big"

// fees are what a transaction offers for a unit of gas, in wei: at most cap in all, of which at
// most tip goes to whoever includes it.
type fees struct{ cap, tip *big.Int }

// market is what the chain asks for a unit of gas: the base fee of its newest block, and the tip
// that nodes suggest.
type market struct{ base, tip *big.Int }

// offer is the price of a first attempt. Twice the base fee stays enough for six full blocks in a
// row.
func (m market) offer(limit *big.Int) fees {
	price := new(big.Int).Lsh(m.base, 1)
	return fees{cap: lower(price.Add(price, m.tip), limit), tip: lower(m.tip, limit)}
}

// outbid is the price of an attempt that must replace one at the price f: what the market asks, and
// at least an eighth more of both fees, because nodes refuse to replace a transaction for less than
// a tenth. It is false when the limit leaves no room for that: a smaller step would only be
// refused.
func (f fees) outbid(m market, limit *big.Int) (fees, bool) {
	least := fees{cap: eighthMore(f.cap), tip: eighthMore(f.tip)}
	if least.cap.Cmp(limit) > 0 {
		return f, false
	}
	asked := m.offer(limit)
	return fees{cap: higher(least.cap, asked.cap), tip: higher(least.tip, asked.tip)}, true
}

// below reports that no block at the market's base fee can take the transaction.
func (f fees) below(m market) bool { return f.cap.Cmp(m.base) < 0 }

// eighthMore is strictly more even of nothing.
func eighthMore(wei *big.Int) *big.Int {
	more := new(big.Int).Rsh(wei, 3)
	return more.Add(more.Add(more, wei), big.NewInt(1))
}

func lower(a, b *big.Int) *big.Int {
	if a.Cmp(b) < 0 {
		return a
	}
	return b
}

func higher(a, b *big.Int) *big.Int {
	if a.Cmp(b) > 0 {
		return a
	}
	return b
}
