package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newSubmissionsReceiptCmd(client *clientOptions) *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "receipt ID",
		Short: "Write the receipt of a submission of yours as JSON, for sortie redeem",
		Long: `Writes the signed receipt of an accepted submission of yours. With it the contract pays you even when the service is gone:
keep it, and have it paid with sortie redeem. A receipt is no secret: it pays only the wallet that it names.

There is no receipt before the acceptance is final. After a change of the settler's key the service signs receipts again: fetch
yours again before you redeem it.`,
		Example: `  sortie submissions receipt ID --keystore wallet.json --out receipt.json`,
		Args:    oneArg("the submission id"),
		RunE:    func(cmd *cobra.Command, args []string) error { return runReceipt(cmd, client, args[0], out) },
	}
	cmd.Flags().StringVarP(&out, "out", "o", "", "write to this file (default standard output)")
	return cmd
}

func runReceipt(cmd *cobra.Command, client *clientOptions, id, out string) error {
	api, err := client.open(cmd.Context())
	if err != nil {
		return err
	}
	submission, err := api.MySubmission(cmd.Context(), id)
	if err != nil {
		return client.requestError(err)
	}
	if submission.Receipt == nil {
		return missingReceiptError(submission)
	}
	receipt := completeReceipt(submission)
	if out == "" || out == "-" {
		return PrintJSON(cmd.OutOrStdout(), receipt)
	}
	if err := writeReceipt(out, receipt); err != nil {
		return Failed(ExitFailure, fmt.Errorf("--out %s: %w", clean(out), err))
	}
	return show(cmd, receipt, func(w io.Writer) {
		fmt.Fprintf(w, "Wrote %s.\nNext: %s redeem %s --rpc URL --key KEY\n", clean(out), programName(), clean(out))
	})
}

// completeReceipt adds the fields that an earlier release of the service has only in the
// submission.
func completeReceipt(submission sortie.Submission) sortie.Receipt {
	receipt := *submission.Receipt
	if receipt.MissionID == "" {
		receipt.MissionID = submission.MissionID
	}
	if receipt.SubmissionID == "" {
		receipt.SubmissionID = submission.SubmissionID
	}
	if receipt.Token == "" {
		receipt.Token, receipt.AmountBaseUnits = submission.Payout.Token, submission.Payout.AmountBaseUnits
	}
	return receipt
}

// missingReceiptError explains why there is no receipt, and when it is signed.
func missingReceiptError(submission sortie.Submission) error {
	var why string
	switch submission.Status {
	case sortie.SubmissionPending:
		why = "is not decided yet; if it is accepted, its receipt is signed when the acceptance is final"
	case sortie.SubmissionFlagged:
		why = "waits for an operator's decision; if it is accepted, its receipt is signed when the acceptance is final"
	case sortie.SubmissionAccepted, sortie.SubmissionCurationAccepted:
		why = "is accepted, and its receipt is signed when the acceptance is final, after the hold of the service (by default 10 minutes; sortie dev has none and signs within seconds): run this again then"
		if submission.Payout.Status != sortie.PayoutNone {
			why = "is accepted, the acceptance is final, and its receipt is being signed: run this again in a few seconds"
		}
	default:
		why = fmt.Sprintf("is %s, so there will be no receipt", submission.Status)
		if submission.Reason != "" {
			why += ": " + clean(submission.Reason)
		}
	}
	return Failed(ExitConflict, fmt.Errorf("there is no receipt: submission %s %s", submission.SubmissionID, why))
}

// writeReceipt replaces the file atomically, so that a failure keeps an earlier receipt.
func writeReceipt(path string, receipt sortie.Receipt) error {
	var text bytes.Buffer
	if err := PrintJSON(&text, receipt); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return errors.New("this is not a regular file: give another name, or leave out --out for standard output")
	}
	return writeFile(path, text.Bytes())
}
