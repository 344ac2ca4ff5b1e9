package api

import (
	"strconv"
	"strings"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

// feedCaching is the Cache-Control of the feed. A cached answer may list a slot that was reserved
// meanwhile; a declaration for it is refused.
const feedCaching = "public, max-age=5"

func (s *Server) feed(req *request) (feed sortie.MissionFeed, err error) {
	query := app.FeedQuery{}
	if query.Page, err = req.parsePage(); err != nil {
		return feed, err
	}
	if near := req.query.Get("near"); near != "" {
		if query.Near, err = parsePoint(near); err != nil {
			return feed, err
		}
	}
	if given := req.query.Get("mediaType"); given != "" {
		if query.MediaType, err = oneOf("mediaType", sortie.MediaType(given), sortie.MediaPhoto, sortie.MediaVideo); err != nil {
			return feed, err
		}
	}
	if feed, err = s.config.App.Feed(req.http.Context(), query); err != nil {
		return feed, err
	}
	req.Header().Set("Cache-Control", feedCaching)
	return feed, nil
}

func (s *Server) openMission(req *request) (sortie.OpenMissionDetail, error) {
	mission, err := s.config.App.OpenMission(req.http.Context(), req.http.PathValue("missionId"))
	if err != nil {
		return sortie.OpenMissionDetail{}, err
	}
	req.Header().Set("Cache-Control", feedCaching)
	return mission, nil
}

// parsePoint parses "lat,lng" in degrees.
func parsePoint(text string) (*app.MicroDegrees, error) {
	latText, lngText, found := strings.Cut(text, ",")
	lat, okLat := parseDegrees(latText, 90)
	lng, okLng := parseDegrees(lngText, 180)
	if !found || !okLat || !okLng {
		return nil, invalidParameter("near", "must be a latitude and a longitude in degrees, such as 52.516275,13.377704")
	}
	return &app.MicroDegrees{Lat: lat, Lng: lng}, nil
}

// parseDegrees parses a decimal without an exponent into millionths of a degree, a tenth of a
// meter. It drops further digits, because browsers send as many as a float has.
func parseDegrees(text string, limit int64) (micro int64, ok bool) {
	const longest, decimals = 24, 6
	digits, negative := strings.CutPrefix(text, "-")
	whole, fraction, dotted := strings.Cut(digits, ".")
	if len(text) > longest || !isDigits(whole) || (dotted && !isDigits(fraction)) || len(whole) > 3 {
		return 0, false
	}
	fraction = (fraction + "000000")[:decimals]
	micro, err := strconv.ParseInt(whole+fraction, 10, 64)
	if err != nil || micro > limit*1_000_000 {
		return 0, false
	}
	if negative {
		micro = -micro
	}
	return micro, true
}
