package app

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// A file whose last byte came in time is taken in, however long that takes. Nobody can begin anything then.
func TestAnUploadThatEndsAtTheLastMoment(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openStudio(t, database, nil)
		ctx := context.Background()
		draft := s.publish("k", 2, "")
		declared, err := s.declare(bob, draft, "one", photo(1))
		s.must(err)
		never, err := s.declare(contributor(1), draft, "two", photo(2))
		s.must(err)
		upload := s.open(declared)
		defer upload.Close()
		s.pass(ReservationTime - time.Second)
		_, err = upload.Append(ctx, bytes.NewReader(photo(1)))
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
