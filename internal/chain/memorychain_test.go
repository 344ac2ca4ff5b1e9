package chain

import (
	"bytes"
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

const memoryChainID = 31337

// memoryChain is a chain that mines and reorganizes as it is told.
type memoryChain struct {
	mutex  sync.Mutex
	id     uint64
	blocks []*memoryBlock // canonical, by number
	byHash map[common.Hash]*memoryBlock
	final  uint64
	mined  int         // blocks ever, for hashes that differ
	salt   common.Hash // of the chain, likewise
	clock  func() time.Time

	foreign map[common.Hash]int // logs of other contracts that the receipts of transactions have
}

type memoryBlock struct {
	number uint64
	hash   common.Hash
	parent common.Hash
	time   uint64
	bloom  types.Bloom
	logs   []*types.Log
}

func newMemoryChain(clock func() time.Time) *memoryChain {
	c := &memoryChain{id: memoryChainID, byHash: make(map[common.Hash]*memoryBlock), clock: clock, salt: someHash()}
	c.mine()
	return c
}

// mine adds a block with logs, one transaction each. What the logs say of their place is
// overwritten.
func (c *memoryChain) mine(logs ...*types.Log) *memoryBlock {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.add(logs)
}

func (c *memoryChain) add(logs []*types.Log) *memoryBlock {
	c.mined++
	b := &memoryBlock{number: uint64(len(c.blocks)), time: uint64(c.clock().Unix())}
	if b.number > 0 {
		b.parent = c.blocks[b.number-1].hash
		b.time = max(b.time, c.blocks[b.number-1].time)
	}
	b.hash = crypto.Keccak256Hash(c.salt[:], b.parent[:], fmt.Appendf(nil, "%d %d", b.number, c.mined))
	for i, log := range logs {
		placed := *log
		placed.BlockNumber, placed.BlockHash, placed.Index, placed.Removed = b.number, b.hash, uint(2*i), false
		if placed.TxHash == (common.Hash{}) {
			placed.TxHash = crypto.Keccak256Hash(b.hash[:], []byte{byte(i)})
		}
		b.logs = append(b.logs, &placed)
	}
	b.bloom = types.CreateBloom(&types.Receipt{Logs: b.logs})
	c.blocks = append(c.blocks, b)
	c.byHash[b.hash] = b
	return b
}

func (c *memoryChain) mineEmpty(count int) {
	for range count {
		c.mine()
	}
}

// reorganize replaces so many blocks by one more, the first of which has the logs.
func (c *memoryChain) reorganize(depth int, logs ...*types.Log) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.blocks = c.blocks[:len(c.blocks)-depth]
	c.add(logs)
	for range depth {
		c.add(nil)
	}
}

func (c *memoryChain) finalize(number uint64) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.final = number
}

func (c *memoryChain) head() uint64 {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return uint64(len(c.blocks) - 1)
}

// events are what the ledger should hold of blocks above a number.
func (c *memoryChain) events(t testing.TB, above uint64) []string {
	t.Helper()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	var events []string
	for _, b := range c.blocks[above+1:] {
		for _, log := range b.logs {
			event, err := byBinding(log)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, describe(event))
		}
	}
	return events
}

// memoryNode serves a chain over HTTP, and lies as it is told.
type memoryNode struct {
	*httptest.Server
	chain *memoryChain
	mutex sync.Mutex
	lie   lie
	calls map[string]int
}

// lie is what a node does wrong. The zero value is honest.
type lie struct {
	http     func(w http.ResponseWriter, r *http.Request) bool // true: it has answered, or hung up
	envelope func(replies []map[string]any) any                // instead of the list of replies
	result   func(method string, params []any, result any) any // instead of one result; an error becomes one
	behind   uint64                                            // newest blocks that it does not have
}

func newMemoryNode(t testing.TB, c *memoryChain) *memoryNode {
	n := &memoryNode{chain: c, calls: make(map[string]int)}
	n.Server = httptest.NewServer(n)
	n.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	t.Cleanup(n.Close)
	return n
}

func (n *memoryNode) tell(l lie) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.lie = l
}

func (n *memoryNode) count(method string) int {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.calls[method]
}

