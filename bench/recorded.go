package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/internal/store"
)

// recording is a chain that was mined beforehand and is served as bytes, so that what is measured
// is not the node. What it does not know, the contracts' code and settings, it lets another node
// answer.
type recording struct {
	chainID  uint64
	upstream string // URL of that other node
	began    time.Time

	tip      common.Hash
	blocks   [][]byte          // by number
	logs     [][]byte          // of each block, without the brackets of their list
	receipts map[string][]byte // by the transaction's hash
	missions map[string][]byte // what the contract holds, by what it is asked with
	events   int
}

const (
	// strangers are the other transactions in a block, whose hashes its header lists.
	strangers = 50
	// unsettled is how many empty blocks end a recording: the follower reads so many one by one,
	// and ranges are what is measured.
	unsettled = 64
)

var (
	factoryContract = missionfactory.NewMissionFactory()
	factoryABI      = factoryContract.GetABI()
)

// newRecording begins a chain whose first block is older than the drafts and whose others are not.
func newRecording(chainID uint64, upstream string, drafts time.Time) *recording {
	r := &recording{
		chainID: chainID, upstream: upstream, began: drafts.Add(-2 * time.Hour),
		receipts: make(map[string][]byte), missions: make(map[string][]byte),
	}
	r.mine()
	r.began = drafts.Add(-time.Minute)
	return r
}

// mine adds a block with one transaction that made these logs.
func (r *recording) mine(logs ...*types.Log) {
	number := uint64(len(r.blocks))
	header := &types.Header{
		ParentHash: r.tip, Number: new(big.Int).SetUint64(number), Time: uint64(r.began.Unix()), Difficulty: new(big.Int),
		Bloom: types.CreateBloom(&types.Receipt{Logs: logs}), GasLimit: 30_000_000, GasUsed: 12_345_678, BaseFee: big.NewInt(1_000_000_007),
	}
	r.tip = header.Hash()
	transaction := crypto.Keccak256Hash(r.tip[:])
	texts := make([][]byte, len(logs))
	for i, log := range logs {
		log.BlockNumber, log.BlockHash, log.TxHash, log.TxIndex, log.Index = number, r.tip, transaction, 7, uint(100+i)
		texts[i] = encoded(log)
	}
	list := bytes.Join(texts, []byte(","))
	transactions := make([]common.Hash, strangers)
	for i := range transactions {
		transactions[i] = crypto.Keccak256Hash(r.tip[:], []byte{byte(i)})
	}
	if len(logs) > 0 {
		transactions[7] = transaction
		r.receipts[transaction.Hex()] = fmt.Appendf(nil, `{"transactionHash":"%s","blockHash":"%s","blockNumber":"%#x","status":"0x1","gasUsed":"0x5208","logs":[%s]}`,
			transaction, r.tip, number, list)
	}
	block := bytes.TrimSuffix(encoded(header), []byte("}"))
	r.blocks = append(r.blocks, fmt.Appendf(block, `,"size":"0x220","uncles":[],"transactions":%s}`, encoded(transactions)))
	r.logs = append(r.logs, list)
	r.events += len(logs)
}

func (r *recording) mineEmpty(blocks int) {
	for range blocks {
		r.mine()
	}
}

func encoded(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // all of them have a form
	}
	return text
}

const reclaimAfter = 1_900_000_000 // Unix seconds

func fundedLog(draft store.Draft) *types.Log {
	return eventLog("MissionFunded", draft, []common.Hash{common.BytesToHash(draft.Wallet[:]), common.BytesToHash(draft.TokenAddress[:])},
		draft.MissionID, draft.Reward, big.NewInt(int64(draft.TargetCount)), [32]byte(draft.Nonce), big.NewInt(reclaimAfter))
}

func paidLog(draft store.Draft, slot int) *types.Log {
	submission := crypto.Keccak256Hash([]byte(draft.MissionID), big.NewInt(int64(slot)).Bytes())
	return eventLog("SubmissionPaid", draft, []common.Hash{submission, common.BytesToHash(submission[12:])}, big.NewInt(int64(slot)), draft.Reward)
}

func paidLogs(draft store.Draft, from, to int) (logs []*types.Log) {
	for slot := from; slot < to; slot++ {
		logs = append(logs, paidLog(draft, slot))
	}
	return logs
}

// reclaimedLog closes a mission as its creator does, when the time to submit is over.
func reclaimedLog(draft store.Draft, paid int) *types.Log {
	rest := new(big.Int).Mul(draft.Reward, big.NewInt(int64(draft.TargetCount-paid)))
	return eventLog("MissionClosed", draft, nil, rest, false, uint8(closedByCreator))
}

const closedByCreator = 2

