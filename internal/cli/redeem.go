package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
)

type redeemOptions struct {
	payerOptions
	factory AddressFlag
}

func newRedeemCmd() *cobra.Command {
	var options redeemOptions
	cmd := &cobra.Command{
		Use:   "redeem RECEIPT.json --rpc URL --key KEY",
		Short: "Redeem a receipt at the contract, without the service",
		Long: `Sends the receipt of an accepted submission to the contract, which pays its recipient. It does not need the service, and any
wallet may pay the gas: the contract pays the recipient of the receipt.

RECEIPT.json is the file that sortie submissions receipt writes, or the whole answer of GET /api/submissions/{id}; - reads
standard input. Before anything is sent, the receipt is compared with the contract: chain, factory, signature, settler role,
mission, slot, pause and daily cap; then the settlement is simulated.

Without a terminal it cannot ask, so --yes is required.`,
		Example: `  sortie submissions receipt ID --keystore wallet.json --out receipt.json
  sortie redeem receipt.json --rpc https://node.example.com --key keystore:wallet.json`,
		Args: oneArg("the file with the receipt, or -"),
		RunE: func(cmd *cobra.Command, args []string) error { return runRedeem(cmd, options, args[0]) },
	}
	options.register(cmd)
	cmd.Flags().Var(&options.factory, "factory", "address of the MissionFactory of the receipt; required for receipts that do not name it")
	return cmd
}

// redeemResult is what `redeem --json` prints.
type redeemResult struct {
	Outcome         string         `json:"outcome"` // paid, deferred, or checked with --dry-run
	MissionKey      sortie.Hash    `json:"missionKey"`
	MissionID       string         `json:"missionId,omitempty"`
	SubmissionID    string         `json:"submissionId,omitempty"`
	Slot            uint32         `json:"slot"`
	Recipient       sortie.Address `json:"recipient"`
	Token           sortie.Token   `json:"token"`
	AmountBaseUnits string         `json:"amountBaseUnits"`
	ChainID         uint64         `json:"chainId"`
	Factory         sortie.Address `json:"factory"`
	WouldDefer      bool           `json:"wouldDefer"` // the simulated payment was deferred
	ReclaimAfter    string         `json:"reclaimAfter"`
	Transaction     string         `json:"transaction,omitempty"`
	BlockNumber     uint64         `json:"blockNumber,omitempty"`
}

const outcomeChecked = "checked"

func runRedeem(cmd *cobra.Command, options redeemOptions, path string) error {
	if err := options.check(); err != nil {
		return err
	}
	receipt, err := readReceipt(path, cmd.InOrStdin())
	if err != nil {
		return err
	}
	node, chainID, err := options.dial(cmd.Context())
	if err != nil {
		return err
	}
	defer node.Close()
	domain, err := options.domain(receipt, chainID)
	if err != nil {
		return err
	}
	signer, err := options.signer(cmd.Context(), chainID)
	if err != nil {
		return err
	}
	checking, cancel := context.WithTimeout(cmd.Context(), options.wait)
	defer cancel()
	redemption, err := chain.CheckReceipt(checking, node, domain, receipt)
	if err != nil {
		return payoutError(err)
	}
	result := newRedeemResult(receipt, redemption)
	describeRedemption(options.describeTo(cmd), receipt, redemption)
	showPayer(options.describeTo(cmd), signer)
	if options.dryRun {
		return show(cmd, result, func(w io.Writer) { fmt.Fprintln(w, "All checks passed. Nothing was sent.") })
	}
	if err := askToSend(cmd, options.yes); err != nil {
		return err
	}
	mined, err := options.send(cmd, node, signer, chainID, chain.PayingCall{To: domain.Factory, Data: redemption.Calldata()})
	if err != nil {
		return err
	}
	outcome := redemption.SettledAs(mined)
	if outcome == chain.OutcomeSkipped {
		return Failed(ExitConflict, fmt.Errorf("another transaction redeemed slot %d first, so %s paid nothing: nothing is left to do", result.Slot, sortie.Hash(mined.TxHash)))
	}
	result.Outcome, result.Transaction, result.BlockNumber = string(outcome), mined.TxHash.String(), mined.BlockNumber.Uint64()
	return show(cmd, result, func(w io.Writer) { showRedeemed(w, redemption, result) })
}

