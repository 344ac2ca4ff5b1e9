package e2e

import (
	"bytes"
	"image"
	"io"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
)

func pictureSize(r io.Reader) (width, height int, err error) {
	config, _, err := image.DecodeConfig(r)
	return config.Width, config.Height, err
}

// Files that contain their place are served, to operators and creators, without it.
func TestServedFilesContainNoPlace(t *testing.T) {
	t.Parallel()
	chain := startAnvil(t)
	f := follow(t, chain, chain.keepingFiles(sqliteIn(t), t.TempDir()))
	photos, videos := photoMission(100), photoMission(100)
	videos.MediaType, videos.Video = sortie.MediaVideo, &sortie.VideoBounds{MinDurationMs: 1000}
	missions := map[bool]drafted{false: f.publish(photos), true: f.publish(videos)}

	var all []submission
	types := make(map[string]int)
	for _, planted := range specimen.All() {
		if !planted.HasPlace || types[planted.Type] == 2 {
			continue
		}
		types[planted.Type]++
		all = append(all, f.submit("contributor1", missions[strings.HasPrefix(planted.Type, "video/")], file{planted.Type, planted.Data}))
	}
	for _, s := range all {
		mission := missions[strings.HasPrefix(s.contentType, "video/")]
		f.service.await(t, "decision about "+s.id, func() bool { return f.own(s).Status != sortie.SubmissionPending })
		seen, err := f.operator.Submission(f.ctx, s.id)
		if err != nil || seen.MediaURL == nil {
			t.Fatalf("the operator sees %+v of a file of type %s: %v", seen, s.contentType, err)
		}
		f.checkClean(s, *seen.MediaURL)
		want := sortie.SubmissionAccepted
		if seen.Status == sortie.SubmissionFlagged { // most were made years ago
			want = sortie.SubmissionCurationAccepted
			if _, err := f.operator.AcceptSubmission(f.ctx, s.id, ""); err != nil {
				t.Fatalf("accept %s: %v", s.id, err)
			}
		}
		delivered := f.checkDelivered(mission, s, want)
		f.checkClean(s, delivered.MediaURL)
		if delivered.ThumbnailURL != nil {
			f.checkClean(s, *delivered.ThumbnailURL)
		}
	}
	t.Logf("%v", types)
	if len(types) < 5 {
		t.Errorf("checked media types: got only %v", types)
	}
}

// checkClean searches the bytes of a link for the places that were in the file.
func (f *following) checkClean(s submission, link string) {
	f.t.Helper()
	data, err := f.fetch(link)
	if err != nil {
		f.t.Fatalf("fetch what became of a file of type %s: %v", s.contentType, err)
	}
	planted := false
	for _, trace := range specimen.Traces() {
		planted = planted || bytes.Contains(s.data, trace)
		if bytes.Contains(data, trace) {
			f.t.Errorf("a file of type %s is served with %q in it", s.contentType, trace)
		}
	}
	if !planted {
		f.t.Errorf("a file of type %s had nothing planted in it: that it is clean proves nothing", s.contentType)
	}
}
