package main

import (
	"fmt"
	"math/big"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/sortie-labs/sortie/internal/store"
)

func TestGoalsAreJudgedAndCounted(t *testing.T) {
	t.Parallel()
	var r report
	r.add("speed", result{Name: "fast enough", Value: 0.8}.atLeast(0.8))
	r.add("speed", result{Name: "too slow", Value: 0.79}.atLeast(0.8))
	r.add("memory", result{Name: "small enough", Value: 60, Unit: "MB"}.atMost(60))
	r.add("memory", result{Name: "only told", Value: 61, Unit: "MB"})
	met, missed := r.goals()
	if met != 2 || len(missed) != 1 || missed[0] != "speed: too slow" {
		t.Errorf("met %d, missed %q", met, missed)
	}
	var table strings.Builder
	if err := r.writeTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"0.80 x", ">= 0.8", "missed", "60 MB", "<= 60", "2 of 3 goals met"} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
}

func TestRatiosOfGoBenchmarksAreRead(t *testing.T) {
	t.Parallel()
	const output = "BenchmarkDigestRatio/settlement_of_10-2 \t 100 \t 0 ns/op \t 11682 ns/ours \t 95066 ns/reference \t 8.140 x-cheaper\n" +
		"BenchmarkQuoteRatio-2 \t 100 \t 0 ns/op \t 6405 ns/ours \t 98391 ns/reference \t 15.36 x-cheaper\nPASS\n"
	lines := ratioLine.FindAllStringSubmatch(output, -1)
	if len(lines) != 2 || lines[0][1] != "Digest" || lines[0][2] != "settlement_of_10" || lines[0][5] != "8.140" || lines[1][2] != "" || lines[1][3] != "6405" {
		t.Errorf("read %q", lines)
	}
}

func TestMedianIsOfTheValuesInOrder(t *testing.T) {
	t.Parallel()
	got := median([]cost{{cpu: 9}, {cpu: 1}, {cpu: 5}}, func(c cost) time.Duration { return c.cpu })
	if got != 5 {
		t.Errorf("the median of 9, 1 and 5 is %d", got)
	}
}

func TestPartsOfFilesAreInsideThem(t *testing.T) {
	t.Parallel()
	starts := make(map[int]bool)
	for n := range 1000 {
		var from, to int
		if _, err := fmt.Sscanf(rangeHeader(n, rangeLength, 20*megabyte), "Range: bytes=%d-%d\r\n", &from, &to); err != nil {
			t.Fatal(err)
		}
		if from < 0 || to-from != rangeLength-1 || to >= 20*megabyte {
			t.Fatalf("part %d is from %d to %d", n, from, to)
		}
		starts[from] = true
	}
	if len(starts) < 100 {
		t.Errorf("the parts begin at %d places only", len(starts))
	}
}

func TestNextCursorIsFoundOrMissed(t *testing.T) {
	t.Parallel()
	if cursor, err := nextCursor([]byte(`{"summary":{"returnedSubmissions":100,"nextCursor":"AbC-_","generatedAt":"x"}}`)); err != nil || cursor != "AbC-_" {
		t.Errorf("found %q, %v", cursor, err)
	}
	if cursor, err := nextCursor([]byte(`{"summary":{"nextCursor":null},"title":"x"}`)); err == nil {
		t.Errorf("found %q on the last page", cursor)
	}
}

func TestRecordingAnswersLikeANode(t *testing.T) {
	t.Parallel()
	r := newRecording(31337, "", time.Now())
	draft := store.Draft{NewDraft: store.NewDraft{MissionID: "a-mission-00000000", Reward: big.NewInt(5), TargetCount: 200}}
	recordLife(r, draft)
	r.mineEmpty(unsettledBlocks)
	if want := 2 + paymentsPerMission; r.events != want {
		t.Fatalf("%d events are recorded, want %d", r.events, want)
	}
	node := httptest.NewServer(r)
	defer node.Close()
	scan := &scanWork{task: assignment{RPC: node.URL}}
	answer, err := scan.fetch(t.Context(), 1, uint64(len(r.blocks)-1))
	if err != nil {
		t.Fatal(err)
	}
	for name, decode := range decoders {
		if events, err := decode(answer); err != nil || events != r.events {
			t.Errorf("decoded %s: %d events of %d, %v", name, events, r.events, err)
		}
	}
	client, err := ethclient.Dial(node.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	funded, err := client.HeaderByNumber(t.Context(), big.NewInt(1))
	if err != nil {
		t.Fatal(err)
	}
	if before, err := client.HeaderByNumber(t.Context(), new(big.Int)); err != nil || funded.ParentHash != before.Hash() {
		t.Errorf("block 1 does not follow block 0: %v", err)
	}
	if topic := factoryABI.Events["MissionFunded"].ID; !funded.Bloom.Test(topic[:]) {
		t.Error("the funding is not in its block's bloom filter")
	}
}
