package api

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
)

// curveOrder is the order of secp256k1: s and curveOrder-s are signatures of the same message.
var curveOrder = crypto.S256().Params().N

// altered returns a signature in hex with some parts replaced; a nil part is kept.
func altered(signature string, r, s []byte, v int) string {
	raw, err := hex.DecodeString(strings.TrimPrefix(signature, "0x"))
	if err != nil {
		panic(err)
	}
	if r != nil {
		copy(raw[:32], r)
	}
	if s != nil {
		copy(raw[32:64], s)
	}
	if v >= 0 {
		raw[64] = byte(v)
	}
	return sortie.Bytes(raw).String()
}

// highS returns the other valid signature of the same key: s in the upper half, v flipped.
func highS(signature string) string {
	raw, err := hex.DecodeString(strings.TrimPrefix(signature, "0x"))
	if err != nil {
		panic(err)
	}
	s := new(big.Int).Sub(curveOrder, new(big.Int).SetBytes(raw[32:64]))
	return altered(signature, nil, s.FillBytes(make([]byte, 32)), int(raw[64]^7)) // 27 and 28 differ in three bits
}

func TestBadWalletHeaders(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	const (
		missing = sortie.CodeMissingAuthHeaders
		invalid = sortie.CodeInvalidAuthHeaders
		wrong   = sortie.CodeInvalidSignature
		late    = sortie.CodeTimestampOutOfRange
	)
	right := s.get(listPath)
	address, timestamp, signature := right.header(sortie.HeaderWallet), right.header(sortie.HeaderTimestamp), right.header(sortie.HeaderSignature)
	walletIs := func(text string) message {
		return s.sign(s.unsigned(http.MethodGet, listPath).with(sortie.HeaderWallet, text), creator)
	}
	timestampIs := func(text string) message {
		return s.sign(s.unsigned(http.MethodGet, listPath).with(sortie.HeaderTimestamp, text), creator)
	}
	signatureIs := func(text string) message { return right.with(sortie.HeaderSignature, text) }
	skewed := func(by time.Duration) string { return fmt.Sprint(s.clock.Now().Add(by).Unix()) }
	zeros := make([]byte, 32)
	unprefixed := creator.SignDigest(sortie.Hash(crypto.Keccak256([]byte(right.text())))).String()

	var rows []badRequest
	add := func(name string, m message, code sortie.Code) {
		rows = append(rows, badRequest{name: name, text: m.String(), status: http.StatusUnauthorized, code: code})
	}
	add("no wallet", right.without(sortie.HeaderWallet), missing)
	add("no timestamp", right.without(sortie.HeaderTimestamp), missing)
	add("no signature", right.without(sortie.HeaderSignature), missing)
	add("none of the three", s.unsigned(http.MethodGet, listPath), missing)
	add("wallet twice", right.and(sortie.HeaderWallet, address), invalid)
	add("timestamp twice", right.and(sortie.HeaderTimestamp, timestamp), invalid)
	add("signature twice", right.and("x-service-signature", signature), invalid)
	add("wallet without 0x", walletIs(address[2:]), invalid)
	add("wallet of 39 digits", walletIs(address[:41]), invalid)
	add("wallet of 41 digits", walletIs(address+"0"), invalid)
	add("wallet with 0X", walletIs("0X"+address[2:]), invalid)
	add("wallet with a wrong checksum", walletIs("0xF39Fd6e51aad88F6F4ce6aB8827279cffFb92266"), invalid)
	add("zero address", walletIs("0x"+strings.Repeat("0", 40)), invalid)
	for i := 1; i <= 10; i++ {
		add(fmt.Sprintf("precompile %d", i), walletIs(fmt.Sprintf("0x%040x", i)), invalid)
	}
	add("the factory", walletIs(testDomain.Factory.String()), wrong)
	add("a token", walletIs(s.trust.Tokens[sortie.TokenUSDC].Address.String()), wrong)
	add("name", walletIs("vitalik.eth"), invalid)
	add("full-width digits", walletIs("0x"+strings.Repeat("０", 40)), invalid)
	add("empty", walletIs(" "), invalid)

	add("timestamp empty", timestampIs(" "), invalid)
	add("text", timestampIs("yesterday"), invalid)
	add("float", timestampIs(timestamp+".5"), invalid)
	add("negative", timestampIs("-"+timestamp[1:]), invalid)
	add("exponent", timestampIs("1e9"), invalid)
	add("plus and zeros", timestampIs("+00"+timestamp), invalid)
	add("seconds signed, milliseconds sent", right.with(sortie.HeaderTimestamp, timestamp+"000"), wrong)
	add("seconds with the zeros of milliseconds in front", timestampIs("000"+timestamp), late)
	add("microseconds", timestampIs(timestamp+"000000"), invalid)
	add("2^63", timestampIs("9223372036854775808"), invalid)
	add("2^64", timestampIs("18446744073709551616"), invalid)
	add("301 s late", timestampIs(skewed(-301*time.Second)), late)
	add("301 s early", timestampIs(skewed(301*time.Second)), late)
	add("padded with a no-break space", timestampIs("\u00a0"+timestamp), invalid)
	add("space inside", timestampIs(timestamp[:5]+" "+timestamp[5:]), invalid)

	add("odd number of digits", signatureIs(signature[:131]), invalid)
	add("not hex", signatureIs("0x"+strings.Repeat("zz", 65)), invalid)
	add("no digits, which only a contract can accept", signatureIs("0x"), wrong)
	add("no 0x", signatureIs(signature[2:]), invalid)
	add("64 bytes", signatureIs(signature[:130]), wrong)
	add("66 bytes", signatureIs(signature+"00"), wrong)
	add("high s", signatureIs(highS(signature)), wrong)
	add("v of the other key", signatureIs(altered(signature, nil, nil, int(signature[131]-'b')^1)), wrong)
	add("v 35", signatureIs(altered(signature, nil, nil, 35)), wrong)
	add("v 2", signatureIs(altered(signature, nil, nil, 2)), wrong)
	add("v 255", signatureIs(altered(signature, nil, nil, 255)), wrong)
	add("r is 0", signatureIs(altered(signature, zeros, nil, -1)), wrong)
	add("s is 0", signatureIs(altered(signature, nil, zeros, -1)), wrong)
	add("all is 0", signatureIs("0x"+strings.Repeat("00", 65)), wrong)
	add("r is the curve's order", signatureIs(altered(signature, curveOrder.Bytes(), nil, -1)), wrong)
	add("in an ERC-6492 wrapper that the chain refuses", signatureIs("0x"+strings.Repeat("00", 64)+signature[2:]+strings.Repeat("6492", 16)), wrong)
	add("over the hash without prefix", signatureIs(unprefixed), wrong)
	add("over another path", signatureIs(s.get(listPath+"/x").header(sortie.HeaderSignature)), wrong)
	add("over another order of the query", s.get(listPath+"?limit=1&status=published").retarget(listPath+"?status=published&limit=1"), wrong)
	rows = append(rows,
		badRequest{name: "signature of 1 MB", text: signatureIs("0x" + strings.Repeat("ab", 1<<20)).String(), status: http.StatusRequestHeaderFieldsTooLarge, closes: true},
		badRequest{name: "signature over 8 KiB", text: signatureIs("0x" + strings.Repeat("ab", 8<<10+1)).String(), status: http.StatusUnauthorized, code: invalid},
	)
	s.refuseAll(t, rows)
}

