package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
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
		Short: "Create, fund and follow your missions as a creator",
	}
	client.register(group)
	group.AddCommand(
		newMissionPreviewCmd(client), newMissionCreateCmd(client), newMissionGetCmd(client), newMissionListCmd(client), newMissionFundCmd(client),
		newMissionStatusCmd(client), newMissionDoctorCmd(client), newMissionEventsCmd(client), newMissionPullCmd(client), newMissionCloseCmd(client),
	)
	RequireSubcommand(group)
	return group
}

// definitionOptions define a mission, by a file or by flags for the usual fields.
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
	flags.StringVar(&o.token, "token", "USDC", "token of the reward: USDC or SERVICE_TOKEN")
	flags.StringVar(&o.amount, "reward", "", "reward of one accepted submission in whole tokens, such as 2.5")
	flags.IntVar(&o.count, "count", 0, "number of submissions wanted")
}

// read returns the definition as JSON.
func (o *definitionOptions) read(stdin io.Reader) (json.RawMessage, error) {
	byFlags := o.title != "" || o.amount != "" || o.given.Changed("count") || o.description != ""
	switch {
	case o.file != "" && byFlags:
		return nil, UsageError("give --file, or --title, --reward and --count, not both")
	case o.file != "":
		return readDefinition(o.file, stdin)
	case o.given.Changed("count") && o.count < 1:
		return nil, UsageError("--count %d: want 1 or more", o.count)
	case o.title == "" || o.amount == "" || o.count == 0:
		return nil, UsageError("no mission: give --title, --reward and --count, or --file FILE with everything")
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

// readDefinition reads a mission definition from a file, or from standard input for "-".
func readDefinition(path string, stdin io.Reader) (json.RawMessage, error) {
	const limit = 64 << 10
	source := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, UsageError("--file: %w", err)
		}
		defer file.Close()
		source = file
	}
	data, err := io.ReadAll(io.LimitReader(source, limit+1))
	if err != nil {
		return nil, UsageError("--file %s: %w", path, err)
	}
	if len(data) > limit {
		return nil, UsageError("--file %s: a mission definition has at most %d bytes", path, limit)
	}
	return data, nil
}

func newMissionPreviewCmd(client *clientOptions) *cobra.Command {
	var definition definitionOptions
	cmd := &cobra.Command{
		Use:   "preview",
		Short: "Show how the service reads a mission, and the budget that funding would lock",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			body, err := definition.read(cmd.InOrStdin())
			if err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.Preview, error) {
				return api.PreviewJSON(ctx, body)
			}, showPreview)
		},
	}
	definition.register(cmd)
	return cmd
}

type createOptions struct {
	definition definitionOptions
	key        string
}

func newMissionCreateCmd(client *clientOptions) *cobra.Command {
	var options createOptions
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Create a draft of a mission",
		Long: `Creates a draft. No money is locked before you fund it.

Commands with the same idempotency key create one draft. Unless given, it is derived from the
definition: the same definition gives the same draft.`,
		Example: `  sortie mission create --wallet creator --title "Photo of the main entrance" --reward 2.5 --count 3`,
		Args:    NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runCreate(cmd, client, options) },
	}
	options.definition.register(cmd)
	cmd.Flags().StringVar(&options.key, "idempotency-key", "", "identifies this mission (default derived from the definition)")
	return cmd
}

func runCreate(cmd *cobra.Command, client *clientOptions, options createOptions) error {
	body, err := options.definition.read(cmd.InOrStdin())
	if err != nil {
		return err
	}
	api, err := client.open(cmd.Context())
	if err != nil {
		return err
	}
	if options.key == "" {
		options.key = derivedKey(body)
	}
	draft, err := api.CreateDraftJSON(cmd.Context(), body, options.key)
	if err != nil {
		return client.requestError(err)
	}
	if wantsOutputJSON(cmd) {
		return PrintJSON(cmd.OutOrStdout(), draft)
	}
	return showCreated(cmd, client, api, draft)
}

