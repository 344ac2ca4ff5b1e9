package app

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sortie-labs/sortie"
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

// Deliverable is an accepted submission, encoded when it was accepted.
type Deliverable struct {
	SubmissionID string
	HasThumbnail bool
	// BeforeLinks and AfterLinks are the JSON of a [sortie.Deliverable] without its links, which
	// belong between them. They are valid during the call only.
	BeforeLinks, AfterLinks []byte
	Links                   LinkSigner
}

// DeliverablesSummary is what a page of deliverables has in addition to its elements.
type DeliverablesSummary struct {
	Mission     []byte // the JSON of a [sortie.MissionSummary]
	Accepted    int    // submissions of the mission
	Returned    int    // elements of the page
	NextCursor  string // empty: the page is the last
	GeneratedAt time.Time
}

// Deliverables calls add for each element of a page of a mission's accepted submissions. The id is
// a draft id or a mission id. The cost of a page depends neither on its depth nor on how many
// submissions there are.
//
// It fails with not_found, also for a mission of another creator, mission_not_published, and
// invalid_cursor for a cursor of another list.
func (a *App) Deliverables(ctx context.Context, creator sortie.Address, id string, query DeliverablesQuery, add func(Deliverable)) (DeliverablesSummary, error) {
	header, err := a.deliverablesHeader(ctx, creator, id)
	if err != nil {
		return DeliverablesSummary{}, err
	}
	list := "deliverables\n" + header.DraftID
	after, err := a.cursors.open(list, query.Cursor)
	if err != nil {
		return DeliverablesSummary{}, err
	}
	signer, limit := a.linkSigner(query.ttl()), Page{Limit: query.Limit}.limit()
	var count int
	var last int64
	var broken error
	// One row more than the limit shows whether there is another page.
	err = a.store.DeliverablePage(ctx, header.DraftID, after, limit+1, func(acceptSeq int64, submissionID string, hasThumbnail bool, fragment []byte) {
		if count++; count > limit {
			return
		}
		last = acceptSeq
		split := bytes.Index(fragment, []byte(fragmentSplit))
		if split < 0 {
			broken = fmt.Errorf("the stored deliverable of submission %s is broken", submissionID)
			return
		}
		add(Deliverable{submissionID, hasThumbnail, fragment[:split], fragment[split:], signer})
	})
	if err = errors.Join(err, broken); err != nil {
		return DeliverablesSummary{}, storeError(err)
	}
	summary := DeliverablesSummary{Mission: header.Summary, Accepted: int(header.Accepted), Returned: min(count, limit), GeneratedAt: a.now()}
	if count > limit {
		summary.NextCursor = a.cursors.seal(list, last)
	}
	return summary, nil
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
		return store.Deliverables{}, sortie.NewError(sortie.CodeMissionNotPublished, "this mission is not published, so there are no deliverables yet; its status shows what it waits for")
	}
	return header, nil
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
