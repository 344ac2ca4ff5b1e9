package e2e

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/pgtest"
	"github.com/sortie-labs/sortie/internal/porttest"
)

// The S3 server, which the tests of package media use too. It is built once, into the user's cache.
const (
	versitygw        = "github.com/versity/versitygw/cmd/versitygw"
	versitygwVersion = "v1.8.0"
	s3AccessKey      = "sortie-test"
	s3SecretKey      = "sortie-test-secret"
	s3Bucket         = "media"
)

// bucket is a bucket on an S3 server that can be killed and restarted with its content. Services
// reach it through a proxy that counts bytes.
type bucket struct {
	t       *testing.T
	program string
	args    []string
	server  *process
	address string // of the server
	way     net.Listener

	killAfter atomic.Int64 // the server is killed after this many bytes; 0: never
}

func startBucket(t *testing.T) *bucket {
	t.Helper()
	b := &bucket{t: t, program: s3Program(t), address: porttest.Reserve(t)}
	data, sidecar := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(data, s3Bucket), 0o700); err != nil { // a directory is a bucket
		t.Fatal(err)
	}
	b.args = []string{"--port", b.address, "--quiet", "posix", "--sidecar", sidecar, data}
	b.start()
	var err error
	if b.way, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.way.Close() })
	go b.accept()
	return b
}

func s3Program(t *testing.T) string {
	t.Helper()
	skipShort(t)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	directory := filepath.Join(cache, "sortie-test", "versitygw-"+versitygwVersion)
	program := filepath.Join(directory, "versitygw")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	build := exec.CommandContext(t.Context(), "go", "install", versitygw+"@"+versitygwVersion)
	build.Env = append(os.Environ(), "GOBIN="+directory)
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the S3 server: %v: %s", err, output)
	}
	return program
}

