package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sortie-labs/sortie"
)

// following is a service that follows a chain, with clients for its creator and operator.
type following struct {
	t           *testing.T
	ctx         context.Context
	chain       *anvil
	environment []string
	service     *server // keeps its URL after a restart
	creator     *sortie.Client
	operator    *sortie.Client
	http        *http.Client // of all clients; nil: each has its own
}

var drafts atomic.Int64 // over all tests, so that idempotency keys differ

// follow starts a service on the chain, with a creator and an operator.
func follow(t *testing.T, chain *anvil, environment []string) *following {
	t.Helper()
	f := &following{t: t, ctx: t.Context(), chain: chain, environment: environment, service: startServe(t, environment...)}
	f.creator = f.client("creator")
	f.operator = f.client("operator")
	return f
}

func sqliteIn(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "sortie.db")
}

// client is the SDK client of a role. It does not retry, so that tests see when the service is
// down.
func (f *following) client(role string) *sortie.Client {
	f.t.Helper()
	key, err := sortie.ParseKey(f.chain.key(f.t, role))
	if err != nil {
		f.t.Fatal(err)
	}
	options := []sortie.ClientOption{sortie.WithAttempts(1)}
	if f.http != nil {
		options = append(options, sortie.WithHTTPClient(f.http))
	}
	client, err := sortie.NewClient(f.service.url, key, options...)
	if err != nil {
		f.t.Fatal(err)
	}
	return client
}

// restart stops the service if it runs, starts it again and waits until it is ready.
func (f *following) restart() {
	f.t.Helper()
	f.service.kill()
	f.service = startServe(f.t, f.environment...)
}

// stop ends the service with SIGTERM.
func (f *following) stop() {
	f.t.Helper()
	if err := f.service.command.Process.Signal(syscall.SIGTERM); err != nil {
		f.t.Fatal(err)
	}
	f.service.awaitStopped(f.t)
}

// drafted is a mission with the quote that funds it.
type drafted struct {
	draftID, missionID, creator string
	quote                       sortie.Quote
}

func (f *following) draft() drafted {
	f.t.Helper()
	title := fmt.Sprintf("Mission %d", drafts.Add(1))
	created, err := f.creator.CreateDraft(f.ctx, titled(title), title)
	if err != nil {
		f.t.Fatalf("create a draft: %v", err)
	}
	return drafted{created.DraftID, created.MissionID, "creator", created.FundingQuote}
}

// funded is a draft whose funding is in the newest block.
func (f *following) funded() drafted {
	f.t.Helper()
	d := f.draft()
	f.chain.fund(d.creator, d.quote)
	f.chain.mine(1)
	return d
}

// view is the state of a draft in the API.
type view struct {
	funding   sortie.FundingStatus
	review    sortie.ReviewStatus
	published bool
	next      sortie.NextAction
}

// The states of a draft.
var (
	viewQuoted           = view{sortie.FundingPending, sortie.ReviewDraft, false, sortie.ActionSendTransaction}
	viewSeen             = view{sortie.FundingPending, sortie.ReviewDraft, false, sortie.ActionWaitForConfirmation}
	viewInReview         = view{sortie.FundingFunded, sortie.ReviewInReview, false, sortie.ActionWaitForReview}
	viewApproved         = view{sortie.FundingFunded, sortie.ReviewApproved, false, sortie.ActionWaitForPublication}
	viewPublished        = view{sortie.FundingFunded, sortie.ReviewApproved, true, sortie.ActionFetchDeliverables}
	viewRejectedUnfunded = view{sortie.FundingPending, sortie.ReviewRejected, false, sortie.ActionNone}
	viewRejectedFunded   = view{sortie.FundingFunded, sortie.ReviewRejected, false, sortie.ActionWaitForRefund}
	viewRefunded         = view{sortie.FundingRefunded, sortie.ReviewRejected, false, sortie.ActionNone}
)

func (f *following) view(d drafted) view {
	f.t.Helper()
	status, err := f.creator.Mission(f.ctx, d.draftID)
	if err != nil {
		f.t.Fatalf("read %s: %v", d.draftID, err)
	}
	return view{status.FundingStatus, status.ReviewStatus, status.Published, status.NextAction}
}

