package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
)

// deliveries is a fake service with one published mission and faults that tests set.
type deliveries struct {
	*httptest.Server
	mission  string
	pageSize int

	handling  sync.WaitGroup // a client may have the answer before the handler returns
	mu        sync.Mutex
	order     []string // submission ids by acceptance
	files     map[string][]byte
	linkAge   int // links of another age have expired
	sent      int64
	lists     int
	ranges    []string // Range headers of media requests
	noRanges  bool
	replace   func(d *deliveries, r *http.Request, id string) http.HandlerFunc // if it returns a handler, that one answers; called with the lock held
	hashes    map[string]string                                                // wrong hashes by submission id
	idInLists map[string]string
}

const pulledDraft = "draft_0123456789abcdefghjkmnpqrs"

func newDeliveries(t *testing.T, count, size int) *deliveries {
	t.Helper()
	d := &deliveries{mission: "entrance-7k2m9x1p", pageSize: 3, files: map[string][]byte{}, hashes: map[string]string{}, idInLists: map[string]string{}}
	source := rand.New(rand.NewPCG(7, uint64(size)))
	for i := range count {
		id := fmt.Sprintf("sub_%026d", i)
		file := make([]byte, size+i)
		for at := range file {
			file[at] = byte(source.Uint32())
		}
		d.order, d.files[id] = append(d.order, id), file
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/external/missions/{id}/deliverables", d.list)
	mux.HandleFunc("GET /media/{id}", d.media)
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.handling.Add(1)
		defer d.handling.Done()
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(d.Close)
	return d
}

func refuse(w http.ResponseWriter, code sortie.Code) {
	w.WriteHeader(code.HTTPStatus())
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": false, "error": sortie.NewError(code, "no")})
}

func (d *deliveries) list(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lists++
	if id := r.PathValue("id"); id != pulledDraft && id != d.mission {
		refuse(w, sortie.CodeNotFound)
		return
	}
	answer := sortie.Deliverables{
		OK: true, Mission: sortie.DeliverablesMission{MissionID: d.mission, DraftID: pulledDraft, Title: "Main entrance"}, Submissions: []sortie.Deliverable{},
		Summary: sortie.DeliverablesSummary{AcceptedSubmissions: len(d.files)},
	}
	after := r.URL.Query().Get("cursor")
	for _, id := range d.order {
		file, accepted := d.files[id]
		if !accepted || id <= after {
			continue
		}
		if len(answer.Submissions) == d.pageSize {
			last := answer.Submissions[d.pageSize-1].SubmissionID
			answer.Summary.NextCursor = &last
			break
		}
		answer.Submissions = append(answer.Submissions, d.deliverable(id, file))
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

func (d *deliveries) deliverable(id string, file []byte) sortie.Deliverable {
	sum := sha256.Sum256(file)
	hash := "sha256:" + hex.EncodeToString(sum[:])
	if other := d.hashes[id]; other != "" {
		hash = other
	}
	shown := id
	if other := d.idInLists[id]; other != "" {
		shown = other
	}
	return sortie.Deliverable{
		SubmissionID: shown, MediaType: sortie.MediaPhoto, MediaURL: fmt.Sprintf("%s/media/%s?age=%d", d.URL, id, d.linkAge),
		Location: sortie.Location{Lat: "1", Lng: "2", AccuracyMeters: "3"}, Verification: sortie.Verification{Status: sortie.SubmissionAccepted, Score: 100},
		Media: sortie.Media{Hash: hash, ContentType: "image/jpeg"}, Provenance: sortie.Provenance{Source: sortie.SourceSubmission, MissionID: d.mission, SubmissionID: id},
	}
}

func (d *deliveries) media(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	d.mu.Lock()
	if given := r.Header.Get("Range"); given != "" {
		d.ranges = append(d.ranges, given)
	}
	file, accepted := d.files[id]
	expired := r.URL.Query().Get("age") != strconv.Itoa(d.linkAge)
	var replacement http.HandlerFunc
	if d.replace != nil {
		replacement = d.replace(d, r, id)
	}
	if d.noRanges {
		r.Header.Del("Range")
	}
	d.mu.Unlock()
	switch {
	case replacement != nil:
		replacement(w, r)
	case !accepted:
		refuse(w, sortie.CodeNotFound)
	case expired:
		refuse(w, sortie.CodeMediaURLExpired)
	default:
		http.ServeContent(&sentWriter{w, d}, r, "x.jpg", time.Time{}, bytes.NewReader(file))
	}
}

type sentWriter struct {
	http.ResponseWriter
	d *deliveries
}

func (w *sentWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.d.mu.Lock()
	w.d.sent += int64(n)
	w.d.mu.Unlock()
	return n, err
}

// cut sends the first n bytes and drops the connection.
func cut(file []byte, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(file)))
		_, _ = w.Write(file[:n])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
}

// pull runs the command and decodes its result.
func (d *deliveries) pull(t *testing.T, directory string, args ...string) (result pullResult, code int, stderr string) {
	t.Helper()
	return d.pullUntil(t, t.Context(), directory, args...)
}

func (d *deliveries) pullUntil(t *testing.T, ctx context.Context, directory string, args ...string) (result pullResult, code int, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	args = append([]string{"mission", "pull", pulledDraft, directory, "--wallet", "creator", "--url", d.URL, "--json"}, args...)
	code = run(ctx, args, func(string) (string, bool) { return "", false }, &out, &errors)
	d.handling.Wait()
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &result); err != nil {
			t.Fatalf("decode the result: %v: %s", err, out.String())
		}
	}
	return result, code, errors.String()
}

