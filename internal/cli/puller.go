package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/sortie-labs/sortie"
)

// puller downloads the deliverables of a mission into a folder: pages in order, files in parallel.
type puller struct {
	api      *sortie.Client
	id       string
	folder   *folder
	parallel int

	accepted    atomic.Int64
	finished    atomic.Int64 // files that are done
	transferred atomic.Int64 // bytes
	active      sync.Map     // of *partFile, for the progress line
}

// Links get the longest lifetime, because a page of large files takes long. Expired links are
// renewed.
const (
	pullPageSize = 100
	pullLinkTTL  = 15 * time.Minute
)

// deliverablePage is a page whose links can be renewed. The page at a cursor stays the same, except
// for revoked acceptances.
type deliverablePage struct {
	cursor string

	mu    sync.Mutex
	age   int // number of renewals
	links map[string]string
}

func (p *puller) firstPage(ctx context.Context) (sortie.Deliverables, error) {
	return p.api.Deliverables(ctx, p.id, sortie.DeliverablesQuery{Limit: pullPageSize, LinkTTL: pullLinkTTL})
}

// pulled is the outcome of one deliverable.
type pulled struct {
	deliverable sortie.Deliverable
	earlier     *pulled       // the same submission, listed before it was revoked and accepted again
	ended       chan struct{} // closed when the outcome is known
	outcome     pullOutcome
	size        int64
	changed     bool // the folder had a file with other bytes
	failure     error
}

type pullOutcome int

const (
	pullUnfinished pullOutcome = iota
	pullDownloaded
	pullUnchanged
	pullRevoked
	pullFailed
)

// pull downloads everything. On failure, the result still counts the files.
func (p *puller) pull(ctx context.Context, first sortie.Deliverables) (pullResult, error) {
	var all []*pulled
	latest := make(map[string]*pulled) // by submission id
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(p.parallel)
	list := func() error {
		for page, cursor := first, ""; ; {
			p.accepted.Store(int64(page.Summary.AcceptedSubmissions))
			links := &deliverablePage{cursor: cursor, links: linksOf(page)}
			for _, deliverable := range page.Submissions {
				id := deliverable.SubmissionID
				one := &pulled{deliverable: deliverable, earlier: latest[id], ended: make(chan struct{})}
				all, latest[id] = append(all, one), one
				group.Go(func() error { return p.pullOne(ctx, one, links) }) // blocks while all workers are busy
			}
			if ctx.Err() != nil || page.Summary.NextCursor == nil {
				return ctx.Err()
			}
			cursor = *page.Summary.NextCursor
			var err error
			page, err = p.api.Deliverables(ctx, p.id, sortie.DeliverablesQuery{Limit: pullPageSize, Cursor: cursor, LinkTTL: pullLinkTTL})
			if err != nil {
				return err
			}
		}
	}
	listErr := list()
	err := group.Wait() // a failed file also ends the list
	if err == nil {
		err = listErr
	}
	all = slices.DeleteFunc(all, func(one *pulled) bool { return latest[one.deliverable.SubmissionID] != one })
	result := p.count(all)
	if err != nil {
		return result, err
	}
	return result, p.finishPull(all, &result)
}

// finishPull moves the files of revoked acceptances to revoked/ and writes the manifest.
func (p *puller) finishPull(all []*pulled, result *pullResult) error {
	keep := make(map[string]bool, len(all))
	entries := make([]manifestEntry, 0, len(all))
	for _, one := range all {
		if one.outcome != pullRevoked {
			keep[one.deliverable.SubmissionID] = true
		}
		if one.outcome == pullDownloaded || one.outcome == pullUnchanged {
			entries = append(entries, newManifestEntry(one.deliverable, one.size))
		}
	}
	moved, err := p.folder.revoke(keep)
	if err != nil {
		return err
	}
	result.Revoked = append(result.Revoked, moved...)
	return p.folder.writeManifest(entries)
}

func (p *puller) count(all []*pulled) pullResult {
	result := pullResult{Accepted: int(p.accepted.Load()), TransferredBytes: p.transferred.Load(), Revoked: []string{}, Failed: []pullFailure{}}
	for _, one := range all {
		switch one.outcome {
		case pullDownloaded:
			result.Downloaded++
			if one.changed {
				result.Changed++
			}
		case pullUnchanged:
			result.Unchanged++
		case pullFailed:
			result.Failed = append(result.Failed, pullFailure{one.deliverable.SubmissionID, one.failure.Error()})
		}
	}
	return result
}

func linksOf(page sortie.Deliverables) map[string]string {
	links := make(map[string]string, len(page.Submissions))
	for _, deliverable := range page.Submissions {
		links[deliverable.SubmissionID] = deliverable.MediaURL
	}
	return links
}

