package app

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/store"
)

// keyOf is the id of the key that signs a new link.
func (s *testMedia) keyOf(service *Service, draft store.Draft) (link, key string) {
	s.t.Helper()
	defer s.use(s.service)
	s.use(service)
	link = s.deliverables(draft, DeliverablesQuery{}).Submissions[0].MediaURL
	query, err := url.ParseQuery(s.queryOf(link))
	s.must(err)
	return link, query.Get("kid")
}

// A new key signs each day when every process has read it, and valid links stay valid.
func TestLinkKeysRotate(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		other := s.another(nil) // a process that was started at the same time
		draft := s.publish("k", 2, "")
		s.submit(bob, draft, "one", photo(1))
		s.pass(linkKeyTerm - time.Second)
		s.must(s.app.RotateLinkKeys(ctx))
		if _, key := s.keyOf(s.service, draft); key != "1" {
			t.Errorf("signed with key %s, want 1", key)
		}
		s.pass(time.Second)
		for range 3 { // the first call makes the key
			s.must(s.app.RotateLinkKeys(ctx))
			s.must(other.App.RotateLinkKeys(ctx))
		}
		old, key := s.keyOf(s.service, draft)
		if key != "1" {
			t.Errorf("signed with key %s before every process knows it, want 1", key)
		}
		s.pass(linkKeyLead - time.Second)
		live, _ := s.keyOf(other, draft)
		s.pass(time.Second)
		s.must(s.app.ReloadLinkKeys(ctx))
		fresh, key := s.keyOf(s.service, draft)
		if key != "2" {
			t.Errorf("signed with key %s, want 2", key)
		}
		for _, link := range []string{live, fresh} {
			for _, service := range []*Service{s.service, other} { // the other one has not read it since
				if _, err := s.fetch(service, link); err != nil {
					t.Error(err)
				}
			}
		}
		_, err := s.fetch(s.service, old)
		wantCode(t, err, sortie.CodeMediaURLExpired)
		s.pass(longestLink + linkKeyRest)
		s.must(s.app.RotateLinkKeys(ctx))
		keys, err := s.db.LinkKeys(ctx)
		if err != nil || len(keys) != 1 || keys[0].ID != "2" {
			t.Errorf("%d keys are left, error %v; want key 2 alone", len(keys), err)
		}
		_, err = s.fetch(s.service, old)
		wantCode(t, err, sortie.CodeMediaURLInvalid) // the key is retired
	})
}

// An operator can invalidate all links at once, including those of uploads, and new links work in
// every process.
func TestAllLinksDie(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := openTestMedia(t, database, nil)
		ctx := context.Background()
		other := s.another(nil)
		draft := s.publish("k", 2, "")
		s.submit(bob, draft, "one", photo(1))
		declared, err := s.declare(contributor(1), draft, "two", photo(2))
		s.must(err)
		link, _ := s.keyOf(s.service, draft)
		wantCode(t, s.operators.RotateLinkKeysNow(ctx, by(reviewer), ""), sortie.CodeValidationFailed)
		s.must(s.operators.RotateLinkKeysNow(ctx, by(reviewer), "A link got out."))
		_, err = s.fetch(s.service, link)
		wantCode(t, err, sortie.CodeMediaURLInvalid)
		_, err = s.app.OpenUpload(ctx, declared.SubmissionID, links.VariantUploadPut, s.queryOf(declared.Upload.PutURL))
		wantCode(t, err, sortie.CodeMediaURLInvalid)

		fresh, key := s.keyOf(s.service, draft)
		if key != "2" {
			t.Errorf("signed with key %s, want 2", key)
		}
		s.pass(time.Second)
		if _, err := s.fetch(other, fresh); err != nil { // it reads the keys for a key that it does not know
			t.Error(err)
		}
		_, err = s.fetch(other, link)
		wantCode(t, err, sortie.CodeMediaURLInvalid)
		again, err := s.declare(contributor(1), draft, "two", photo(2))
		wantCode(t, err, sortie.CodeIdempotencyConflict) // captured at another time
		if again.Upload != nil {
			t.Errorf("declared again %+v", again)
		}
		if entries := s.count(`SELECT COUNT(*) FROM audit WHERE action = 'link_keys.rotated'`); entries != 1 {
			t.Errorf("%d audit entries, want 1", entries)
		}
	})
}
