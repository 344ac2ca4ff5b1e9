package main

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
	"github.com/sortie-labs/sortie/internal/cli"
	"github.com/sortie-labs/sortie/internal/ingest"
	"github.com/sortie-labs/sortie/internal/service"
	"github.com/sortie-labs/sortie/internal/verify"
)

// mediaOptions are the flags of `serve` about submissions.
type mediaOptions struct {
	store, uploads, ffmpeg, verification, isolation string
	hold                                            time.Duration
	reservationsPerAddress                          int
	reservedBytes                                   int64
}

const (
	// defaultHold gives operators time to revoke automatic acceptances.
	defaultHold = 10 * time.Minute
	// uploadsDir is the default directory of uploads in a media directory.
	uploadsDir = "uploads"
)

func (o *mediaOptions) define(flags *pflag.FlagSet) {
	flags.StringVar(&o.store, "media", "", "store of submitted files: file:DIR or s3://bucket?...; submissions are off without it")
	flags.StringVar(&o.uploads, "uploads", "", "directory of incomplete uploads (default with file:DIR: DIR/"+uploadsDir+"; with s3: next to an SQLite database, otherwise in the user's cache)")
	flags.StringVar(&o.ffmpeg, "ffmpeg", "ffmpeg", `program that makes the thumbnails of videos; "" for none`)
	defineIsolation(flags, &o.isolation, ingest.IsolationRequired)
	flags.StringVar(&o.verification, "verification", "curate", "how submissions are accepted: curate, auto or http:URL")
	limits := app.DefaultReservationLimits()
	flags.IntVar(&o.reservationsPerAddress, "reservations-per-address", limits.PerAddress, "slots an hour that wallets without a final acceptance may reserve from one address, accepted submissions not counted")
	flags.Int64Var(&o.reservedBytes, "reserved-bytes", limits.TotalBytes, "largest total size of declared files that are not uploaded; never more than the free space of --uploads")
	flags.DurationVar(&o.hold, "acceptance-hold", defaultHold, "how long an acceptance can be revoked before its receipt is signed, 0 to 720h")
}

func defineIsolation(flags *pflag.FlagSet, value *string, standard ingest.Isolation) {
	flags.StringVar(value, "media-isolation", standard.String(), "how the processes that read submitted files are isolated: required, best-effort or off")
}

// parse checks the flags before the service opens anything.
func (o mediaOptions) parse(cmd *cobra.Command, database string) (config service.MediaConfig, err error) {
	config = service.MediaConfig{Store: o.store, Uploads: o.uploads, Hold: o.hold, Reservations: app.DefaultReservationLimits()}
	config.Reservations.PerAddress, config.Reservations.TotalBytes = o.reservationsPerAddress, o.reservedBytes
	switch {
	case o.reservationsPerAddress < 1:
		return service.MediaConfig{}, cli.UsageError("--reservations-per-address %d: want at least 1", o.reservationsPerAddress)
	case o.reservedBytes < sortie.MaxUploadBytes:
		return service.MediaConfig{}, cli.UsageError("--reserved-bytes %d: want at least %d, the size of the largest file", o.reservedBytes, sortie.MaxUploadBytes)
	}
	if config.Verification, err = verify.ParseMode(o.verification); err != nil {
		return service.MediaConfig{}, cli.UsageError("--verification %w", err)
	}
	if config.Isolation, err = ingest.ParseIsolation(o.isolation); err != nil {
		return service.MediaConfig{}, cli.UsageError("--media-isolation %w", err)
	}
	if o.hold < 0 || o.hold > app.LongestHold {
		return service.MediaConfig{}, cli.UsageError("--acceptance-hold %s: want 0 to %s", o.hold, app.LongestHold)
	}
	dir, isDirectory := strings.CutPrefix(o.store, "file:")
	switch {
	case o.store == "" && o.uploads != "":
		return service.MediaConfig{}, cli.UsageError("--uploads without --media: give --media, the store of complete files")
	case o.store == "":
		return config, nil
	case isDirectory && strings.TrimPrefix(dir, "//") == "", !isDirectory && !strings.HasPrefix(o.store, "s3://"):
		return service.MediaConfig{}, cli.UsageError("--media: want file:DIR or s3://bucket?...")
	case isDirectory && o.uploads == "":
		config.Uploads = filepath.Join(strings.TrimPrefix(dir, "//"), uploadsDir)
	case o.uploads == "":
		if config.Uploads, err = uploadsWithoutDirectory(database); err != nil {
			return service.MediaConfig{}, cli.UsageError("--uploads is missing: with --media s3://... give a local directory for incomplete uploads (%w)", err)
		}
	}
	if config.FFmpeg, err = findFFmpeg(o.ffmpeg); err != nil && cmd.Flags().Changed("ffmpeg") {
		return service.MediaConfig{}, cli.UsageError("--ffmpeg: %w", err)
	}
	return config, nil
}

// uploadsWithoutDirectory returns the directory of uploads for a media store that is not a
// directory. It must persist across restarts and be private to the service.
func uploadsWithoutDirectory(database string) (string, error) {
	if path, isSQLite := strings.CutPrefix(database, "sqlite:"); isSQLite {
		return filepath.Join(filepath.Dir(strings.TrimPrefix(path, "//")), uploadsDir), nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "sortie", uploadsDir), nil
}

// findFFmpeg returns the absolute path of the program, or "" if it is missing or cannot be isolated
// on this system.
func findFFmpeg(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if runtime.GOOS != "linux" {
		return "", errors.New("programs can be isolated on Linux only")
	}
	found, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(found)
}

// shownStore returns the media store without the secrets in its URL.
func shownStore(store string) string {
	parsed, err := url.Parse(store)
	if err != nil || parsed.Scheme != "s3" {
		return store
	}
	return "s3://" + parsed.Host
}
