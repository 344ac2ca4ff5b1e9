package wallet

// verdicts remembers answers, at most limit of them, in two generations: when the newer one is full
// the older is dropped.
//
// It knows no time. A verdict is wanted only for a request inside the clock window, which is
// checked before, so one that outlives its window is never looked at. One that is dropped early,
// because many came in one window, costs another call.
type verdicts struct {
	newer, older map[questionID]verdict
	limit        int
}

func newVerdicts(limit int) verdicts {
	return verdicts{newer: make(map[questionID]verdict), limit: limit}
}

func (v *verdicts) get(id questionID) (known verdict, found bool) {
	if known, found = v.newer[id]; found {
		return known, true
	}
	known, found = v.older[id]
	return known, found
}

func (v *verdicts) put(id questionID, decided verdict) {
	if len(v.newer) >= max(1, v.limit/2) {
		v.older, v.newer = v.newer, make(map[questionID]verdict)
	}
	v.newer[id] = decided
}
