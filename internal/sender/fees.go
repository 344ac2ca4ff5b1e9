package sender

import "math/big"

// fees are the price of a unit of gas that a transaction offers, in wei: at most cap in total, of
// which at most tip is for the block's producer.
type fees struct{ cap, tip *big.Int }

// market is the current price of a unit of gas: the base fee of the newest block, and the tip that
// nodes suggest.
type market struct{ base, tip *big.Int }

// offer is the price of a first attempt. Twice the base fee is enough for six full blocks in a row.
func (m market) offer(limit *big.Int) fees {
	price := new(big.Int).Lsh(m.base, 1)
	return fees{cap: lower(price.Add(price, m.tip), limit), tip: lower(m.tip, limit)}
}

// outbid is the price of a replacement: the market's, and at least an eighth more of both fees,
// because nodes refuse less than a tenth. It returns false if the limit does not allow that.
func (f fees) outbid(m market, limit *big.Int) (fees, bool) {
	least := fees{cap: eighthMore(f.cap), tip: eighthMore(f.tip)}
	if least.cap.Cmp(limit) > 0 {
		return f, false
	}
	asked := m.offer(limit)
	return fees{cap: higher(least.cap, asked.cap), tip: higher(least.tip, asked.tip)}, true
}

// below reports whether the cap is below the market's base fee.
func (f fees) below(m market) bool { return f.cap.Cmp(m.base) < 0 }

// eighthMore returns strictly more, also for zero.
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
