package app

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/store"
)

// DeliverablesQuery selects a page of a mission's accepted submissions, in the order of acceptance.
type DeliverablesQuery struct {
	Limit  int           // 0: DefaultPage; more than MaxPage: MaxPage
	Cursor string        // empty: from the first
	TTL    time.Duration // of the links; 0: DefaultLinkTTL; more than MaxLinkTTL: MaxLinkTTL
}

// How long links to media live.
const (
	DefaultLinkTTL = 5 * time.Minute
	MaxLinkTTL     = 15 * time.Minute
)

func (q DeliverablesQuery) ttl() time.Duration {
	if q.TTL <= 0 {
		return DefaultLinkTTL
	}
	return min(q.TTL, MaxLinkTTL)
}

// Deliverables appends a page of a mission's accepted submissions, a [sortie.Deliverables], to dst.
// The id is a draft id or a mission id; links begin with base. The cost of a page depends neither
// on its depth nor on how many submissions there are.
//
// It fails with not_found, the same for an id that does not exist and for one that is somebody
// else's, mission_not_published, and invalid_cursor for a cursor that this mission's list did not
// give.
func (a *App) Deliverables(ctx context.Context, base string, creator sortie.Address, id string, query DeliverablesQuery, dst []byte) ([]byte, error) {
	header, err := a.deliverablesHeader(ctx, creator, id)
	if err != nil {
		return dst, err
	}
	list := "deliverables\n" + header.DraftID
	after, err := a.cursors.open(list, query.Cursor)
	if err != nil {
		return dst, err
	}
	page := newDeliverablePage(a.links.keys.Load(), base, a.now().Add(query.ttl()).Unix())
	defer page.release()
	limit := Page{Limit: query.Limit}.limit()
	// One more than asked for tells whether there is another page.
	err = a.store.DeliverablePage(ctx, header.DraftID, after, limit+1, func(acceptSeq int64, submissionID string, hasThumbnail bool, fragment []byte) {
		if page.count++; page.count <= limit {
			page.last = acceptSeq
			page.add(submissionID, hasThumbnail, fragment)
		}
	})
	if err == nil {
		err = page.failure
	}
	if err != nil {
		return dst, storeError(err)
	}
	dst = append(append(dst, `{"ok":true,"mission":`...), header.Summary...)
	dst = append(dst, `,"summary":{"acceptedSubmissions":`...)
	dst = strconv.AppendInt(dst, int64(header.Accepted), 10)
	dst = append(dst, `,"returnedSubmissions":`...)
	dst = strconv.AppendInt(dst, int64(min(page.count, limit)), 10)
	dst = append(dst, `,"nextCursor":`...)
	if page.count > limit {
		dst = append(append(append(dst, '"'), a.cursors.seal(list, page.last)...), '"')
	} else {
		dst = append(dst, "null"...)
	}
	dst = append(append(dst, `,"generatedAt":"`...), sortie.FormatTime(a.now())...)
	dst = append(append(dst, `"},"submissions":[`...), page.text...)
	return append(dst, "]}"...), nil
}

func (a *App) deliverablesHeader(ctx context.Context, creator sortie.Address, id string) (store.Deliverables, error) {
	if !mission.ValidDraftID(id) && !mission.ValidMissionID(id) {
		return store.Deliverables{}, errNotFound()
	}
	header, err := a.store.DeliverablesOf(ctx, creator, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return store.Deliverables{}, errNotFound()
	case err != nil:
		return store.Deliverables{}, storeError(err)
	case !header.Published:
		return store.Deliverables{}, sortie.NewError(sortie.CodeMissionNotPublished, "this mission is not published, so there are no deliverables yet; its status says what it waits for")
	}
	return header, nil
}

// deliverablePage is the text of a page that is being put together.
type deliverablePage struct {
	text    []byte
	count   int   // rows seen
	last    int64 // place in the order of acceptance of the last one that is shown
	failure error

	keys      *links.Keys
	address   []byte // what every link begins with, as JSON
	exp       int64
	expiresAt string
}

// pageTexts are used again: a page of a hundred has about as many kilobytes.
var pageTexts = sync.Pool{New: func() any { return new([]byte) }}

