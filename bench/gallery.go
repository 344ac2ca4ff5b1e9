package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/store"
)

const (
	fewSubmissions = 100 // one page

	partDeliverables = "deliverables"
	partMedia        = "media"

	allRoles = "api,worker,chain"
)

// gallery is a mission with many accepted submissions, in a database of its own.
type gallery struct {
	*bench
	database  string
	media     string // directory
	draftID   string
	missionID string
	accepted  int
	shown     []shownFile // of the first copies
}

var (
	galleryCreator     = newCreator(4)
	galleryContributor = newCreator(5)
)

// measureGallery measures what is done with submissions. The mission is large only when its pages
// are measured.
func (b *bench) measureGallery(ctx context.Context) error {
	g := &gallery{bench: b, database: b.path("gallery.db"), media: b.path("gallery"), accepted: fewSubmissions}
	parts := []part{{partDeliverables, g.deliverables}, {partMedia, g.mediaProxy}, {"transfers", g.transfers}, {"declare", g.declare}}
	if !b.wants(parts) {
		return nil
	}
	if b.only.MatchString(partDeliverables) {
		g.accepted = b.submissions
	}
	fmt.Fprintf(os.Stderr, "bench: seed a mission with %d submissions\n", g.accepted)
	if err := g.fill(ctx); err != nil {
		return fmt.Errorf("seed submissions: %w", err)
	}
	return b.each(ctx, parts...)
}

// fill has the service accept one submission, so that what is copied is what the service writes,
// and copies it.
func (g *gallery) fill(ctx context.Context) error {
	if err := g.publishMission(ctx); err != nil {
		return err
	}
	submissionID, err := g.acceptOne(ctx)
	if err != nil {
		return err
	}
	if g.shown, err = writeFiles(ctx, g.media); err != nil {
		return err
	}
	return copySubmission(ctx, g.database, submissionID, g.accepted, g.shown)
}

// publishMission has the service publish a mission. It has seen no money for this one and closes it
// again, which is undone.
func (g *gallery) publishMission(ctx context.Context) error {
	draft, err := g.sampleDraft(galleryCreator.Address())
	if err != nil {
		return err
	}
	err = g.write(ctx, func(tx *store.Tx) error {
		g.draftID, err = insertCopy(tx, draft, true)
		return err
	})
	if err != nil {
		return err
	}
	server, err := g.open(ctx, g.media, allRoles)
	if err != nil {
		return err
	}
	server.stop()
	return g.write(ctx, func(tx *store.Tx) error { return tx.CloseSlots(g.draftID, false) })
}

// write changes the database while no service uses it.
func (g *gallery) write(ctx context.Context, change func(*store.Tx) error) error {
	db, err := store.Open(ctx, "sqlite:"+g.database, store.Options{})
	if err != nil {
		return err
	}
	return errors.Join(db.Tx(ctx, change), db.Close())
}

// open starts the service on the mission. Acceptances do not become final while it is measured.
func (g *gallery) open(ctx context.Context, media, roles string) (*process, error) {
	return g.serve(ctx, g.database, "--roles", roles, "--media", "file:"+media, "--verification", "auto", "--acceptance-hold", "24h")
}

// acceptOne submits a photo and waits until the service has accepted it.
func (g *gallery) acceptOne(ctx context.Context) (submissionID string, err error) {
	server, err := g.open(ctx, g.media, allRoles)
	if err != nil {
		return "", err
	}
	defer server.stop()
	if err := server.connect(); err != nil {
		return "", err
	}
	c := server.connections[0]
	var mission struct{ MissionID string }
	if err := c.fetch(galleryCreator.get(pathMissions+"/"+g.draftID), &mission); err != nil {
		return "", err
	}
	g.missionID = mission.MissionID
	photo, err := samplePhoto()
	if err != nil {
		return "", err
	}
	file := upload{contentType: "image/jpeg", content: photo}
	declared, err := g.announce(c, galleryContributor, "first", file)
	if err == nil {
		err = server.put(declared, file)
	}
	var detail sortie.SubmissionDetail
	for deadline := time.Now().Add(startTimeout); err == nil && detail.Submission.Status != sortie.SubmissionAccepted; time.Sleep(pollInterval) {
		err = c.fetch(galleryContributor.get("/api/submissions/"+declared.SubmissionID), &detail)
		if err == nil && (time.Now().After(deadline) || detail.Submission.Status == sortie.SubmissionRejected) {
			err = fmt.Errorf("the photo is not accepted: it is %s, %s, after %+v", detail.Submission.Status, detail.Submission.Reason, detail.Submission.Checks)
		}
	}
	return declared.SubmissionID, err
}

// deliverablesTarget is the path of the first page.
func (g *gallery) deliverablesTarget() string {
	return fmt.Sprintf("%s/%s/deliverables?limit=%d&mediaUrlTtlSeconds=900", pathMissions, g.missionID, fewSubmissions)
}

// links are the targets of the shown files.
func (g *gallery) links(server *process) ([]string, error) {
	if err := server.connect(); err != nil {
		return nil, err
	}
	var page sortie.Deliverables
	if err := server.connections[0].fetch(galleryCreator.get(g.deliverablesTarget()), &page); err != nil {
		return nil, err
	}
	links := make([]string, len(g.shown))
	for i := range links {
		links[i] = strings.TrimPrefix(page.Submissions[i+firstCopy-1].MediaURL, publicURL)
	}
	return links, nil
}

// fetch reads an answer.
func (c connection) fetch(wire []byte, into any) error {
	body, err := c.send(wire)
	if err == nil {
		err = json.Unmarshal(body, into)
	}
	return err
}
