package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/funding"
)

type fundOptions struct {
	trust string
	rpc   string
	file  string
	yes   bool
	wait  time.Duration
}

func newMissionFundCmd(client *clientOptions) *cobra.Command {
	var options fundOptions
	cmd := &cobra.Command{
		Use:   "fund ID",
		Short: "Verify a draft's quote and lock its budget on chain",
		Long: `Fetches a fresh quote and verifies all of it before any money moves: against the trusted values of --trust (chain,
factory, authorizer, tokens) and against the mission; with --file against your own definition instead of the service's copy. It
then approves exactly the budget if the allowance is too small, sends the funding transaction and waits until it is mined.

Without a terminal it cannot ask, so --yes is required.`,
		Args: oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error { return runFund(cmd, client, options, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&options.trust, "trust", defaultTrust, "file with the values to trust; sortie dev writes one")
	flags.StringVar(&options.rpc, "rpc", "", "JSON-RPC URL of a node (default rpcUrl of the trust file)")
	flags.StringVarP(&options.file, "file", "f", "", "definition that the mission must match")
	flags.BoolVarP(&options.yes, "yes", "y", false, "send without asking")
	flags.DurationVar(&options.wait, "wait", 3*time.Minute, "how long to wait for the transactions")
	return cmd
}

// fundResult is what `mission fund --json` prints.
type fundResult struct {
	DraftID             string               `json:"draftId"`
	MissionID           string               `json:"missionId"`
	FundingStatus       sortie.FundingStatus `json:"fundingStatus"`
	ApprovalTransaction string               `json:"approvalTransaction,omitempty"`
	Transaction         string               `json:"transaction,omitempty"`
	BlockNumber         uint64               `json:"blockNumber,omitempty"`
}

func runFund(cmd *cobra.Command, client *clientOptions, options fundOptions, id string) error {
	ctx := cmd.Context()
	trust, err := readTrust(options.trust)
	if err != nil {
		return err
	}
	api, signer, err := client.openSigner(ctx)
	if err != nil {
		return err
	}
	status, err := api.Mission(ctx, id)
	if err != nil {
		return client.requestError(err)
	}
	result := fundResult{DraftID: status.DraftID, MissionID: status.MissionID, FundingStatus: status.FundingStatus}
	if status.NextAction != sortie.ActionSendTransaction {
		return show(cmd, result, func(w io.Writer) {
			word, sentence := formatState(status)
			fmt.Fprintf(w, "There is nothing to fund. The mission is %s: %s.\n", word, sentence)
			showNext(w, client, status)
		})
	}
	budget, err := checkQuote(status, signer.Address(), trust, options.file, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if client.devWallet != "" && !sortie.IsDevelopmentChain(trust.ChainID) {
		return Failed(ExitSafety, fmt.Errorf("--wallet %s is a development key, which is public; chain %d is not a development chain", client.devWallet, trust.ChainID))
	}
	if err := confirm(cmd, options, status, budget, trust); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, options.wait)
	defer cancel()
	if err := sendFunding(ctx, cmp.Or(options.rpc, trust.RPCURL), signer, status.FundingQuote, &result, cmd.ErrOrStderr()); err != nil {
		if exit := (*exitError)(nil); errors.As(err, &exit) {
			return err
		}
		return Failed(ExitChain, balanceError(err, status.NormalizedMission.Reward.Token))
	}
	hintFunding(cmd.Context(), api, result)
	return show(cmd, result, func(w io.Writer) {
		fmt.Fprintf(w, "Funded in block %d, transaction %s.\n", result.BlockNumber, result.Transaction)
		fmt.Fprintf(w, "\nAn operator reviews the mission when the funding is confirmed. An approved mission is published when the funding is final.\n")
		fmt.Fprintf(w, "Next: %s\n", client.suggest("mission status %s --watch", result.DraftID))
	})
}

// balanceError states a balance that is too small in whole tokens.
func balanceError(err error, token sortie.Token) error {
	var small *chain.BalanceError
	if !errors.As(err, &small) {
		return err
	}
	whole := func(units *big.Int) string { return sortie.FormatUnits(units, chain.Decimals(token)) }
	return fmt.Errorf("nothing was sent: %s holds %s %s and the mission needs %s: send the wallet more, or create a mission with a smaller budget",
		small.Account, whole(small.Holds), token, whole(small.Needs))
}

// hintFunding asks the service to read the chain now. It ignores errors: the service finds the
// funding without the hint.
func hintFunding(ctx context.Context, api *sortie.Client, result fundResult) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	hint, _ := sortie.ParseHash(result.Transaction)
	_, _ = api.ConfirmFunding(ctx, result.DraftID, hint)
}

// checkQuote verifies the quote against the requested terms and returns the budget in whole tokens.
func checkQuote(status sortie.MissionStatus, wallet sortie.Address, trust trustFile, file string, stdin io.Reader) (string, error) {
	asked := sortie.Ask{
		Creator: wallet, MissionID: status.MissionID, Token: status.NormalizedMission.Reward.Token,
		Amount: status.NormalizedMission.Reward.Amount.String(), TargetCount: uint64(status.NormalizedMission.TargetCount),
	}
	if file != "" {
		if err := readAskedTerms(file, stdin, &asked); err != nil {
			return "", err
		}
	}
	err := sortie.VerifyQuote(status.FundingQuote, asked, trust.values(), time.Now())
	var mismatches sortie.Mismatches
	switch {
	case errors.As(err, &mismatches) && mismatches.OnlyExpired():
		if ends := missionEnd(status); !ends.IsZero() && !time.Now().Before(ends) {
			return "", Failed(ExitExpired, fmt.Errorf("the mission ended at %s and can no longer be funded: create a new draft with a later endsAt", sortie.FormatTime(ends)))
		}
		return "", Failed(ExitExpired, errors.New("the authorization has expired: check this machine's clock and try again"))
	case err != nil:
		return "", Failed(ExitSafety, err)
	}
	total, ok := new(big.Int).SetString(status.FundingQuote.TotalBudgetBaseUnits, 10)
	if !ok {
		return "", Failed(ExitSafety, errors.New("the budget of the quote is not a number"))
	}
	return sortie.FormatUnits(total, trust.Tokens[asked.Token].Decimals), nil
}

// missionEnd returns the end that the creator gave, or zero.
func missionEnd(status sortie.MissionStatus) time.Time {
	if status.NormalizedMission.EndsAt == nil {
		return time.Time{}
	}
	ends, _ := time.Parse(time.RFC3339, *status.NormalizedMission.EndsAt)
	return ends
}

// readAskedTerms reads the terms from the creator's own file.
func readAskedTerms(path string, stdin io.Reader, asked *sortie.Ask) error {
	definition, err := readDefinition(path, stdin)
	if err != nil {
		return err
	}
	var mission sortie.Mission
	if err := json.Unmarshal(definition, &mission); err != nil {
		return UsageError("--file %s: %w", path, err)
	}
	asked.Token, asked.Amount, asked.TargetCount = mission.Reward.Token, mission.Reward.Amount.String(), uint64(max(0, mission.TargetCount))
	return nil
}

// confirm shows what will be locked and asks for confirmation.
func confirm(cmd *cobra.Command, options fundOptions, status sortie.MissionStatus, budget string, trust trustFile) error {
	w := cmd.ErrOrStderr()
	m := status.NormalizedMission
	fmt.Fprintf(w, "This locks %s %s for %s of %q at %s %s each.\n\n", budget, m.Reward.Token, formatCount(m.TargetCount, "submission"), clean(m.Title), m.Reward.Amount, m.Reward.Token)
	table := newTable(w)
	row(table, "from", status.FundingQuote.Authorization.Creator.String())
	row(table, "to", fmt.Sprintf("%s (the factory, chain %d)", status.FundingQuote.FactoryAddress, trust.ChainID))
	row(table, "token", status.FundingQuote.TokenAddress.String())
	row(table, "mission", status.MissionID)
	row(table, "valid until", status.FundingQuote.Authorization.ExpiresAt)
	row(table, "checked", "calldata, terms and authorizer match "+options.trust)
	_ = table.Flush()
	fmt.Fprintln(w)
	return askToSend(cmd, options.yes)
}

// askToSend asks on the terminal before a transaction is sent. Without a terminal it refuses,
// unless yes is set.
func askToSend(cmd *cobra.Command, yes bool) error {
	w := cmd.ErrOrStderr()
	if yes {
		return nil
	}
	if !hasTerminal(cmd) {
		return Failed(ExitSafety, errors.New("nothing was sent: there is no terminal to ask on; add --yes to send without asking"))
	}
	fmt.Fprint(w, "Send it? [y/N] ")
	answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil || !strings.EqualFold(strings.TrimSpace(answer), "y") {
		return Failed(ExitSafety, errors.New("nothing was sent"))
	}
	return nil
}

// hasTerminal reports whether standard input is a terminal.
func hasTerminal(cmd *cobra.Command) bool {
	file, ok := cmd.InOrStdin().(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// sendFunding approves exactly the budget if the allowance is too small, and sends the calldata of
// the quote unchanged.
func sendFunding(ctx context.Context, url string, signer funding.Signer, quote sortie.Quote, result *fundResult, progress io.Writer) error {
	node, err := chain.Dial(ctx, url)
	if err != nil {
		return err
	}
	defer node.Close()
	chainID, err := node.ChainID(ctx)
	if err != nil {
		return fmt.Errorf("%s does not answer: give --rpc the URL of a node", node.Name())
	}
	if chainID.Uint64() != quote.ChainID {
		return fmt.Errorf("%s is on chain %s and the quote is for chain %d: give --rpc a node of that chain", node.Name(), chainID, quote.ChainID)
	}
	account, err := chain.OpenAccount(ctx, node, funding.TransactionSigner{Signer: signer}, quote.ChainID)
	if err != nil {
		return err
	}
	funded, err := chain.IsFunded(ctx, node, quote.FactoryAddress, result.MissionID)
	if err != nil {
		return err
	}
	if funded {
		return Failed(ExitConflict, errors.New("this mission is already funded on the chain; the service shows it when it is confirmed"))
	}
	total, _ := new(big.Int).SetString(quote.TotalBudgetBaseUnits, 10) // checkQuote has parsed it
	approval, err := chain.ApproveExactly(ctx, account, quote.TokenAddress, quote.FactoryAddress, total)
	if err != nil {
		return err
	}
	if approval != nil {
		result.ApprovalTransaction = approval.Hash().String()
		fmt.Fprintf(progress, "Approved exactly the budget: %s\n", approval.Hash())
	}
	gas, err := account.Estimate(ctx, &quote.FactoryAddress, quote.Calldata)
	if err != nil {
		return fmt.Errorf("the funding would fail, so it was not sent: %w", err)
	}
	if err := account.CanPay(ctx, gas); err != nil {
		return err
	}
	tx, err := account.Send(ctx, gas, &quote.FactoryAddress, quote.Calldata)
	if err != nil {
		return err
	}
	fmt.Fprintf(progress, "Sent %s, waiting for it to be mined...\n", tx.Hash())
	receipt, err := account.Mined(ctx, tx)
	if err != nil {
		return err
	}
	result.Transaction, result.BlockNumber = tx.Hash().String(), receipt.BlockNumber.Uint64()
	return nil
}
