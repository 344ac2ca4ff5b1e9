package chain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"pgregory.net/rapid"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// drawLog makes a log as the contract writes it.
func drawLog(t *rapid.T) *types.Log {
	name := rapid.SampledFrom([]string{
		"MissionFunded", "SubmissionPaid", "PayoutDeferred", "MissionClosed",
	}).Draw(t, "event")
	word := func(label string) common.Hash {
		return common.Hash(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, label))
	}
	address := func(label string) common.Hash { return common.BytesToHash(word(label).Bytes()[12:]) }
	number := func(label string, bits int) *big.Int {
		return new(big.Int).Rsh(new(big.Int).SetBytes(word(label).Bytes()), uint(256-bits))
	}
	event := chaintest.FactoryABI.Events[name]
	log := &types.Log{
		Address: common.Address(chaintest.Factory), Topics: []common.Hash{event.ID}, BlockNumber: rapid.Uint64Range(0, 1<<40).Draw(t, "block"),
		BlockHash: word("blockHash"), TxHash: word("transaction"), Index: uint(rapid.IntRange(0, 5000).Draw(t, "index")),
	}
	var values []any
	switch name {
	case "MissionFunded":
		id := rapid.OneOf(rapid.StringMatching(`[a-z0-9-]{1,64}`), rapid.StringN(1, 10, 64)).Draw(t, "id")
		log.Topics = append(log.Topics, common.Hash(sortie.MissionKey(id)), address("creator"), address("token"))
		values = []any{id, number("reward", 96), number("count", 24), [32]byte(word("nonce")), number("reclaimAfter", 40)}
	case "SubmissionPaid", "PayoutDeferred":
		log.Topics = append(log.Topics, word("mission"), word("submission"), address("recipient"))
		values = []any{number("slot", 24), number("amount", 96)}
	case "MissionClosed":
		log.Topics = append(log.Topics, word("mission"))
		values = []any{number("refund", 113), rapid.Bool().Draw(t, "deferred"), uint8(rapid.IntRange(1, 2).Draw(t, "reason"))}
	}
	data, err := event.Inputs.NonIndexed().Pack(values...)
	if err != nil {
		t.Fatal(err)
	}
	log.Data = data
	return log
}

func sameEvent(a, b onchain.Event) bool { return chaintest.Describe(a) == chaintest.Describe(b) }

func TestEventsAreReadAsTheGeneratedCodeReadsThem(t *testing.T) {
	t.Parallel()
	kinds := make(map[onchain.EventKind]int)
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		want, err := chaintest.DecodeLog(log)
		if err != nil {
			t.Fatal(err)
		}
		got, err := NewLogFilter([]sortie.Address{chaintest.Factory}).Events(fmt.Appendf(nil, "[ %s\n]", chaintest.LogJSON(t, log)), log.BlockNumber, log.BlockNumber)
		if err != nil || len(got) != 1 || !sameEvent(got[0], want) {
			t.Fatalf("read %+v, %v\nwant %s", got, err, chaintest.Describe(want))
		}
		kinds[want.Kind]++
	})
	if len(kinds) != len(eventShapes) {
		t.Errorf("tried kinds of event: got %v, want all four", kinds)
	}
}

func TestTopicsAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	for topic, shape := range eventShapes {
		event, err := chaintest.FactoryABI.EventByID(common.Hash(topic))
		if err != nil {
			t.Errorf("decode a log of kind %s: got error %v, want none", shape.kind, err)
			continue
		}
		indexed := len(event.Inputs) - len(event.Inputs.NonIndexed())
		if shape.topics != 1+indexed {
			t.Errorf("%s has %d topics, want %d", shape.kind, shape.topics, 1+indexed)
		}
	}
}

// A log that differs from a valid one in one byte is refused, or decoded like the generated code
// does.
func TestAlteredLogsAreRefusedOrReadExactly(t *testing.T) {
	t.Parallel()
	refused, read := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		switch rapid.IntRange(0, 4).Draw(t, "how") {
		case 0:
			log.Topics = append(log.Topics, common.Hash{1})
		case 1:
			log.Topics = log.Topics[:len(log.Topics)-1]
		case 2:
			log.Data = append(log.Data, make([]byte, rapid.SampledFrom([]int{1, 31, 32}).Draw(t, "more"))...)
		case 3:
			log.Data = log.Data[:len(log.Data)-min(len(log.Data), rapid.SampledFrom([]int{1, 32}).Draw(t, "less"))]
		default:
			if len(log.Data) > 0 {
				log.Data[rapid.IntRange(0, len(log.Data)-1).Draw(t, "at")] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
			}
		}
		got, err := NewLogFilter([]sortie.Address{chaintest.Factory}).Events(fmt.Appendf(nil, "[%s]", chaintest.LogJSON(t, log)), log.BlockNumber, log.BlockNumber)
		if err != nil {
			if !errors.Is(err, ErrBadAnswer) {
				t.Fatalf("decode an altered log: got error %v, want ErrBadAnswer", err)
			}
			refused++
			return
		}
		want, err := chaintest.DecodeLog(log)
		if err != nil || !sameEvent(got[0], want) {
			t.Fatalf("read %s\nwant %s, %v", chaintest.Describe(got[0]), chaintest.Describe(want), err)
		}
		again, err := chaintest.FactoryABI.Events[chaintest.FactoryABI.Events[eventName(want.Kind)].Name].Inputs.NonIndexed().Unpack(log.Data)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := chaintest.FactoryABI.Events[eventName(want.Kind)].Inputs.NonIndexed().Pack(again...)
		if err != nil || !bytes.Equal(packed, log.Data) {
			t.Fatalf("decoded data %x, want it refused: the contract does not write it", log.Data)
		}
		read++
	})
	// Under -short rapid draws so few logs that all may be of one kind.
	if !testing.Short() && (refused == 0 || read == 0) {
		t.Errorf("got %d refused and %d decoded logs, want more of both", refused, read)
	}
}