// awaitView waits until a draft has the state.
func (f *following) awaitView(d drafted, want view) {
	f.t.Helper()
	var last view
	f.service.await(f.t, fmt.Sprintf("change of %s to %v", d.missionID, want), func() bool {
		if f.t.Failed() {
			f.t.FailNow()
		}
		now := f.view(d)
		if now != last {
			f.t.Logf("%s: %v", d.missionID, now)
			last = now
		}
		return now == want
	})
}

// awaitTip waits until the service has followed the chain to its current head.
func (f *following) awaitTip() {
	f.t.Helper()
	head := f.chain.head().Hash
	f.service.await(f.t, "look at the newest block "+head.String(), func() bool {
		overview := f.overview()
		return overview.Position != nil && overview.Position.TipHash == head
	})
}

func (f *following) overview() sortie.ChainOverview {
	f.t.Helper()
	overview, err := f.operator.Chain(f.ctx)
	if err != nil {
		f.t.Fatalf("read what the service knows about the chain: %v", err)
	}
	return overview
}

func (f *following) approve(d drafted) {
	f.t.Helper()
	if _, err := f.operator.Approve(f.ctx, d.draftID, ""); err != nil {
		f.t.Fatalf("approve %s: %v", d.missionID, err)
	}
}

func (f *following) reject(d drafted) {
	f.t.Helper()
	if _, err := f.operator.Reject(f.ctx, d.draftID, "That must not be photographed."); err != nil {
		f.t.Fatalf("reject %s: %v", d.missionID, err)
	}
}

// clear clears all incidents as an operator.
func (f *following) clear() {
	f.t.Helper()
	for _, incident := range f.overview().Incidents {
		if _, err := f.operator.ClearIncident(f.ctx, incident.ID, "I looked."); err != nil {
			f.t.Fatalf("clear %s: %v", incident.Kind, err)
		}
	}
}

// checkEvents checks the creator's events: an event of a draft repeats only after the chain
// reverted it, and only earlier events are reverted.
func (f *following) checkEvents() {
	f.t.Helper()
	happened := make(map[string]map[sortie.EventType]bool)
	for event, err := range f.creator.AllEvents(f.ctx, sortie.PageQuery{}) {
		if err != nil {
			f.t.Fatal(err)
		}
		of := happened[event.DraftID]
		if of == nil {
			of = make(map[sortie.EventType]bool)
			happened[event.DraftID] = of
		}
		switch event.Type {
		case sortie.EventFundingReverted:
			if !of[sortie.EventFundingDetected] {
				f.t.Errorf("%s: the funding was taken back without having been there", event.MissionID)
			}
			for _, undone := range []sortie.EventType{
				sortie.EventFundingDetected, sortie.EventFundingConfirmed, sortie.EventFundingLocked, sortie.EventRefundConfirmed,
			} {
				delete(of, undone)
			}
		case sortie.EventRefundReverted:
			if !of[sortie.EventRefundConfirmed] {
				f.t.Errorf("%s: the refund was taken back without having been there", event.MissionID)
			}
			delete(of, sortie.EventRefundConfirmed)
		default:
			if of[event.Type] {
				f.t.Errorf("%s: %s happened twice", event.MissionID, event.Type)
			}
			of[event.Type] = true
		}
	}
}

// health is the answer of /healthz.
type health struct {
	code   int
	Status string
	Parts  map[string]string
}

func (f *following) health() (h health) {
	f.t.Helper()
	response, err := http.Get(f.service.url + "/healthz")
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&h); err != nil {
		f.t.Fatal(err)
	}
	h.code = response.StatusCode
	return h
}

// metric is the sum of a metric over all its labels that contain the given text.
func (f *following) metric(name, label string) (sum float64) {
	f.t.Helper()
	response, err := http.Get(f.service.url + "/metrics")
	if err != nil {
		f.t.Fatal(err)
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		series, value, _ := strings.Cut(lines.Text(), " ")
		if found, labels, _ := strings.Cut(series, "{"); found != name || !strings.Contains(labels, label) {
			continue
		}
		number, err := strconv.ParseFloat(value, 64)
		if err != nil {
			f.t.Fatalf("metric %s: %v", name, err)
		}
		sum += number
	}
	return sum
}
