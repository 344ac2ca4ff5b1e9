package chain

import (
	"bytes"
	"encoding/binary"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

const wordSize = 32

// maxMissionID is the contract's limit in bytes.
const maxMissionID = 64

// eventShape describes how the contract writes an event: indexed arguments are topics after the
// event's own, the others are words of data. Decoding by hand is ten times cheaper than with the
// ABI, and refuses what the ABI accepts: surplus data, and values too wide for the contract's
// types.
type eventShape struct {
	kind   onchain.EventKind
	topics int  // with the event's own
	words  int  // of data
	tail   bool // more data follows the words
	read   func(*onchain.Event, *rawLog) bool
}

func topicOf(signature string) sortie.Hash {
	return sortie.Hash(crypto.Keccak256Hash([]byte(signature)))
}

var (
	topicMissionFunded = topicOf("MissionFunded(bytes32,address,address,string,uint256,uint256,bytes32,uint256)")
	topicMissionClosed = topicOf("MissionClosed(bytes32,uint256,bool,uint8)")
)

// eventShapes are the events that are followed. Other events of the contract, which anyone can
// cause for the price of gas, are not requested.
var eventShapes = map[sortie.Hash]eventShape{
	topicMissionFunded: {onchain.EventMissionFunded, 4, 6, true, readMissionFunded},
	topicMissionClosed: {onchain.EventMissionClosed, 2, 3, false, readMissionClosed},
	topicOf("SubmissionPaid(bytes32,bytes32,address,uint256,uint256)"): {onchain.EventSubmissionPaid, 4, 2, false, readPayment},
	topicOf("PayoutDeferred(bytes32,bytes32,address,uint256,uint256)"): {onchain.EventPayoutDeferred, 4, 2, false, readPayment},
}

// followedTopics are the keys of eventShapes in a fixed order.
var followedTopics = slices.SortedFunc(maps.Keys(eventShapes), func(a, b sortie.Hash) int { return bytes.Compare(a[:], b[:]) })

// event decodes a log. known is false for events that are not followed.
func (l *rawLog) event() (event onchain.Event, known bool, err error) {
	if l.topicCount == 0 {
		return event, false, nil
	}
	shape, known := eventShapes[l.topics[0]]
	if !known {
		return event, false, nil
	}
	tail := len(l.data) - wordSize*shape.words
	fits := l.topicCount == shape.topics && tail >= 0 && shape.tail == (tail > 0)
	event = onchain.Event{
		Block: l.block, BlockHash: l.blockHash, LogIndex: l.index, Transaction: l.transaction, Factory: l.address, Kind: shape.kind,
	}
	if !fits || !shape.read(&event, l) {
		return onchain.Event{}, true, BadAnswer("log %d of block %d is no %s that the contract writes", l.index, l.block, shape.kind)
	}
	return event, true, nil
}

func readMissionFunded(event *onchain.Event, l *rawLog) bool {
	creator, creatorFits := addressOf(l.topics[2][:])
	token, tokenFits := addressOf(l.topics[3][:])
	target, targetFits := narrow(l.data.word(2), 24)
	reclaimAfter, timeFits := narrow(l.data.word(4), 40)
	missionID, idFits := l.missionID()
	event.MissionKey = l.topics[1]
	event.Funded = &onchain.MissionFunded{
		MissionID: storable(missionID), Creator: creator, Token: token, Reward: new(big.Int).SetBytes(l.data.word(1)),
		TargetCount: new(big.Int).SetUint64(target), Nonce: sortie.Hash(l.data.word(3)), ReclaimAfter: reclaimAfter,
	}
	return creatorFits && tokenFits && targetFits && timeFits && event.Funded.Reward.BitLen() <= 96 &&
		idFits && sortie.MissionKey(missionID) == event.MissionKey
}

// missionID decodes the only argument of variable length: offset, length, bytes and zero padding.
func (l *rawLog) missionID() (string, bool) {
	const head = 5 * wordSize
	place, placeFits := narrow(l.data.word(0), 64)
	length, lengthFits := narrow(l.data.word(5), 64)
	if !placeFits || !lengthFits || place != head || length == 0 || length > maxMissionID {
		return "", false
	}
	tail := l.data[head+wordSize:]
	padded := (int(length) + wordSize - 1) / wordSize * wordSize
	if len(tail) != padded || !allZero(tail[length:]) {
		return "", false
	}
	return string(tail[:length]), true
}

// storable makes a mission id valid text for every database. An authorizer may sign any bytes;
// those that are not valid text are no id of this service, before or after the change.
func storable(missionID string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(missionID, "\uFFFD"), "\x00", "\uFFFD")
}

func readMissionClosed(event *onchain.Event, l *rawLog) bool {
	deferred, deferredFits := narrow(l.data.word(1), 1)
	reason, reasonFits := narrow(l.data.word(2), 8)
	event.MissionKey = l.topics[1]
	event.Closed = &onchain.MissionClosed{Refund: new(big.Int).SetBytes(l.data.word(0)), RefundDeferred: deferred == 1, Reason: uint8(reason)}
	return deferredFits && reasonFits && (reason == closedByService || reason == closedByCreator)
}

// The contract's reasons for the end of a mission.
const (
	closedByService = 1
	closedByCreator = 2
)

func readPayment(event *onchain.Event, l *rawLog) bool {
	recipient, recipientFits := addressOf(l.topics[3][:])
	slot, slotFits := narrow(l.data.word(0), 24)
	event.MissionKey = l.topics[1]
	event.Payment = &onchain.Payment{SubmissionKey: l.topics[2], Recipient: recipient, Slot: slot, Amount: new(big.Int).SetBytes(l.data.word(1))}
	return recipientFits && slotFits
}

// words are consecutive ABI words.
type words []byte

func (w words) word(i int) []byte { return w[i*wordSize : (i+1)*wordSize] }

func addressOf(word []byte) (sortie.Address, bool) {
	return sortie.Address(word[12:]), allZero(word[:12])
}

// narrow decodes a word of at most so many bits, up to 64.
func narrow(word []byte, bits uint) (uint64, bool) {
	value := binary.BigEndian.Uint64(word[wordSize-8:])
	return value, allZero(word[:wordSize-8]) && (bits == 64 || value>>bits == 0)
}

func allZero(data []byte) bool {
	for _, b := range data {
		if b != 0 {
			return false
		}
	}
	return true
}
