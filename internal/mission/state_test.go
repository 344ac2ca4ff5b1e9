package mission_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// The rows of the protocol's table.
var (
	rowCreated   = mission.View{Funding: "pending_funding", Review: "draft", NextAction: "send_create_funded_mission_transaction", List: "pending_funding"}
	rowSeen      = mission.View{Funding: "pending_funding", Review: "draft", NextAction: "wait_for_funding_confirmation", List: "pending_funding"}
	rowConfirmed = mission.View{Funding: "funded", Review: "in_review", NextAction: "wait_for_review", List: "funded_pending_review"}
	rowApproved  = mission.View{Funding: "funded", Review: "approved", NextAction: "wait_for_publication", List: "approved_pending_lock"}
	rowPublished = mission.View{Funding: "funded", Review: "approved", Published: true, NextAction: "fetch_deliverables", List: "published"}
	rowUnwanted  = mission.View{Funding: "pending_funding", Review: "rejected", NextAction: "none", List: "rejected"}
	rowRejected  = mission.View{Funding: "funded", Review: "rejected", NextAction: "wait_for_refund", List: "rejected"}
	rowRefunded  = mission.View{Funding: "refunded", Review: "rejected", NextAction: "none", List: "rejected"}

	rows = []mission.View{rowCreated, rowSeen, rowConfirmed, rowApproved, rowPublished, rowUnwanted, rowRejected, rowRefunded}
)

