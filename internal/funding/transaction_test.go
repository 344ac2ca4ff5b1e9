package funding_test

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/funding"
)

func dynamicFeeTransaction() *types.Transaction {
	return types.NewTx(&types.DynamicFeeTx{
		ChainID: big.NewInt(84532), Nonce: 7, GasTipCap: big.NewInt(1), GasFeeCap: big.NewInt(1e9), Gas: 21_000,
		To: &common.Address{1}, Value: big.NewInt(5), Data: []byte{1, 2, 3},
		AccessList: types.AccessList{{Address: common.Address{2}, StorageKeys: []common.Hash{{3}}}},
	})
}

func TestSignTransaction(t *testing.T) {
	t.Parallel()
	asked := &recordingSigner{Signer: loadVectors(t).signer(t)}
	transactions := map[string]*types.Transaction{
		"dynamic fee":      dynamicFeeTransaction(),
		"contract, no fee": types.NewTx(&types.DynamicFeeTx{ChainID: big.NewInt(84532), Data: []byte{0x60}}),
		"legacy":           types.NewTx(&types.LegacyTx{Nonce: 1, GasPrice: big.NewInt(3), Gas: 50_000, To: &common.Address{1}, Value: big.NewInt(1)}),
		"legacy contract":  types.NewTx(&types.LegacyTx{GasPrice: big.NewInt(3), Gas: 50_000, Data: []byte{0x60}}),
	}
	for name, unsigned := range transactions {
		signed, err := funding.SignTransaction(t.Context(), asked, 84532, unsigned)
		if err != nil {
			t.Errorf("sign %s: got %v, want no error", name, err)
			continue
		}
		from, err := types.Sender(types.LatestSignerForChainID(big.NewInt(84532)), signed)
		if err != nil || sortie.Address(from) != asked.Address() {
			t.Errorf("%s: got sender %s, error %v; want %s", name, from, err, asked.Address())
		}
		var content struct{ UnsignedTransaction sortie.Bytes }
		text, err := json.Marshal(asked.last().Content)
		if err != nil || json.Unmarshal(text, &content) != nil {
			t.Fatalf("%s: got content %s, error %v; want a JSON object", name, text, err)
		}
		equal(t, name+": hash of the content", sortie.Hash(crypto.Keccak256Hash(content.UnsignedTransaction)), asked.last().Digest)
	}
}

func TestSignTransactionRefuses(t *testing.T) {
	t.Parallel()
	signer := loadVectors(t).signer(t)
	_, err := funding.SignTransaction(t.Context(), signer, 1, dynamicFeeTransaction())
	failsWith(t, err, "sign transaction: it is for chain 84532 and this is chain 1")
	_, err = funding.SignTransaction(t.Context(), signer, 1, types.NewTx(&types.AccessListTx{}))
	failsWith(t, err, "sign transaction: its type is 1; only legacy and dynamic-fee transactions are signed")
}
