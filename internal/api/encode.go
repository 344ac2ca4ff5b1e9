package api

import (
	"encoding/binary"
	"encoding/hex"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/sortie-labs/sortie"
	"github.com/sortie-labs/sortie/internal/app"
)

// The most frequent answers are encoded without reflection: most values are ids, numbers and hex,
// which need no escaping, and the normalized mission is stored as JSON. A test compares the result
// with encoding/json of the wire types in package sortie.

func appendCreated(dst []byte, view app.View) []byte {
	dst = append(dst, `{"status":"`...)
	dst = append(dst, view.Status...)
	dst = appendIdentity(append(dst, `",`...), view)
	dst = append(dst, `,"fundingQuote":`...)
	return append(appendQuote(dst, &view.Quote), '}')
}

// appendStatus appends the members of a status object without its braces.
func appendStatus(dst []byte, view app.View) []byte {
	dst = appendIdentity(append(dst, `"ok":true,`...), view)
	dst = append(dst, `,"published":`...)
	dst = strconv.AppendBool(dst, view.Published)
	dst = append(dst, `,"normalizedMission":`...)
	dst = append(dst, view.NormalizedMission...)
	dst = append(dst, `,"fundingQuote":`...)
	return appendQuote(dst, &view.Quote)
}

func appendIdentity(dst []byte, view app.View) []byte {
	dst = append(dst, `"draftId":"`...)
	dst = append(dst, view.DraftID...)
	dst = append(dst, `","missionId":"`...)
	dst = append(dst, view.MissionID...)
	dst = append(dst, `","reviewStatus":"`...)
	dst = append(dst, view.ReviewStatus...)
	dst = append(dst, `","fundingStatus":"`...)
	dst = append(dst, view.FundingStatus...)
	dst = append(dst, `","nextAction":"`...)
	dst = append(dst, view.NextAction...)
	return append(dst, '"')
}

// appendListed appends an element of the list of drafts.
func appendListed(dst []byte, view app.View) []byte {
	dst = appendStatus(append(dst, '{'), view)
	dst = append(dst, `,"status":"`...)
	dst = append(dst, view.Status...)
	dst = append(dst, `","createdAt":`...)
	dst = appendTime(dst, view.CreatedAt)
	dst = append(dst, `,"updatedAt":`...)
	return append(appendTime(dst, view.UpdatedAt), '}')
}

// appendListSummary appends the members after the elements of the list of drafts.
func appendListSummary(dst []byte, summary app.DraftSummary) []byte {
	dst = append(dst, `"summary":{"returnedDrafts":`...)
	dst = strconv.AppendInt(dst, int64(summary.Returned), 10)
	dst = append(dst, `,"nextCursor":`...)
	if summary.NextCursor == "" {
		dst = append(dst, "null"...)
	} else {
		dst = append(append(append(dst, '"'), summary.NextCursor...), '"') // base64url
	}
	dst = append(dst, `,"generatedAt":`...)
	return append(appendTime(dst, summary.GeneratedAt), '}')
}

func appendQuote(dst []byte, quote *sortie.Quote) []byte {
	dst = append(dst, `{"chainId":`...)
	dst = strconv.AppendUint(dst, quote.ChainID, 10)
	dst = append(dst, `,"factoryAddress":"`...)
	dst = appendAddress(dst, quote.FactoryAddress)
	dst = append(dst, `","tokenAddress":"`...)
	dst = appendAddress(dst, quote.TokenAddress)
	dst = append(dst, `","rewardPerSubmissionBaseUnits":"`...)
	dst = append(dst, quote.RewardPerSubmissionBaseUnits...)
	dst = append(dst, `","targetCount":`...)
	dst = strconv.AppendUint(dst, quote.TargetCount, 10)
	dst = append(dst, `,"totalBudgetBaseUnits":"`...)
	dst = append(dst, quote.TotalBudgetBaseUnits...)
	dst = append(dst, `","functionName":"`...)
	dst = append(dst, quote.FunctionName...)
	dst = append(dst, `","authorization":{"signer":"`...)
	a := &quote.Authorization
	dst = appendAddress(dst, a.Signer)
	dst = append(dst, `","creator":"`...)
	dst = appendAddress(dst, a.Creator)
	dst = append(dst, `","nonce":"0x`...)
	dst = hex.AppendEncode(dst, a.Nonce[:])
	dst = append(dst, `","deadline":`...)
	dst = strconv.AppendUint(dst, a.Deadline, 10)
	dst = append(dst, `,"expiresAt":"`...)
	dst = append(dst, a.ExpiresAt...)
	dst = append(dst, `","signature":"0x`...)
	dst = hex.AppendEncode(dst, a.Signature)
	dst = append(dst, `"},"calldata":"0x`...)
	dst = hex.AppendEncode(dst, quote.Calldata)
	return append(dst, `"}`...)
}

// addressTexts caches the texts of addresses, because the EIP-55 checksum costs a hash and answers
// repeat the same contracts, signer and creator. An address has one entry, which another address
// may replace.
var addressTexts [1 << 10]atomic.Pointer[addressText]

type addressText struct {
	address sortie.Address
	text    string
}

func appendAddress(dst []byte, address sortie.Address) []byte {
	entry := &addressTexts[binary.BigEndian.Uint16(address[18:])%uint16(len(addressTexts))]
	known := entry.Load()
	if known == nil || known.address != address {
		known = &addressText{address, address.String()}
		entry.Store(known)
	}
	return append(dst, known.text...)
}

func appendTime(dst []byte, t time.Time) []byte {
	return append(append(append(dst, '"'), sortie.FormatTime(t)...), '"')
}