func (n *memoryNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n.mutex.Lock()
	l, chain := n.lie, n.chain
	n.mutex.Unlock()
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	if l.http != nil && l.http(w, r) {
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
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	replies := make([]map[string]any, len(requests))
	for i, q := range requests {
		n.mutex.Lock()
		n.calls[q.Method]++
		n.mutex.Unlock()
		result := chain.answer(q.Method, q.Params, l.behind)
		if l.result != nil {
			result = l.result(q.Method, q.Params, result)
		}
		replies[i] = map[string]any{"jsonrpc": "2.0", "id": q.ID}
		if refused, isError := result.(error); isError {
			code := -32000
			if coded, hasCode := result.(*nodeError); hasCode {
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
	if l.envelope != nil {
		answer = l.envelope(replies)
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// answer is what an honest node says, except that it may lack the newest blocks.
func (c *memoryChain) answer(method string, params []any, behind uint64) any {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	head := uint64(len(c.blocks)-1) - min(behind, uint64(len(c.blocks)-1))
	switch method {
	case "eth_chainId":
		return hexutil.EncodeUint64(c.id)
	case "eth_getBlockByNumber":
		number, ok := c.resolve(params[0].(string), head)
		if !ok {
			return nil
		}
		return blockJSON(c.blocks[number])
	case "eth_getLogs":
		return c.getLogs(params[0].(map[string]any), head)
	case "eth_getTransactionByHash":
		transaction := common.HexToHash(params[0].(string))
		for _, b := range c.blocks[:head+1] {
			for _, log := range b.logs {
				if log.TxHash == transaction {
					return map[string]any{"hash": transaction, "gas": hexutil.EncodeUint64(c.gasOf(b, transaction)), "input": "0x"}
				}
			}
		}
		return nil
	case "eth_getTransactionReceipt":
		for _, b := range c.blocks[:head+1] {
			for _, log := range b.logs {
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
func (c *memoryChain) resolveAny(block any, head uint64) (uint64, bool) {
	if text, isText := block.(string); isText {
		return c.resolve(text, head)
	}
	hash, _ := block.(map[string]any)["blockHash"].(string)
	found := c.byHash[common.HexToHash(hash)]
	if found == nil || found.number > head || c.blocks[found.number] != found {
		return 0, false
	}
	return found.number, true
}

func (c *memoryChain) resolve(block string, head uint64) (uint64, bool) {
	switch block {
	case "latest":
		return head, true
	case "finalized":
		return min(c.final, head), true
	}
	number, err := hexutil.DecodeUint64(block)
	return number, err == nil && number <= head
}

func blockJSON(b *memoryBlock) map[string]any {
	return map[string]any{
		"number": hexutil.EncodeUint64(b.number), "hash": b.hash, "parentHash": b.parent, "timestamp": hexutil.EncodeUint64(b.time),
		"logsBloom": b.bloom, "transactions": []string{}, "extraData": "0x", "difficulty": "0x0",
	}
}

func receiptJSON(b *memoryBlock, log *types.Log) map[string]any {
	return map[string]any{
		"transactionHash": log.TxHash, "blockHash": b.hash, "blockNumber": hexutil.EncodeUint64(b.number), "status": "0x1",
		"logs": []any{log}, "gasUsed": "0x5208",
	}
}

// receiptOf is a transaction's receipt, with all of its logs.
func (c *memoryChain) receiptOf(b *memoryBlock, transaction common.Hash) map[string]any {
	receipt := receiptJSON(b, &types.Log{TxHash: transaction})
	logs := []any{}
	for _, log := range b.logs {
		if log.TxHash == transaction {
			logs = append(logs, log)
		}
	}
	empty := types.Log{TxHash: transaction, BlockHash: b.hash, BlockNumber: b.number, Topics: []common.Hash{}}
	for range c.foreign[transaction] {
		logs = append(logs, &empty)
	}
	receipt["logs"] = logs
	return receipt
}

// gasOf is what a transaction may use: a little more than its logs take.
func (c *memoryChain) gasOf(b *memoryBlock, transaction common.Hash) uint64 {
	gas := uint64(21_000 + 375*c.foreign[transaction])
	for _, log := range b.logs {
		if log.TxHash == transaction {
			gas += 75_000
		}
	}
	return gas
}

// crowd lets logs of other contracts be in a transaction.
func (c *memoryChain) crowd(transaction common.Hash, foreign int) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.foreign == nil {
		c.foreign = make(map[common.Hash]int)
	}
	c.foreign[transaction] = foreign
}

func (c *memoryChain) getLogs(filter map[string]any, head uint64) any {
	var blocks []*memoryBlock
	if hash, ok := filter["blockHash"].(string); ok {
		b, known := c.byHash[common.HexToHash(hash)]
		if !known || b.number > head {
			return fmt.Errorf("unknown block")
		}
		blocks = []*memoryBlock{b}
	} else {
		from, _ := hexutil.DecodeUint64(filter["fromBlock"].(string))
		to, _ := hexutil.DecodeUint64(filter["toBlock"].(string))
		if from <= head {
			blocks = c.blocks[from : min(to, head)+1]
		}
	}
	logs := []*types.Log{}
	for _, b := range blocks {
		for _, log := range b.logs {
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

// missionAt is what the contract would hold of a mission, as its events tell.
func (c *memoryChain) missionAt(factoryAddress common.Address, key common.Hash, number uint64) []byte {
	words := make([]byte, 7*wordSize)
	for _, b := range c.blocks[:number+1] {
		for _, log := range b.logs {
			if log.Address != factoryAddress || len(log.Topics) < 2 || log.Topics[1] != key {
				continue
			}
			event, err := byBinding(log)
			if err != nil {
				panic(err)
			}
			switch {
			case event.Funded != nil:
				copy(words[12:], event.Funded.Creator[:])
				event.Funded.Reward.FillBytes(words[wordSize : 2*wordSize])
				copy(words[2*wordSize+12:], event.Funded.Token[:])
				event.Funded.TargetCount.FillBytes(words[3*wordSize : 4*wordSize])
				new(big.Int).SetUint64(event.Funded.ReclaimAfter).FillBytes(words[5*wordSize : 6*wordSize])
			case event.Closed != nil:
				words[7*wordSize-1] = event.Closed.Reason
			}
		}
	}
	return words
}

// draftNumber makes a draft as the ledger would hold it.
func draftNumber(n int) onchain.Terms {
	return onchain.Terms{
		DraftID: "draft_" + strconv.Itoa(n), MissionID: "mission-" + strconv.Itoa(n), Creator: sortie.Address{19: byte(n), 18: 1},
		Token: sortie.Address{19: 2}, Factory: followedFactory, Reward: big.NewInt(1_000_000 + int64(n)),
		TargetCount: 10, Nonce: sortie.Hash{31: byte(n), 30: 7},
	}
}

// fundingLog is what the contract writes when a draft is funded.
func fundingLog(draft onchain.Terms) *types.Log {
	data, err := factoryABI.Events["MissionFunded"].Inputs.NonIndexed().Pack(draft.MissionID, draft.Reward,
		big.NewInt(int64(draft.TargetCount)), [32]byte(draft.Nonce), big.NewInt(1_800_000_000))
	if err != nil {
		panic(err)
	}
	return &types.Log{
		Address: common.Address(draft.Factory), Data: data,
		Topics: []common.Hash{common.Hash(topicMissionFunded), common.Hash(sortie.MissionKey(draft.MissionID)),
			common.BytesToHash(draft.Creator[:]), common.BytesToHash(draft.Token[:])},
	}
}

func closingLog(draft onchain.Terms) *types.Log {
	data, err := factoryABI.Events["MissionClosed"].Inputs.NonIndexed().Pack(draft.Reward, false, uint8(closedByService))
	if err != nil {
		panic(err)
	}
	return &types.Log{
		Address: common.Address(draft.Factory), Data: data,
		Topics: []common.Hash{common.Hash(topicMissionClosed), common.Hash(sortie.MissionKey(draft.MissionID))},
	}
}

// paymentLog is a payout, one of many in a block.
func paymentLog(draft onchain.Terms, slot int) *types.Log {
	event := factoryABI.Events["SubmissionPaid"]
	data, err := event.Inputs.NonIndexed().Pack(big.NewInt(int64(slot)), draft.Reward)
	if err != nil {
		panic(err)
	}
	return &types.Log{
		Address: common.Address(draft.Factory), Data: data,
		Topics: []common.Hash{event.ID, common.Hash(sortie.MissionKey(draft.MissionID)), {31: byte(slot), 30: byte(slot >> 8)}, {31: 9}},
	}
}

// nodesOn are nodes that have shown themselves already.
func nodesOn(t testing.TB, urls ...string) *Nodes {
	t.Helper()
	nodes := &Nodes{log: slog.New(slog.DiscardHandler), interval: recheckWaiting, deployment: Deployment{ChainID: memoryChainID}}
	for _, url := range urls {
		node, err := Dial(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		checked := &checkedNode{Node: node}
		checked.good.Store(true)
		nodes.nodes = append(nodes.nodes, checked)
	}
	t.Cleanup(nodes.Close)
	return nodes
}

// handClock is time that a test moves.
type handClock struct {
	mutex sync.Mutex
	at    time.Time
}

func newHandClock() *handClock { return &handClock{at: time.Unix(1_790_000_000, 0).UTC()} }

func (c *handClock) now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.at
}

func (c *handClock) advance(d time.Duration) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.at = c.at.Add(d)
}

// fork is a chain with the same blocks that goes its own way from here.
func (c *memoryChain) fork() *memoryChain {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	other := &memoryChain{
		id: c.id, blocks: slices.Clone(c.blocks), byHash: make(map[common.Hash]*memoryBlock), final: c.final, clock: c.clock, salt: someHash(),
	}
	for _, b := range c.blocks {
		other.byHash[b.hash] = b
	}
	return other
}

// serve makes the node one of another chain.
func (n *memoryNode) serve(c *memoryChain) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.chain = c
}