// retarget sends headers that were signed for one target to another.
func (m message) retarget(target string) message {
	m.target = target
	return m
}

func TestEvery401SaysHowToAuthenticate(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	for code, m := range map[sortie.Code]message{
		sortie.CodeMissingAuthHeaders:  s.unsigned(http.MethodGet, listPath),
		sortie.CodeInvalidAuthHeaders:  s.get(listPath).with(sortie.HeaderWallet, "me"),
		sortie.CodeInvalidSignature:    s.get(listPath).retarget(listPath + "?limit=1"),
		sortie.CodeTimestampOutOfRange: s.sign(s.unsigned(http.MethodGet, listPath).with(sortie.HeaderTimestamp, "1000000000"), creator),
	} {
		w := s.dial()
		w.write(m.String())
		a := w.read()
		if a == nil || a.StatusCode != http.StatusUnauthorized || a.Header.Get("WWW-Authenticate") != fmt.Sprintf("ServiceWallet error=%q", code) {
			t.Errorf("%s: got %+v, want 401 with the code in WWW-Authenticate", code, a)
			continue
		}
		details := a.details()
		switch code {
		case sortie.CodeInvalidSignature:
			if details["signedMessage"] != m.text() {
				t.Errorf("signedMessage %q, want %q", details["signedMessage"], m.text())
			}
		case sortie.CodeTimestampOutOfRange:
			if details["serverTime"] != sortie.FormatTime(s.clock.Now()) {
				t.Errorf("serverTime %v, want %s", details["serverTime"], sortie.FormatTime(s.clock.Now()))
			}
		}
	}
}

