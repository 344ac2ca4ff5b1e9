package sortie_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/sortie-labs/sortie"
)

// A mission from definition to a quote that is safe to fund. The trusted values come from the
// service's documentation; those of `sortie dev` are in .sortie/ready.json.
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
	// Now approve FundingQuote.TotalBudgetBaseUnits to FundingQuote.FactoryAddress, and send
	// FundingQuote.Calldata to it.
	fmt.Println(draft.DraftID)
}

// A program that follows the events of a wallet. It stores the cursor with the work it did, so that
// after a restart it misses no event and handles none twice.
func ExampleClient_Events() {
	key, err := sortie.ParseKey("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80") // a development key
	if err != nil {
		log.Fatal(err)
	}
	client, err := sortie.NewClient("http://127.0.0.1:8080", key)
	if err != nil {
		log.Fatal(err)
	}
	var cursor string // the stored one; empty: the first event
	for {
		page, err := client.Events(context.Background(), sortie.PageQuery{Cursor: cursor})
		if err != nil {
			log.Fatal(err)
		}
		for _, event := range page.Events {
			switch event.Type {
			case sortie.EventMissionPublished:
				fmt.Println("published:", event.MissionID)
			case sortie.EventMissionRejected, sortie.EventFundingReverted:
				doctor, err := client.Doctor(context.Background(), event.DraftID)
				if err != nil {
					log.Fatal(err)
				}
				fmt.Println(event.MissionID+":", doctor.Summary)
			}
		}
		cursor = page.Summary.NextCursor
		if len(page.Events) == 0 {
			time.Sleep(5 * time.Second)
		}
	}
}

// An operator who approves every mission in review.
func ExampleClient_Approve() {
	key, err := sortie.ParseKey("92db14e403b83dfe3df233f83dfa3a0d7096f21ca9b0d6d6b8d88b2b4ec1564e") // a development key
	if err != nil {
		log.Fatal(err)
	}
	client, err := sortie.NewClient("http://127.0.0.1:8080", key)
	if err != nil {
		log.Fatal(err)
	}
	for review, err := range client.AllReviews(context.Background(), sortie.PageQuery{}) {
		if err != nil {
			log.Fatal(err) // wallet_not_allowed if the wallet is not an operator
		}
		decided, err := client.Approve(context.Background(), review.DraftID, "")
		switch sortie.ErrorCode(err) {
		case "":
			fmt.Println(decided.MissionID, decided.ReviewStatus)
		case sortie.CodeWrongState: // another operator has decided
		default:
			log.Fatal(err)
		}
	}
}

// A contributor who submits a photo.
func ExampleClient_Declare() {
	ctx := context.Background()
	key, err := sortie.ParseKey("5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a") // a development key
	if err != nil {
		log.Fatal(err)
	}
	client, err := sortie.NewClient("http://127.0.0.1:8080", key)
	if err != nil {
		log.Fatal(err)
	}
	photo, err := os.ReadFile("photo.jpg")
	if err != nil {
		log.Fatal(err)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(photo))
	declared, err := client.Declare(ctx, "photo-of-the-main-entrance-7k2m9qx4", sortie.Declaration{
		Location:    sortie.Location{Lat: "52.516275", Lng: "13.377704", AccuracyMeters: "8"},
		CapturedAt:  sortie.FormatTime(time.Now()),
		ContentType: "image/jpeg",
		SizeBytes:   int64(len(photo)),
		SHA256:      sum,
	}, sum)
	if err != nil {
		log.Fatal(err) // mission_full, mission_closed or contributor_limit when there is no slot
	}
	if declared.Upload != nil { // nil if it is uploaded
		err = client.UploadResumable(ctx, *declared.Upload, bytes.NewReader(photo), int64(len(photo)), nil)
		if err != nil {
			log.Fatal(err)
		}
	}
	submission, err := client.MySubmission(ctx, declared.SubmissionID)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(submission.Status, submission.Reason) // pending until the checks are done
}

// A creator who downloads all deliverables.
func ExampleClient_AllDeliverables() {
	ctx := context.Background()
	key, err := sortie.ParseKey("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80") // a development key
	if err != nil {
		log.Fatal(err)
	}
	client, err := sortie.NewClient("http://127.0.0.1:8080", key)
	if err != nil {
		log.Fatal(err)
	}
	for file, err := range client.AllDeliverables(ctx, "photo-of-the-main-entrance-7k2m9qx4", sortie.DeliverablesQuery{}) {
		if err != nil {
			log.Fatal(err) // mission_not_published before publication
		}
		media, err := client.Download(ctx, file.MediaURL, 0)
		if err != nil {
			log.Fatal(err) // media_url_expired if the page is too old
		}
		hash := sha256.New()
		size, err := io.Copy(hash, media) // and into a file
		if err != nil {
			log.Fatal(err)
		}
		want, err := file.Media.SHA256()
		if err != nil || !bytes.Equal(hash.Sum(nil), want[:]) {
			log.Fatal("the downloaded bytes have another hash")
		}
		fmt.Println(file.SubmissionID, file.Verification.Score, size)
		_ = media.Close()
	}
}
