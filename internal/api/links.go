package api

import (
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/links"
)

// mediaPath is the path of media links up to the submission id.
const mediaPath = "/api/external/media/"

// LinksUnder returns a builder of links that begin with a base URL.
func LinksUnder(base string) app.LinkBuilder {
	return func(submissionID, variant, token string) string {
		return base + linkPath(submissionID, variant) + "?" + token
	}
}

// linkPath returns the path of a link; see the table of routes.
func linkPath(submissionID, variant string) string {
	switch variant {
	case links.VariantReviewOriginal:
		return "/api/operator/media/" + submissionID + "/" + links.VariantOriginal
	case links.VariantReviewThumbnail:
		return "/api/operator/media/" + submissionID + "/" + links.VariantThumbnail
	case links.VariantUploadPut:
		return "/api/uploads/" + submissionID
	case links.VariantUploadTus:
		return "/api/uploads/" + submissionID + "/tus"
	default:
		return mediaPath + submissionID + "/" + variant
	}
}

// links returns the builder of the links in the answer to a signed request.
func (req *request) links() app.LinkBuilder { return LinksUnder(req.base) }
