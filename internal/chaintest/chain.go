// Package chaintest gives tests a chain in memory, and nodes of it that can lie.
package chaintest

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

const ChainID = 31337

// WordBytes is the size of one value in the contract's answers.
const WordBytes = 32

// refusalOf is a JSON-RPC error of a node, as the result of a lie.
type refusalOf struct {
	code    int
	message string
}

func (r *refusalOf) Error() string { return r.message }

// Refuse returns a JSON-RPC error as the result of a lie.
func Refuse(code int, message string) error { return &refusalOf{code, message} }

// Chain is a chain in memory.
type Chain struct {
	mutex  sync.Mutex
	id     uint64
	Blocks []*Block // canonical, by number
	byHash map[common.Hash]*Block
	Final  uint64
	mined  int         // all blocks ever mined, for unique hashes
	salt   common.Hash // for hashes unlike those of other chains
	clock  func() time.Time

	foreign map[common.Hash]int // logs of other contracts by transaction
}

type Block struct {
	Number uint64
	Hash   common.Hash
	parent common.Hash
	time   uint64
	bloom  types.Bloom
	Logs   []*types.Log
}

func NewChain(clock func() time.Time) *Chain {
	c := &Chain{id: ChainID, byHash: make(map[common.Hash]*Block), clock: clock, salt: RandomHash()}
	c.Mine()
	return c
}

// Mine adds a block with logs, one transaction each. It overwrites the position of the logs.
func (c *Chain) Mine(logs ...*types.Log) *Block {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.add(logs)
}

func (c *Chain) add(logs []*types.Log) *Block {
	c.mined++
	b := &Block{Number: uint64(len(c.Blocks)), time: uint64(c.clock().Unix())}
	if b.Number > 0 {
		b.parent = c.Blocks[b.Number-1].Hash
		b.time = max(b.time, c.Blocks[b.Number-1].time)
	}
	b.Hash = crypto.Keccak256Hash(c.salt[:], b.parent[:], fmt.Appendf(nil, "%d %d", b.Number, c.mined))
	for i, log := range logs {
		placed := *log
		placed.BlockNumber, placed.BlockHash, placed.Index, placed.Removed = b.Number, b.Hash, uint(2*i), false
		if placed.TxHash == (common.Hash{}) {
			placed.TxHash = crypto.Keccak256Hash(b.Hash[:], []byte{byte(i)})
		}
		b.Logs = append(b.Logs, &placed)
	}
	b.bloom = types.CreateBloom(&types.Receipt{Logs: b.Logs})
	c.Blocks = append(c.Blocks, b)
	c.byHash[b.Hash] = b
	return b
}

func (c *Chain) MineEmpty(count int) {
	for range count {
		c.Mine()
	}
}

// Reorganize replaces the last depth blocks by depth+1 new ones, the first of which has the logs.
func (c *Chain) Reorganize(depth int, logs ...*types.Log) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.Blocks = c.Blocks[:len(c.Blocks)-depth]
	c.add(logs)
	for range depth {
		c.add(nil)
	}
}

func (c *Chain) Finalize(number uint64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.Final = number
}

func (c *Chain) Head() uint64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return uint64(len(c.Blocks) - 1)
}

// Events returns what the ledger should hold of the blocks above a number.
func (c *Chain) Events(t testing.TB, above uint64) []string {
	t.Helper()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var events []string
	for _, b := range c.Blocks[above+1:] {
		for _, log := range b.Logs {
			event, err := DecodeLog(log)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, Describe(event))
		}
	}
	return events
}

// Node serves a chain over HTTP, with the lies of the test.
type Node struct {
	*httptest.Server
	chain *Chain
	mutex sync.Mutex
	lie   Lie
	calls map[string]int
}

// Lie is a fault of a node. The zero value is no fault.
type Lie struct {
	HTTP     func(w http.ResponseWriter, r *http.Request) bool // returns true if it has answered
	Envelope func(replies []map[string]any) any                // replaces the list of replies
	Result   func(method string, params []any, result any) any // replaces one result; an error becomes a JSON-RPC error
	Lag      uint64                                            // newest blocks that the node lacks
}