// Unusual wallet headers that are valid.
func TestUnusualWalletHeadersThatAreTaken(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	right := s.get(listPath)
	address, timestamp, signature := right.header(sortie.HeaderWallet), right.header(sortie.HeaderTimestamp), right.header(sortie.HeaderSignature)
	unsigned := s.unsigned(http.MethodGet, listPath)
	emptyHash := sortie.Request{
		Method: http.MethodGet, URL: "http://" + right.host + listPath, BodySHA256: sortie.EmptyBodySHA256, Wallet: address, Timestamp: timestamp,
	}
	for name, m := range map[string]message{
		"wallet in small letters":             s.sign(unsigned.with(sortie.HeaderWallet, strings.ToLower(address)), creator),
		"milliseconds":                        s.sign(unsigned.with(sortie.HeaderTimestamp, fmt.Sprint(s.clock.Now().UnixMilli())), creator),
		"300 s late":                          s.sign(unsigned.with(sortie.HeaderTimestamp, fmt.Sprint(s.clock.Now().Add(-300*time.Second).Unix())), creator),
		"300 s early":                         s.sign(unsigned.with(sortie.HeaderTimestamp, fmt.Sprint(s.clock.Now().Add(300*time.Second).Unix())), creator),
		"padded with spaces, which HTTP cuts": right.with(sortie.HeaderTimestamp, "  "+timestamp+"\t "),
		"v 0 or 1":                            right.with(sortie.HeaderSignature, altered(signature, nil, nil, int(signature[131]-'b'))),
		"sent again":                          right,
		"header names in small letters":       right.without(sortie.HeaderWallet).and(strings.ToLower(sortie.HeaderWallet), address),
		"hash of no bytes":                    right.with(sortie.HeaderSignature, creator.SignDigest(emptyHash.Digest()).String()),
		"signature in capitals":               right.with(sortie.HeaderSignature, "0x"+strings.ToUpper(signature[2:])),
	} {
		for range 2 { // a GET may be repeated while its timestamp is in the window
			w := s.dial()
			w.write(m.String())
			if a := w.read(); a == nil || a.StatusCode != http.StatusOK {
				t.Errorf("%s: got %+v, want 200", name, a)
			}
		}
	}
}

