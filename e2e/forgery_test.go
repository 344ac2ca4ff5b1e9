package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
)

// object is a JSON object whose members are changed one at a time.
type object map[string]json.RawMessage

func (o object) set(member string, value any) object {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // the forged values
	}
	o[member] = text
	return o
}

func (o object) number(member string) (number hexutil.Uint64) {
	_ = json.Unmarshal(o[member], &number)
	return number
}

// altered changes an answer that is an object. Others, such as null, stay unchanged.
func altered(answer *rpcAnswer, change func(object)) {
	var o object
	if json.Unmarshal(answer.Result, &o) != nil || o == nil {
		return
	}
	change(o)
	answer.Result, _ = json.Marshal(o)
}

// answered is an answer with the value.
func answered(value any) *rpcAnswer {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return &rpcAnswer{Result: text}
}

func refused(code int, message string) *rpcAnswer {
	text, err := json.Marshal(map[string]any{"code": code, "message": message})
	if err != nil {
		panic(err)
	}
	return &rpcAnswer{Error: text}
}

// forgery is a funding that never happened, in the block after the current head.
type forgery struct {
	chain       *anvil
	mission     drafted
	block       uint64
	transaction common.Hash
}

// forge forges the funding of a draft. Each behaviour shows a part of it.
func forge(chain *anvil, mission drafted) *forgery {
	chain.t.Helper()
	return &forgery{chain, mission, uint64(chain.head().Number) + 1, common.HexToHash("0xf0" + strings.Repeat("1", 62))}
}

// logContent is the event as the contract would emit it.
func (f *forgery) logContent() types.Log {
	quote := f.mission.quote
	event := factoryABI.Events["MissionFunded"]
	reward, _ := new(big.Int).SetString(quote.RewardPerSubmissionBaseUnits, 10)
	data, err := event.Inputs.NonIndexed().Pack(f.mission.missionID, reward, new(big.Int).SetUint64(quote.TargetCount),
		[32]byte(quote.Authorization.Nonce), big.NewInt(4_000_000_000))
	if err != nil {
		panic(err)
	}
	word := func(address sortie.Address) common.Hash { return common.BytesToHash(address[:]) }
	return types.Log{Data: data, Topics: []common.Hash{
		event.ID, common.Hash(sortie.MissionKey(f.mission.missionID)), word(quote.Authorization.Creator), word(quote.TokenAddress),
	}}
}

// log is the event as a node would return it, nil until the block exists.
func (f *forgery) log() object {
	var block struct{ Hash *common.Hash }
	if err := f.chain.rpc.Call(&block, "eth_getBlockByNumber", hexutil.Uint64(f.block), false); err != nil || block.Hash == nil {
		return nil
	}
	content := f.logContent()
	return object{}.set("address", f.mission.quote.FactoryAddress).set("topics", content.Topics).set("data", hexutil.Bytes(content.Data)).
		set("blockNumber", hexutil.Uint64(f.block)).set("blockHash", block.Hash).set("transactionHash", f.transaction).
		set("transactionIndex", "0x0").set("logIndex", "0x3e8").set("removed", false)
}

// showLog adds the event, after a change, to every list of logs that would contain it.
func (f *forgery) showLog(call rpcCall, answer *rpcAnswer, change func([]object, object) []object) {
	if call.Method != "eth_getLogs" || answer.Result == nil {
		return
	}
	var filter struct {
		BlockHash          *common.Hash
		FromBlock, ToBlock string
	}
	log := f.log()
	if len(call.Params) == 0 || json.Unmarshal(call.Params[0], &filter) != nil || log == nil {
		return
	}
	if filter.BlockHash != nil {
		var hash common.Hash
		if _ = json.Unmarshal(log["blockHash"], &hash); hash != *filter.BlockHash {
			return
		}
	} else {
		from, fromErr := hexutil.DecodeUint64(filter.FromBlock)
		to, toErr := hexutil.DecodeUint64(filter.ToBlock)
		if fromErr == nil && from > f.block || toErr == nil && to < f.block {
			return
		}
	}
	var logs []object
	_ = json.Unmarshal(answer.Result, &logs)
	answer.Result = answered(change(logs, log)).Result
}

func appended(logs []object, log object) []object { return append(logs, log) }

// showBloom makes the block's filter match anything.
func (f *forgery) showBloom(call rpcCall, answer *rpcAnswer) {
	if !strings.HasPrefix(call.Method, "eth_getBlockBy") {
		return
	}
	altered(answer, func(block object) {
		if uint64(block.number("number")) == f.block {
			block.set("logsBloom", "0x"+strings.Repeat("ff", 256))
		}
	})
}

// showReceipt forges the receipt of the transaction that was never sent.
func (f *forgery) showReceipt(call rpcCall, answer *rpcAnswer) {
	if call.Method != "eth_getTransactionReceipt" || len(call.Params) == 0 || !bytes.Contains(call.Params[0], []byte(f.transaction.Hex()[2:])) {
		return
	}
	log := f.log()
	if log == nil {
		return
	}
	*answer = rpcAnswer{answer.Version, answer.ID, answered(object{}.set("transactionHash", f.transaction).set("transactionIndex", "0x0").
		set("blockHash", log["blockHash"]).set("blockNumber", log["blockNumber"]).set("from", f.mission.quote.Authorization.Creator).
		set("to", f.mission.quote.FactoryAddress).set("status", "0x1").set("type", "0x2").set("gasUsed", "0x1").
		set("cumulativeGasUsed", "0x1").set("effectiveGasPrice", "0x1").set("contractAddress", nil).
		set("logsBloom", "0x"+strings.Repeat("ff", 256)).set("logs", []object{log})).Result, nil}
}

