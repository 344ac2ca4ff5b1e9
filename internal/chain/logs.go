package chain

import (
	"bytes"
	"encoding/hex"
	"iter"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/onchain"
)

// rawLog is a log with decoded fields, before its event is decoded.
type rawLog struct {
	address     sortie.Address
	topics      [4]sortie.Hash
	topicCount  int
	data        words
	block       uint64
	blockHash   sortie.Hash
	transaction sortie.Hash
	index       uint64
	removed     bool
}

// parse decodes the log at the start of a text into l, whose data it overwrites, and returns its
// length. Each member must appear once.
func (l *rawLog) parse(text []byte) (length int, err error) {
	const address, topics, data, block, blockHash, transaction, index, all, removed = 1, 2, 4, 8, 16, 32, 64, 127, 128
	*l = rawLog{data: l.data[:0]}
	found := 0
	length, err = walkObject(text, func(name, value []byte) (err error) {
		member := 0
		switch string(name) {
		case "address":
			member = address
			err = fixedBytes(l.address[:], value)
		case "topics":
			member = topics
			err = l.parseTopics(value)
		case "data":
			member = data
			l.data, err = anyBytes(l.data, value)
		case "blockNumber":
			member = block
			l.block, err = quantity(value)
		case "blockHash":
			member = blockHash
			err = fixedBytes(l.blockHash[:], value)
		case "transactionHash":
			member = transaction
			err = fixedBytes(l.transaction[:], value)
		case "logIndex":
			member = index
			l.index, err = quantity(value)
		case "removed":
			member = removed
			l.removed = string(value) != "false"
		}
		if found&member != 0 {
			return BadAnswer("a log that names its %s twice", name)
		}
		found |= member
		return err
	})
	if err == nil && found&all != all {
		err = BadAnswer("a log that lacks one of its members")
	}
	return length, err
}

func (l *rawLog) parseTopics(list []byte) error {
	return eachElement(list, func(text []byte) (int, error) {
		if l.topicCount == len(l.topics) {
			return 0, BadAnswer("a log of more than %d topics", len(l.topics))
		}
		l.topicCount++
		end := valueEnd(text, 0)
		return end, fixedBytes(l.topics[l.topicCount-1][:], text[:end])
	})
}

// LogFilter selects the followed events of some factories.
type LogFilter struct {
	Factories []sortie.Address
	query     string // address and topics as JSON members
	blooms    map[sortie.Address]bloomBits
}

func NewLogFilter(factories []sortie.Address) *LogFilter {
	s := &LogFilter{Factories: factories, blooms: make(map[sortie.Address]bloomBits, len(factories))}
	addresses := make([]string, len(factories))
	for i, factory := range factories {
		addresses[i] = `"0x` + hex.EncodeToString(factory[:]) + `"`
		s.blooms[factory] = bloomBitsOf(factory[:])
	}
	topics := make([]string, 0, len(eventShapes))
	for topic := range eventShapes {
		topics = append(topics, `"`+topic.String()+`"`)
	}
	slices.Sort(topics)
	s.query = `"address":[` + strings.Join(addresses, ",") + `],"topics":[[` + strings.Join(topics, ",") + `]]`
	return s
}

// ByKind returns a filter for each kind of event, in a fixed order.
func (s *LogFilter) ByKind() iter.Seq2[onchain.EventKind, *LogFilter] {
	addresses, _, _ := strings.Cut(s.query, `,"topics"`)
	return func(yield func(onchain.EventKind, *LogFilter) bool) {
		for _, topic := range followedTopics {
			one := *s
			one.query = addresses + `,"topics":["` + topic.String() + `"]`
			if !yield(eventShapes[topic].kind, &one) {
				return
			}
		}
	}
}

// Only restricts the filter to one kind of event of some missions.
func (s *LogFilter) Only(kind onchain.EventKind, missionKeys ...sortie.Hash) {
	topic := topicOfKind[kind]
	addresses, _, _ := strings.Cut(s.query, `,"topics"`)
	keys := make([]string, len(missionKeys))
	for i, key := range missionKeys {
		keys[i] = `"` + key.String() + `"`
	}
	s.query = addresses + `,"topics":["` + topic.String() + `",[` + strings.Join(keys, ",") + `]]`
}

