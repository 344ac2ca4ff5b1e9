package e2e

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

// photoMission asks for target photos, taken anywhere.
func photoMission(target int) sortie.Mission {
	mission := titled("Photos of anything")
	mission.TargetCount, mission.MaxSubmissionsPerContributor = target, target
	return mission
}

// publish creates, funds and approves a mission.
func (f *following) publish(mission sortie.Mission) drafted {
	f.t.Helper()
	created, err := f.creator.CreateDraft(f.ctx, mission, fmt.Sprintf("Mission %d", drafts.Add(1)))
	if err != nil {
		f.t.Fatalf("create a draft: %v", err)
	}
	d := drafted{created.DraftID, created.MissionID, "creator", created.FundingQuote}
	f.chain.fund(d.creator, d.quote)
	f.chain.mine(2)
	f.awaitView(d, viewInReview)
	f.approve(d)
	f.chain.mine(testFinality)
	f.awaitView(d, viewPublished)
	return d
}

// file is something to submit.
type file struct {
	contentType string
	data        []byte
}

// photo is a small photo. Different numbers give photos that are not duplicates.
func photo(number int) file { return photoOf(160, 120, number) }

func photoOf(width, height, number int) file {
	return file{"image/jpeg", specimen.JPEG(specimen.Picture(width, height, number))}
}

// largePhoto is a photo of at least size bytes. Most of them are padding, so decoding it is cheap.
func largePhoto(number, size int) file {
	var ballast [][]byte
	for got := 0; got < size; got += 60_000 {
		ballast = append(ballast, specimen.Segment(0xfe, noise(60_000)))
	}
	return file{"image/jpeg", specimen.JPEG(specimen.Picture(160, 120, number), ballast...)}
}

func noise(size int) []byte {
	data := make([]byte, size)
	_, _ = rand.Read(data) // never fails
	return data
}

// submission is a declared submission.
type submission struct {
	file
	id          string
	contributor *sortie.Client
	links       sortie.UploadLinks
}

// tryToDeclare declares a file with the current time and the place of the test files.
func (f *following) tryToDeclare(contributor *sortie.Client, d drafted, file file) (submission, error) {
	hash := sha256.Sum256(file.data)
	declared, err := contributor.Declare(f.ctx, d.missionID, sortie.Declaration{
		Location:    sortie.Location{Lat: "48.85837", Lng: "2.29448", AccuracyMeters: "5"},
		CapturedAt:  sortie.FormatTime(time.Now()),
		ContentType: file.contentType, SizeBytes: int64(len(file.data)), SHA256: hex.EncodeToString(hash[:]),
	}, rand.Text())
	if err != nil {
		return submission{}, err
	}
	return submission{file, declared.SubmissionID, contributor, *declared.Upload}, nil
}

// declare reserves a slot for a file.
func (f *following) declare(role string, d drafted, file file) submission {
	f.t.Helper()
	s, err := f.tryToDeclare(f.client(role), d, file)
	if err != nil {
		f.t.Fatalf("declare a file for %s: %v", d.missionID, err)
	}
	return s
}

// upload sends the whole file in one request.
func (f *following) upload(s submission) error {
	_, err := s.contributor.Upload(f.ctx, s.links, bytes.NewReader(s.data), int64(len(s.data)))
	return err
}

// submit declares a file and uploads it.
func (f *following) submit(role string, d drafted, file file) submission {
	f.t.Helper()
	s := f.declare(role, d, file)
	if err := f.upload(s); err != nil {
		f.t.Fatalf("upload %s: %v", s.id, err)
	}
	return s
}

// resume uploads the rest of a file and returns the offset at which it started.
func (f *following) resume(s submission) (from int64, err error) {
	from = -1
	err = s.contributor.UploadResumable(f.ctx, s.links, bytes.NewReader(s.data), int64(len(s.data)), func(sent int64) {
		if from < 0 {
			from = sent
		}
	})
	return from, err
}

// own is the submission as its contributor sees it.
func (f *following) own(s submission) sortie.Submission {
	f.t.Helper()
	seen, err := s.contributor.MySubmission(f.ctx, s.id)
	if err != nil {
		f.t.Fatalf("read %s: %v", s.id, err)
	}
	return seen
}

// awaitStatus waits until the checks have decided, and fails on another decision.
func (f *following) awaitStatus(s submission, want sortie.SubmissionStatus) (seen sortie.Submission) {
	f.t.Helper()
	f.service.await(f.t, "decision about "+s.id, func() bool {
		seen = f.own(s)
		return seen.Status != sortie.SubmissionPending || want == sortie.SubmissionPending
	})
	if seen.Status != want {
		f.t.Fatalf("%s is %s, want %s: %s; %+v", s.id, seen.Status, want, seen.Reason, seen.Checks)
	}
	return seen
}

// delivered are the deliverables of a mission, by submission.
func (f *following) delivered(d drafted) map[string]sortie.Deliverable {
	f.t.Helper()
	all := make(map[string]sortie.Deliverable)
	for one, err := range f.creator.AllDeliverables(f.ctx, d.missionID, sortie.DeliverablesQuery{}) {
		if err != nil {
			f.t.Fatalf("read the deliverables of %s: %v", d.missionID, err)
		}
		all[one.SubmissionID] = one
	}
	return all
}

// fetch downloads the file of a link.
func (f *following) fetch(link string) ([]byte, error) {
	stream, err := f.creator.Download(f.ctx, link, 0)
	if err != nil {
		return nil, err
	}
	defer stream.Close()
	return io.ReadAll(stream)
}

// checkDelivered finds a submission among the deliverables of its mission, and compares the bytes
// of its link with the hash.
func (f *following) checkDelivered(d drafted, s submission, want sortie.SubmissionStatus) sortie.Deliverable {
	f.t.Helper()
	one, found := f.delivered(d)[s.id]
	if !found || one.Verification.Status != want || one.Media.ContentType != s.contentType {
		f.t.Fatalf("deliverable %s: got %+v, want %s of type %s", s.id, one, want, s.contentType)
	}
	data, err := f.fetch(one.MediaURL)
	if err != nil {
		f.t.Fatalf("fetch %s: %v", s.id, err)
	}
	hash, err := one.Media.SHA256()
	if err != nil || sha256.Sum256(data) != hash {
		f.t.Errorf("media of %s: the hash is not %s: %v", s.id, one.Media.Hash, err)
	}
	return one
}

// eventsAbout are the types of a creator's events that name a submission, in their order.
func (f *following) eventsAbout(id string) (types []sortie.EventType) {
	f.t.Helper()
	for event, err := range f.creator.AllEvents(f.ctx, sortie.PageQuery{}) {
		if err != nil {
			f.t.Fatal(err)
		}
		if bytes.Contains(event.Data, []byte(`"`+id+`"`)) {
			types = append(types, event.Type)
		}
	}
	return types
}

func (f *following) checkEventsAbout(id string, want ...sortie.EventType) {
	f.t.Helper()
	if got := f.eventsAbout(id); !slices.Equal(got, want) {
		f.t.Errorf("the events about %s are %v, want %v", id, got, want)
	}
}
