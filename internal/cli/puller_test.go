package cli

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A submission that is revoked and accepted again during a run is listed twice. It is downloaded,
// listed in the manifest and counted once.
func TestPullDownloadsASubmissionAcceptedAgainOnce(t *testing.T) {
	t.Parallel()
	for name, revoked := range map[string]bool{"its link keeps working": false, "its link stops working": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDeliveries(t, 7, 200_000)
			again, last := d.order[1], "sub_"+strings.Repeat("9", 26) // the fake service lists by its own ids
			file, lastPage := d.files[again], d.order[5]
			begun, listed := make(chan struct{}), make(chan struct{})
			begin := sync.OnceFunc(func() { close(begun) })
			accept := sync.OnceFunc(func() {
				d.mu.Lock()
				defer d.mu.Unlock()
				delete(d.files, again)
				d.order, d.files[last], d.idInLists[last] = append(d.order, last), file, again
				close(listed)
			})
			d.replace = func(_ *deliveries, r *http.Request, id string) http.HandlerFunc {
				if id != again || r.Header.Get("Range") != "" {
					return nil
				}
				return func(w http.ResponseWriter, r *http.Request) {
					w.Header().Set("Content-Length", strconv.Itoa(len(file)))
					_, _ = w.Write(file[:100_000])
					_ = http.NewResponseController(w).Flush()
					begin()
					<-listed
					if revoked {
						panic(http.ErrAbortHandler)
					}
					_, _ = w.Write(file[100_000:])
				}
			}
			next := d.Config.Handler
			d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Query().Get("cursor") == lastPage {
					<-begun
					accept()
				}
				next.ServeHTTP(w, r)
			})
			directory := t.TempDir()
			result, code, stderr := d.pull(t, directory)
			want := int64(7*200_000 + 21)
			if revoked {
				want += 100_000 // the part is discarded with the acceptance
			}
			if code != 0 || result.Accepted != 7 || result.Downloaded != 7 || result.Unchanged != 0 || len(result.Revoked)+len(result.Failed) != 0 || result.TransferredBytes != want {
				t.Errorf("got exit code %d, %+v and %q; want 0, 7 downloads and %d bytes", code, result, stderr, want)
			}
			delete(d.files, last)
			d.order, d.files[again] = append(slices.Delete(d.order, 1, 2), again), file
			d.wantFolder(t, directory)
		})
	}
}
