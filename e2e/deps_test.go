package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/sortie-labs/sortie"

// rooms says which of our own packages each may import, and why no other. A package that is not
// here fails the test: decide what it may know before it grows.
var rooms = map[string]struct {
	imports []string
	why     string
}{
	"":                                  {nil, "the protocol is the leaf: importing the SDK must pull in none of the service"},
	"contracts":                         {nil, "compiled contracts know nothing of the service"},
	"contracts/bind/missionfactory":     {nil, "generated"},
	"contracts/bind/servicetoken":       {nil, "generated"},
	"contracts/bind/signaturevalidator": {nil, "generated"},
	"contracts/bind/testusdc":           {nil, "generated"},
	"spec":                              {nil, "the specification is data"},

	"internal/mission":  {[]string{""}, "rules are pure: no I/O, so no room that does I/O"},
	"internal/funding":  {[]string{""}, "keys and signatures know no database, no HTTP and no chain"},
	"internal/wallet":   {[]string{"", "contracts", "contracts/bind/signaturevalidator"}, "who signed a request is decided without database and keys; the chain is a function it is given"},
	"internal/onchain":  {[]string{"", "internal/mission"}, "the nouns of the chain are data: every room may know them, so they know no room"},
	"internal/store":    {[]string{"", "internal/mission", "internal/onchain", "internal/setting"}, "storage serves the use cases and never calls them"},
	"internal/verify":   {[]string{"", "internal/mission"}, "a verdict follows from its input: no database, no files"},
	"internal/app":      {[]string{"", "internal/mission", "internal/store", "internal/funding", "internal/blob", "internal/ingest", "internal/links", "internal/verify", "internal/onchain"}, "use cases know no HTTP and no chain"},
	"internal/api":      {[]string{"", "internal/apidocs", "internal/app", "internal/links", "internal/wallet"}, "HTTP decodes, calls one use case and encodes: it never sees the database"},
	"internal/apidocs":  {nil, "the docs page is data"},
	"internal/chain":    {[]string{"", "contracts/bind/missionfactory", "contracts/bind/servicetoken", "internal/onchain", "internal/setting"}, "the chain knows nodes and contracts; what their events mean for a mission is decided elsewhere"},
	"internal/follower": {[]string{"", "internal/chain", "internal/mission", "internal/onchain"}, "the follower hands events to a ledger and does not know where it keeps them"},
	"internal/sender":   {[]string{"", "internal/chain", "internal/leases", "internal/onchain", "internal/store"}, "the sender knows where intents are kept, and not what they are for"},
	"internal/leases":   {[]string{"internal/store"}, "a lease is held for any work"},
	"internal/jobs":     {[]string{"", "internal/store"}, "a queue carries work and knows none of it"},
	"internal/blob":     {[]string{"", "internal/s3"}, "files and hashes: who owns a file and who may read it is decided by the use cases"},
	"internal/s3":       {nil, "a client of S3 moves bytes; keys and timeouts are decided by its caller"},
	"internal/ingest":   {[]string{"", "internal/blob", "internal/ingest/container"}, "it reads files: of blob it needs the name of temporary directories only"},
	"internal/links":    {[]string{""}, "a link is verified without database and files"},
	"internal/devnet":   {[]string{"", "contracts", "contracts/bind/missionfactory", "contracts/bind/servicetoken", "contracts/bind/testusdc", "internal/chain", "internal/setting"}, "the development chain is a chain, not the service"},
	"internal/pgtest":   {nil, "it gives tests a database, whatever they keep in it"},
	"internal/porttest": {nil, "it gives tests a port, for any program"},
	"internal/setting":  {nil, "names of settings, which every room may report"},
	"internal/service":  {[]string{"", "spec", "internal/api", "internal/app", "internal/chain", "internal/funding", "internal/jobs", "internal/blob", "internal/ingest", "internal/store", "internal/verify", "internal/wallet", "internal/sender", "internal/leases", "internal/follower", "internal/setting"}, "the service opens the rooms and runs their work: it reads no flags and knows no client"},
	"internal/cli":      {[]string{"", "internal/app", "internal/chain", "internal/devnet", "internal/funding", "internal/ingest"}, "client commands use the API, a node and files: they never see the database or the service"},
	"cmd/sortie":        {[]string{"", "internal/api", "internal/app", "internal/chain", "internal/cli", "internal/devnet", "internal/funding", "internal/ingest", "internal/onchain", "internal/service", "internal/verify", "internal/sender", "internal/follower", "internal/setting"}, "cmd turns flags into configuration and starts what they name"},
	"bench":             {[]string{"", "spec", "contracts/bind/missionfactory", "contracts/bind/servicetoken", "internal/api", "internal/app", "internal/chain", "internal/devnet", "internal/funding", "internal/blob", "internal/mission", "internal/porttest", "internal/store", "internal/wallet", "internal/sender", "internal/follower"}, "the benchmark measures every room next to its bare limit"},
	"e2e":               {nil, "tests drive the binary from outside"},
	"e2e/language":      {nil, "it reads the sources of all rooms and imports none"},

	"internal/chaintest":        {[]string{"", "contracts/bind/missionfactory", "internal/onchain"}, "it gives tests a chain in memory, without the code that is tested on it"},
	"internal/anviltest":        {[]string{"", "contracts/bind/missionfactory", "contracts/bind/servicetoken", "internal/chain", "internal/devnet", "internal/funding"}, "it gives tests a chain of anvil with the contracts on it"},
	"internal/apidocs/generate": {[]string{"spec"}, "the docs page is made of the OpenAPI document alone"},
	"internal/ingest/container": {[]string{""}, "the parsers of file formats read bytes: of the protocol they need the content types"},
	"internal/ingest/specimen":  {nil, "it makes media files for tests of every package"},
}

