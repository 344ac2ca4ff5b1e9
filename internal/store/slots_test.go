package store

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/mission"
)

func testSlotsAsWritten(t *testing.T, url string) {
	db := open(t, url, Options{})
	var want Slots
	slots := publish(t, db, func(s *Slots) {
		s.PerContributor, s.MediaType, s.Place = 3, sortie.MediaVideo, &mission.MicroDegrees{Lat: -12_000_001, Lng: 180_000_000}
		s.OpensAt = s.PublishedAt.Add(time.Minute)
		want = *s
	})
	want.Seq = slots.Seq
	if slots.Seq == 0 || !reflect.DeepEqual(slots, want) {
		t.Fatalf("read %+v\nwant %+v", slots, want)
	}
	changed := want
	changed.Target, changed.Summary = 1, []byte("{}")
	mustTx(t, db, func(tx *Tx) error { return tx.PublishSlots(changed) })
	byMission, err := db.SlotsByMission(context.Background(), slots.MissionID)
	if err != nil || !reflect.DeepEqual(byMission.Slots, want) || !slices.Equal(byMission.Mission, drawDraft(alice, "").Mission) {
		t.Fatalf("published twice, read %+v, %v\nwant %+v", byMission, err, want)
	}
	mustTx(t, db, func(tx *Tx) error {
		inside, err := tx.SlotsByMission(slots.MissionID)
		if !reflect.DeepEqual(inside, byMission) {
			t.Errorf("slots inside a transaction: got %+v, want %+v as outside", inside, byMission)
		}
		return err
	})
	wantNotFound(t, second(db.SlotsOf(context.Background(), "draft_nowhere")))
	wantNotFound(t, second(db.SlotsByMission(context.Background(), "nowhere-12345678")))
	mustTx(t, db, func(tx *Tx) error { return tx.CloseSlots("draft_nowhere", true) })
}

func second[T any](_ T, err error) error { return err }

func testUnpublishedSlots(t *testing.T, url string) {
	db := open(t, url, Options{})
	published := func(key string) Draft {
		return mustApply(t, db, mustCreate(t, db, alice, key), mission.FundingLocked, mission.Approved)
	}
	first, second := published("1"), published("2")
	mustApply(t, db, mustCreate(t, db, alice, "3"), mission.FundingLocked)
	mustApply(t, db, mustCreate(t, db, alice, "4"), mission.FundingConfirmed, mission.Approved)
	for _, want := range [][]string{{first.ID, second.ID}, {second.ID}, {}} {
		drafts, err := db.UnpublishedSlots(context.Background(), 10)
		if err != nil || !slices.Equal(ids(drafts), want) {
			t.Fatalf("published without slots are %v, %v; want %v", ids(drafts), err, want)
		}
		if len(drafts) > 0 {
			mustTx(t, db, func(tx *Tx) error {
				return tx.PublishSlots(Slots{DraftID: drafts[0].ID, MissionID: drafts[0].MissionID, Target: 1, Summary: []byte("{}")})
			})
		}
	}
}

