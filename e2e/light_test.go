package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// Limits on what `go build ./cmd/sortie` compiles and writes. Raise one only with the reason in
// docs/adr/0011-light-build.md.
const (
	maxPackages    = 640
	maxBinaryBytes = 45_000_000
)

// heavyPackages may not be compiled into the binary again, with the reason for each. A name
// includes its subpackages; those in lightParts are allowed.
var heavyPackages = map[string]string{
	"gocloud.dev":                                         "its blob package brings google.golang.org/api, gRPC and OpenTelemetry for one S3 client; internal/s3 is that client",
	"github.com/aws":                                      "100 packages, 25 s of compiling and 6 MB for seven requests; internal/s3 sends them",
	"github.com/minio/minio-go":                           "55 packages, 16 s of compiling and 3 MB for seven requests; internal/s3 sends them",
	"google.golang.org/api":                               "50 MB of download that only gocloud.dev needed",
	"google.golang.org/grpc":                              "nothing here speaks gRPC",
	"google.golang.org/genproto":                          "nothing here speaks gRPC",
	"go.opentelemetry.io/contrib":                         "metrics are Prometheus's",
	"go.opentelemetry.io/otel/sdk":                        "metrics are Prometheus's; go-ethereum/rpc needs the API packages of OpenTelemetry, not the SDK",
	"go.opentelemetry.io/otel/exporters":                  "metrics are Prometheus's",
	"github.com/cockroachdb":                              "pebble took 23 s of compiling; the development chain is on LevelDB",
	"github.com/DataDog/zstd":                             "41 s of compiling C, for pebble",
	"github.com/ethereum/go-ethereum/node":                "it brings pebble, p2p and a tracing exporter; internal/devnet opens chain, pool and RPC server itself",
	"github.com/ethereum/go-ethereum/p2p":                 "the development chain has no peers",
	"github.com/ethereum/go-ethereum/eth":                 "it brings node and p2p; its light parts are allowed",
	"github.com/ethereum/go-ethereum/cmd":                 "programs, not a library",
	"github.com/ethereum/go-ethereum/graphql":             "it brings node",
	"github.com/ethereum/go-ethereum/ethclient/simulated": "it brings eth and node; tests use internal/devnet",
	"github.com/ethereum/go-ethereum/ethdb/pebble":        "it brings pebble and zstd",
	"github.com/pion":                                     "WebRTC, for go-ethereum's p2p",
	"github.com/huin/goupnp":                              "UPnP, for go-ethereum's p2p",
	"html/template":                                       "the docs page is rendered by go generate",
	"github.com/yuin/goldmark":                            "the docs page is rendered by go generate",
	"go.yaml.in/yaml":                                     "the docs page is rendered by go generate",
	"github.com/getkin/kin-openapi":                       "tests only",
	"pgregory.net/rapid":                                  "tests only",
	"github.com/rogpeppe/go-internal":                     "tests only",
	"testing":                                             "tests only",
}

// lightParts are packages of heavyPackages that cost little.
var lightParts = []string{
	"github.com/ethereum/go-ethereum/p2p/netutil", // go-ethereum/rpc uses it
	"github.com/ethereum/go-ethereum/eth/gasprice",
	"github.com/ethereum/go-ethereum/eth/gasestimator",
	"github.com/ethereum/go-ethereum/eth/tracers/logger",
}

func isPackage(path, name string) bool { return path == name || strings.HasPrefix(path, name+"/") }

func TestTheBinaryStaysLight(t *testing.T) {
	t.Parallel()
	listed := goList(t, "-deps", "./cmd/sortie")
	for _, one := range listed {
		for heavy, why := range heavyPackages {
			if isPackage(one.ImportPath, heavy) && !allowed(one.ImportPath) {
				t.Errorf("the binary now contains %s: %s", one.ImportPath, why)
			}
		}
	}
	if len(listed) > maxPackages {
		t.Errorf("the binary contains %d packages, want at most %d", len(listed), maxPackages)
	}
}

func allowed(path string) bool {
	for _, light := range lightParts {
		if isPackage(path, light) {
			return true
		}
	}
	return false
}

// TestTheBinaryStaysSmall measures the stripped binary, as `make build` writes it.
func TestTheBinaryStaysSmall(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short: it links the whole program")
	}
	path := t.TempDir() + "/sortie"
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "../cmd/sortie")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, output)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxBinaryBytes {
		t.Errorf("the stripped binary has %d bytes, want at most %d", info.Size(), maxBinaryBytes)
	}
}