func eventLog(name string, draft store.Draft, indexed []common.Hash, values ...any) *types.Log {
	event := factoryABI.Events[name]
	data, err := event.Inputs.NonIndexed().Pack(values...)
	if err != nil {
		panic(err) // the values are ours
	}
	key := common.Hash(sortie.MissionKey(draft.MissionID))
	return &types.Log{Address: common.Address(draft.Factory), Topics: append([]common.Hash{event.ID, key}, indexed...), Data: data}
}

// hold makes the contract hold a mission as it is at the end of the recording.
func (r *recording) hold(draft store.Draft, paid, closed int) {
	key := sortie.MissionKey(draft.MissionID)
	state := bytes.Join([][]byte{
		common.LeftPadBytes(draft.Wallet[:], 32), common.LeftPadBytes(draft.Reward.Bytes(), 32), common.LeftPadBytes(draft.TokenAddress[:], 32),
		word(draft.TargetCount), word(paid), word(reclaimAfter), word(closed),
	}, nil)
	r.missions[common.Bytes2Hex(factoryContract.PackMissions(key))] = fmt.Appendf(nil, `"0x%x"`, state)
}

func word(value int) []byte { return common.LeftPadBytes(big.NewInt(int64(value)).Bytes(), 32) }

// question is a JSON-RPC request.
type question struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

func (r *recording) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	var questions []question
	batch := bytes.HasPrefix(body, []byte("["))
	if err == nil && batch {
		err = json.Unmarshal(body, &questions)
	} else if err == nil {
		questions = make([]question, 1)
		err = json.Unmarshal(body, &questions[0])
	}
	answers := make([][]byte, len(questions))
	for i, q := range questions {
		if err == nil {
			answers[i], err = r.answer(q)
		}
	}
	if err != nil {
		http.Error(w, "recorded chain: "+err.Error(), http.StatusBadGateway)
		return
	}
	text := bytes.Join(answers, []byte(","))
	if batch {
		text = append(append([]byte("["), text...), ']')
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	_, _ = w.Write(text) // who asked looks
}

func (r *recording) answer(q question) ([]byte, error) {
	result, err := r.result(q)
	if errors.Is(err, errNotRecorded) {
		return r.ask(q)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q.Method, err)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, q.ID, result), nil
}

var errNotRecorded = errors.New("not recorded")

func (r *recording) result(q question) ([]byte, error) {
	switch q.Method {
	case "eth_chainId":
		return fmt.Appendf(nil, `"%#x"`, r.chainID), nil
	case "eth_getBlockByNumber":
		return r.block(q.Params[0])
	case "eth_getLogs":
		return r.rangeLogs(q.Params[0])
	case "eth_getTransactionByHash":
		return []byte(`{"gas":"0x30d40"}`), nil
	case "eth_getTransactionReceipt":
		return r.receipts[strings.Trim(string(q.Params[0]), `"`)], nil
	case "eth_call":
		var call struct{ Data, Input string }
		err := json.Unmarshal(q.Params[0], &call)
		if mission := r.missions[strings.TrimPrefix(call.Data+call.Input, "0x")]; mission != nil {
			return mission, nil
		}
		return nil, errors.Join(err, errNotRecorded)
	}
	return nil, errNotRecorded
}

// block finds one by number; every tag means the newest, which is final.
func (r *recording) block(param []byte) ([]byte, error) {
	text, isNumber := strings.CutPrefix(strings.Trim(string(param), `"`), "0x")
	if !isNumber {
		return r.blocks[len(r.blocks)-1], nil
	}
	number, err := strconv.ParseUint(text, 16, 64)
	if err != nil || number >= uint64(len(r.blocks)) {
		return []byte("null"), err
	}
	return r.blocks[number], nil
}

// rangeLogs returns the logs of a range. A request by block hash is about the newest blocks, which
// have no logs.
func (r *recording) rangeLogs(param []byte) ([]byte, error) {
	var filter struct{ FromBlock, ToBlock string }
	if err := json.Unmarshal(param, &filter); err != nil || filter.FromBlock == "" {
		return []byte("[]"), err
	}
	from, err := strconv.ParseUint(strings.TrimPrefix(filter.FromBlock, "0x"), 16, 64)
	if err != nil {
		return nil, err
	}
	to, err := strconv.ParseUint(strings.TrimPrefix(filter.ToBlock, "0x"), 16, 64)
	if err != nil {
		return nil, err
	}
	list := []byte("[")
	for _, logs := range r.logs[from : to+1] {
		if len(logs) > 0 {
			list = append(append(list, logs...), ',')
		}
	}
	return append(bytes.TrimSuffix(list, []byte(",")), ']'), nil
}

// ask lets the other node answer.
func (r *recording) ask(q question) ([]byte, error) {
	text := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"method":"%s","params":%s}`, q.ID, q.Method, encoded(q.Params))
	response, err := http.Post(r.upstream, "application/json", bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(response.Body)
	return bytes.TrimSpace(answer), err
}
