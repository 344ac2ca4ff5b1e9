package app

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/blob"
	"github.com/sortie-labs/sortie/internal/funding"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/ingest/specimen"
	"github.com/sortie-labs/sortie/internal/links"
	"github.com/sortie-labs/sortie/internal/mission"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
	"github.com/sortie-labs/sortie/internal/verify"
)

const (
	testURL  = "https://sortie.example"
	testHold = 10 * time.Minute
)

// testBase builds links that the tests can take apart.
func testBase(submissionID, variant, token string) string {
	return testURL + "/" + variant + "/" + submissionID + "?" + token
}

// testMedia is a testApp that takes submissions.
type testMedia struct {
	*testApp
	t        testing.TB // in place of the world's, which can do less
	settler  sortie.Address
	mediaDir string
}

// openTestMedia opens a testApp that accepts submissions that pass the checks. configure is applied
// last.
func openTestMedia(t testing.TB, database string, configure func(*Config)) *testMedia {
	t.Helper()
	dir := t.TempDir()
	s := &testMedia{t: t, mediaDir: filepath.Join(dir, "media")}
	objects, err := blob.OpenObjects(t.Context(), "file:"+s.mediaDir)
	if err != nil {
		t.Fatal(err)
	}
	incoming, err := blob.OpenIncoming(filepath.Join(dir, "uploads"))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := funding.NewKeySigner([32]byte{31: 9})
	if err != nil {
		t.Fatal(err)
	}
	s.settler = signer.Address()
	s.testApp = openTestApp(t, database, testAppOptions{configure: func(config *Config) {
		config.Media, config.Incoming = objects, incoming
		config.Ingester = ingest.New(ingest.Config{TempDir: t.TempDir()})
		config.Verification = verify.New(verify.Config{Mode: verify.Auto})
		config.AcceptanceHold, config.Links = testHold, testBase
		config.SettlerAddress, config.Settler = signer.Address(), settlerOf(signer)
		if configure != nil {
			configure(config)
		}
	}})
	return s
}

// settlerOf signs settlements with a key.
func settlerOf(signer funding.Signer) Settler {
	return func(ctx context.Context, domain sortie.Domain, settlement sortie.Settlement) (sortie.Bytes, error) {
		settler, err := funding.NewSettler(domain, signer)
		if err != nil {
			return nil, err
		}
		return settler.SignSettlement(ctx, settlement)
	}
}

// another is the same service in another process, or after a restart.
func (s *testMedia) another(configure func(*Config)) *Service {
	s.t.Helper()
	config := s.config
	if configure != nil {
		configure(&config)
	}
	service, err := New(context.Background(), config)
	s.must(err)
	return service
}

func curated(config *Config) { config.Verification = verify.New(verify.Config{}) }

// publish publishes a mission of alice's for photos, with further members in JSON.
func (s *testMedia) publish(key string, target int, members string) store.Draft {
	s.t.Helper()
	return s.publishIn(sortie.TokenUSDC, key, target, members)
}

// publishIn publishes a mission that pays in a token.
func (s *testMedia) publishIn(token sortie.Token, key string, target int, members string) store.Draft {
	s.t.Helper()
	body := fmt.Sprintf(`{"title":"Photo of the tower","reward":{"token":%q,"amount":2.5},"targetCount":%d%s}`, token, target, members)
	draft := s.createAs(alice, key, body)
	s.extend([]onchain.Event{fundingOf(draft)})
	draft = s.bury(draft, mission.DepthLocked)
	_, err := s.operators.Approve(context.Background(), reviewer, draft.ID, "")
	s.must(err)
	return s.read(draft.ID)
}

// contributor is the wallet of one of many contributors.
func contributor(number int) (address sortie.Address) {
	address[0] = 0xcc
	binary.BigEndian.PutUint64(address[12:], uint64(number))
	return address
}

// photo is a picture that is unique for each seed.
func photo(seed int) []byte { return specimen.JPEG(specimen.Picture(160, 120, seed)) }

func declaration(file []byte, at time.Time) []byte {
	body, _ := json.Marshal(sortie.Declaration{
		Location:    sortie.Location{Lat: "48.858370", Lng: "2.294480", AccuracyMeters: "8.5"},
		CapturedAt:  at.UTC().Format(time.RFC3339Nano),
		ContentType: "image/jpeg", SizeBytes: int64(len(file)), SHA256: fmt.Sprintf("%x", sha256.Sum256(file)),
	})
	return body
}

func (s *testMedia) declare(wallet sortie.Address, draft store.Draft, key string, file []byte) (sortie.SubmissionDeclared, error) {
	answer, _, err := s.app.Declare(context.Background(), testBase, wallet, testNetwork, draft.MissionID, key, declaration(file, s.clock()))
	return answer, err
}

// queryOf is the raw query of a link.
func (s *testMedia) queryOf(link string) string {
	s.t.Helper()
	parsed, err := url.Parse(link)
	s.must(err)
	return parsed.RawQuery
}

// open locks an upload.
func (s *testMedia) open(declared sortie.SubmissionDeclared) *Upload {
	s.t.Helper()
	upload, err := s.tryOpen(declared)
	s.must(err)
	return upload
}

func (s *testMedia) tryOpen(declared sortie.SubmissionDeclared) (*Upload, error) {
	s.t.Helper()
	return s.app.OpenUpload(context.Background(), declared.SubmissionID, links.VariantUploadPut, s.queryOf(declared.Upload.PutURL))
}

// upload uploads a whole file.
func (s *testMedia) upload(declared sortie.SubmissionDeclared, file []byte) {
	s.t.Helper()
	upload := s.open(declared)
	defer upload.Close()
	_, err := upload.Append(context.Background(), bytes.NewReader(file))
	s.must(err)
	_, err = upload.Finish(context.Background())
	s.must(err)
}