func newDeliverablePage(keys *links.Keys, base string, exp int64) *deliverablePage {
	page := &deliverablePage{keys: keys, exp: exp, expiresAt: sortie.FormatTime(time.Unix(exp, 0))}
	page.text = (*pageTexts.Get().(*[]byte))[:0]
	quoted, _ := json.Marshal(base + "/api/external/media/") // text can always be encoded
	page.address = quoted[:len(quoted)-1]
	return page
}

func (p *deliverablePage) release() { pageTexts.Put(&p.text) }

// add appends a deliverable: what was written when it was accepted, with links put in.
func (p *deliverablePage) add(submissionID string, hasThumbnail bool, fragment []byte) {
	split := bytes.Index(fragment, []byte(fragmentSplit))
	if split < 0 {
		p.failure = fmt.Errorf("the stored deliverable of submission %s is broken", submissionID)
		return
	}
	if len(p.text) > 0 {
		p.text = append(p.text, ',')
	}
	p.text = append(p.text, fragment[:split]...)
	p.text = append(p.text, `,"mediaUrl":`...)
	p.addLink(submissionID, links.VariantOriginal)
	p.text = append(append(append(p.text, `,"mediaUrlExpiresAt":"`...), p.expiresAt...), `","thumbnailUrl":`...)
	if hasThumbnail {
		p.addLink(submissionID, links.VariantThumbnail)
	} else {
		p.text = append(p.text, "null"...)
	}
	p.text = append(p.text, fragment[split:]...)
}

func (p *deliverablePage) addLink(submissionID, variant string) {
	p.text = append(append(p.text, p.address...), submissionID...)
	p.text = append(append(append(p.text, '/'), variant...), '?')
	p.text = append(p.keys.AppendQuery(p.text, submissionID, variant, p.exp), '"')
}

// fragment is a [sortie.Deliverable] without its links, which are put in before createdAt.
type fragment struct {
	SubmissionID string              `json:"submissionId"`
	MediaType    sortie.MediaType    `json:"mediaType"`
	CreatedAt    string              `json:"createdAt"`
	VerifiedAt   string              `json:"verifiedAt"`
	Location     sortie.Location     `json:"location"`
	Verification sortie.Verification `json:"verification"`
	Media        sortie.Media        `json:"media"`
	Provenance   sortie.Provenance   `json:"provenance"`
}

const fragmentSplit = `,"createdAt":`

func spaced(t time.Time) string { return t.UTC().Format(sortie.SubmissionTime) }

// newFragment is what deliverables show of a submission that is accepted now. It is written once,
// so that a page need not be encoded row by row.
func newFragment(submission store.Submission, move store.SubmissionMove, acceptedAt time.Time) ([]byte, error) {
	if submission.Media == nil {
		return nil, fmt.Errorf("submission %s has no media to deliver", submission.ID)
	}
	score := move.Score
	if score == nil {
		score = submission.Score
	}
	verification := sortie.Verification{Status: move.To, Reason: move.Reason}
	if score != nil {
		verification.Score = *score
	}
	encoded, err := json.Marshal(fragment{
		SubmissionID: submission.ID, MediaType: submission.Media.Kind,
		CreatedAt: spaced(submission.CreatedAt), VerifiedAt: spaced(acceptedAt),
		Location: submission.Declaration.Location, Verification: verification, Media: wireMedia(submission.Media),
		Provenance: sortie.Provenance{Source: sortie.SourceSubmission, MissionID: submission.Mission.MissionID, SubmissionID: submission.ID},
	})
	if err != nil {
		return nil, fmt.Errorf("encode the deliverable of submission %s: %w", submission.ID, err)
	}
	return encoded, nil
}

func wireMedia(found *store.SubmissionMedia) sortie.Media {
	shown := sortie.Media{Hash: "sha256:" + hexHash(found.ServedHash), ContentType: found.ServedType}
	if found.Kind == sortie.MediaVideo {
		milliseconds, keyframes := found.Duration.Milliseconds(), found.Keyframes
		shown.DurationMs, shown.KeyframeCount = &milliseconds, &keyframes
	}
	return shown
}

func hexHash(hash sortie.Hash) string { return hex.EncodeToString(hash[:]) }
