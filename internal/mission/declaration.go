package mission

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
)

const (
	// MaxDeclarationBytes is the size of the largest declaration.
	MaxDeclarationBytes = 4 << 10
	// MaxUploadBytes is the size of the largest file.
	MaxUploadBytes = 512 << 20

	maxAccuracy        = 100_000 // meters
	accuracyPlaces     = 2
	declarationVersion = "v1"
)

// ContentTypes lists the types of the files that contributors may upload.
func ContentTypes() []string {
	return []string{"image/jpeg", "image/png", "image/webp", "video/mp4", "video/quicktime", "video/webm"}
}

// Declaration is what a contributor says about a file, in the one form that stands for all its spellings.
type Declaration struct {
	Location    sortie.Location // degrees to 6 decimals, meters to 2
	CapturedAt  time.Time       // UTC, to the millisecond
	ContentType string
	SizeBytes   int64
	Hash        sortie.Hash // SHA-256 of the file
}

// NormalizeDeclaration reads the body of a declaration.
func NormalizeDeclaration(body []byte) (Declaration, error) {
	return Declaration{}, errTooDeep
}

// Fingerprint identifies what was declared for a mission: equal for the same declaration in whatever spelling, different for
// any other, and for any other mission.
func (d Declaration) Fingerprint(missionID string) sortie.Hash {
	text := make([]byte, 0, 512)
	text = append(text, "sortie declaration "+declarationVersion+"\n"...)
	for _, value := range []string{
		missionID, string(d.Location.Lat), string(d.Location.Lng), string(d.Location.AccuracyMeters), formatInstant(d.CapturedAt),
		d.ContentType, strconv.FormatInt(d.SizeBytes, 10),
	} {
		text = append(append(text, value...), '\n')
	}
	return sha256.Sum256(hex.AppendEncode(text, d.Hash[:]))
}

var _ = slices.Contains[[]string]
var _ = strings.ToLower
var _ jsontext.Kind
