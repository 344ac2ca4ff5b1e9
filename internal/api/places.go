package api

import "github.com/sortie-labs/sortie"

// bodiesPerPlace is how many more bodies may be on their way than requests are worked on: one costs memory, but no work.
const bodiesPerPlace = 4

// places bounds how many requests do something at a time. There is no queue: whoever waited in one would give up before
// its end, and be worked for all the same.
type places chan struct{}

// take takes a place, to be released again, if there is one.
func (p places) take() error {
	select {
	case p <- struct{}{}:
		return nil
	default:
		return sortie.NewError(sortie.CodeServiceUnavailable, "too many requests are being worked on; try again shortly")
	}
}

func (p places) release() { <-p }
