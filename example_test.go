package sortie_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/sortie-labs/sortie"
)

// A mission from definition to a quote that is safe to fund. The trusted values come from the service's documentation; those
// of `sortie dev` are in .sortie/ready.json.
func Example() {
	key, err := sortie.ParseKey("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80") // a development key
	if err != nil {
		log.Fatal(err)
	}
	client, err := sortie.NewClient("http://127.0.0.1:8080", key)
	if err != nil {
		log.Fatal(err)
	}
	draft, err := client.CreateDraft(context.Background(), sortie.Mission{
		Title:       "Photo of the main entrance",
		Reward:      sortie.Reward{Token: sortie.TokenUSDC, Amount: "2.5"},
		TargetCount: 4,
	}, "entrance-2026-02-02")
	if err != nil {
		log.Fatal(err)
	}
	asked := sortie.Ask{
		Creator: client.Wallet(), MissionID: draft.MissionID, Token: sortie.TokenUSDC, Amount: "2.5", TargetCount: 4,
	}
	trust := sortie.Trust{
		ChainID:     31337,
		Factory:     sortie.MustAddress("0xb19b36b1456E65E3A6D514D3F715f204BD59f431"),
		Authorizers: []sortie.Address{sortie.MustAddress("0x70997970C51812dc3A010C7d01b50e0d17dc79C8")},
		Tokens: map[sortie.Token]sortie.TrustedToken{
			sortie.TokenUSDC: {Address: sortie.MustAddress("0xA15BB66138824a1c7167f5E85b957d04Dd34E468"), Decimals: 6},
		},
	}
	if err := sortie.VerifyQuote(draft.FundingQuote, asked, trust, time.Now()); err != nil {
		log.Fatal(err) // do not send it
	}
	// Now approve FundingQuote.TotalBudgetBaseUnits to FundingQuote.FactoryAddress, and send FundingQuote.Calldata to it.
	fmt.Println(draft.DraftID)
}
