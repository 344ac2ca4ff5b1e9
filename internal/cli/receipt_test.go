package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sortie-labs/sortie"
)

// The message about a missing receipt depends on the state of the submission.
func TestAMissingReceiptIsExplained(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status sortie.SubmissionStatus
		payout sortie.PayoutStatus
		want   string
	}{
		"pending":           {sortie.SubmissionPending, sortie.PayoutNone, "is not decided yet"},
		"flagged":           {sortie.SubmissionFlagged, sortie.PayoutNone, "waits for an operator's decision"},
		"on hold":           {sortie.SubmissionAccepted, sortie.PayoutNone, "when the acceptance is final, after the hold of the service"},
		"curation accepted": {sortie.SubmissionCurationAccepted, sortie.PayoutNone, "when the acceptance is final, after the hold of the service"},
		"final, not signed": {sortie.SubmissionAccepted, sortie.PayoutQueued, "run this again in a few seconds"},
		"rejected":          {sortie.SubmissionRejected, sortie.PayoutNone, "is rejected, so there will be no receipt: too far away"},
		"withdrawn":         {sortie.SubmissionWithdrawn, sortie.PayoutNone, "is withdrawn, so there will be no receipt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := fetchReceipt(t, sortie.Submission{
				SubmissionID: "sub_1", Status: test.status, Reason: "too far\naway", Payout: sortie.Payout{Status: test.payout},
			})
			if code != ExitConflict || stdout != "" || !strings.Contains(stderr, test.want) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("got exit code %d, output %q, error %q; want %d and one line with %q", code, stdout, stderr, ExitConflict, test.want)
			}
		})
	}
}

// A receipt is printed or replaces a file. Fields that an earlier release of the service has only
// in the submission are added.
func TestAReceiptIsWrittenComplete(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "receipt.json")
	if err := os.WriteFile(path, []byte("an earlier one"), 0o600); err != nil {
		t.Fatal(err)
	}
	submission := sortie.Submission{
		SubmissionID: "sub_1", MissionID: "m-1", Payout: sortie.Payout{Token: sortie.TokenUSDC, AmountBaseUnits: "7"},
		Receipt: &sortie.Receipt{Signature: sortie.Bytes{1}},
	}
	code, stdout, stderr := fetchReceipt(t, submission)
	if code != ExitOK || stderr != "" {
		t.Fatalf("got exit code %d, error %q; want 0", code, stderr)
	}
	if code, printed, stderr := fetchReceipt(t, submission, "--out", path); code != ExitOK || !strings.Contains(printed, "redeem "+path) {
		t.Fatalf("got exit code %d, output %q, error %q; want 0 and the next command", code, printed, stderr)
	}
	if written := readText(t, path); written != stdout {
		t.Errorf("got %q in the file, want %q", written, stdout)
	}
	var receipt sortie.Receipt
	if err := json.Unmarshal([]byte(stdout), &receipt); err != nil || receipt.MissionID != "m-1" || receipt.SubmissionID != "sub_1" ||
		receipt.Token != sortie.TokenUSDC || receipt.AmountBaseUnits != "7" {
		t.Errorf("got %q, %v; want the mission, the submission, the token and the amount", stdout, err)
	}
	folder := t.TempDir()
	if code, _, stderr := fetchReceipt(t, submission, "--out", folder); code != ExitFailure || !strings.Contains(stderr, "not a regular file") {
		t.Errorf("into a folder: got exit code %d, error %q; want %d", code, stderr, ExitFailure)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) != 0 {
		t.Errorf("got %v, %v in the folder, want nothing", left, err)
	}
}

// fetchReceipt runs the command against a service with one submission.
func fetchReceipt(t *testing.T, submission sortie.Submission, args ...string) (code ExitCode, stdout, stderr string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(sortie.SubmissionDetail{OK: true, Submission: submission})
	}))
	defer server.Close()
	var out, errors bytes.Buffer
	nothing := func(string) (string, bool) { return "", false }
	code = ExitCode(run(t.Context(), append([]string{"submissions", "receipt", "sub_1", "--wallet", "contributor1", "--url", server.URL}, args...), nothing, &out, &errors))
	return code, out.String(), errors.String()
}