func eventName(kind onchain.EventKind) string {
	for topic, shape := range eventShapes {
		if shape.kind == kind {
			event, _ := chaintest.FactoryABI.EventByID(common.Hash(topic))
			return event.Name
		}
	}
	return ""
}

func exampleLog() *types.Log {
	data, err := chaintest.FactoryABI.Events["MissionFunded"].Inputs.NonIndexed().Pack("a-mission", big.NewInt(5), big.NewInt(3), [32]byte{7}, big.NewInt(1_800_000_000))
	if err != nil {
		panic(err)
	}
	return &types.Log{
		Address:     common.Address(chaintest.Factory),
		Topics:      []common.Hash{common.Hash(topicMissionFunded), common.Hash(sortie.MissionKey("a-mission")), {31: 1}, {31: 2}},
		Data:        data,
		BlockNumber: 7, BlockHash: common.Hash{7}, TxHash: common.Hash{8}, Index: 3,
	}
}

func TestLogsThatWereNotRequestedAreRefused(t *testing.T) {
	t.Parallel()
	whole := string(chaintest.LogJSON(t, exampleLog()))
	second := strings.Replace(whole, `"logIndex":"0x3"`, `"logIndex":"0x4"`, 1)
	look := NewLogFilter([]sortie.Address{chaintest.Factory})
	if got, err := look.Events([]byte("["+whole+","+second+"]"), 1, 9); err != nil || len(got) != 2 {
		t.Fatalf("decode both logs unaltered: got %d events, %v, want 2", len(got), err)
	}
	padded := exampleLog()
	padded.Data[len(padded.Data)-1] = 1
	for name, list := range map[string]string{
		"no list":           whole,
		"padding":           "[" + string(chaintest.LogJSON(t, padded)) + "]",
		"a string":          `"` + strings.Repeat("0", 100) + `"`,
		"an element null":   "[null]",
		"twice":             "[" + whole + "," + whole + "]",
		"wrong order":       "[" + second + "," + whole + "]",
		"removed":           "[" + strings.Replace(whole, `"removed":false`, `"removed":true`, 1) + "]",
		"removed: 1":        "[" + strings.Replace(whole, `"removed":false`, `"removed":1`, 1) + "]",
		"another contract":  "[" + strings.Replace(whole, "fac70", "fac71", 1) + "]",
		"another event":     "[" + strings.Replace(whole, topicMissionFunded.String(), sortie.Hash{1}.String(), 1) + "]",
		"another block":     "[" + strings.Replace(whole, `"blockNumber":"0x7"`, `"blockNumber":"0x10"`, 1) + "]",
		"two hashes":        "[" + whole + "," + strings.Replace(second, `"blockHash":"0x07`, `"blockHash":"0x17`, 1) + "]",
		"another mission":   "[" + strings.Replace(whole, sortie.MissionKey("a-mission").String(), sortie.MissionKey("b").String(), 1) + "]",
		"a number in bytes": "[" + strings.Replace(whole, `"blockNumber":"0x7"`, `"blockNumber":7`, 1) + "]",
		"leading zeros":     "[" + strings.Replace(whole, `"blockNumber":"0x7"`, `"blockNumber":"0x07"`, 1) + "]",
		"no hash":           "[" + strings.Replace(whole, `"blockHash"`, `"blockhash"`, 1) + "]",
		"two addresses":     "[" + strings.Replace(whole, `{`, `{"address":"0x00000000000000000000000000000000000fac71",`, 1) + "]",
		"a short hash":      "[" + strings.Replace(whole, `"blockHash":"0x07`, `"blockHash":"0x7`, 1) + "]",
		"a wide address":    "[" + strings.Replace(whole, `0000000000000000000000000000000000000000000000000000000000000001"`, `1000000000000000000000000000000000000000000000000000000000000001"`, 1) + "]",
	} {
		if name != "no list" && list == "["+whole+"]" {
			t.Fatalf("%s: the log was not altered, want it altered", name)
		}
		if got, err := look.Events([]byte(list), 1, 9); !errors.Is(err, ErrBadAnswer) || got != nil {
			t.Errorf("%s: got %d events, %v, want an error", name, len(got), err)
		}
	}
}

