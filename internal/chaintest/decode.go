package chaintest

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
	"github.com/sortie-labs/sortie/internal/onchain"
)

var FactoryABI = func() abi.ABI {
	parsed, err := missionfactory.MissionFactoryMetaData.ParseABI()
	if err != nil {
		panic(err)
	}
	return *parsed
}()

var Factory = sortie.MustAddress("0x00000000000000000000000000000000000fac70")

func LogJSON(t interface{ Fatal(...any) }, log *types.Log) []byte {
	text, err := json.Marshal(log)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// DecodeLog decodes a log with the generated code.
func DecodeLog(log *types.Log) (event onchain.Event, err error) {
	event = onchain.Event{
		Block: log.BlockNumber, BlockHash: sortie.Hash(log.BlockHash), LogIndex: uint64(log.Index), Transaction: sortie.Hash(log.TxHash),
		Factory: sortie.Address(log.Address), Kind: kindOf(log.Topics[0]),
	}
	switch event.Kind {
	case onchain.EventMissionFunded:
		got, failed := binding.UnpackMissionFundedEvent(log)
		if failed != nil {
			return event, failed
		}
		event.MissionKey = got.MissionKey
		event.Funded = &onchain.MissionFunded{
			MissionID: validText(got.MissionId), Creator: sortie.Address(got.Creator), Token: sortie.Address(got.Token),
			Reward: got.RewardPerSubmission, TargetCount: got.TargetCount, Nonce: got.Nonce, ReclaimAfter: got.ReclaimAfter.Uint64(),
		}
	case onchain.EventSubmissionPaid:
		got, failed := binding.UnpackSubmissionPaidEvent(log)
		if failed != nil {
			return event, failed
		}
		event.MissionKey = got.MissionKey
		event.Payment = &onchain.Payment{SubmissionKey: got.SubmissionKey, Recipient: sortie.Address(got.Recipient), Slot: got.Slot.Uint64(), Amount: got.Amount}
	case onchain.EventPayoutDeferred:
		got, failed := binding.UnpackPayoutDeferredEvent(log)
		if failed != nil {
			return event, failed
		}
		event.MissionKey = got.MissionKey
		event.Payment = &onchain.Payment{SubmissionKey: got.SubmissionKey, Recipient: sortie.Address(got.Recipient), Slot: got.Slot.Uint64(), Amount: got.Amount}
	case onchain.EventMissionClosed:
		got, failed := binding.UnpackMissionClosedEvent(log)
		if failed != nil {
			return event, failed
		}
		event.MissionKey = got.MissionKey
		event.Closed = &onchain.MissionClosed{Refund: got.Refund, RefundDeferred: got.RefundDeferred, Reason: got.Reason}
	default:
		return event, errors.New("unknown")
	}
	return event, nil
}

func Describe(event onchain.Event) string {
	text, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	return string(text)
}

var binding = missionfactory.NewMissionFactory()

// kindOf returns the kind of event of a topic, empty for others.
func kindOf(topic common.Hash) onchain.EventKind {
	for name, kind := range map[string]onchain.EventKind{
		"MissionFunded": onchain.EventMissionFunded, "SubmissionPaid": onchain.EventSubmissionPaid,
		"PayoutDeferred": onchain.EventPayoutDeferred, "MissionClosed": onchain.EventMissionClosed,
	} {
		if FactoryABI.Events[name].ID == topic {
			return kind
		}
	}
	return ""
}

// validText replaces what is not valid text in a database.
func validText(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}