// testOpenSlots has missions of which some are over, not begun, closed, full of accepted
// submissions, or all reserved.
func testOpenSlots(t *testing.T, url string) {
	clock := &fixedClock{}
	clock.micros.Store(time.Now().UnixMicro())
	db := open(t, url, Options{Clock: clock.now})
	now := time.UnixMicro(clock.micros.Load()).UTC()
	var photos, videos []int64
	reserved := make(map[int64]bool)
	for i := range 24 {
		slots := publish(t, db, func(s *Slots) {
			switch s.Target = 1; i % 8 {
			case 1, 5:
				s.MediaType = sortie.MediaVideo
			case 2:
				s.EndsAt = now
			case 3:
				s.OpensAt = now.Add(time.Microsecond)
			}
		})
		switch i % 8 {
		case 0:
			photos = append(photos, slots.Seq)
		case 7: // full
			mustMove(t, db, mustUpload(t, db, mustDeclare(t, db, slots, bob, slots.DraftID)), sortie.SubmissionAccepted)
		case 1, 5:
			videos = append(videos, slots.Seq)
		case 4: // every slot is reserved, which does not hide it
			mustDeclare(t, db, slots, bob, slots.DraftID)
			photos = append(photos, slots.Seq)
			reserved[slots.Seq] = true
		case 6:
			mustTx(t, db, func(tx *Tx) error { return tx.CloseSlots(slots.DraftID, true) })
		}
	}
	for mediaType, want := range map[sortie.MediaType][]int64{"photo": photos, "video": videos, "": slices.Concat(photos, videos)} {
		slices.SortFunc(want, func(a, b int64) int { return cmp.Compare(b, a) })
		var got []int64
		for filter := (OpenFilter{MediaType: mediaType, Limit: 2}); ; filter.BeforeSeq = got[len(got)-1] {
			page, err := db.OpenSlots(context.Background(), filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, slots := range page {
				if got = append(got, slots.Seq); len(slots.Mission) == 0 {
					t.Errorf("mission %d of the feed: got no text, want its mission", slots.Seq)
				}
				if open, free := slots.Open(now), slots.FreeAt != nil; open == reserved[slots.Seq] || free != reserved[slots.Seq] {
					t.Errorf("mission %d is open: %t, has a time when a slot is free: %t; want %t and %t", slots.Seq, open, free, !reserved[slots.Seq], reserved[slots.Seq])
				}
			}
			if len(page) < 2 {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("missions of %q are %v, want %v", mediaType, got, want)
		}
	}
}

// testSlotsNear compares what is found around points, some of them odd, with the distances of all
// missions.
func testSlotsNear(t *testing.T, url string) {
	db := open(t, url, Options{})
	random := rand.New(rand.NewPCG(3, 5))
	centers := [][2]int64{
		{52_520_008, 13_404_954}, {-33_868_820, 151_209_290}, {0, 180_000_000}, {10_000_000, -179_999_999}, {89_999_999, 10_000_000},
		{-90_000_000, 0}, {60_000_000, 179_900_000}, {49_999, 50_000},
	}
	type place struct{ seq, lat, lng int64 }
	var places []place
	for i := range 400 {
		center := centers[i%len(centers)]
		spread := []float64{1_000, 100_000, 1_200_000}[i/len(centers)%3] // millionths of a degree
		lat := min(max(center[0]+int64(spread*random.NormFloat64()), -90_000_000), 90_000_000)
		lng := center[1] + int64(spread*random.NormFloat64())
		lng = (lng+540_000_000)%360_000_000 - 180_000_000
		slots := publish(t, db, func(s *Slots) {
			s.Place = &mission.MicroDegrees{Lat: lat, Lng: lng}
			if i%5 == 0 {
				s.MediaType = sortie.MediaVideo
			}
		})
		if i%5 != 0 {
			places = append(places, place{slots.Seq, lat, lng})
		}
	}
	publish(t, db, nil) // anywhere
	for _, center := range centers {
		var want []neighbor
		for _, p := range places {
			if meters := chord(center[0], center[1], p.lat, p.lng); meters <= farthest {
				want = append(want, neighbor{metersBetween(mission.MicroDegrees{Lat: center[0], Lng: center[1]}, mission.MicroDegrees{Lat: p.lat, Lng: p.lng}), p.seq})
				if math.Abs(meters-float64(want[len(want)-1].meters)) > 1 {
					t.Errorf("%v is %f meters from %v by one formula and %d by the other", p, meters, center, want[len(want)-1].meters)
				}
			}
		}
		slices.SortFunc(want, neighbor.compare)
		var got []neighbor
		for filter := (NearFilter{Point: mission.MicroDegrees{Lat: center[0], Lng: center[1]}, MediaType: sortie.MediaPhoto, Limit: 7}); ; {
			page, err := db.SlotsNear(context.Background(), filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, near := range page {
				got = append(got, neighbor{near.Meters, near.Seq})
				filter.AfterMeters, filter.AfterSeq = near.Meters, near.Seq
				if len(near.Mission) == 0 || near.MediaType != sortie.MediaPhoto {
					t.Errorf("missions near %v: got %+v, want the nearest in order", center, near)
				}
			}
			if len(page) < filter.Limit {
				break
			}
		}
		if len(want) < 10 || !slices.Equal(got, want) {
			t.Errorf("around %v: %v\nwant %v", center, got, want)
		}
	}
}

// chord is the distance of two points by their vectors.
func chord(lat1, lng1, lat2, lng2 int64) float64 {
	vector := func(lat, lng int64) [3]float64 {
		phi, lambda := float64(lat)*math.Pi/180e6, float64(lng)*math.Pi/180e6
		return [3]float64{math.Cos(phi) * math.Cos(lambda), math.Cos(phi) * math.Sin(lambda), math.Sin(phi)}
	}
	a, b := vector(lat1, lng1), vector(lat2, lng2)
	return 2 * 6_371_008.8 * math.Asin(math.Sqrt((a[0]-b[0])*(a[0]-b[0])+(a[1]-b[1])*(a[1]-b[1])+(a[2]-b[2])*(a[2]-b[2]))/2)
}

func TestLatBands(t *testing.T) {
	t.Parallel()
	for lat, want := range map[int64]int64{0: 0, 99_999: 0, 100_000: 1, -1: -1, -100_000: -1, -100_001: -2, 90_000_000: 900, -90_000_000: -900} {
		if got := latBand(lat); got != want {
			t.Errorf("latitude %d is in strip %d, want %d", lat, got, want)
		}
	}
	for _, lat := range []int64{0, 49_999, -1, 52_520_008, 89_000_001, -89_999_999} {
		if area := around(mission.MicroDegrees{Lat: lat, Lng: 0}, farthest); area.lastBand-area.firstBand >= maxBands {
			t.Errorf("strips around latitude %d: got %d, want at most %d", lat, area.lastBand-area.firstBand+1, maxBands)
		}
	}
}