// submit declares and uploads a file, and has it checked.
func (s *testMedia) submit(wallet sortie.Address, draft store.Draft, key string, file []byte) sortie.Submission {
	s.t.Helper()
	declared, err := s.declare(wallet, draft, key, file)
	s.must(err)
	s.upload(declared, file)
	s.must(s.app.CheckSubmission(context.Background(), declared.SubmissionID))
	return s.submission(declared.SubmissionID)
}

// submission is a submission as its contributor sees it.
func (s *testMedia) submission(id string) sortie.Submission {
	s.t.Helper()
	detail, err := s.app.Submission(context.Background(), s.stored(id).Contributor, id)
	s.must(err)
	return detail.Submission
}

func (s *testMedia) stored(id string) store.Submission {
	s.t.Helper()
	submission, err := s.db.Submission(context.Background(), id)
	s.must(err)
	return submission
}

// pretend stores media for an uploaded file without reading it, so that many can be checked
// quickly. Each is unique.
func (s *testMedia) pretend(id string) {
	s.t.Helper()
	was := s.stored(id)
	perceptual := binary.BigEndian.Uint64(was.UploadedHash[:8]) // a random number, as good as any
	s.must(s.db.Tx(context.Background(), func(tx *store.Tx) error {
		return tx.RecordMedia(was, &store.SubmissionMedia{
			Kind: sortie.MediaPhoto, ServedHash: was.UploadedHash, ServedType: "image/jpeg", ServedSize: was.Declaration.SizeBytes,
			ThumbnailHash: was.UploadedHash, Width: 160, Height: 120, Perceptual: &perceptual,
		}, nil)
	}))
}

// submitQuickly is submit without reading the file.
func (s *testMedia) submitQuickly(wallet sortie.Address, draft store.Draft, key string) string {
	s.t.Helper()
	file := []byte(wallet.String() + key)
	declared, err := s.declare(wallet, draft, key, file)
	s.must(err)
	s.upload(declared, file)
	s.pretend(declared.SubmissionID)
	s.must(s.app.CheckSubmission(context.Background(), declared.SubmissionID))
	return declared.SubmissionID
}

// deliverables reads a page as a creator's client does.
func (s *testMedia) deliverables(draft store.Draft, query DeliverablesQuery) sortie.Deliverables {
	s.t.Helper()
	page := sortie.Deliverables{OK: true}
	summary, err := s.app.Deliverables(context.Background(), draft.Wallet, draft.ID, query, func(d Deliverable) {
		page.Submissions = append(page.Submissions, s.delivered(d))
	})
	s.must(err)
	s.must(json.Unmarshal(summary.Mission, &page.Mission))
	page.Summary.AcceptedSubmissions, page.Summary.ReturnedSubmissions = summary.Accepted, summary.Returned
	if summary.NextCursor != "" {
		page.Summary.NextCursor = &summary.NextCursor
	}
	page.Summary.GeneratedAt = sortie.FormatTime(summary.GeneratedAt)
	return page
}

// delivered decodes an element of a page and adds its links.
func (s *testMedia) delivered(d Deliverable) sortie.Deliverable {
	s.t.Helper()
	var element sortie.Deliverable
	decoder := json.NewDecoder(io.MultiReader(bytes.NewReader(d.BeforeLinks), bytes.NewReader(d.AfterLinks)))
	decoder.DisallowUnknownFields()
	s.must(decoder.Decode(&element))
	link := func(variant string) string {
		return testBase(d.SubmissionID, variant, string(d.Links.AppendToken(nil, d.SubmissionID, variant)))
	}
	element.MediaURL, element.MediaURLExpiresAt = link(links.VariantOriginal), sortie.FormatTime(d.Links.ExpiresAt())
	if d.HasThumbnail {
		thumbnail := link(links.VariantThumbnail)
		element.ThumbnailURL = &thumbnail
	}
	return element
}

// fetch follows a media link.
func (s *testMedia) fetch(service *Service, link string) (Media, error) {
	s.t.Helper()
	parsed, err := url.Parse(link)
	s.must(err)
	variant, id, _ := strings.Cut(strings.TrimPrefix(parsed.Path, "/"), "/")
	open := service.App.OpenMedia
	if shown, isReview := strings.CutPrefix(variant, "review-"); isReview {
		variant, open = shown, service.Operators.OpenReviewMedia
	}
	opened, err := open(context.Background(), id, variant, parsed.RawQuery)
	if err == nil {
		s.t.Cleanup(func() { _ = opened.Close() })
	}
	return opened, err
}

// doDue does all that a worker does each second.
func doDue(ctx context.Context, worker *Ledger) error {
	return errors.Join(worker.DueByTime(ctx), worker.SignReceipts(ctx), worker.Settle(ctx))
}

func (s *testMedia) due() {
	s.t.Helper()
	s.must(doDue(context.Background(), s.ledger))
}

func (s *testMedia) slots(draft store.Draft) store.Slots {
	s.t.Helper()
	slots, err := s.db.SlotsOf(context.Background(), draft.ID)
	s.must(err)
	return slots
}

func (s *testMedia) wantStatus(id string, want sortie.SubmissionStatus) sortie.Submission {
	s.t.Helper()
	submission := s.submission(id)
	if submission.Status != want {
		s.t.Fatalf("submission is %s (%s), want %s", submission.Status, submission.Reason, want)
	}
	return submission
}

// by is a request that an operator signs now.
func by(operator sortie.Address) Order {
	order := Order{Operator: operator}
	_, _ = rand.Read(order.Request[:])
	return order
}

// testNetwork is where contributors come from, unless a test says otherwise.
var testNetwork = netip.MustParsePrefix("192.0.2.1/32")