// A signature is valid for one request only. The error of any other has the text to sign.
func TestASignatureMovedToAnotherRequest(t *testing.T) {
	t.Parallel()
	s := newService(t, serviceOptions{})
	draft, other := s.create("mine", goodMission), s.create("other", goodMission)
	status := s.get(listPath + "/" + draft.DraftID)
	list := s.get(listPath + "?limit=1&status=pending_funding")
	create := s.post(draftsPath, "k1", goodMission)
	preview := s.post(previewPath, "", goodMission)
	confirm := s.post(status.target+"/confirm-funding", "", "{}")
	reject := s.sign(s.post(decidePath+"/"+draft.DraftID+"/reject", "", goodReason).without(sortie.HeaderWallet), reviewer)
	approve := s.sign(s.post(decidePath+"/"+draft.DraftID+"/approve", "", "").without(sortie.HeaderWallet), reviewer)
	madeFor := func(change func(*message), m message) message { // the signature of another request on this one
		signed := m
		change(&signed)
		return m.with(sortie.HeaderSignature, s.sign(signed.without(sortie.HeaderSignature), creator).header(sortie.HeaderSignature))
	}
	to := func(m message, change func(*message)) message {
		change(&m)
		return m
	}
	for name, m := range map[string]message{
		"method":                      madeFor(func(m *message) { m.method = http.MethodGet }, create),
		"method, HEAD":                madeFor(func(m *message) { m.method = http.MethodHead }, list),
		"path, preview to create":     to(preview.with(sortie.HeaderIdempotencyKey, "k1"), func(m *message) { m.target = draftsPath }),
		"path, create to preview":     to(create, func(m *message) { m.target = previewPath }),
		"path, to another draft":      status.retarget(listPath + "/" + other.DraftID),
		"path, to its mission":        status.retarget(listPath + "/" + draft.MissionID),
		"path, to the list":           status.retarget(listPath),
		"query dropped":               list.retarget(listPath),
		"query added":                 s.get(listPath).retarget(listPath + "?limit=1"),
		"query changed":               list.retarget(listPath + "?limit=2&status=pending_funding"),
		"query reordered":             list.retarget(listPath + "?status=pending_funding&limit=1"),
		"query, other escapes":        list.retarget(listPath + "?limit=%31&status=pending_funding"),
		"query, other plus":           s.get(listPath + "?limit=1&").retarget(listPath + "?limit=1"),
		"query, lone question mark":   s.get(listPath).retarget(listPath + "?"),
		"host":                        to(create, func(m *message) { m.host = "other.example" }),
		"host, other port":            to(create, func(m *message) { m.host = "127.0.0.1:1" }),
		"host, forwarded":             to(madeFor(func(m *message) { m.host = "other.example" }, create), func(m *message) { *m = m.and("X-Forwarded-Host", "other.example") }),
		"wallet":                      create.with(sortie.HeaderWallet, stranger.Address().String()),
		"wallet, in another spelling": create.with(sortie.HeaderWallet, strings.ToLower(create.header(sortie.HeaderWallet))),
		"key":                         create.with(sortie.HeaderIdempotencyKey, "k2"),
		"key, to one that is used":    create.with(sortie.HeaderIdempotencyKey, "mine"),
		"key, another case":           create.with(sortie.HeaderIdempotencyKey, "K1"),
		"key dropped":                 create.without(sortie.HeaderIdempotencyKey),
		"key added to a preview":      preview.with(sortie.HeaderIdempotencyKey, "k1"),
		"body":                        to(create, func(m *message) { m.body = strings.Replace(m.body, `"amount":2.5`, `"amount":9.5`, 1) }),
		"body, one blank more":        to(create, func(m *message) { m.body += " " }),
		"body, other order": to(create, func(m *message) {
			m.body = `{"targetCount":4,` + strings.Replace(m.body[1:], `,"targetCount":4`, "", 1)
		}),
		"path, status to doctor":         status.retarget(status.target + "/doctor"),
		"path, list to events":           s.get(listPath + "?limit=1").retarget(eventsPath + "?limit=1"),
		"path, to another's funding":     confirm.retarget(listPath + "/" + other.DraftID + "/confirm-funding"),
		"path, rejection to approval":    reject.retarget(decidePath + "/" + draft.DraftID + "/approve"),
		"path, approval to rejection":    to(approve, func(m *message) { m.target, m.body = decidePath+"/"+draft.DraftID+"/reject", goodReason }),
		"path, approval of another":      approve.retarget(decidePath + "/" + other.DraftID + "/approve"),
		"path, rejection to an incident": reject.retarget(incidentsPath + "/" + draft.DraftID + "/clear"),
		"wallet, of an operator":         confirm.retarget(approve.target).with(sortie.HeaderWallet, reviewer.Address().String()),
		"body, another reason":           to(reject, func(m *message) { m.body = strings.Replace(goodReason, "private", "public", 1) }),
		"body, a remark added":           to(approve, func(m *message) { m.body = goodReason }),
		"body, a hint added":             to(s.post(confirm.target, "", ""), func(m *message) { m.body = "{}" }),
		"body dropped":                   to(create, func(m *message) { m.body = "" }),
		"timestamp":                      create.with(sortie.HeaderTimestamp, fmt.Sprint(s.clock.Now().Add(time.Second).Unix())),
	} {
		t.Run(name, func(t *testing.T) {
			w := s.dial()
			w.write(m.String())
			a := w.read()
			if a == nil || a.StatusCode != http.StatusUnauthorized || a.code() != sortie.CodeInvalidSignature {
				t.Fatalf("moved signature: got %+v, want 401 invalid_signature", a)
			}
			checkError(t, *a)
			if got := a.Header.Get("WWW-Authenticate"); got != `ServiceWallet error="invalid_signature"` {
				t.Errorf("WWW-Authenticate %s", got)
			}
			if got := a.details()["signedMessage"]; got != m.text() {
				t.Errorf("signedMessage %q,\nwant %q", got, m.text())
			}
		})
	}
	if got := decode[sortie.DraftList](t, s.send(testRequest{target: listPath + "?status=pending_funding"})); len(got.Drafts) != 2 {
		t.Errorf("%d drafts, want the 2 of the beginning", len(got.Drafts))
	}
	if s.chain.woken.Load() != 0 {
		t.Error("the follower was woken, want it to sleep")
	}
}

