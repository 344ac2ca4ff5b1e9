package contracts_test

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"

	"github.com/sortie-labs/sortie/contracts"
)

func TestEveryContractHasItsABIAndCode(t *testing.T) {
	t.Parallel()
	for _, contract := range []contracts.Contract{
		contracts.MissionFactory, contracts.ServiceToken, contracts.SignatureValidator,
		contracts.TestUSDC, contracts.TestUSDCProxy,
	} {
		t.Run(string(contract), func(t *testing.T) {
			t.Parallel()
			if _, err := abi.JSON(bytes.NewReader(contract.ABI())); err != nil {
				t.Fatalf("ABI: %v", err)
			}
			arguments := []byte{0xde, 0xad}
			data := contract.CreateWith(arguments)
			if len(data) < 1000 || !bytes.HasSuffix(data, arguments) {
				t.Fatalf("creation data has %d bytes and ends in %x, want the code followed by %x",
					len(data), data[len(data)-2:], arguments)
			}
		})
	}
}
