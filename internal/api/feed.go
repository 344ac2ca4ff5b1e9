package api

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

// feedCache lets a crowd that looks at the same feed be answered by a cache. Slots that are taken
// in between are refused when they are asked for.
const feedCache = "public, max-age=5"

func (s *Server) feed(req *request) error {
	page, err := req.parsePage("near", "mediaType")
	if err != nil {
		return err
	}
	query := app.FeedQuery{Page: page}
	if near := req.query.Get("near"); near != "" {
		if query.Near, err = parsePoint(near); err != nil {
			return err
		}
	}
	if given := req.query.Get("mediaType"); given != "" {
		if query.MediaType, err = oneOf("mediaType", sortie.MediaType(given), sortie.MediaPhoto, sortie.MediaVideo); err != nil {
			return err
		}
	}
	feed, err := s.config.App.Feed(req.http.Context(), query)
	if err != nil {
		return err
	}
	req.Header().Set("Cache-Control", feedCache)
	return req.answerJSON(http.StatusOK, feed)
}

func (s *Server) openMission(req *request) error {
	if err := req.parseQuery(); err != nil {
		return err
	}
	mission, err := s.config.App.OpenMission(req.http.Context(), req.http.PathValue("missionId"))
	if err != nil {
		return err
	}
	req.Header().Set("Cache-Control", feedCache)
	return req.answerJSON(http.StatusOK, mission)
}

// parsePoint reads "lat,lng" in degrees.
func parsePoint(text string) (*app.Point, error) {
	latText, lngText, found := strings.Cut(text, ",")
	lat, okLat := parseDegrees(latText, 90)
	lng, okLng := parseDegrees(lngText, 180)
	if !found || !okLat || !okLng {
		return nil, invalidParameter("near", "want a latitude and a longitude in degrees, such as 52.516275,13.377704")
	}
	return &app.Point{Lat: lat, Lng: lng}, nil
}

// parseDegrees reads a decimal without an exponent into millionths of a degree. Digits beyond
// those, which are a tenth of a meter, are left off: browsers give as many as a float has.
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
