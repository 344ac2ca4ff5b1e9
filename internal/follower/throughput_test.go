package follower

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/chain"
	"github.com/sortie-labs/sortie/internal/chaintest"
	"github.com/sortie-labs/sortie/internal/onchain"
	"github.com/sortie-labs/sortie/internal/store"
)

// recorded serves prepared answers, so that the node is not measured.
type recorded struct {
	*httptest.Server
	blocks [][]byte
	logs   [][]byte // of a block, without brackets
	events int

	receipts map[string][]byte
}

// shape describes a chain: so many logs in every n-th block, every m-th of them a funding.
type shape struct{ blocks, logs, everyBlock, everyFunding int }

func record(t testing.TB, s shape) *recorded {
	t.Helper()
	chain := chaintest.NewChain(time.Now)
	count := 0
	for i := range s.blocks {
		var logs []*types.Log
		for j := 0; j < s.logs && i%s.everyBlock == 0; j++ {
			if count++; count%s.everyFunding == 0 {
				logs = append(logs, chaintest.FundingLog(chaintest.Terms(count)))
			} else {
				logs = append(logs, chaintest.PaymentLog(chaintest.Terms(1), count))
			}
		}
		chain.Mine(logs...)
	}
	r := &recorded{receipts: make(map[string][]byte)}
	for _, b := range chain.Blocks {
		header, err := json.Marshal(chaintest.BlockJSON(b))
		if err != nil {
			t.Fatal(err)
		}
		var logs [][]byte
		for _, log := range b.Logs {
			logs = append(logs, chaintest.LogJSON(t, log))
			if r.receipts[log.TxHash.Hex()], err = json.Marshal(chaintest.ReceiptJSON(b, log)); err != nil {
				t.Fatal(err)
			}
		}
		r.blocks, r.logs = append(r.blocks, header), append(r.logs, bytes.Join(logs, []byte(",")))
		r.events += len(b.Logs)
	}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

func (c *recorded) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	type request struct {
		ID     int               `json:"id"`
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	var requests []request
	text := body.Bytes()
	single := text[0] == '{'
	if single {
		text = append(append([]byte{'['}, text...), ']')
	}
	if err := json.Unmarshal(text, &requests); err != nil {
		panic(err)
	}
	var answer bytes.Buffer
	for i, q := range requests {
		if i > 0 {
			answer.WriteByte(',')
		}
		fmt.Fprintf(&answer, `{"jsonrpc":"2.0","id":%d,"result":`, q.ID)
		switch q.Method {
		case "eth_chainId":
			answer.WriteString(`"0x7a69"`)
		case "eth_getBlockByNumber":
			number := uint64(len(c.blocks) - 1)
			if tag := strings.Trim(string(q.Params[0]), `"`); strings.HasPrefix(tag, "0x") {
				number, _ = hexutil.DecodeUint64(tag)
			}
			answer.Write(c.blocks[number])
		case "eth_getTransactionByHash":
			answer.WriteString(`{"gas":"0x30d40"}`)
		case "eth_getTransactionReceipt":
			answer.Write(c.receipts[strings.Trim(string(q.Params[0]), `"`)])
		case "eth_getLogs":
			from, to := 0, 0
			var filter struct{ FromBlock, ToBlock hexutil.Uint64 }
			_ = json.Unmarshal(q.Params[0], &filter)
			from, to = int(filter.FromBlock), int(filter.ToBlock)
			answer.WriteByte('[')
			first := true
			for _, logs := range c.logs[from : to+1] {
				if len(logs) == 0 {
					continue
				}
				if !first {
					answer.WriteByte(',')
				}
				first = false
				answer.Write(logs)
			}
			answer.WriteByte(']')
		}
		answer.WriteByte('}')
	}
	if !single {
		_, _ = w.Write([]byte{'['})
	}
	_, _ = w.Write(answer.Bytes())
	if !single {
		_, _ = w.Write([]byte{']'})
	}
}

// plainLedger stores blocks and events in a database.
type plainLedger struct {
	*memoryLedger
	db *store.DB
}

func openLedger(t testing.TB) *plainLedger {
	t.Helper()
	db, err := store.Open(t.Context(), "sqlite:"+filepath.Join(t.TempDir(), "ledger.db"), store.Options{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &plainLedger{newMemoryLedger(time.Now), db}
}

func (l *plainLedger) Position(ctx context.Context, chainID uint64) (onchain.Position, error) {
	return l.db.ChainPosition(ctx, chainID)
}

func (l *plainLedger) Begin(ctx context.Context, chainID uint64, start onchain.Block) error {
	return l.db.Tx(ctx, func(tx *store.Tx) error {
		return tx.StartChain(onchain.Position{ChainID: chainID, Start: start.Number, Tip: start, Head: start.Number})
	})
}

func (l *plainLedger) Advance(ctx context.Context, a onchain.Advance) (moved onchain.Position, err error) {
	err = l.db.Tx(ctx, func(tx *store.Tx) error {
		tip := a.After
		if len(a.Blocks) > 0 {
			tip = a.Blocks[len(a.Blocks)-1]
		}
		if moved, err = tx.MoveChain(a.Was, tip, a.Head, a.Final); err != nil {
			return err
		}
		if err := tx.AddBlocks(a.ChainID, a.Blocks); err != nil {
			return err
		}
		return tx.AddEvents(a.ChainID, a.Events)
	})
	return moved, err
}

func (l *plainLedger) PendingConfirmations(context.Context, uint64, uint64, uint64, onchain.ConfirmationPlace) ([]onchain.Confirmation, onchain.ConfirmationPlace, error) {
	return nil, onchain.ConfirmationPlace{}, nil
}

// bare reads, decodes and inserts each range without checks: the lower limit of a follower.
func bare(t testing.TB, c *recorded, db *store.DB) {
	node := nodesOn(t, c.URL).InUse()[0]
	look := chain.NewLogFilter([]sortie.Address{chaintest.Factory})
	for from := 1; from < len(c.blocks); from += maxRangeBlocks {
		to := min(from+maxRangeBlocks, len(c.blocks)) - 1
		replies, err := node.Batch(t.Context(), []chain.Call{look.RangeCall(uint64(from), uint64(to))})
		if err != nil {
			t.Fatal(err)
		}
		logs, err := replies[0].Value()
		if err != nil {
			t.Fatal(err)
		}
		events, err := look.Events(logs, 0, 1<<40)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Tx(t.Context(), func(tx *store.Tx) error { return tx.AddEvents(chaintest.ChainID, events) }); err != nil {
			t.Fatal(err)
		}
	}
}

func follow(t testing.TB, c *recorded, ledger *plainLedger) *Follower {
	ledger.interest = time.Unix(0, 0)
	follower := New(Config{
		Nodes: nodesOn(t, c.URL), Ledger: ledger, ChainID: chaintest.ChainID, Logger: slog.New(slog.DiscardHandler),
	})
	for {
		progress, err := follower.Converge(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !progress.More {
			return follower
		}
	}
}

// BenchmarkThroughput follows a recorded chain durably, and compares that with the same work
// without checks.
func BenchmarkThroughput(b *testing.B) {
	for name, s := range map[string]shape{
		"payouts":  {blocks: 4000, logs: 10, everyBlock: 1, everyFunding: 50}, // realistic: many payouts for each mission
		"sparse":   {blocks: 20000, logs: 10, everyBlock: 10, everyFunding: 50},
		"thin":     {blocks: 20000, logs: 1, everyBlock: 1, everyFunding: 50}, // a header for every event
		"fundings": {blocks: 4000, logs: 5, everyBlock: 1, everyFunding: 1},   // a receipt for every event
	} {
		c := record(b, s)
		b.Run(name, func(b *testing.B) {
			var follower, limit time.Duration
			for b.Loop() {
				begun := time.Now()
				follow(b, c, openLedger(b))
				follower += time.Since(begun)
				begun = time.Now()
				bare(b, c, openLedger(b).db)
				limit += time.Since(begun)
			}
			b.ReportMetric(float64(c.events*b.N)/follower.Seconds(), "events/s")
			b.ReportMetric(limit.Seconds()/follower.Seconds(), "of-limit")
		})
	}
}

func TestRecordedChainIsFollowedWhole(t *testing.T) {
	t.Parallel()
	c := record(t, shape{blocks: 300, logs: 3, everyBlock: 2, everyFunding: 5})
	ledger := openLedger(t)
	follow(t, c, ledger)
	events, err := ledger.db.ChainEvents(t.Context(), chaintest.ChainID, 0, 1<<40)
	if err != nil || len(events) != c.events || len(events) == 0 {
		t.Errorf("got %d events, want %d (error %v)", len(events), c.events, err)
	}
}
