package devnet_test

import (
	"encoding/json"
	"math/big"
	"os"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/ethclient"

	"github.com/sortie-labs/sortie/contracts/bind/missionfactory"
)

type vectorFile struct {
	Domain struct {
		ChainID           uint64
		VerifyingContract common.Address
	}
	Authorization struct {
		Message struct {
			MissionID           string
			Token, Creator      common.Address
			RewardPerSubmission string
			TargetCount         int64
			Nonce               common.Hash
			Deadline            int64
		}
		Digest common.Hash
	}
	Settlement struct {
		MissionKey common.Hash
		Payments   []struct {
			Slot          int64
			Recipient     common.Address
			SubmissionKey common.Hash
		}
		Digest common.Hash
	}
	Close struct {
		Message struct {
			MissionKey common.Hash
			PaidCount  int64
		}
		Digest common.Hash
	}
}

// TestDeployedFactoryGivesTheDigestsOfTheVectors asks the code that was deployed, as if it stood
// where the vectors say.
func TestDeployedFactoryGivesTheDigestsOfTheVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../spec/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors vectorFile
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	abi := missionfactory.NewMissionFactory()
	message := vectors.Authorization.Message
	reward, _ := new(big.Int).SetString(message.RewardPerSubmission, 10)
	var payments []missionfactory.IMissionFactoryPayment
	for _, payment := range vectors.Settlement.Payments {
		payments = append(payments, missionfactory.IMissionFactoryPayment{Slot: big.NewInt(payment.Slot), Recipient: payment.Recipient, SubmissionKey: payment.SubmissionKey})
	}
	calls := map[string]struct {
		data []byte
		want common.Hash
	}{
		"authorization": {abi.PackHashAuthorization(missionfactory.IMissionFactoryMissionAuthorization{
			MissionId: message.MissionID, Token: message.Token, RewardPerSubmission: reward, TargetCount: big.NewInt(message.TargetCount),
			Creator: message.Creator, Nonce: message.Nonce, Deadline: big.NewInt(message.Deadline),
		}), vectors.Authorization.Digest},
		"settlement": {abi.PackHashSettlement(vectors.Settlement.MissionKey, payments), vectors.Settlement.Digest},
		"close":      {abi.PackHashClose(vectors.Close.Message.MissionKey, big.NewInt(vectors.Close.Message.PaidCount)), vectors.Close.Digest},
	}
	bothChains(t, vectors.Domain.ChainID, func(t *testing.T, client *ethclient.Client) {
		code, err := client.CodeAt(t.Context(), common.Address(deploy(t, client, wholeParams()).Factory), nil)
		if err != nil {
			t.Fatal(err)
		}
		place := map[common.Address]any{vectors.Domain.VerifyingContract: map[string]any{"code": hexutil.Bytes(code)}}
		for name, call := range calls {
			var answer hexutil.Bytes
			request := map[string]any{"to": vectors.Domain.VerifyingContract, "data": hexutil.Bytes(call.data)}
			if err := client.Client().CallContext(t.Context(), &answer, "eth_call", request, "latest", place); err != nil {
				t.Fatalf("call for the digest of %s: %v", name, err)
			}
			if got := common.BytesToHash(answer); got != call.want {
				t.Errorf("%s: the contract's digest is %s, the vectors' %s", name, got, call.want)
			}
		}
	})
}