func TestBloomFiltersAgreeWithTheLibrary(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		log := drawLog(t)
		bloom := types.CreateBloom(&types.Receipt{Logs: []*types.Log{log}})
		look := NewLogFilter([]sortie.Address{chaintest.Factory})
		events, err := look.Events(fmt.Appendf(nil, "[%s]", chaintest.LogJSON(t, log)), log.BlockNumber, log.BlockNumber)
		if err != nil {
			t.Fatal(err)
		}
		h := &Header{Block: onchain.Block{Number: log.BlockNumber, Hash: sortie.Hash(log.BlockHash)}, bloom: bloom}
		if err := look.CheckInBlock(events, h); err != nil {
			t.Fatalf("check events in their block: got error %v, want none", err)
		}
		empty := *h
		empty.bloom = types.Bloom{}
		other := *h
		other.Hash[0] ^= 1
		for name, wrong := range map[string]*Header{"an empty filter": &empty, "another block": &other} {
			if err := look.CheckInBlock(events, wrong); !errors.Is(err, ErrBadAnswer) {
				t.Fatalf("check events with %s: got error %v, want ErrBadAnswer", name, err)
			}
		}
		probe := rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "probe")
		if bloomBitsOf(probe).in(&bloom) != types.BloomLookup(bloom, common.Hash(probe)) {
			t.Fatalf("the bloom lookup of %x differs from the library's, want the same", probe)
		}
	})
}

// FuzzLogs compares the decoder with encoding/json and go-ethereum's type.
func FuzzLogs(f *testing.F) {
	f.Add(append(append([]byte("["), chaintest.LogJSON(f, exampleLog())...), ']'))
	f.Add([]byte(`[{"address":"0x"}, {}]`))
	f.Add([]byte(`[{"topics":["\u0030x", "\"]"]}]`))
	f.Fuzz(func(t *testing.T, list []byte) {
		replies, err := parseReplies(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":%s}`, list), 1)
		if err != nil {
			return
		}
		text, err := replies[0].Value()
		if err != nil {
			return
		}
		events, err := NewLogFilter([]sortie.Address{chaintest.Factory}).Events(text, 0, 1<<62)
		if err != nil {
			return
		}
		var logs []types.Log
		if err := json.Unmarshal(text, &logs); err != nil || len(logs) != len(events) {
			t.Fatalf("got %d events of text that the library refuses (%v), want an error", len(events), err)
		}
		for i := range events {
			want, err := chaintest.DecodeLog(&logs[i])
			if err != nil || !sameEvent(events[i], want) {
				t.Fatalf("event %d is %s, want %s (%v)", i, chaintest.Describe(events[i]), chaintest.Describe(want), err)
			}
		}
	})
}

// FuzzReplies compares the reader of replies with encoding/json.
func FuzzReplies(f *testing.F) {
	f.Add([]byte(`[{"id":2,"result":null},{"id":1,"jsonrpc":"2.0","result":{"a":[1,"]\"",{}]}}]`))
	f.Add([]byte(`[{"id":1,"error":{"code":-32000,"message":"no\u0000"}},{"id":2,"result":1 }]`))
	f.Add([]byte(`{"id":null,"error":{}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		replies, err := parseReplies(body, 2)
		if err != nil {
			return
		}
		var library []struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
		}
		if err := json.Unmarshal(body, &library); err != nil || len(library) != len(replies) {
			t.Fatalf("read replies that the library refuses (%v), want an error", err)
		}
		for _, one := range library {
			ours := replies[one.ID-1]
			if ours.Err == nil && !reflect.DeepEqual([]byte(one.Result), ours.result) {
				t.Fatalf("the result of %d is %s, want %s", one.ID, ours.result, one.Result)
			}
		}
	})
}

// Events that anyone can cause for the price of gas are not requested.
func TestEventsWithoutAUseAreNotFollowed(t *testing.T) {
	t.Parallel()
	query := NewLogFilter(nil).query
	for _, name := range []string{"DeferredClaimed", "AuthorizationRevoked", "DailyCapSet", "RoleGranted"} {
		if id := chaintest.FactoryABI.Events[name].ID.Hex(); strings.Contains(query, id) {
			t.Errorf("the filter %s asks for %s, want it not to", query, name)
		}
	}
	if got, want := fmt.Sprint(len(followedTopics)), "4"; got != want {
		t.Errorf("got %s kinds of event, want %s", got, want)
	}
}