// wantFolder checks that a directory has the accepted files, the manifest in order, and otherwise
// only the named files.
func (d *deliveries) wantFolder(t *testing.T, directory string, others ...string) {
	t.Helper()
	want := append([]string{markerName, manifestName}, others...)
	var lines []string
	for _, id := range d.order {
		file, accepted := d.files[id]
		if !accepted {
			continue
		}
		want = append(want, id+".jpg")
		lines = append(lines, id)
		if got, err := os.ReadFile(filepath.Join(directory, id+".jpg")); err != nil || !bytes.Equal(got, file) {
			t.Errorf("%s: got %d bytes, %v; want the %d bytes of the service", id, len(got), err, len(file))
		}
	}
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("files in the folder: got %v, want %v", got, want)
	}
	manifest, err := os.ReadFile(filepath.Join(directory, manifestName))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(manifest), "http") {
		t.Errorf("manifest: got %s, want no links", manifest)
	}
	var listed []string
	for line := range bytes.Lines(manifest) {
		var entry manifestEntry
		if err := json.Unmarshal(line, &entry); err != nil || entry.File != entry.SubmissionID+".jpg" || entry.SizeBytes != int64(len(d.files[entry.SubmissionID])) {
			t.Errorf("manifest line: got %s, %v; want a file with its name and size", line, err)
		}
		listed = append(listed, entry.SubmissionID)
	}
	if !slices.Equal(listed, lines) {
		t.Errorf("submissions in the manifest: got %v, want %v", listed, lines)
	}
}

func TestPullTransfersEverythingOnce(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, 10, 50_000)
	directory := filepath.Join(t.TempDir(), "new", "folder")
	result, code, stderr := d.pull(t, directory)
	if code != 0 || result.Downloaded != 10 || result.Accepted != 10 || result.TransferredBytes != d.sent || d.sent != 10*50_000+45 {
		t.Errorf("first run: got exit code %d, %+v, %d bytes sent and %q; want 10 downloads", code, result, d.sent, stderr)
	}
	d.wantFolder(t, directory)
	before := d.sent
	result, code, _ = d.pull(t, directory)
	if code != 0 || result.Unchanged != 10 || result.Downloaded != 0 || result.TransferredBytes != 0 || d.sent != before {
		t.Errorf("second run: got exit code %d, %+v and %d bytes sent; want 10 unchanged files", code, result, d.sent-before)
	}
	d.wantFolder(t, directory)
}