func (s *LogFilter) BlockCall(hash sortie.Hash) Call {
	return Call{"eth_getLogs", `[{"blockHash":"` + hash.String() + `",` + s.query + `}]`}
}

func (s *LogFilter) RangeCall(from, to uint64) Call {
	return Call{"eth_getLogs", `[{"fromBlock":"` + HexNumber(from) + `","toBlock":"` + HexNumber(to) + `",` + s.query + `}]`}
}

// Events decodes a list of logs. Each must match the filter and the range, in the order of the
// chain, without duplicates or removed logs. One wrong log fails the whole answer, because the rest
// cannot be trusted.
func (s *LogFilter) Events(logs []byte, from, to uint64) ([]onchain.Event, error) {
	events := make([]onchain.Event, 0, bytes.Count(logs, []byte(`"logIndex"`)))
	var l rawLog
	err := eachElement(logs, func(text []byte) (int, error) {
		length, err := l.parse(text)
		if err != nil {
			return 0, err
		}
		event, known, err := l.event()
		switch {
		case err != nil:
			return 0, err
		case l.removed:
			return 0, BadAnswer("log %d of block %d, which is marked as removed", l.index, l.block)
		case !known || !slices.Contains(s.Factories, l.address):
			return 0, BadAnswer("log %d of block %d, which was not requested", l.index, l.block)
		case l.block < from || l.block > to:
			return 0, BadAnswer("a log of block %d in blocks %d to %d", l.block, from, to)
		case len(events) > 0 && !follows(&event, &events[len(events)-1]):
			return 0, BadAnswer("log %d of block %d twice or in the wrong place", l.index, l.block)
		}
		events = append(events, event)
		return length, nil
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// follows reports whether an event comes after another on the same chain.
func follows(event, earlier *onchain.Event) bool {
	if event.Block != earlier.Block {
		return event.Block > earlier.Block
	}
	return event.LogIndex > earlier.LogIndex && event.BlockHash == earlier.BlockHash
}

// CheckInBlock checks that events are in the block of a header: by number, hash and bloom filter.
func (s *LogFilter) CheckInBlock(events []onchain.Event, h *Header) error {
	for i := range events {
		event := &events[i]
		if event.Block != h.Number || event.BlockHash != h.Hash {
			return BadAnswer("log %d of block %d is of another block with that number", event.LogIndex, event.Block)
		}
		if !s.blooms[event.Factory].in(&h.bloom) || !kindBlooms[event.Kind].in(&h.bloom) || !bloomOfKey(event).in(&h.bloom) {
			return BadAnswer("log %d of block %d is not in the block's bloom filter", event.LogIndex, event.Block)
		}
	}
	return nil
}

// bloomBits are the three bits that a value sets in a block's bloom filter. They are computed once
// for addresses and topics, because a hash for every log would cost more than decoding it.
type bloomBits [3]uint16

func bloomBitsOf(value []byte) (bits bloomBits) {
	sum := crypto.Keccak256(value)
	for i := range bits {
		bits[i] = (uint16(sum[2*i])<<8 | uint16(sum[2*i+1])) & (8*types.BloomByteLength - 1)
	}
	return bits
}

func (b bloomBits) in(bloom *types.Bloom) bool {
	for _, bit := range b {
		if bloom[types.BloomByteLength-1-bit/8]&(1<<(bit%8)) == 0 {
			return false
		}
	}
	return true
}

// topicOfKind has the topic of each kind of event.
var topicOfKind = func() map[onchain.EventKind]sortie.Hash {
	topics := make(map[onchain.EventKind]sortie.Hash, len(eventShapes))
	for topic, shape := range eventShapes {
		topics[shape.kind] = topic
	}
	return topics
}()

var kindBlooms = func() map[onchain.EventKind]bloomBits {
	blooms := make(map[onchain.EventKind]bloomBits, len(eventShapes))
	for topic, shape := range eventShapes {
		blooms[shape.kind] = bloomBitsOf(topic[:])
	}
	return blooms
}()

// bloomOfKey returns the bits of the mission key for fundings and closings, on which a mission's
// whole money depends. For other events it returns those of the kind.
func bloomOfKey(event *onchain.Event) bloomBits {
	if event.Funded != nil || event.Closed != nil {
		return bloomBitsOf(event.MissionKey[:])
	}
	return kindBlooms[event.Kind]
}
