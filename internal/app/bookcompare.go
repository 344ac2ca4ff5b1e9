package app

import (
	"fmt"
	"math/big"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// bookSums are the sums of a mission, in base units.
type bookSums struct{ funded, paid, deferred, remaining, refunded *big.Int }

func newBookSums() bookSums {
	return bookSums{new(big.Int), new(big.Int), new(big.Int), new(big.Int), new(big.Int)}
}

func (s bookSums) add(other bookSums) {
	s.funded.Add(s.funded, other.funded)
	s.paid.Add(s.paid, other.paid)
	s.deferred.Add(s.deferred, other.deferred)
	s.remaining.Add(s.remaining, other.remaining)
	s.refunded.Add(s.refunded, other.refunded)
}

// spent is what was paid or deferred.
func (s bookSums) spent() *big.Int { return new(big.Int).Add(s.paid, s.deferred) }

func (s bookSums) wire() sortie.BookSums {
	return sortie.BookSums{
		FundedBaseUnits: s.funded.String(), PaidBaseUnits: s.paid.String(), DeferredBaseUnits: s.deferred.String(),
		RemainingBaseUnits: s.remaining.String(), RefundedBaseUnits: s.refunded.String(),
	}
}

func (s bookSums) stored() store.BookSums {
	return store.BookSums{Funded: s.funded, Paid: s.paid, Deferred: s.deferred, Refunded: s.refunded}
}

func times(amount *big.Int, number int64) *big.Int {
	return new(big.Int).Mul(amount, big.NewInt(number))
}

// sumsOf adds up the rows of a mission.
func sumsOf(book *store.Book) bookSums {
	sums := newBookSums()
	sums.funded = times(book.Reward, book.Target)
	for _, payouts := range book.Payouts {
		switch {
		case !payouts.Counted:
		case payouts.Credited:
			sums.deferred.Add(sums.deferred, times(payouts.Amount, payouts.Number))
		default:
			sums.paid.Add(sums.paid, times(payouts.Amount, payouts.Number))
		}
	}
	if book.Closed != nil {
		sums.refunded.Set(book.Closed.Refund)
	} else {
		sums.remaining.Sub(sums.funded, sums.spent())
	}
	return sums
}

// contractSums are the sums of a mission in the contract. It counts deferred payouts as paid.
func contractSums(m onchain.ContractMission) bookSums {
	sums := newBookSums()
	sums.funded, sums.paid = times(m.Reward, int64(m.Target)), times(m.Reward, int64(m.Paid))
	rest := new(big.Int).Sub(sums.funded, sums.paid)
	if m.Closed == 0 {
		sums.remaining = rest
	} else {
		sums.refunded = rest
	}
	return sums
}

// differences collects what differs between the two sides.
type differences struct {
	book  *store.Book
	found []sortie.BookMismatch
}

func (d *differences) note(what string, expected, found any) {
	d.found = append(d.found, sortie.BookMismatch{
		MissionID: d.book.MissionID, DraftID: d.book.DraftID, Factory: d.book.Factory, Token: d.book.Token,
		What: what, Expected: fmt.Sprint(expected), Found: fmt.Sprint(found),
	})
}

func (d *differences) amounts(what string, expected, found *big.Int) {
	if expected.Cmp(found) != 0 {
		d.note(what, expected, found)
	}
}

func (d *differences) numbers(what string, expected, found int64) {
	if expected != found {
		d.note(what, expected, found)
	}
}

// compareBook compares the rows of a mission with the contract, both as of the same block, and with
// each other.
func compareBook(book *store.Book, m onchain.ContractMission) []sortie.BookMismatch {
	d := &differences{book: book}
	for _, fault := range book.Faults {
		d.note("a value that cannot be read", "a whole number or an address", fault)
	}
	d.compareRows()
	if !m.Exists {
		d.note("the mission in the contract", "none", book.MissionKey)
		return d.found
	}
	if m.Creator != book.Creator {
		d.note("creator", m.Creator, book.Creator)
	}
	if m.Token != book.TokenAddress {
		d.note("token address", m.Token, book.TokenAddress)
	}
	d.amounts("reward", m.Reward, book.Reward)
	d.numbers("target count", int64(m.Target), book.Target)
	ours, theirs := sumsOf(book), contractSums(m)
	d.amounts("funded", theirs.funded, ours.funded)
	d.amounts("paid and deferred", theirs.paid, ours.spent())
	closed := uint8(0)
	if book.Closed != nil {
		closed = book.Closed.Reason
	}
	if m.Closed != closed {
		d.note("closed", closingWord(m.Closed), closingWord(closed))
	}
	d.amounts("remaining", theirs.remaining, ours.remaining)
	d.amounts("refunded", theirs.refunded, ours.refunded)
	return d.found
}

func closingWord(reason uint8) string {
	switch reason {
	case 0:
		return "open"
	case closedByCreator:
		return "reclaimed"
	default:
		return "closed"
	}
}

// compareRows compares the payouts of a mission with its terms and its counters.
func (d *differences) compareRows() {
	var counted store.BookSlots
	for _, payouts := range d.book.Payouts {
		counted.Finals += payouts.Number
		switch {
		case payouts.Status == sortie.PayoutPaid:
			counted.Paid += payouts.Number
		case payouts.Status == sortie.PayoutDeferred:
			counted.Deferred += payouts.Number
		case payouts.Status == sortie.PayoutFailed:
			counted.Failed += payouts.Number
		case payouts.Status == sortie.PayoutQueued && !payouts.Carried:
			counted.Waiting += payouts.Number
		}
		d.compareGroup(payouts)
	}
	if slots := d.book.Slots; slots != nil {
		d.numbers("target count of the slots", d.book.Target, slots.Target)
		d.numbers("counted final acceptances", counted.Finals, slots.Finals)
		d.numbers("counted payouts that wait", counted.Waiting, slots.Waiting)
		d.numbers("counted paid payouts", counted.Paid, slots.Paid)
		d.numbers("counted deferred payouts", counted.Deferred, slots.Deferred)
		d.numbers("counted failed payouts", counted.Failed, slots.Failed)
		if slots.Token != d.book.Token {
			d.note("token of the slots", d.book.Token, slots.Token)
		}
	} else if counted.Finals > 0 {
		d.note("payouts of a mission that was not published", 0, counted.Finals)
	}
	if rolled := d.book.Rolled; rolled != nil {
		sums := sumsOf(d.book)
		d.amounts("closed sum of funding", sums.funded, rolled.Funded)
		d.amounts("closed sum of payments", sums.paid, rolled.Paid)
		d.amounts("closed sum of credits", sums.deferred, rolled.Deferred)
		d.amounts("closed refund", sums.refunded, rolled.Refunded)
	}
}

// compareGroup compares payouts with the mission's terms, and their status with their blocks.
func (d *differences) compareGroup(payouts store.BookPayouts) {
	d.amounts("amount of payouts", d.book.Reward, payouts.Amount)
	if payouts.Token != d.book.Token {
		d.note("token of payouts", d.book.Token, payouts.Token)
	}
	if payouts.LastSlot >= d.book.Target {
		d.note("last slot of payouts", d.book.Target-1, payouts.LastSlot)
	}
	ended := payouts.Status == sortie.PayoutPaid || payouts.Status == sortie.PayoutDeferred
	switch {
	case payouts.Credited && !payouts.Placed:
		d.note("payouts that are credited", "in a block", "in none")
	case ended && !payouts.Placed:
		d.note("payouts that are "+string(payouts.Status), "in a block", "in none")
	case ended && payouts.Credited != (payouts.Status == sortie.PayoutDeferred):
		d.note("payouts that are "+string(payouts.Status), creditWord(!payouts.Credited), creditWord(payouts.Credited))
	case payouts.Placed && !ended && payouts.Status != sortie.PayoutSent:
		d.note("payouts that are in a block", sortie.PayoutSent, payouts.Status)
	}
}

func creditWord(credited bool) string {
	if credited {
		return "a credit"
	}
	return "a transfer"
}