// showMission makes the contract state contain the mission.
func (f *forgery) showMission(call rpcCall, answer *rpcAnswer) {
	asked := hexutil.Encode(missionfactory.NewMissionFactory().PackMissions(sortie.MissionKey(f.mission.missionID)))
	if call.Method != "eth_call" || len(call.Params) == 0 || !bytes.Contains(call.Params[0], []byte(asked[2:])) {
		return
	}
	quote := f.mission.quote
	reward, _ := new(big.Int).SetString(quote.RewardPerSubmissionBaseUnits, 10)
	held, err := factoryABI.Methods["missions"].Outputs.Pack(missionfactory.IMissionFactoryMission{
		Creator: common.Address(quote.Authorization.Creator), RewardPerSubmission: reward, Token: common.Address(quote.TokenAddress),
		TargetCount: new(big.Int).SetUint64(quote.TargetCount), PaidCount: new(big.Int), ReclaimAfter: big.NewInt(4_000_000_000),
	})
	if err != nil {
		panic(err)
	}
	*answer = rpcAnswer{answer.Version, answer.ID, answered(hexutil.Bytes(held)).Result, nil}
}

// cappedAt is a node that knows nothing above a block.
func cappedAt(chain *anvil, last uint64) behaviour {
	return behaviour{
		before: func(_ context.Context, call rpcCall) *rpcAnswer {
			switch call.Method {
			case "eth_blockNumber":
				return answered(hexutil.Uint64(last))
			case "eth_getBlockByNumber":
				var tag string
				_ = json.Unmarshal(call.Params[0], &tag)
				if number, err := hexutil.DecodeUint64(tag); err == nil && number > last {
					return &rpcAnswer{Result: json.RawMessage("null")}
				}
				switch tag {
				case "latest":
					return askChain(chain, "eth_getBlockByNumber", hexutil.Uint64(last), false)
				case "finalized":
					return askChain(chain, "eth_getBlockByNumber", hexutil.Uint64(last-finalDepth), false)
				}
			case "eth_getTransactionReceipt", "eth_getBlockByHash":
				answer := askChain(chain, call.Method, asAny(call.Params)...)
				var placed object
				if json.Unmarshal(answer.Result, &placed) == nil && max(placed.number("number"), placed.number("blockNumber")) > hexutil.Uint64(last) {
					return &rpcAnswer{Result: json.RawMessage("null")}
				}
				return answer
			}
			return nil
		},
	}
}

// askChain asks the chain directly.
func askChain(chain *anvil, method string, params ...any) *rpcAnswer {
	var result json.RawMessage
	if err := chain.rpc.Call(&result, method, params...); err != nil {
		return refused(-32000, err.Error())
	}
	return &rpcAnswer{Result: result}
}

func asAny(params []json.RawMessage) []any {
	values := make([]any, len(params))
	for i, param := range params {
		values[i] = param
	}
	return values
}

// onBlocks changes every block that is requested by the given tag, or by any if it is empty.
func onBlocks(tag string, change func(object)) behaviour {
	return behaviour{after: func(_ context.Context, call rpcCall, answer *rpcAnswer) {
		if call.Method != "eth_getBlockByNumber" || tag != "" && string(call.Params[0]) != fmt.Sprintf("%q", tag) {
			return
		}
		altered(answer, change)
	}}
}

// Invalid answers.

func html(status int) behaviour {
	return behaviour{wire: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(status)
		_, _ = w.Write([]byte("<html><body><h1>Checking your browser</h1></body></html>"))
	}}
}

func tooManyRequests() behaviour {
	return behaviour{wire: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"daily request count exceeded"}}`))
	}}
}

func truncated() behaviour {
	return behaviour{wire: func(w http.ResponseWriter, _ *http.Request, answer []byte) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer[:len(answer)*2/3])
	}}
}

func empty() behaviour {
	return behaviour{wire: func(http.ResponseWriter, *http.Request, []byte) {}}
}

// silence answers no request.
func silence() behaviour {
	return behaviour{wire: func(_ http.ResponseWriter, r *http.Request, _ []byte) { <-r.Context().Done() }}
}

// hangsUp closes the connection without an answer.
func hangsUp() behaviour {
	return behaviour{wire: func(http.ResponseWriter, *http.Request, []byte) { panic(http.ErrAbortHandler) }}
}

// endless answers with a gigabyte of one JSON string.
func endless() behaviour {
	return behaviour{wire: func(w http.ResponseWriter, r *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":"0x`))
		for chunk, left := bytes.Repeat([]byte("0"), 1<<20), 1<<10; left > 0 && r.Context().Err() == nil; left-- {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}}
}

// otherIDs answers with unknown request ids.
func otherIDs() behaviour {
	return behaviour{after: func(_ context.Context, _ rpcCall, answer *rpcAnswer) { answer.ID = json.RawMessage("987654321") }}
}