// showCreated shows a draft as the service reads it. It points out a draft that existed before: the
// user may have wanted a second one.
func showCreated(cmd *cobra.Command, client *clientOptions, api *sortie.Client, draft sortie.DraftCreated) error {
	status, err := api.Mission(cmd.Context(), draft.DraftID)
	if err != nil {
		return client.requestError(err)
	}
	w := cmd.OutOrStdout()
	if draft.Replayed {
		word, sentence := formatState(status)
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
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.MissionStatus, error) {
				return api.Mission(ctx, args[0])
			}, func(w io.Writer, status sortie.MissionStatus) { showStatus(w, client, status) })
		},
	}
}

// maxDraftPage is the largest page of drafts.
const maxDraftPage = 1000

func newMissionListCmd(client *clientOptions) *cobra.Command {
	var status string
	var limit limitFlag
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List your missions, newest first",
		Args:  NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := sortie.ListQuery{Status: sortie.ListStatus(status), Limit: min(int(limit), maxDraftPage)}
			if status != "" && !query.Status.Valid() {
				return UsageError("--status %q: want one of %v", status, sortie.ListStatuses())
			}
			return list(cmd, client, limit, func(ctx context.Context, api *sortie.Client) iter.Seq2[sortie.ListedDraft, error] {
				return api.AllDrafts(ctx, query)
			}, showDrafts)
		},
	}
	cmd.Flags().StringVar(&status, "status", "", "list missions in this status only")
	limit.register(cmd.Flags(), 0)
	return cmd
}

func showPreview(w io.Writer, preview sortie.Preview) {
	table := newTable(w)
	showDefinition(table, preview.NormalizedMission)
	row(table, "locks", preview.TotalBudget.Amount+" "+string(preview.TotalBudget.Token))
	_ = table.Flush()
	for _, warning := range preview.Warnings {
		fmt.Fprintf(w, "\nNote: %s\n", clean(warning))
	}
}

// showDefinition shows what a mission asks for and pays.
func showDefinition(table *tabwriter.Writer, m sortie.NormalizedMission) {
	row(table, "title", m.Title)
	row(table, "asks for", fmt.Sprintf("%s (%s)", formatCount(m.TargetCount, "submission"), m.MediaType))
	row(table, "pays", fmt.Sprintf("%s %s each", m.Reward.Amount, m.Reward.Token))
	if m.Location != nil {
		where := fmt.Sprintf("%s, %s within %s m", m.Location.Lat, m.Location.Lng, m.Location.RadiusMeters)
		if m.Location.Label != "" {
			where += " (" + m.Location.Label + ")"
		}
		row(table, "where", where)
	}
}

// showTerms shows the rest of a definition.
func showTerms(table *tabwriter.Writer, m sortie.NormalizedMission) {
	rows := func(name string, values []string) {
		for _, value := range values {
			row(table, name, value)
			name = ""
		}
	}
	if m.Description != "" {
		rows("description", strings.Split(m.Description, "\n"))
	}
	rows("accept if", m.Verification.Accept)
	rows("reject if", m.Verification.Reject)
	row(table, "per person", fmt.Sprintf("at most %d", m.MaxSubmissionsPerContributor))
	if m.Video != nil {
		row(table, "length", fmt.Sprintf("%d to %d ms", m.Video.MinDurationMs, m.Video.MaxDurationMs))
	}
	if m.StartsAt != nil {
		row(table, "starts", *m.StartsAt)
	}
	if m.EndsAt != nil {
		row(table, "ends", *m.EndsAt)
	}
	if len(m.Tags) > 0 {
		row(table, "tags", strings.Join(m.Tags, ", "))
	}
	if m.ExternalReference != nil {
		row(table, "reference", *m.ExternalReference)
	}
	var pairs []string
	for key, value := range m.Metadata {
		pairs = append(pairs, key+": "+value)
	}
	for key, value := range m.Extra {
		pairs = append(pairs, key+": "+string(value))
	}
	slices.Sort(pairs)
	rows("metadata", pairs)
}

func showStatus(w io.Writer, client *clientOptions, status sortie.MissionStatus) {
	word, sentence := formatState(status)
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