// A create that is sent again, byte for byte, returns the same draft.
func TestACreateSentAgainIsOneDraft(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		create := s.post(draftsPath, "k1", goodMission).String()
		var first string
		for i := range 5 {
			w := s.dial()
			w.write(create)
			a := w.read()
			want := http.StatusOK
			if i == 0 {
				want = http.StatusCreated
			}
			if a == nil || a.StatusCode != want {
				t.Fatalf("request %d: got %+v, want %d", i, a, want)
			}
			if i == 0 {
				first = string(a.body)
			} else if string(a.body) != first {
				t.Errorf("sent again: got %s, want %s", a.body, first)
			}
		}
		s.clock.advance(301 * time.Second)
		w := s.dial()
		w.write(create)
		if a := w.read(); a == nil || a.code() != sortie.CodeTimestampOutOfRange {
			t.Errorf("after the window: %+v", a)
		}
	})
}

// A decision or a confirm-funding that is sent again, byte for byte, changes nothing.
func TestOtherWritesSentAgain(t *testing.T) {
	t.Parallel()
	engines(t, func(t *testing.T, database string) {
		s := newService(t, serviceOptions{database: database})
		draft := s.createInReview("k1")
		for _, m := range []message{
			s.post(listPath+"/"+draft.DraftID+"/confirm-funding", "", ""),
			s.sign(s.post(decidePath+"/"+draft.DraftID+"/reject", "", goodReason).without(sortie.HeaderWallet), reviewer),
		} {
			var first string
			for i := range 3 {
				w := s.dial()
				w.write(m.String())
				a := w.read()
				if a == nil || a.StatusCode != http.StatusOK {
					t.Fatalf("%s, time %d: %+v", m.target, i, a)
				}
				if i == 0 {
					first = string(a.body)
				} else if string(a.body) != first {
					t.Errorf("%s sent again: got %s, want %s", m.target, a.body, first)
				}
			}
		}
		if got := s.eventTypes(); got != "draft.created funding.detected funding.confirmed mission.rejected" || len(s.chain.refunds) != 1 {
			t.Errorf("events %s, refunds %v", got, s.chain.refunds)
		}
	})
}