// forbidden are packages of the standard library that a room must not import.
var forbidden = map[string]struct {
	imports []string
	why     string
}{
	"internal/app": {[]string{"net/http", "net/url"}, "use cases know no HTTP: package api builds URLs and reads queries"},
}

// sdkDependencies are the packages that a program importing the SDK compiles besides the standard
// library.
var sdkDependencies = []string{"github.com/decred/dcrd/dcrec/secp256k1/v4", "golang.org/x/crypto/sha3", "golang.org/x/sys/cpu"}

type listedPackage struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

func goList(t *testing.T, args ...string) []listedPackage {
	t.Helper()
	return goListIn(t, "..", args...)
}

func goListIn(t *testing.T, dir string, args ...string) []listedPackage {
	t.Helper()
	command := exec.Command("go", append([]string{"list", "-json=ImportPath,Imports,Standard"}, args...)...)
	command.Dir = dir
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	var packages []listedPackage
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var one listedPackage
		if err := decoder.Decode(&one); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, one)
	}
}

func room(importPath string) (string, bool) {
	if importPath == module {
		return "", true
	}
	return strings.CutPrefix(importPath, module+"/")
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) {
	t.Parallel()
	for _, listed := range append(goList(t, "./..."), goListIn(t, "../bench", "./...")...) {
		name, _ := room(listed.ImportPath)
		rule, known := rooms[name]
		if !known {
			t.Errorf("package %q has no rule: add it to rooms with what it may import and why", name)
			continue
		}
		for _, imported := range listed.Imports {
			if target, ours := room(imported); ours && !slices.Contains(rule.imports, target) {
				t.Errorf("%q imports %q: %s", name, target, rule.why)
			}
			if slices.Contains(forbidden[name].imports, imported) {
				t.Errorf("%q imports %q: %s", name, imported, forbidden[name].why)
			}
		}
	}
}

func TestTheSDKStaysLight(t *testing.T) {
	t.Parallel()
	for _, listed := range goList(t, "-deps", ".") {
		if listed.Standard || listed.ImportPath == module {
			continue
		}
		if !slices.ContainsFunc(sdkDependencies, func(allowed string) bool {
			return listed.ImportPath == allowed || strings.HasPrefix(listed.ImportPath, allowed+"/")
		}) {
			t.Errorf("the SDK now depends on %s: every program that imports it would too", listed.ImportPath)
		}
	}
}
