package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

type feedOptions struct {
	near, mediaType string
	limit           limitFlag
}

func newMissionsCmd() *cobra.Command {
	client := &clientOptions{public: true}
	var options feedOptions
	cmd := &cobra.Command{
		Use:   "missions",
		Short: "List the missions that pay for photos and videos now",
		Long: `Lists the published missions that take submissions, newest first. With --near it lists the nearest first: those within
100 km and those that can be done anywhere. No wallet is needed.`,
		Example: `  sortie missions --near 48.8584,2.2945
  sortie missions show MISSION_ID`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query, err := options.query()
			if err != nil {
				return err
			}
			return list(cmd, client, options.limit, func(ctx context.Context, api *sortie.Client) iter.Seq2[sortie.OpenMission, error] {
				return api.AllFeed(ctx, query)
			}, func(w io.Writer, missions []sortie.OpenMission) { showFeed(w, client, query, missions) })
		},
	}
	client.registerURL(cmd.PersistentFlags())
	flags := cmd.Flags()
	flags.StringVar(&options.near, "near", "", "list the nearest to this point first, such as 48.8584,2.2945 (LAT,LNG)")
	flags.StringVar(&options.mediaType, "media-type", "", "list only photo or only video missions")
	options.limit.register(flags, 50)
	cmd.AddCommand(newMissionsShowCmd(client), newMissionsLedgerCmd(client))
	return cmd
}

func (o feedOptions) query() (sortie.FeedQuery, error) {
	query := sortie.FeedQuery{MediaType: sortie.MediaType(o.mediaType), Limit: o.limit.page()}
	if o.mediaType != "" && query.MediaType != sortie.MediaPhoto && query.MediaType != sortie.MediaVideo {
		return query, UsageError("--media-type %q: want photo or video", o.mediaType)
	}
	if o.near != "" {
		lat, lng, found := strings.Cut(o.near, ",")
		point := sortie.Point{Lat: json.Number(strings.TrimSpace(lat)), Lng: json.Number(strings.TrimSpace(lng))}
		if !found || checkDegrees("near", point.Lat.String(), 90) != nil || checkDegrees("near", point.Lng.String(), 180) != nil {
			return query, UsageError("--near %q: want latitude and longitude in degrees, such as 48.8584,2.2945", o.near)
		}
		query.Near = &point
	}
	return query, nil
}

func newMissionsShowCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "show MISSION",
		Short: "Show what a mission asks for and pays",
		Args:  oneArg("the mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := refuseDraftID(args[0], "missions show"); err != nil {
				return err
			}
			return request(cmd, client, func(ctx context.Context, api *sortie.Client) (sortie.OpenMission, error) {
				return api.OpenMission(ctx, args[0])
			}, func(w io.Writer, mission sortie.OpenMission) { showOpenMission(w, client, mission) })
		},
	}
}

func showFeed(w io.Writer, client *clientOptions, query sortie.FeedQuery, missions []sortie.OpenMission) {
	if len(missions) == 0 {
		if query.Near != nil {
			fmt.Fprintln(w, "No mission within 100 km, or for anywhere, takes submissions now.")
			return
		}
		fmt.Fprintln(w, "No mission takes submissions now.")
		return
	}
	table := newTable(w)
	where := "WHERE"
	if query.Near != nil {
		where = "AWAY"
	}
	fmt.Fprintf(table, "  MISSION\tPAYS\tLEFT\tENDS IN\t%s\tTITLE\n", where)
	for _, mission := range missions {
		definition := decodeDefinition(mission)
		fmt.Fprintf(table, "  %s\t%s %s\t%s\t%s\t%s\t%s\n", mission.MissionID, mission.Reward.Amount, mission.Reward.Token,
			formatSlotsLeft(mission, definition.MediaType), formatUntil(mission.EndsAt), formatPlace(mission, definition), clean(definition.Title))
	}
	_ = table.Flush()
	fmt.Fprintf(w, "\nNext: %s\n", client.suggest("missions show %s", missions[0].MissionID))
}

// formatSlotsLeft returns how many submissions a mission takes now.
func formatSlotsLeft(mission sortie.OpenMission, mediaType sortie.MediaType) string {
	if mission.SlotsLeft == 0 && mission.SlotsReserved > 0 {
		return "all reserved"
	}
	return formatCount(mission.SlotsLeft, string(mediaType))
}

// decodeDefinition decodes the definition of a mission. It omits fields of a later version that do
// not fit.
func decodeDefinition(mission sortie.OpenMission) (definition sortie.NormalizedMission) {
	_ = json.Unmarshal(mission.NormalizedMission, &definition)
	return definition
}

// formatPlace returns the distance to a mission if it is known, or its place.
func formatPlace(mission sortie.OpenMission, definition sortie.NormalizedMission) string {
	switch {
	case mission.DistanceMeters != nil && *mission.DistanceMeters < 1000:
		return fmt.Sprintf("%d m", *mission.DistanceMeters)
	case mission.DistanceMeters != nil:
		return fmt.Sprintf("%.1f km", float64(*mission.DistanceMeters)/1000)
	case definition.Location == nil:
		return "anywhere"
	case definition.Location.Label != "":
		return clean(definition.Location.Label)
	default:
		return definition.Location.Lat.String() + "," + definition.Location.Lng.String()
	}
}

func showOpenMission(w io.Writer, client *clientOptions, mission sortie.OpenMission) {
	definition := decodeDefinition(mission)
	table := newTable(w)
	row(table, "mission", mission.MissionID)
	showDefinition(table, definition)
	definition.StartsAt, definition.EndsAt = nil, nil // the times of the mission count, shown below
	showTerms(table, definition)
	row(table, "left", fmt.Sprintf("%d of %d", mission.SlotsLeft, definition.TargetCount))
	if mission.SlotsReserved > 0 {
		row(table, "reserved", fmt.Sprint(mission.SlotsReserved))
	}
	if mission.NextSlotAt != nil {
		row(table, "next slot", "may be free at "+clean(*mission.NextSlotAt))
	}
	row(table, "takes submissions", fmt.Sprintf("from %s until %s", mission.StartsAt, mission.EndsAt))
	row(table, "open", yesOrNo(mission.Open))
	_ = table.Flush()
	if mission.Open {
		fmt.Fprintf(w, "\nNext: %s%s\n", client.suggest("submit %s FILE --lat LAT --lng LNG --accuracy METERS", mission.MissionID), walletFlag(client.url))
	}
}

// walletFlag returns the wallet flag to suggest after a command without a wallet: a development
// wallet for a service on this machine, a keystore for others.
func walletFlag(base string) string {
	if parsed, err := url.Parse(base); err == nil {
		if ip := net.ParseIP(parsed.Hostname()); parsed.Hostname() == "localhost" || ip.IsLoopback() {
			return " --wallet contributor1"
		}
	}
	return " --keystore FILE"
}
