package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sortie-labs/sortie"
)

func newMissionsCmd() *cobra.Command {
	client := &clientOptions{}
	var near, mediaType string
	var limit int
	cmd := &cobra.Command{
		Use:   "missions",
		Short: "See the missions that pay for photos and videos now",
		Long: `Lists the published missions that take submissions: nearest first with --near, which shows those within 100 km and
those that can be done anywhere, otherwise newest first. No wallet is needed to look.`,
		Example: `  sortie missions --near 48.8584,2.2945
  sortie missions show MISSION_ID`,
		Args: NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query, err := feedQuery(near, mediaType, limit)
			if err != nil {
				return err
			}
			api, err := client.openPublic()
			if err != nil {
				return err
			}
			missions, more, err := firstOf(api.AllFeed(cmd.Context(), query), limit)
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, missions, func(w io.Writer) {
				showFeed(w, client, query, missions)
				sayMore(w, more)
			})
		},
	}
	cmd.PersistentFlags().StringVar(&client.url, "url", defaultURL, "base URL of the service")
	flags := cmd.Flags()
	flags.StringVar(&near, "near", "", "nearest to this point first, such as 48.8584,2.2945 (LAT,LNG)")
	flags.StringVar(&mediaType, "media-type", "", "only photo or only video")
	flags.IntVar(&limit, "limit", 50, "at most this many; 0 for all")
	cmd.AddCommand(newMissionsShowCmd(client), newMissionsLedgerCmd(client))
	return cmd
}

func feedQuery(near, mediaType string, limit int) (sortie.FeedQuery, error) {
	query := sortie.FeedQuery{MediaType: sortie.MediaType(mediaType), Limit: min(limit, 100)}
	if mediaType != "" && query.MediaType != sortie.MediaPhoto && query.MediaType != sortie.MediaVideo {
		return query, UsageError("--media-type %q: want photo or video", mediaType)
	}
	if limit < 0 {
		return query, UsageError("--limit %d: want a positive number, or 0 for all", limit)
	}
	if near != "" {
		lat, lng, found := strings.Cut(near, ",")
		point := sortie.Point{Lat: json.Number(strings.TrimSpace(lat)), Lng: json.Number(strings.TrimSpace(lng))}
		if !found || checkDegrees("near", point.Lat.String(), 90) != nil || checkDegrees("near", point.Lng.String(), 180) != nil {
			return query, UsageError("--near %q: want latitude and longitude in degrees, such as 48.8584,2.2945", near)
		}
		query.Near = &point
	}
	return query, nil
}

func newMissionsShowCmd(client *clientOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "show MISSION",
		Short: "Show what a mission asks for, and what it pays",
		Args:  oneArg("the mission id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkMissionID(args[0], "missions show"); err != nil {
				return err
			}
			api, err := client.openPublic()
			if err != nil {
				return err
			}
			mission, err := api.OpenMission(cmd.Context(), args[0])
			if err != nil {
				return client.requestError(err)
			}
			return show(cmd, mission, func(w io.Writer) { showOpenMission(w, client, mission) })
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
		definition := definitionOf(mission)
		fmt.Fprintf(table, "  %s\t%s %s\t%s\t%s\t%s\t%s\n", mission.MissionID, mission.Reward.Amount, mission.Reward.Token,
			slotsLeft(mission, definition.MediaType), until(mission.EndsAt), whereabouts(mission, definition), clean(definition.Title))
	}
	_ = table.Flush()
	fmt.Fprintf(w, "\nNext: %s missions show %s%s\n", program(), missions[0].MissionID, client.identityFlags())
}

// slotsLeft says how many submissions a mission takes now.
func slotsLeft(mission sortie.OpenMission, mediaType sortie.MediaType) string {
	if mission.SlotsLeft == 0 && mission.SlotsReserved > 0 {
		return "all reserved"
	}
	return counted(mission.SlotsLeft, string(mediaType))
}

// definitionOf reads what a mission asks for. One of a later version shows as far as it can be
// read.
func definitionOf(mission sortie.OpenMission) (definition sortie.NormalizedMission) {
	_ = json.Unmarshal(mission.NormalizedMission, &definition)
	return definition
}

func whereabouts(mission sortie.OpenMission, definition sortie.NormalizedMission) string {
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

// until is how long it is to a time, in words for people.
func until(at string) string {
	parsed, err := time.Parse(time.RFC3339, at)
	if err != nil {
		return clean(at)
	}
	if left := time.Until(parsed); left > 0 {
		return duration(left)
	}
	return "over"
}

func showOpenMission(w io.Writer, client *clientOptions, mission sortie.OpenMission) {
	definition := definitionOf(mission)
	table := newTable(w)
	row(table, "mission", mission.MissionID)
	showDefinition(table, definition)
	definition.StartsAt, definition.EndsAt = nil, nil // the mission's own times are the ones that count
	showFineprint(table, definition)
	row(table, "left", fmt.Sprintf("%d of %d", mission.SlotsLeft, definition.TargetCount))
	if mission.SlotsReserved > 0 {
		row(table, "reserved", fmt.Sprint(mission.SlotsReserved))
	}
	if mission.NextSlotAt != nil {
		row(table, "next slot", "may be free at "+clean(*mission.NextSlotAt))
	}
	row(table, "takes work", fmt.Sprintf("from %s until %s", mission.StartsAt, mission.EndsAt))
	row(table, "open", yesOrNo(mission.Open))
	_ = table.Flush()
	if mission.Open {
		fmt.Fprintf(w, "\nNext: %s submit %s FILE --lat LAT --lng LNG --accuracy METERS%s%s\n",
			program(), mission.MissionID, client.identityFlags(), contributorFlag(client.url))
	}
}

// contributorFlag is how somebody who looked without a wallet says who they are: on a service of
// this machine with a development one.
func contributorFlag(base string) string {
	if parsed, err := url.Parse(base); err == nil {
		if ip := net.ParseIP(parsed.Hostname()); parsed.Hostname() == "localhost" || ip.IsLoopback() {
			return " --wallet contributor1"
		}
	}
	return " --keystore FILE"
}