func TestStateTable(t *testing.T) {
	t.Parallel()
	const (
		seen, confirmed, locked, reverted = mission.FundingSeen, mission.FundingConfirmed, mission.FundingLocked, mission.FundingReverted
		approved, rejected                = mission.Approved, mission.Rejected
		refunded, unrefunded              = mission.RefundConfirmed, mission.RefundReverted
	)
	for name, c := range map[string]struct {
		events []mission.Event
		want   mission.View
	}{
		"created":                           {nil, rowCreated},
		"seen":                              {[]mission.Event{seen}, rowSeen},
		"confirmed":                         {[]mission.Event{seen, confirmed}, rowConfirmed},
		"confirmed at once":                 {[]mission.Event{confirmed}, rowConfirmed},
		"locked before review":              {[]mission.Event{seen, confirmed, locked}, rowConfirmed},
		"locked at once":                    {[]mission.Event{locked}, rowConfirmed},
		"approved":                          {[]mission.Event{seen, confirmed, approved}, rowApproved},
		"approved, then locked":             {[]mission.Event{seen, confirmed, approved, locked}, rowPublished},
		"locked, then approved":             {[]mission.Event{seen, confirmed, locked, approved}, rowPublished},
		"rejected unfunded":                 {[]mission.Event{rejected}, rowUnwanted},
		"rejected while seen":               {[]mission.Event{seen, rejected}, rowUnwanted},
		"rejected funded":                   {[]mission.Event{confirmed, rejected}, rowRejected},
		"rejected locked":                   {[]mission.Event{locked, rejected}, rowRejected},
		"funded after rejection":            {[]mission.Event{rejected, seen, confirmed}, rowRejected},
		"refunded":                          {[]mission.Event{confirmed, rejected, refunded}, rowRefunded},
		"refunded, then locked":             {[]mission.Event{confirmed, rejected, refunded, locked}, rowRefunded},
		"refund gone":                       {[]mission.Event{confirmed, rejected, refunded, unrefunded}, rowRejected},
		"refund gone and there again":       {[]mission.Event{confirmed, rejected, refunded, unrefunded, refunded}, rowRefunded},
		"seen funding gone":                 {[]mission.Event{seen, reverted}, rowCreated},
		"confirmed funding gone":            {[]mission.Event{seen, confirmed, reverted}, rowCreated},
		"confirmed funding in another":      {[]mission.Event{seen, confirmed, reverted, seen}, rowSeen},
		"approved funding gone":             {[]mission.Event{confirmed, approved, reverted}, rowCreated},
		"approved funding gone, seen again": {[]mission.Event{confirmed, approved, reverted, seen}, rowSeen},
		"approved funding back":             {[]mission.Event{confirmed, approved, reverted, seen, confirmed}, rowApproved},
		"published funding gone":            {[]mission.Event{locked, approved, reverted}, rowCreated},
		"published funding back":            {[]mission.Event{locked, approved, reverted, locked}, rowPublished},
		"rejected funding gone":             {[]mission.Event{confirmed, rejected, reverted}, rowUnwanted},
		"funding and refund gone":           {[]mission.Event{confirmed, rejected, refunded, reverted}, rowUnwanted},
		"everything said twice":             {[]mission.Event{seen, seen, confirmed, seen, confirmed, locked, confirmed, seen, locked, approved, locked}, rowPublished},
		"confirmed said after locked":       {[]mission.Event{locked, confirmed, seen, approved}, rowPublished},
		"gone, said twice":                  {[]mission.Event{seen, reverted, reverted, unrefunded}, rowCreated},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := mission.Created()
			for _, event := range c.events {
				var err error
				if state, err = mission.Apply(state, event); err != nil {
					t.Fatalf("apply %s: got %v, want no error", event, err)
				}
			}
			if got := state.View(); got != c.want {
				t.Errorf("view of the state: got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestWrongTransitions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before []mission.Event
		event  mission.Event
	}{
		"approve unfunded":           {nil, mission.Approved},
		"approve while only seen":    {[]mission.Event{mission.FundingSeen}, mission.Approved},
		"approve twice":              {[]mission.Event{mission.FundingConfirmed, mission.Approved}, mission.Approved},
		"approve rejected":           {[]mission.Event{mission.FundingConfirmed, mission.Rejected}, mission.Approved},
		"approve rejected, unfunded": {[]mission.Event{mission.Rejected}, mission.Approved},
		"reject twice":               {[]mission.Event{mission.Rejected}, mission.Rejected},
		"reject approved":            {[]mission.Event{mission.FundingConfirmed, mission.Approved}, mission.Rejected},
		"reject published":           {[]mission.Event{mission.FundingLocked, mission.Approved}, mission.Rejected},
		"refund unfunded":            {nil, mission.RefundConfirmed},
		"refund in review":           {[]mission.Event{mission.FundingLocked}, mission.RefundConfirmed},
		"refund published":           {[]mission.Event{mission.FundingLocked, mission.Approved}, mission.RefundConfirmed},
		"refund rejected, unfunded":  {[]mission.Event{mission.Rejected}, mission.RefundConfirmed},
		"approve refunded":           {[]mission.Event{mission.FundingLocked, mission.Rejected, mission.RefundConfirmed}, mission.Approved},
		"unknown event":              {nil, "promoted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := mission.Created()
			for _, event := range c.before {
				state, _ = mission.Apply(state, event)
			}
			after, err := mission.Apply(state, c.event)
			wantCode(t, err, sortie.CodeWrongState)
			if after != state {
				t.Errorf("state after a refused event: got %+v, want it unchanged", after)
			}
		})
	}
}

// After any sequence of events a draft is in one row of the table.
func TestNoEventLeavesTheTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		state := mission.Created()
		for _, event := range rapid.SliceOfN(rapid.SampledFrom(mission.Events()), 0, 40).Draw(t, "events") {
			before := state
			next, err := mission.Apply(state, event)
			if err != nil && next != before {
				t.Fatalf("refused event %s: got a changed state, want it unchanged", event)
			}
			state = next
			checkState(t, state)
			if mission.BreaksFinality(before, event) != (before.Depth == mission.DepthLocked && state.Depth == mission.DepthNone) {
				t.Fatalf("BreaksFinality(%+v, %s): got the wrong answer, want true only for a reverted funding that was locked", before, event)
			}
		}
	})
}