// start starts the server, and waits until it listens.
func (b *bucket) start() {
	b.t.Helper()
	b.server = spawn(b.t, []string{"ROOT_ACCESS_KEY=" + s3AccessKey, "ROOT_SECRET_KEY=" + s3SecretKey}, b.program, b.args...)
	b.server.await(b.t, "S3 server", func() bool {
		connection, err := net.Dial("tcp", b.address)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
}

func (b *bucket) accept() {
	for {
		client, err := b.way.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", b.address)
		if err != nil {
			_ = client.Close()
			continue
		}
		go b.pass(client, server)
		go func() {
			_, _ = io.Copy(client, server)
			_ = client.Close()
		}()
	}
}

// pass copies bytes to the server while it runs.
func (b *bucket) pass(client, server net.Conn) {
	defer client.Close()
	defer server.Close()
	buffer := make([]byte, 16<<10)
	for {
		n, err := client.Read(buffer)
		if _, writeErr := server.Write(buffer[:n]); err != nil || writeErr != nil {
			return
		}
		if b.killAfter.Load() > 0 && b.killAfter.Add(-int64(n)) <= 0 {
			b.server.kill()
			return
		}
	}
}

// environment configures a process to store files in the bucket.
func (b *bucket) environment() []string {
	return []string{
		"SORTIE_MEDIA=s3://" + s3Bucket + "?region=us-east-1&use_path_style=true&endpoint=" + url.QueryEscape("http://"+b.way.Addr().String()),
		"SORTIE_UPLOADS=" + b.t.TempDir(),
		"AWS_ACCESS_KEY_ID=" + s3AccessKey, "AWS_SECRET_ACCESS_KEY=" + s3SecretKey, "AWS_EC2_METADATA_DISABLED=true",
	}
}

// One process answers requests and another does the rest, on PostgreSQL and S3, and an operator
// decides. The S3 server dies during an upload, and again during a download: both fail with an
// error, nothing is lost, and both succeed when it is back.
func TestTwoProcessesWithAFailingBucket(t *testing.T) {
	t.Parallel()
	chain, database, bucket := startAnvil(t), pgtest.Database(t), startBucket(t)
	start := func(roles string) *following {
		environment := append(chain.serviceEnvironment(database, "8"), "SORTIE_ROLES="+roles, "SORTIE_VERIFICATION=curate", "SORTIE_ACCEPTANCE_HOLD=0s")
		return follow(t, chain, append(environment, bucket.environment()...))
	}
	front := start("api")
	start("worker,chain")
	mission := front.publish(photoMission(2))

	s := front.declare("contributor1", mission, largePhoto(1, 2<<20))
	bucket.killAfter.Store(1 << 20)
	if _, err := front.resume(s); !isCode(err, sortie.CodeServiceUnavailable) {
		t.Fatalf("upload while the bucket dies: got %v, want an error", err)
	}
	front.service.await(t, "end of the S3 server", func() bool {
		select {
		case <-bucket.server.ended:
			return true
		default:
			return false
		}
	})
	if _, err := front.resume(s); !isCode(err, sortie.CodeServiceUnavailable) {
		t.Errorf("upload while the bucket is down: got %v, want service_unavailable", err)
	}
	if h := front.health(); h.Parts["media"] != "unavailable" || h.code != http.StatusOK {
		t.Errorf("health while the bucket is down: got %+v", h)
	}
	front.awaitStatus(s, sortie.SubmissionPending)

	bucket.start()
	if from, err := front.resume(s); err != nil || from != int64(len(s.data)) {
		t.Fatalf("resumed at byte %d of %d: %v", from, len(s.data), err)
	}
	front.awaitStatus(s, sortie.SubmissionFlagged)
	if found := front.delivered(mission); len(found) != 0 {
		t.Errorf("deliverables before a decision: got %v, want none", found)
	}
	accepted := front.acceptNext(mission)
	if accepted != s.id {
		t.Errorf("first submission in the operator's queue: got %s, want %s", accepted, s.id)
	}
	delivered := front.checkDelivered(mission, s, sortie.SubmissionCurationAccepted)
	front.service.await(t, "receipt", func() bool { return front.own(s).Receipt != nil })

	bucket.server.kill()
	for _, link := range []string{delivered.MediaURL, *delivered.ThumbnailURL} {
		if _, err := front.fetch(link); !isCode(err, sortie.CodeServiceUnavailable) {
			t.Errorf("link while the bucket is down: got %v, want an error", err)
		}
	}
	bucket.start()
	front.checkDelivered(mission, s, sortie.SubmissionCurationAccepted)
	front.service.await(t, "good health", func() bool { return front.health().Status == "ok" })
}

// The S3 server stalls during an upload: the contributor gets an error before the client's timeout,
// and the file is stored when the server continues.
func TestStalledBucket(t *testing.T) {
	t.Parallel()
	chain, bucket := startAnvil(t), startBucket(t)
	f := follow(t, chain, append(chain.keepingFiles(sqliteIn(t), ""), bucket.environment()...))
	mission := f.publish(photoMission(1))
	s := f.declare("contributor1", mission, photo(1))
	bucket.signal(syscall.SIGSTOP)
	started := time.Now()
	if err := f.upload(s); !isCode(err, sortie.CodeServiceUnavailable) {
		t.Fatalf("upload into a stalled bucket: got %v, want an error", err)
	}
	if took := time.Since(started); took > patience {
		t.Errorf("upload into a stalled bucket failed after %s, want less", took)
	}
	if h := f.health(); h.Parts["media"] != "unavailable" || h.code != http.StatusOK {
		t.Errorf("health with a stalled bucket: got %+v", h)
	}
	f.awaitStatus(s, sortie.SubmissionPending)
	bucket.signal(syscall.SIGCONT)
	if from, err := f.resume(s); err != nil || from != int64(len(s.data)) {
		t.Fatalf("resumed at byte %d of %d: %v", from, len(s.data), err)
	}
	f.awaitStatus(s, sortie.SubmissionAccepted)
	f.checkDelivered(mission, s, sortie.SubmissionAccepted)
}

func (b *bucket) signal(signal syscall.Signal) {
	b.t.Helper()
	if err := b.server.command.Process.Signal(signal); err != nil {
		b.t.Fatal(err)
	}
}

// acceptNext accepts the first submission of the operator's queue, after fetching its media.
func (f *following) acceptNext(d drafted) (id string) {
	f.t.Helper()
	queue, err := f.operator.Submissions(f.ctx, sortie.QueueQuery{MissionID: d.missionID, Status: sortie.SubmissionFlagged})
	if err != nil || len(queue.Submissions) == 0 {
		f.t.Fatalf("the queue of %s has %d submissions: %v", d.missionID, len(queue.Submissions), err)
	}
	next := queue.Submissions[0]
	for _, link := range []*string{next.MediaURL, next.ThumbnailURL} {
		if link == nil {
			f.t.Fatalf("submission without media links: %+v", next)
		}
		if _, err := f.fetch(*link); err != nil {
			f.t.Errorf("fetch the media of %s: %v", next.SubmissionID, err)
		}
	}
	if _, err := f.operator.AcceptSubmission(f.ctx, next.SubmissionID, "A photo of something."); err != nil {
		f.t.Fatalf("accept %s: %v", next.SubmissionID, err)
	}
	return next.SubmissionID
}

// A start without its bucket logs the host and the cause.
func TestUnreachableBucketIsLoggedWithHostAndCause(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // connections wait in its queue
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	chain := startAnvil(t)
	for name, c := range map[string]struct{ address, cause string }{
		"refused": {porttest.Reserve(t), "connection refused"}, "silent": {silent.Addr().String(), "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := startServe(t, append(chain.serviceEnvironment(sqliteIn(t), "8"),
				"SORTIE_MEDIA=s3://"+s3Bucket+"?region=us-east-1&use_path_style=true&endpoint="+url.QueryEscape("http://user:password@"+c.address),
				"SORTIE_UPLOADS="+t.TempDir(), "AWS_ACCESS_KEY_ID="+s3AccessKey, "AWS_SECRET_ACCESS_KEY="+s3SecretKey, "AWS_EC2_METADATA_DISABLED=true")...)
			service.kill()
			i := strings.Index(service.output.String(), "the media store cannot be reached")
			if i < 0 {
				t.Fatalf("the log does not report the unavailable store: %s", service.output.String())
			}
			line, _, _ := strings.Cut(service.output.String()[i:], "\n")
			if !strings.Contains(line, c.address) || !strings.Contains(line, c.cause) {
				t.Errorf("got %q, want the host %s and the cause %q in it", line, c.address, c.cause)
			}
			if strings.Contains(service.output.String(), "password") {
				t.Errorf("the log holds a password: %s", service.output.String())
			}
		})
	}
}