// domain returns the contract that the receipt is sent to. It refuses a flag that contradicts the
// receipt.
func (o redeemOptions) domain(receipt sortie.Receipt, chainID uint64) (sortie.Domain, error) {
	domain := receipt.Domain()
	if domain.ChainID == 0 {
		domain.ChainID = chainID
	}
	switch {
	case domain.Factory.IsZero() && o.factory.IsZero():
		return sortie.Domain{}, UsageError("the receipt does not name its factory: give --factory ADDRESS, or fetch the receipt again")
	case domain.Factory.IsZero():
		domain.Factory = o.factory.Address
	case !o.factory.IsZero() && o.factory.Address != domain.Factory:
		return sortie.Domain{}, Failed(ExitSafety, fmt.Errorf("nothing was sent: the receipt is of factory %s, and --factory is %s: give that factory's receipt, or correct --factory", domain.Factory, o.factory.Address))
	}
	return domain, nil
}

func newRedeemResult(receipt sortie.Receipt, redemption chain.Redemption) redeemResult {
	payment := redemption.Settlement.Payments[0]
	return redeemResult{
		Outcome: outcomeChecked, MissionKey: redemption.Settlement.MissionKey, MissionID: receipt.MissionID, SubmissionID: receipt.SubmissionID,
		Slot: payment.Slot, Recipient: payment.Recipient, Token: redemption.Token, AmountBaseUnits: redemption.Amount.String(),
		ChainID: redemption.Domain.ChainID, Factory: redemption.Domain.Factory, WouldDefer: redemption.Deferred,
		ReclaimAfter: sortie.FormatTime(redemption.ReclaimAfter),
	}
}

// describeRedemption shows what the receipt pays and the current state of its conditions.
func describeRedemption(w io.Writer, receipt sortie.Receipt, redemption chain.Redemption) {
	payment := redemption.Settlement.Payments[0]
	amount := sortie.FormatUnits(redemption.Amount, chain.Decimals(redemption.Token))
	fmt.Fprintf(w, "This pays %s %s to %s.\n\n", amount, redemption.Token, payment.Recipient)
	table := newTable(w)
	if receipt.MissionID != "" {
		row(table, "mission", receipt.MissionID)
	}
	if receipt.SubmissionID != "" {
		row(table, "submission", receipt.SubmissionID)
	}
	row(table, "slot", fmt.Sprintf("%d, of slots 0 to %d", payment.Slot, redemption.TargetCount-1))
	row(table, "factory", fmt.Sprintf("%s, chain %d", redemption.Domain.Factory, redemption.Domain.ChainID))
	_ = table.Flush()
	fmt.Fprintln(w, "\nWhat the receipt depends on:")
	table = newTable(w)
	row(table, string(sortie.ReceiptPause), "the contract is not paused")
	row(table, string(sortie.ReceiptCap), formatCap(redemption))
	row(table, string(sortie.ReceiptRole), fmt.Sprintf("its signer %s is a settler of the contract", redemption.Signer))
	row(table, string(sortie.ReceiptClose), fmt.Sprintf("the mission is open; %d of %d slots are paid", redemption.PaidCount, redemption.TargetCount))
	row(table, string(sortie.ReceiptReclaim), fmt.Sprintf("from %s on the creator may reclaim what is not redeemed", sortie.FormatTime(redemption.ReclaimAfter)))
	_ = table.Flush()
	fmt.Fprintln(w)
	if redemption.Deferred {
		fmt.Fprintf(w, "The token refuses to pay %s now: the wallet is on its denylist, or the token is paused. The contract would keep the amount as a deferred credit of that wallet, which sortie claim pays later.\n", payment.Recipient)
	}
	if time.Now().After(redemption.ReclaimAfter) {
		fmt.Fprintln(w, "The creator may reclaim the money at any time now: do not wait.")
	}
}

