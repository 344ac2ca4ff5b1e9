package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sortie-labs/sortie"
)

func newMissionCmd() *cobra.Command {
	client := &clientOptions{}
	group := &cobra.Command{
		Use:   "mission",
		Short: "Create, fund and follow missions as a creator",
	}
	client.register(group)
	group.AddCommand(
		newMissionPreviewCmd(client), newMissionCreateCmd(client), newMissionGetCmd(client), newMissionListCmd(client), newMissionFundCmd(client),
		newMissionStatusCmd(client), newMissionDoctorCmd(client), newMissionEventsCmd(client), newMissionPullCmd(client), newMissionCloseCmd(client),
	)
	RequireSubcommand(group)
	return group
}

// definitionOptions are the ways to say what a mission is: a file with everything, or flags for the
// usual.
type definitionOptions struct {
	file                              string
	title, description, token, amount string
	mediaType                         string
	count                             int
	given                             *pflag.FlagSet
}

func (o *definitionOptions) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.given = flags
	flags.StringVarP(&o.file, "file", "f", "", "file with the mission as JSON; - reads standard input")
	flags.StringVar(&o.title, "title", "", "what contributors are asked for")
	flags.StringVar(&o.description, "description", "", "the details")
	flags.StringVar(&o.mediaType, "media", "photo", "photo or video")
	flags.StringVar(&o.token, "token", "USDC", "token the reward is paid in: USDC or SERVICE_TOKEN")
	flags.StringVar(&o.amount, "reward", "", "reward of one accepted submission in whole tokens, such as 2.5")
	flags.IntVar(&o.count, "count", 0, "how many submissions are wanted")
}

// read gives the definition as JSON.
func (o *definitionOptions) read(stdin io.Reader) (json.RawMessage, error) {
	byFlags := o.title != "" || o.amount != "" || o.given.Changed("count") || o.description != ""
	switch {
	case o.file != "" && byFlags:
		return nil, UsageError("give --file, or --title, --reward and --count, not both")
	case o.file != "":
		return readDefinition(o.file, stdin)
	case o.given.Changed("count") && o.count < 1:
		return nil, UsageError("--count %d: want how many submissions, 1 or more", o.count)
	case o.title == "" || o.amount == "" || o.count == 0:
		return nil, UsageError("what is the mission? give --title, --reward and --count, or --file FILE with everything")
	}
	mission := sortie.Mission{
		Title: o.title, Description: o.description, MediaType: sortie.MediaType(o.mediaType),
		Reward: sortie.Reward{Token: sortie.Token(o.token), Amount: json.Number(o.amount)}, TargetCount: o.count,
	}
	definition, err := json.Marshal(mission)
	if err != nil {
		return nil, UsageError("--reward %q: want an amount such as 2.5", o.amount)
	}
	return definition, nil
}

func newMissionPreviewCmd(client *clientOptions) *cobra.Command {
	var definition definitionOptions
	cmd := &cobra.Command{
		Use:   "preview",
		Short: "See how the service understands a mission, and what it would lock",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body, err := definition.read(cmd.InOrStdin())
			if err != nil {
				return err
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			preview, err := api.PreviewJSON(cmd.Context(), body)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, preview, func(w io.Writer) { showPreview(w, preview) })
		},
	}
	definition.register(cmd)
	return cmd
}

func newMissionCreateCmd(client *clientOptions) *cobra.Command {
	var definition definitionOptions
	var key string
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a draft of a mission",
		Long: `Creates a draft. Nothing is locked before you fund it.

The idempotency key makes a mission exist once, however often the command runs. Unless you give one, it is derived from
the definition: the same definition gives the same draft.`,
		Example: `  sortie mission create --wallet creator --title "Photo of the main entrance" --reward 2.5 --count 3`,
		Args:    NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body, err := definition.read(cmd.InOrStdin())
			if err != nil {
				return err
			}
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			if key == "" {
				key = derivedKey(body)
			}
			draft, err := api.CreateDraftJSON(cmd.Context(), body, key)
			if err != nil {
				return client.requestError(err)
			}
			if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
				return PrintJSON(cmd.OutOrStdout(), draft)
			}
			return showCreated(cmd, client, api, draft)
		},
	}
	definition.register(cmd)
	cmd.Flags().StringVar(&key, "idempotency-key", "", "identifies this one mission; derived from the definition unless given")
	return cmd
}

// showCreated shows a draft as the service understood it, and says so if it is not new: somebody
// may have wanted a second one.
func showCreated(cmd *cobra.Command, client *clientOptions, api *sortie.Client, draft sortie.DraftCreated) error {
	status, err := api.Mission(cmd.Context(), draft.DraftID)
	if err != nil {
		return client.requestError(err)
	}
	w := cmd.OutOrStdout()
	if draft.Replayed {
		word, sentence := stateInWords(status)
		another := "add --idempotency-key NAME"
		if cmd.Flags().Changed("idempotency-key") {
			another = "give another --idempotency-key"
		}
		fmt.Fprintf(w, "This mission exists already, as draft %s. It is %s: %s.\nFor another one like it %s.\n\n", draft.DraftID, word, sentence, another)
	} else {
		fmt.Fprintf(w, "Draft %s is ready to be funded. Nothing is locked yet.\n\n", draft.DraftID)
	}
	table := newTable(w)
	row(table, "mission", status.MissionID)
	showDefinition(table, status.NormalizedMission)
	row(table, "funding", string(status.FundingStatus))
	_ = table.Flush()
	showNext(w, client, status)
	return nil
}

func derivedKey(definition []byte) string {
	sum := sha256.Sum256(definition)
	return "cli-" + hex.EncodeToString(sum[:16])
}

func newMissionGetCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "get ID",
		Short: "Show a mission by its draft id or mission id",
		Args:  oneArg("the draft id or mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			status, err := api.Mission(cmd.Context(), args[0])
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, status, func(w io.Writer) { showStatus(w, client, status) })
		},
	}
}

func newMissionListCmd(client *clientOptions) *cobra.Command {
	var status string
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List your missions, newest first",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := sortie.ListQuery{Status: sortie.ListStatus(status)}
			if status != "" && !query.Status.Valid() {
				return UsageError("--status %q: want one of %v", status, sortie.ListStatuses())
			}
			if limit < 0 {
				return UsageError("--limit %d: want a positive number", limit)
			}
			query.Limit = min(limit, 1000)
			api, _, err := client.open(cmd.Context())
			if err != nil {
				return err
			}
			drafts, more, err := firstOf(api.AllDrafts(cmd.Context(), query), limit)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, drafts, func(w io.Writer) {
				showDrafts(w, drafts)
				sayMore(w, more)
			})
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "only missions in this status")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most this many; all unless given")
	return cmd
}

// firstOf takes as many elements as are wanted, all of them with a limit of 0, and tells whether
// there are more.
func firstOf[T any](all iter.Seq2[T, error], limit int) (elements []T, more bool, err error) {
	elements = []T{} // a list without elements is one in JSON, too
	for element, err := range all {
		if err != nil {
			return nil, false, err
		}
		if limit > 0 && len(elements) == limit {
			return elements, true, nil
		}
		elements = append(elements, element)
	}
	return elements, false, nil
}

// sayMore tells a person that a list goes on.
func sayMore(w io.Writer, more bool) {
	if more {
		fmt.Fprintln(w, "\nThere are more: --limit 0 lists all.")
	}
}

func oneArg(what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return UsageError("%s wants one argument: %s", cmd.CommandPath(), what)
		}
		return nil
	}
}

// show prints a result as JSON for programs, or as text for people.
func show(cmd *cobra.Command, value any, text func(io.Writer)) error {
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return PrintJSON(cmd.OutOrStdout(), value)
	}
	text(cmd.OutOrStdout())
	return nil
}

func newTable(w io.Writer) *tabwriter.Writer { return tabwriter.NewWriter(w, 2, 4, 2, ' ', 0) }

func row(table *tabwriter.Writer, name, value string) {
	fmt.Fprintf(table, "  %s\t%s\n", name, clean(value))
}

// clean keeps text that others wrote from moving the terminal's cursor or adding lines.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || (r >= 0x80 && r < 0xa0) {
			return ' '
		}
		return r
	}, text)
}

func showPreview(w io.Writer, preview sortie.Preview) {
	m := preview.NormalizedMission
	table := newTable(w)
	showDefinition(table, m)
	row(table, "locks", preview.TotalBudget.Amount+" "+string(preview.TotalBudget.Token))
	_ = table.Flush()
	for _, warning := range preview.Warnings {
		fmt.Fprintf(w, "\nNote: %s\n", clean(warning))
	}
}

func showDefinition(table *tabwriter.Writer, m sortie.NormalizedMission) {
	row(table, "title", m.Title)
	row(table, "asks for", fmt.Sprintf("%s (%s)", counted(m.TargetCount, "submission"), m.MediaType))
	row(table, "pays", fmt.Sprintf("%s %s each", m.Reward.Amount, m.Reward.Token))
	if m.Location != nil {
		where := fmt.Sprintf("%s, %s within %s m", m.Location.Lat, m.Location.Lng, m.Location.RadiusMeters)
		if m.Location.Label != "" {
			where += " (" + m.Location.Label + ")"
		}
		row(table, "where", where)
	}
}

func showStatus(w io.Writer, client *clientOptions, status sortie.MissionStatus) {
	word, sentence := stateInWords(status)
	table := newTable(w)
	row(table, "draft", status.DraftID)
	row(table, "mission", status.MissionID)
	showDefinition(table, status.NormalizedMission)
	row(table, "funding", string(status.FundingStatus))
	row(table, "review", string(status.ReviewStatus))
	row(table, "published", yesOrNo(status.Published))
	row(table, "state", word+": "+sentence)
	_ = table.Flush()
	showNext(w, client, status)
}

func showDrafts(w io.Writer, drafts []sortie.ListedDraft) {
	if len(drafts) == 0 {
		fmt.Fprintln(w, "No missions yet.")
		return
	}
	table := newTable(w)
	fmt.Fprintln(table, "  DRAFT\tSTATUS\tREWARD\tCOUNT\tTITLE")
	for _, draft := range drafts {
		m := draft.NormalizedMission
		fmt.Fprintf(table, "  %s\t%s\t%s %s\t%d\t%s\n", draft.DraftID, draft.Status, m.Reward.Amount, m.Reward.Token, m.TargetCount, clean(m.Title))
	}
	_ = table.Flush()
}

// program is how this program was called, for commands that it suggests.
func program() string { return os.Args[0] }

// identityFlags repeat who somebody is, in commands that are suggested to them.
func (o *clientOptions) identityFlags() string {
	var flags strings.Builder
	for _, flag := range []struct{ name, value, usual string }{
		{"url", o.url, defaultURL}, {"keystore", o.keystore, ""}, {"password-file", o.passwordFile, ""},
		{"signer-command", o.signerCommand, ""}, {"wallet", o.devWallet, ""},
	} {
		if flag.value != flag.usual {
			fmt.Fprintf(&flags, " --%s %s", flag.name, flag.value)
		}
	}
	return flags.String()
}