// Contract wallets may do the same as plain keys: read their missions, and review as operators.
func TestContractWalletsFollowAndReview(t *testing.T) {
	t.Parallel()
	account := sortie.MustAddress("0x7Bf9e8a8ac4a1E1fE0a8C9E5F1F9F1d0f3C0C0A1")
	yes := append(make([]byte, 31), 1)
	for name, c := range map[string]struct {
		operators []sortie.Address
		forbidden bool
	}{"an operator": {operators: []sortie.Address{account}}, "no operator": {forbidden: true}} {
		s := newService(t, serviceOptions{operators: c.operators, call: func(context.Context, []byte, uint64) ([]byte, error) { return yes, nil }})
		byAccount := http.Header{sortie.HeaderWallet: {account.String()}, sortie.HeaderSignature: {"0x1234"}}
		created := s.send(testRequest{method: http.MethodPost, target: draftsPath, key: "k1", body: goodMission, header: byAccount})
		mustBe(t, name+" creates", created, http.StatusCreated)
		draft := decode[sortie.DraftCreated](t, created)
		s.chain.mine(fundingOf(draft))
		s.chain.mine()
		for _, r := range routes {
			takesMission := strings.Contains(r.pattern, "/missions/{id}") || strings.Contains(r.pattern, "/reviews/{id}")
			if !r.access.isSigned() || r.drafts || strings.Contains(r.pattern, "{") && !takesMission || strings.HasSuffix(r.pattern, "/reject") {
				continue
			}
			want := http.StatusOK
			switch {
			case r.access == operator && c.forbidden:
				want = http.StatusForbidden
			case strings.HasSuffix(r.pattern, "/reconcile"):
				want = http.StatusAccepted
			case strings.HasSuffix(r.pattern, "/deliverables"), strings.HasSuffix(r.pattern, "/close"):
				want = http.StatusConflict // not published
			}
			a := s.send(testRequest{method: r.method, target: strings.Replace(r.pattern, "{id}", draft.DraftID, 1), body: bodyOf(r), header: byAccount})
			mustBe(t, name+": "+r.method+" "+r.pattern, a, want)
		}
	}
}

// Contract wallets are verified on chain, and equal checks share one call.
func TestContractWallets(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	s := newService(t, serviceOptions{call: func(context.Context, []byte, uint64) ([]byte, error) {
		calls.Add(1)
		return append(make([]byte, 31), 1), nil // the contract says yes
	}})
	account := sortie.MustAddress("0x7Bf9e8a8ac4a1E1fE0a8C9E5F1F9F1d0f3C0C0A1")
	wrapped := "0x" + strings.Repeat("11", 96) + strings.Repeat("6492", 16) // an ERC-6492 wrapper
	m := s.unsigned(http.MethodPost, draftsPath).with("Content-Type", "application/json").with(sortie.HeaderIdempotencyKey, "k1").
		with(sortie.HeaderWallet, account.String()).with(sortie.HeaderTimestamp, fmt.Sprint(s.clock.Now().Unix())).
		with(sortie.HeaderSignature, wrapped)
	m.body = goodMission
	for i, want := range []int{http.StatusCreated, http.StatusOK, http.StatusOK} {
		w := s.dial()
		w.write(m.String())
		a := w.read()
		if a == nil || a.StatusCode != want {
			t.Fatalf("request %d: got %+v, want %d", i, a, want)
		}
		if draft := decode[sortie.DraftCreated](t, *a); draft.FundingQuote.Authorization.Creator != account {
			t.Errorf("the creator is %s", draft.FundingQuote.Authorization.Creator)
		}
	}
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
	s.storesNothing(t) // for the creator's own wallet
}
