package app

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// A file whose last byte arrived in time is accepted, also if storing it takes longer. No new
// upload can begin then.
func TestAnUploadThatEndsAtTheLastMoment(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 2, "")
		file := photo(1)
		declared, err := s.declare(bob, draft, "one", file)
		s.must(err)
		upload := s.open(declared)
		defer upload.Close()
		last := len(file) - int(MaxReservationTime/(ReservationTime-time.Minute))
		_, err = upload.Append(ctx, bytes.NewReader(file[:last]))
		s.must(err)
		for began := s.clock(); last < len(file)-1; last++ { // as long as a reservation can be prolonged
			s.pass(min(ReservationTime-time.Minute, began.Add(MaxReservationTime-ReservationTime).Sub(s.clock())))
			_, err = upload.Append(ctx, bytes.NewReader(file[last:last+1]))
			s.must(err)
		}
		never, err := s.declare(contributor(1), draft, "two", photo(2))
		s.must(err)
		s.pass(ReservationTime - time.Second)
		_, err = upload.Append(ctx, bytes.NewReader(file[last:]))
		s.must(err)
		s.pass(takeInTime) // the media store is slow
		s.due()
		_, err = s.tryOpen(never)
		wantCode(t, err, sortie.CodeMediaURLExpired)
		_, err = upload.Finish(ctx)
		s.must(err)
		s.pass(time.Second)
		s.due()
		s.wantStatus(never.SubmissionID, sortie.SubmissionRejected)
		s.must(s.app.CheckSubmission(ctx, declared.SubmissionID))
		s.wantStatus(declared.SubmissionID, sortie.SubmissionAccepted)
	})
}