func formatCap(redemption chain.Redemption) string {
	if redemption.CapLeft == nil {
		return fmt.Sprintf("%s has no daily cap", redemption.Token)
	}
	return fmt.Sprintf("the daily cap has %s %s left today", sortie.FormatUnits(redemption.CapLeft, chain.Decimals(redemption.Token)), redemption.Token)
}

func showRedeemed(w io.Writer, redemption chain.Redemption, result redeemResult) {
	amount := sortie.FormatUnits(redemption.Amount, chain.Decimals(redemption.Token))
	if result.Outcome == string(chain.OutcomePaid) {
		fmt.Fprintf(w, "Paid %s %s to %s in block %d, transaction %s.\n", amount, result.Token, result.Recipient, result.BlockNumber, result.Transaction)
		return
	}
	fmt.Fprintf(w, "Deferred: the token refused to pay %s, so the contract keeps %s %s for that wallet (block %d, transaction %s).\n",
		result.Recipient, amount, result.Token, result.BlockNumber, result.Transaction)
	fmt.Fprintf(w, "\nNext, when the wallet can receive the token again:\n  %s claim --rpc URL --factory %s --token %s --account %s --key KEY\n",
		programName(), result.Factory, result.Token, result.Recipient)
}

// maxReceiptBytes is much more than a submission with its receipt needs.
const maxReceiptBytes = 256 << 10

// readReceipt reads a receipt from a file, or from standard input for "-". It accepts a receipt, a
// submission with its receipt, or the answer with the submission, and ignores other fields.
func readReceipt(path string, stdin io.Reader) (sortie.Receipt, error) {
	source := stdin
	if path != "-" {
		file, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return sortie.Receipt{}, UsageError("the receipt cannot be read: there is no file %s; sortie submissions receipt ID --out FILE writes it", clean(path))
		}
		if err != nil {
			return sortie.Receipt{}, UsageError("the receipt cannot be read: %w", err)
		}
		defer file.Close()
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, maxReceiptBytes+1))
	if err != nil {
		return sortie.Receipt{}, UsageError("the receipt cannot be read: %w", err)
	}
	if len(data) > maxReceiptBytes {
		return sortie.Receipt{}, UsageError("%s is larger than %d bytes, so it is not a receipt: give the file that sortie submissions receipt wrote", clean(path), maxReceiptBytes)
	}
	receipt, err := decodeReceipt(data)
	if err != nil {
		return sortie.Receipt{}, UsageError("%s: %w: give the file that sortie submissions receipt wrote", clean(path), err)
	}
	return receipt, nil
}

// decodeReceipt decodes the receipt in a file and checks its shape.
func decodeReceipt(data []byte) (receipt sortie.Receipt, err error) {
	if !json.Valid(data) {
		return receipt, errors.New("this is not JSON")
	}
	var file struct {
		Submission *struct {
			Receipt json.RawMessage `json:"receipt"`
		} `json:"submission"`
		Receipt json.RawMessage `json:"receipt"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return receipt, errors.New("this is not a receipt, which is a JSON object")
	}
	switch {
	case file.Submission != nil:
		data = file.Submission.Receipt
	case file.Receipt != nil:
		data = file.Receipt
	}
	if inside := file.Submission != nil || file.Receipt != nil; inside && (len(data) == 0 || bytes.Equal(data, []byte("null"))) {
		return receipt, errors.New("the submission in this file has no receipt yet")
	}
	if err := json.Unmarshal(data, &receipt); err != nil {
		return receipt, fmt.Errorf("this is not a receipt (%.200s)", clean(err.Error()))
	}
	if receipt.MissionKey == (sortie.Hash{}) || len(receipt.Payments) != 1 || len(receipt.Signature) != sortie.SignatureLength {
		return receipt, errors.New("this is not a receipt, which has a missionKey, one payment and a signature of 65 bytes")
	}
	return receipt, nil
}