// NewHandler serves a chain without lies.
func NewHandler(c *Chain) http.Handler {
	return &Node{chain: c, calls: make(map[string]int)}
}

func NewNode(t testing.TB, c *Chain) *Node {
	n := &Node{chain: c, calls: make(map[string]int)}
	n.Server = httptest.NewServer(n)
	n.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(n.Close)
	return n
}

func (n *Node) SetLie(l Lie) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.lie = l
}

func (n *Node) Count(method string) int {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.calls[method]
}

func (n *Node) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mutex.Lock()
	l, chain := n.lie, n.chain
	n.mutex.Unlock()
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if l.HTTP != nil && l.HTTP(w, r) {
		return
	}
	type request struct {
		ID     int    `json:"id"`
		Method string `json:"method"`
		Params []any  `json:"params"`
	}
	var requests []request
	single := len(body) > 0 && body[0] == '{'
	if single {
		body = append(append([]byte{'['}, body...), ']')
	}
	if err := json.Unmarshal(body, &requests); err != nil {
		http.Error(w, "the request is not valid JSON-RPC: "+err.Error(), http.StatusBadRequest)
		return
	}
	replies := make([]map[string]any, len(requests))
	for i, q := range requests {
		n.mutex.Lock()
		n.calls[q.Method]++
		n.mutex.Unlock()
		result := chain.answer(q.Method, q.Params, l.Lag)
		if l.Result != nil {
			result = l.Result(q.Method, q.Params, result)
		}
		replies[i] = map[string]any{"jsonrpc": "2.0", "id": q.ID}
		if refused, isError := result.(error); isError {
			code := -32000
			if coded, hasCode := result.(*refusalOf); hasCode {
				code = coded.code
			}
			replies[i]["error"] = map[string]any{"code": code, "message": refused.Error()}
		} else {
			replies[i]["result"] = result
		}
	}
	var answer any = replies
	if single {
		answer = replies[0]
	}
	if l.Envelope != nil {
		answer = l.Envelope(replies)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// answer is the answer of an honest node that may lack the newest blocks.
func (c *Chain) answer(method string, params []any, lag uint64) any {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	head := uint64(len(c.Blocks)-1) - min(lag, uint64(len(c.Blocks)-1))
	switch method {
	case "eth_chainId":
		return hexutil.EncodeUint64(c.id)
	case "eth_getBlockByNumber":
		number, ok := c.resolve(params[0].(string), head)
		if !ok {
			return nil
		}
		return BlockJSON(c.Blocks[number])
	case "eth_getLogs":
		return c.getLogs(params[0].(map[string]any), head)
	case "eth_getTransactionByHash":
		transaction := common.HexToHash(params[0].(string))
		for _, b := range c.Blocks[:head+1] {
			for _, log := range b.Logs {
				if log.TxHash == transaction {
					return map[string]any{"hash": transaction, "gas": hexutil.EncodeUint64(c.gasOf(b, transaction)), "input": "0x"}
				}
			}
		}
		return nil
	case "eth_getTransactionReceipt":
		for _, b := range c.Blocks[:head+1] {
			for _, log := range b.Logs {
				if log.TxHash == common.HexToHash(params[0].(string)) {
					return c.receiptOf(b, log.TxHash)
				}
			}
		}
		return nil
	case "eth_call":
		number, ok := c.resolveAny(params[1], head)
		if !ok {
			return fmt.Errorf("header not found")
		}
		data := common.FromHex(params[0].(map[string]any)["data"].(string))
		return hexutil.Encode(c.missionAt(common.HexToAddress(params[0].(map[string]any)["to"].(string)), common.BytesToHash(data[4:]), number))
	default:
		return fmt.Errorf("the method %s does not exist", method)
	}
}

// resolveAny finds a block by number, tag or hash (EIP-1898).
func (c *Chain) resolveAny(block any, head uint64) (uint64, bool) {
	if text, isText := block.(string); isText {
		return c.resolve(text, head)
	}
	hash, _ := block.(map[string]any)["blockHash"].(string)
	found := c.byHash[common.HexToHash(hash)]
	if found == nil || found.Number > head || c.Blocks[found.Number] != found {
		return 0, false
	}
	return found.Number, true
}

func (c *Chain) resolve(block string, head uint64) (uint64, bool) {
	switch block {
	case "latest":
		return head, true
	case "finalized":
		return min(c.Final, head), true
	}
	number, err := hexutil.DecodeUint64(block)
	return number, err == nil && number <= head
}

func BlockJSON(b *Block) map[string]any {
	return map[string]any{
		"number": hexutil.EncodeUint64(b.Number), "hash": b.Hash, "parentHash": b.parent, "timestamp": hexutil.EncodeUint64(b.time),
		"logsBloom": b.bloom, "transactions": []string{}, "extraData": "0x", "difficulty": "0x0",
	}
}

func ReceiptJSON(b *Block, log *types.Log) map[string]any {
	return map[string]any{
		"transactionHash": log.TxHash, "blockHash": b.Hash, "blockNumber": hexutil.EncodeUint64(b.Number), "status": "0x1",
		"logs": []any{log}, "gasUsed": "0x5208",
	}
}

// receiptOf is a transaction's receipt, with all of its logs.
func (c *Chain) receiptOf(b *Block, transaction common.Hash) map[string]any {
	receipt := ReceiptJSON(b, &types.Log{TxHash: transaction})
	logs := []any{}
	for _, log := range b.Logs {
		if log.TxHash == transaction {
			logs = append(logs, log)
		}
	}
	empty := types.Log{TxHash: transaction, BlockHash: b.Hash, BlockNumber: b.Number, Topics: []common.Hash{}}
	for range c.foreign[transaction] {
		logs = append(logs, &empty)
	}
	receipt["logs"] = logs
	return receipt
}

// gasOf is the gas limit of a transaction: a little more than its logs cost.
func (c *Chain) gasOf(b *Block, transaction common.Hash) uint64 {
	gas := uint64(21_000 + 375*c.foreign[transaction])
	for _, log := range b.Logs {
		if log.TxHash == transaction {
			gas += 75_000
		}
	}
	return gas
}

// AddForeignLogs adds logs of other contracts to a transaction.
func (c *Chain) AddForeignLogs(transaction common.Hash, foreign int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.foreign == nil {
		c.foreign = make(map[common.Hash]int)
	}
	c.foreign[transaction] = foreign
}

func (c *Chain) getLogs(filter map[string]any, head uint64) any {
	var blocks []*Block
	if hash, ok := filter["blockHash"].(string); ok {
		b, known := c.byHash[common.HexToHash(hash)]
		if !known || b.Number > head {
			return fmt.Errorf("unknown block")
		}
		blocks = []*Block{b}
	} else {
		from, _ := hexutil.DecodeUint64(filter["fromBlock"].(string))
		to, _ := hexutil.DecodeUint64(filter["toBlock"].(string))
		if from <= head {
			blocks = c.Blocks[from : min(to, head)+1]
		}
	}
	logs := []*types.Log{}
	for _, b := range blocks {
		for _, log := range b.Logs {
			if wanted(filter, log) {
				logs = append(logs, log)
			}
		}
	}
	return logs
}

func wanted(filter map[string]any, log *types.Log) bool {
	if !slices.ContainsFunc(filter["address"].([]any), func(a any) bool { return common.HexToAddress(a.(string)) == log.Address }) {
		return false
	}
	for i, topic := range filter["topics"].([]any) {
		choices, several := topic.([]any)
		if !several {
			choices = []any{topic}
		}
		if i >= len(log.Topics) || !slices.ContainsFunc(choices, func(a any) bool { return common.HexToHash(a.(string)) == log.Topics[i] }) {
			return false
		}
	}
	return true
}

// missionAt is the state of a mission, according to its events.
func (c *Chain) missionAt(factoryAddress common.Address, key common.Hash, number uint64) []byte {
	words := make([]byte, 7*WordBytes)
	for _, b := range c.Blocks[:number+1] {
		for _, log := range b.Logs {
			if log.Address != factoryAddress || len(log.Topics) < 2 || log.Topics[1] != key {
				continue
			}
			event, err := DecodeLog(log)
			if err != nil {
				panic(err)
			}
			switch {
			case event.Funded != nil:
				copy(words[12:], event.Funded.Creator[:])
				event.Funded.Reward.FillBytes(words[WordBytes : 2*WordBytes])
				copy(words[2*WordBytes+12:], event.Funded.Token[:])
				event.Funded.TargetCount.FillBytes(words[3*WordBytes : 4*WordBytes])
				new(big.Int).SetUint64(event.Funded.ReclaimAfter).FillBytes(words[5*WordBytes : 6*WordBytes])
			case event.Closed != nil:
				words[7*WordBytes-1] = event.Closed.Reason
			}
		}
	}
	return words
}

// Terms returns the terms of the n-th draft.
func Terms(n int) onchain.Terms {
	return onchain.Terms{
		DraftID: "draft_" + strconv.Itoa(n), MissionID: "mission-" + strconv.Itoa(n), Creator: sortie.Address{19: byte(n), 18: 1},
		Token: sortie.Address{19: 2}, Factory: Factory, Reward: big.NewInt(1_000_000 + int64(n)),
		TargetCount: 10, Nonce: sortie.Hash{31: byte(n), 30: 7},
	}
}

// FundingLog is the log of a draft's funding.
func FundingLog(draft onchain.Terms) *types.Log {
	data, err := FactoryABI.Events["MissionFunded"].Inputs.NonIndexed().Pack(draft.MissionID, draft.Reward,
		big.NewInt(int64(draft.TargetCount)), [32]byte(draft.Nonce), big.NewInt(1_800_000_000))
	if err != nil {
		panic(err)
	}
	return &types.Log{
		Address: common.Address(draft.Factory), Data: data,
		Topics: []common.Hash{FactoryABI.Events["MissionFunded"].ID, common.Hash(sortie.MissionKey(draft.MissionID)),
			common.BytesToHash(draft.Creator[:]), common.BytesToHash(draft.Token[:])},
	}
}

func ClosingLog(draft onchain.Terms) *types.Log {
	data, err := FactoryABI.Events["MissionClosed"].Inputs.NonIndexed().Pack(draft.Reward, false, uint8(1))
	if err != nil {
		panic(err)
	}
	return &types.Log{
		Address: common.Address(draft.Factory), Data: data,
		Topics: []common.Hash{FactoryABI.Events["MissionClosed"].ID, common.Hash(sortie.MissionKey(draft.MissionID))},
	}
}

// PaymentLog is the log of a payout.
func PaymentLog(draft onchain.Terms, slot int) *types.Log {
	event := FactoryABI.Events["SubmissionPaid"]
	data, err := event.Inputs.NonIndexed().Pack(big.NewInt(int64(slot)), draft.Reward)
	if err != nil {
		panic(err)
	}
	return &types.Log{
		Address: common.Address(draft.Factory), Data: data,
		Topics: []common.Hash{event.ID, common.Hash(sortie.MissionKey(draft.MissionID)), {31: byte(slot), 30: byte(slot >> 8)}, {31: 9}},
	}
}

// Clock is a clock that the test moves.
type Clock struct {
	mutex sync.Mutex
	at    time.Time
}

func NewClock() *Clock { return &Clock{at: time.Unix(1_790_000_000, 0).UTC()} }

func (c *Clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.at
}

func (c *Clock) Advance(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.at = c.at.Add(d)
}

// Fork returns a chain with the same blocks, which diverges from here.
func (c *Chain) Fork() *Chain {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	other := &Chain{
		id: c.id, Blocks: slices.Clone(c.Blocks), byHash: make(map[common.Hash]*Block), Final: c.Final, clock: c.clock, salt: RandomHash(),
	}
	for _, b := range c.Blocks {
		other.byHash[b.Hash] = b
	}
	return other
}

// Serve switches the node to another chain.
func (n *Node) Serve(c *Chain) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.chain = c
}

func AnswersWith(status int, body string) Lie {
	return Lie{HTTP: func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}}
}

// About changes the results of one method that have the type T.
func About[T any](method string, change func(params []any, result T) any) Lie {
	return Lie{Result: func(asked string, params []any, result any) any {
		if said, ok := result.(T); ok && asked == method {
			return change(params, said)
		}
		return result
	}}
}

func RandomHash() common.Hash {
	var hash common.Hash
	_, _ = rand.Read(hash[:])
	return hash
}