func TestPullRepairsTheFolder(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, 4, 1000)
	directory := t.TempDir()
	if err := os.WriteFile(filepath.Join(directory, "notes.txt"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	d.pull(t, directory)
	at := func(id int, suffix string) string { return filepath.Join(directory, d.order[id]+".jpg"+suffix) }
	for _, err := range []error{
		os.WriteFile(at(0, ""), []byte("other bytes"), 0o600), // changed
		os.Remove(at(1, "")),
		os.Rename(at(2, ""), at(2, partSuffix)), // whole, but the program was killed before the rename
		os.Remove(at(3, "")),
		os.WriteFile(at(3, partSuffix), make([]byte, 2000), 0o600), // longer than the file
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	result, code, stderr := d.pull(t, directory)
	if code != 0 || result.Downloaded != 4 || result.Changed != 1 || result.TransferredBytes != 1000+1001+1003 {
		t.Errorf("got exit code %d, %+v and %q; want 4 downloads, 1 changed", code, result, stderr)
	}
	d.wantFolder(t, directory, "notes.txt")
}

func TestPullContinuesAPart(t *testing.T) {
	t.Parallel()
	for _, noRanges := range []bool{false, true} {
		d := newDeliveries(t, 2, 100_000)
		d.noRanges = noRanges
		directory := t.TempDir()
		half := d.files[d.order[1]][:99_000]
		if err := os.WriteFile(filepath.Join(directory, d.order[1]+".jpg.part"), half, 0o600); err != nil {
			t.Fatal(err)
		}
		result, code, stderr := d.pull(t, directory)
		if code != 0 || result.TransferredBytes != 100_000+1001 || !slices.Equal(d.ranges, []string{"bytes=99000-"}) {
			t.Errorf("got exit code %d, %+v, ranges %v and %q; want the rest from byte 99000", code, result, d.ranges, stderr)
		}
		d.wantFolder(t, directory)
	}
}

func TestPullSurvivesLostConnections(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, 3, 100_000)
	cuts := map[string]bool{}
	d.replace = func(d *deliveries, r *http.Request, id string) http.HandlerFunc {
		if cuts[id] {
			return nil
		}
		cuts[id] = true
		return cut(d.files[id], 99_000)
	}
	directory := t.TempDir()
	result, code, stderr := d.pull(t, directory)
	if code != 0 || result.Downloaded != 3 || result.TransferredBytes != 300_003 || len(d.ranges) != 3 {
		t.Errorf("got exit code %d, %+v, ranges %v and %q; want 3 continued downloads", code, result, d.ranges, stderr)
	}
	d.wantFolder(t, directory)
}

// Links that expire before or during a download are renewed once for all files of a page.
func TestPullRenewsLinks(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, 6, 100_000)
	d.replace = func(d *deliveries, r *http.Request, id string) http.HandlerFunc {
		if id == d.order[4] && d.linkAge == 0 { // all links expire in the middle of this one
			d.linkAge++
			return cut(d.files[id], 60_000)
		}
		return nil
	}
	directory := t.TempDir()
	result, code, stderr := d.pull(t, directory, "--parallel", "1")
	if code != 0 || result.Downloaded != 6 || result.TransferredBytes != 600_015 || d.lists != 3 {
		t.Errorf("got exit code %d, %+v, %d lists and %q; want 6 downloads and 3 lists", code, result, d.lists, stderr)
	}
	d.wantFolder(t, directory)
}

func TestPullMovesRevokedFiles(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, 5, 1000)
	directory := t.TempDir()
	d.pull(t, directory)
	revoked, kept := d.order[1], d.files[d.order[1]]
	delete(d.files, revoked)
	result, code, stderr := d.pull(t, directory)
	if code != 0 || !slices.Equal(result.Revoked, []string{revoked}) || result.Unchanged != 4 {
		t.Errorf("got exit code %d, %+v and %q; want %s revoked and 4 unchanged files", code, result, stderr, revoked)
	}
	d.wantFolder(t, directory, revokedName)
	if _, err := os.Stat(filepath.Join(directory, revokedName, revoked+".jpg")); err != nil {
		t.Error(err)
	}
	if result, _, _ = d.pull(t, directory); len(result.Revoked) != 0 {
		t.Errorf("next run: got %+v, want nothing revoked", result)
	}
	d.files[revoked] = kept // accepted again
	if result, code, _ = d.pull(t, directory); code != 0 || result.Unchanged != 5 || result.TransferredBytes != 0 {
		t.Errorf("accepted again: got exit code %d and %+v, want 5 unchanged files", code, result)
	}
	d.wantFolder(t, directory, revokedName)
}