// A client that reads only the events knows the state: each event type names the result, and
// publication above all.
func TestEventTypes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before []mission.Event
		event  mission.Event
		want   sortie.EventType
	}{
		"seen":                      {nil, mission.FundingSeen, sortie.EventFundingDetected},
		"confirmed":                 {nil, mission.FundingConfirmed, sortie.EventFundingConfirmed},
		"confirmed again, approved": {[]mission.Event{mission.FundingConfirmed, mission.Approved, mission.FundingReverted}, mission.FundingConfirmed, sortie.EventFundingConfirmed},
		"locked in review":          {[]mission.Event{mission.FundingConfirmed}, mission.FundingLocked, sortie.EventFundingLocked},
		"locked and approved":       {[]mission.Event{mission.FundingConfirmed, mission.Approved}, mission.FundingLocked, sortie.EventMissionPublished},
		"locked and rejected":       {[]mission.Event{mission.FundingConfirmed, mission.Rejected}, mission.FundingLocked, sortie.EventFundingLocked},
		"reverted":                  {[]mission.Event{mission.FundingConfirmed}, mission.FundingReverted, sortie.EventFundingReverted},
		"approved":                  {[]mission.Event{mission.FundingConfirmed}, mission.Approved, sortie.EventMissionApproved},
		"approved and locked":       {[]mission.Event{mission.FundingLocked}, mission.Approved, sortie.EventMissionPublished},
		"rejected":                  {[]mission.Event{mission.FundingConfirmed}, mission.Rejected, sortie.EventMissionRejected},
		"refunded":                  {[]mission.Event{mission.FundingConfirmed, mission.Rejected}, mission.RefundConfirmed, sortie.EventRefundConfirmed},
		"refund gone":               {[]mission.Event{mission.FundingConfirmed, mission.Rejected, mission.RefundConfirmed}, mission.RefundReverted, sortie.EventRefundReverted},
		"unknown":                   {nil, "promoted", ""},
	} {
		state := mission.Created()
		for _, event := range append(c.before, c.event) {
			state, _ = mission.Apply(state, event)
		}
		if got := c.event.Type(state); got != c.want {
			t.Errorf("event type of %s: got %q, want %q", name, got, c.want)
		}
	}
}

func checkState(t *rapid.T, state mission.State) {
	view := state.View()
	if !state.Valid() {
		t.Fatalf("reached state: got %+v, want a valid one", state)
	}
	if !slices.Contains(rows, view) {
		t.Fatalf("view of %+v: got %+v, want a row of the table", state, view)
	}
	if !slices.Contains(sortie.ListStatuses(), view.List) {
		t.Fatalf("list status of %+v: got none, want one", state)
	}
	if view.Published && (state.Decision != mission.DecisionApproved || state.Depth != mission.DepthLocked) {
		t.Fatalf("state %+v: got published, want not published", state)
	}
	if due := view.NextAction == sortie.ActionWaitForRefund; state.RefundDue(false) != due || state.RefundDue(true) {
		t.Fatalf("refund of %+v: got due %v, and %v when closed; want it due only when rejected, funded and open", state, state.RefundDue(false), state.RefundDue(true))
	}
	if live := view.Funding == sortie.FundingPending && view.Review == sortie.ReviewDraft; state.QuoteLive() != live {
		t.Fatalf("QuoteLive of %+v: got %v, want the opposite", state, state.QuoteLive())
	}
}

// Every row and every list is reached, and the valid states are exactly the reachable ones.
func TestReachableStates(t *testing.T) {
	t.Parallel()
	reached := []mission.State{mission.Created()}
	for i := 0; i < len(reached); i++ {
		for _, event := range mission.Events() {
			if next, err := mission.Apply(reached[i], event); err == nil && !slices.Contains(reached, next) {
				reached = append(reached, next)
			}
		}
	}
	seen := map[mission.View]bool{}
	lists := map[sortie.ListStatus]bool{}
	for _, state := range reached {
		seen[state.View()], lists[state.View().List] = true, true
	}
	if len(seen) != len(rows) || len(lists) != len(sortie.ListStatuses()) {
		t.Errorf("reachable states: got %d rows and %d lists, want %d and %d", len(seen), len(lists), len(rows), len(sortie.ListStatuses()))
	}
	valid := 0
	for _, depth := range []mission.Depth{mission.DepthNone, mission.DepthSeen, mission.DepthConfirmed, mission.DepthLocked, "", "deep"} {
		for _, decision := range []mission.Decision{mission.DecisionNone, mission.DecisionApproved, mission.DecisionRejected, "", "maybe"} {
			for _, refunded := range []bool{false, true} {
				state := mission.State{Depth: depth, Decision: decision, Refunded: refunded}
				if state.Valid() {
					valid++
				}
				if state.Valid() != slices.Contains(reached, state) {
					t.Errorf("Valid of %+v: got %v, want %v", state, state.Valid(), !state.Valid())
				}
			}
		}
	}
	if valid != len(reached) {
		t.Errorf("valid states: got %d, want %d, the reachable ones", valid, len(reached))
	}
}
