package app

import (
	"context"
	"fmt"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

// The cursor of the last page continues the list without a gap.
func TestEventsArePolled(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	ctx := context.Background()
	page, err := a.app.Events(ctx, alice, Page{})
	a.must(err)
	if !page.OK || page.Events == nil || len(page.Events) != 0 || page.Summary.NextCursor == "" {
		t.Fatalf("of nothing: %+v", page)
	}
	cursor := page.Summary.NextCursor
	var got []sortie.Event
	poll := func() {
		t.Helper()
		for range 10 {
			page, err := a.app.Events(ctx, alice, Page{Limit: 2, Cursor: cursor})
			a.must(err)
			if len(page.Events) > 2 || page.Summary.ReturnedEvents != len(page.Events) {
				t.Fatalf("the page is %+v", page.Summary)
			}
			got, cursor = append(got, page.Events...), page.Summary.NextCursor
			if len(page.Events) < 2 {
				return
			}
		}
		t.Fatalf("no end after %d events", len(got))
	}
	first := a.create(alice, "first")
	poll()
	a.create(bob, "not hers")
	second := a.fund(alice, "second", mission.DepthConfirmed)
	poll()
	poll()
	want := []string{
		"draft.created " + first.MissionID, "draft.created " + second.MissionID,
		"funding.detected " + second.MissionID, "funding.confirmed " + second.MissionID,
	}
	ids := make(map[string]bool)
	for i, event := range got {
		if i >= len(want) || fmt.Sprintf("%s %s", event.Type, event.MissionID) != want[i] {
			t.Fatalf("event %d is %s of %s", i, event.Type, event.MissionID)
		}
		ids[event.ID] = true
	}
	if len(got) != len(want) || len(ids) != len(want) {
		t.Errorf("%d events, %d ids; want %d", len(got), len(ids), len(want))
	}
	again, err := a.app.Events(ctx, alice, Page{})
	a.must(err)
	for i, event := range again.Events {
		if event.ID != got[i].ID || !ids[event.ID] {
			t.Errorf("event %d was %s and is %s", i, got[i].ID, event.ID)
		}
	}
	foreign, err := a.app.Events(ctx, bob, Page{})
	a.must(err)
	if len(foreign.Events) != 1 || ids[foreign.Events[0].ID] {
		t.Errorf("another wallet sees %+v", foreign.Events)
	}
}

func TestEventPages(t *testing.T) {
	t.Parallel()
	a := openTestApp(t, sqliteDatabase(t), testAppOptions{})
	for i := range MaxPage + 10 {
		a.create(alice, fmt.Sprint(i))
	}
	for asked, want := range map[int]int{0: DefaultPage, 1: 1, 99: 99, 100: 100, 101: 100, 100_000: 100} {
		page, err := a.app.Events(context.Background(), alice, Page{Limit: asked})
		a.must(err)
		if len(page.Events) != want {
			t.Errorf("limit %d: %d events, want %d", asked, len(page.Events), want)
		}
	}
	page, err := a.app.Events(context.Background(), bob, Page{})
	a.must(err)
	for _, cursor := range []string{page.Summary.NextCursor, a.app.cursors.seal("audit", 3), "x"} {
		_, err := a.app.Events(context.Background(), alice, Page{Cursor: cursor})
		wantCode(t, err, sortie.CodeInvalidCursor)
	}
}