// A submission that is revoked during its download is not a failure, and leaves no part.
func TestPullDropsAFileRevokedDuringItsDownload(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, 3, 100_000)
	d.replace = func(d *deliveries, r *http.Request, id string) http.HandlerFunc {
		if id != d.order[1] || r.Header.Get("Range") != "" {
			return nil
		}
		file := d.files[id]
		delete(d.files, id)
		return cut(file, 60_000)
	}
	directory := t.TempDir()
	result, code, stderr := d.pull(t, directory)
	if code != 0 || result.Downloaded != 2 || len(result.Failed) != 0 {
		t.Errorf("got exit code %d, %+v and %q; want 2 downloads and no failure", code, result, stderr)
	}
	d.wantFolder(t, directory)
}

func TestPullRefusesWrongFiles(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(*deliveries){
		"other bytes":  func(d *deliveries) { d.hashes[d.order[1]] = "sha256:" + strings.Repeat("ab", 32) },
		"unknown hash": func(d *deliveries) { d.hashes[d.order[1]] = "md5:ab" },
		"a path as id": func(d *deliveries) { d.idInLists[d.order[1]] = "../../sub_00000000000000000000000001" },
		"listed, but not sent": func(d *deliveries) {
			d.replace = func(d *deliveries, r *http.Request, id string) http.HandlerFunc {
				if id != d.order[1] {
					return nil
				}
				return func(w http.ResponseWriter, _ *http.Request) { refuse(w, sortie.CodeNotFound) }
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeliveries(t, 3, 1000)
			damage(d)
			directory := filepath.Join(t.TempDir(), "a", "b")
			result, code, stderr := d.pull(t, directory)
			if code != int(ExitFailure) || result.Downloaded != 2 || len(result.Failed) != 1 || !strings.Contains(stderr, "1 file could not be downloaded") {
				t.Errorf("got exit code %d, %+v and %q; want %d, 2 downloads and 1 failure", code, result, stderr, ExitFailure)
			}
			_ = os.Remove(filepath.Join(directory, d.order[1]+".jpg.part")) // for the next run
			delete(d.files, d.order[1])
			d.wantFolder(t, directory)
		})
	}
}

func TestPullFailsWithoutTheService(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, 3, 1000)
	directory := t.TempDir()
	d.pull(t, directory)
	d.Close()
	if _, code, stderr := d.pull(t, directory); code != int(ExitServer) || !strings.Contains(stderr, "cannot be reached") {
		t.Errorf("got exit code %d and %q, want %d", code, stderr, ExitServer)
	}
	d.wantFolder(t, directory)
}

func TestPullCanBeInterrupted(t *testing.T) {
	t.Parallel()
	d := newDeliveries(t, 2, 100_000)
	ctx, interrupt := context.WithCancel(t.Context())
	d.replace = func(d *deliveries, r *http.Request, id string) http.HandlerFunc {
		if id != d.order[1] {
			return nil
		}
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", strconv.Itoa(len(d.files[id])))
			_, _ = w.Write(d.files[id][:50_000])
			_ = http.NewResponseController(w).Flush()
			interrupt()
			<-r.Context().Done()
		}
	}
	directory := t.TempDir()
	_, code, stderr := d.pullUntil(t, ctx, directory, "--parallel", "1")
	if code != int(ExitInterrupted) || !strings.Contains(stderr, "1 file and parts of others are kept") {
		t.Errorf("got exit code %d and %q, want %d and what is kept", code, stderr, ExitInterrupted)
	}
	d.replace = nil
	if result, code, stderr := d.pull(t, directory); code != 0 || result.Unchanged != 1 || result.Downloaded != 1 {
		t.Errorf("next run: got exit code %d, %+v and %q; want 1 unchanged and 1 downloaded file", code, result, stderr)
	}
	d.wantFolder(t, directory)
}
