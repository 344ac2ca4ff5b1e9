package wallet

// verdicts remembers answers, at most limit of them, in two generations: when the newer one is full the older is dropped.
//
// It knows no time. A verdict is wanted only for a request inside the clock window, which is checked before, so one that
// outlives its window is never looked at. One that is dropped early, because many came in one window, costs another call.
type verdicts struct {
	newer, older map[questionID]bool
	limit        int
}

func newVerdicts(limit int) verdicts {
	return verdicts{newer: make(map[questionID]bool), limit: limit}
}

func (v *verdicts) get(id questionID) (valid, known bool) {
	if valid, known = v.newer[id]; known {
		return valid, true
	}
	valid, known = v.older[id]
	return valid, known
}

func (v *verdicts) put(id questionID, valid bool) {
	if len(v.newer) >= max(1, v.limit/2) {
		v.older, v.newer = v.newer, make(map[questionID]bool)
	}
	v.newer[id] = valid
}
