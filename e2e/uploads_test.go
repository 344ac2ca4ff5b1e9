package e2e

import (
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/sortie-labs/sortie"
)

// keepingFiles is the environment of a service that stores files in a directory and accepts what
// passes the checks, without a hold.
func (a *anvil) keepingFiles(database, directory string) []string {
	return append(a.serviceEnvironment(database, strconv.Itoa(testFinality)),
		"SORTIE_MEDIA=file:"+directory, "SORTIE_VERIFICATION=auto", "SORTIE_ACCEPTANCE_HOLD=0s")
}

// patch sends the beginning of a file and leaves the connection open.
func (s submission) patch(t *testing.T, bytes int) {
	t.Helper()
	link, err := url.Parse(s.links.TusURL)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("tcp", link.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	_, err = fmt.Fprintf(connection, "PATCH %s HTTP/1.1\r\nHost: %s\r\nTus-Resumable: 1.0.0\r\nUpload-Offset: 0\r\n"+
		"Content-Type: application/offset+octet-stream\r\nContent-Length: %d\r\n\r\n%s", link.RequestURI(), link.Host, len(s.data), s.data[:bytes])
	if err != nil {
		t.Fatal(err)
	}
}

// received is the size of the largest unfinished upload in the directory.
func received(directory string) (largest int64) {
	_ = filepath.WalkDir(filepath.Join(directory, "uploads"), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			if info, err := entry.Info(); err == nil {
				largest = max(largest, info.Size())
			}
		}
		return nil // a file that was removed does not matter
	})
	return largest
}

// A connection hangs after 99 % of a file; the service is killed after 99 % of another, and again
// when it has all of a third but has not answered. Every upload resumes.
func TestUploadResumes(t *testing.T) {
	t.Parallel()
	chain, directory := startAnvil(t), t.TempDir()
	f := follow(t, chain, chain.keepingFiles(sqliteIn(t), directory))
	mission := f.publish(photoMission(3))

	for role, kill := range map[string]bool{"contributor1": false, "contributor3": true} {
		before := len(f.delivered(mission))
		cut := f.declare(role, mission, largePhoto(10+before, 4<<20))
		most := len(cut.data) * 99 / 100
		cut.patch(t, most)
		f.service.await(t, "99 % of the file", func() bool { return received(directory) >= int64(most) })
		if kill {
			f.restart()
		}
		if status, delivered := f.own(cut).Status, len(f.delivered(mission)); status != sortie.SubmissionPending || delivered != before {
			t.Errorf("a file of which a part is there is %s, and %d are delivered", status, delivered)
		}
		if from, err := f.resume(cut); err != nil || from != int64(most) {
			t.Fatalf("went on at byte %d of %d, after %d had come: %v", from, len(cut.data), most, err)
		}
		f.awaitStatus(cut, sortie.SubmissionAccepted)
		f.checkDelivered(mission, cut, sortie.SubmissionAccepted)
	}

	whole := f.declare("contributor2", mission, largePhoto(2, 4<<20))
	whole.patch(t, len(whole.data))
	f.service.await(t, "most of the file", func() bool {
		return received(directory) >= int64(len(whole.data)/2) || f.own(whole).Status != sortie.SubmissionPending
	})
	f.restart()
	if _, err := f.resume(whole); err != nil {
		t.Fatal(err)
	}
	f.awaitStatus(whole, sortie.SubmissionAccepted)
	f.checkDelivered(mission, whole, sortie.SubmissionAccepted)
	if left := received(directory); left != 0 {
		t.Errorf("an upload of %d bytes was not removed", left)
	}
}

// onSmallDisk starts sortie with a small disk mounted on the directory, in its own mount namespace.
// inside is the directory's path for other processes.
func onSmallDisk(t *testing.T, environment []string, directory, size string) (p *process, inside string) {
	t.Helper()
	if output, err := exec.Command("unshare", "--user", "--map-root-user", "--mount", "mount", "-t", "tmpfs", "tmpfs", t.TempDir()).CombinedOutput(); err != nil {
		t.Skipf("this machine lets us mount no disk of our own: %v: %s", err, output)
	}
	const mountAndRun = `mount -t tmpfs -o "size=$1" tmpfs "$0" && shift && exec "$@"`
	p = spawn(t, environment, "unshare", "--user", "--map-root-user", "--mount",
		"sh", "-c", mountAndRun, directory, size, filepath.Join(binaries, "sortie"), "serve")
	return p, filepath.Join("/proc", strconv.Itoa(p.command.Process.Pid), "root", directory)
}

// The disk is full during an upload. The contributor gets an error, everything else continues, and
// the slot can be given to another contributor. When there is room again, the upload resumes.
func TestFullDiskWhileUploading(t *testing.T) {
	t.Parallel()
	chain, directory := startAnvil(t), t.TempDir()
	f := &following{t: t, ctx: t.Context(), chain: chain, environment: chain.keepingFiles(sqliteIn(t), directory)}
	p, inside := onSmallDisk(t, f.environment, directory, "8m")
	f.service = &server{p, launchedURL(t, f.environment)}
	f.service.awaitReady(t)
	f.creator, f.operator = f.client("creator"), f.client("operator")
	mission, other := f.publish(photoMission(2)), f.publish(photoMission(1))

	waiting, leaving := f.declare("contributor1", mission, largePhoto(1, 2<<20)), f.declare("contributor2", mission, largePhoto(2, 2<<20))
	ballast := filepath.Join(inside, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 7<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := f.tryToDeclare(f.client("contributor3"), other, largePhoto(3, 2<<20)); !isCode(err, sortie.CodeServiceUnavailable) {
		t.Errorf("a reservation for which the disk has no room: got %v, want %s", err, sortie.CodeServiceUnavailable)
	}
	for _, s := range []submission{waiting, leaving} {
		if _, err := f.resume(s); !isCode(err, sortie.CodeServiceUnavailable) {
			t.Fatalf("an upload that does not fit: %v", err)
		}
		if status := f.own(s).Status; status != sortie.SubmissionPending {
			t.Errorf("an upload that did not fit is %s", status)
		}
	}
	if h := f.health(); h.Parts["media"] != "unavailable" || h.Status != "degraded" || h.code != http.StatusOK {
		t.Errorf("with a full disk the service is %+v", h)
	}
	f.draft() // needs no room on that disk
	if _, err := leaving.contributor.Withdraw(f.ctx, leaving.id); err != nil {
		t.Fatalf("withdraw from a full disk: %v", err)
	}

	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	small := f.submit("contributor3", mission, photo(3)) // into the slot that became free
	from, err := f.resume(waiting)
	if err != nil || from <= 0 || from >= int64(len(waiting.data)) {
		t.Errorf("went on at byte %d of %d: %v", from, len(waiting.data), err)
	}
	for _, s := range []submission{small, waiting} {
		f.awaitStatus(s, sortie.SubmissionAccepted)
		f.checkDelivered(mission, s, sortie.SubmissionAccepted)
	}
	f.service.await(t, "good health", func() bool { return f.health().Status == "ok" })
}