// pullOne downloads one deliverable. If the submission was listed before, pullOne waits for that
// download and uses its outcome.
func (p *puller) pullOne(ctx context.Context, one *pulled, page *deliverablePage) error {
	defer close(one.ended)
	if one.earlier == nil {
		defer p.finished.Add(1)
		return p.pullFile(ctx, one, page)
	}
	<-one.earlier.ended // it has started, so it ends with the context at the latest
	err := p.pullFile(ctx, one, page)
	if one.outcome == pullUnchanged && one.earlier.outcome == pullDownloaded {
		one.outcome, one.changed = pullDownloaded, one.earlier.changed
	}
	return err
}

// pullFile downloads one file. It stores a failure of this file as its outcome; an error stops all
// files.
func (p *puller) pullFile(ctx context.Context, one *pulled, page *deliverablePage) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	name, err := fileName(one.deliverable)
	want, hashErr := one.deliverable.Media.SHA256()
	if err = errors.Join(err, hashErr); err != nil {
		one.outcome, one.failure = pullFailed, err
		return nil
	}
	here, err := p.folder.verify(name, want)
	if here.right {
		one.outcome, one.size = pullUnchanged, here.size
		return nil
	}
	if err == nil {
		one.changed = here.changed
		one.size, err = p.download(ctx, one.deliverable.SubmissionID, name, want, page)
	}
	var alone *fileError
	switch {
	case errors.Is(err, errRevoked):
		one.outcome = pullRevoked
	case errors.As(err, &alone):
		one.outcome, one.failure = pullFailed, err
	case err != nil:
		return err
	default:
		one.outcome = pullDownloaded
	}
	return nil
}

// errRevoked reports that the acceptance was revoked.
var errRevoked = errors.New("no longer accepted")

// fileError is an error that concerns one file.
type fileError struct{ error }

// pullAttempts is the number of attempts without progress for a file. The client itself continues
// after lost connections; these attempts are for expired links and wrong bytes.
const pullAttempts = 4

func (p *puller) download(ctx context.Context, id, name string, want [32]byte, page *deliverablePage) (int64, error) {
	part, err := p.folder.openPart(name, want)
	if err != nil {
		return 0, err
	}
	defer part.close()
	p.active.Store(part, nil)
	defer p.active.Delete(part)
	for attempt, reached := 1, int64(-1); ; attempt++ {
		if part.complete() {
			return part.size(), part.publish()
		}
		link, age := page.link(id)
		if link == "" {
			return 0, errors.Join(errRevoked, part.remove())
		}
		err := p.transfer(ctx, link, part)
		if part.size() > reached {
			reached, attempt = part.size(), 1
		}
		switch code := sortie.ErrorCode(err); {
		case err == nil && part.complete():
			continue
		case err == nil || code == sortie.CodeRangeNotSatisfiable: // the kept part may be wrong
			err = &fileError{errors.New("sha256 mismatch: the service sends other bytes than it listed")}
			if resetErr := part.reset(); resetErr != nil {
				return 0, resetErr
			}
		case code == sortie.CodeMediaURLExpired || code == sortie.CodeMediaURLInvalid || code == sortie.CodeNotFound:
			if renewErr := p.renew(ctx, page, age); renewErr != nil {
				return 0, renewErr
			}
			err = &fileError{fmt.Errorf("the service lists it but does not send it: %w", err)}
		default:
			return 0, err
		}
		if attempt >= pullAttempts {
			return 0, err
		}
	}
}

// transfer downloads the rest of the file.
func (p *puller) transfer(ctx context.Context, link string, part *partFile) error {
	stream, err := p.api.Download(ctx, link, part.size())
	if err != nil {
		return err
	}
	defer stream.Close()
	part.expect(stream.Size)
	_, err = io.Copy(part, countedReader{stream, &p.transferred})
	return err
}

// countedReader counts the bytes read.
type countedReader struct {
	io.Reader
	total *atomic.Int64
}

func (r countedReader) Read(b []byte) (int, error) {
	n, err := r.Reader.Read(b)
	r.total.Add(int64(n))
	return n, err
}

// link returns the media link of a submission; empty if its acceptance was revoked.
func (d *deliverablePage) link(id string) (link string, age int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.links[id], d.age
}

// renew reads the page again, unless another file has renewed the links of this age.
func (p *puller) renew(ctx context.Context, page *deliverablePage, age int) error {
	page.mu.Lock()
	defer page.mu.Unlock()
	if page.age != age {
		return nil
	}
	fresh, err := p.api.Deliverables(ctx, p.id, sortie.DeliverablesQuery{Limit: pullPageSize, Cursor: page.cursor, LinkTTL: pullLinkTTL})
	if err != nil {
		return err
	}
	page.links, page.age = linksOf(fresh), page.age+1
	return nil
}

// progress returns the progress of the run. It counts parts of files.
func (p *puller) progress() progressState {
	total, finished := p.accepted.Load(), p.finished.Load()
	done := float64(finished)
	p.active.Range(func(part, _ any) bool {
		done += part.(*partFile).share()
		return true
	})
	return progressState{
		doing: "Pulling", done: done / float64(max(1, total)), bytes: p.transferred.Load(),
		text: fmt.Sprintf("%d of %s  %s", finished, formatCount(int(total), "file"), formatBytes(p.transferred.Load())),
	}
}
