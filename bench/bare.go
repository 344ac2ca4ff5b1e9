package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/sortie-labs/sortie"
)

// The bare server is the limit: a server that does one job and nothing else. It uses the libraries,
// the server settings and the durability of the product, and its answers are as long; it has no
// limits, no ids, no metrics and little error handling.

const bareCommand = "bare"

// The paths of the bare server.
const (
	pathCheck         = "/check/"  // recover the signer, send a constant
	pathRow           = "/status/" // and read a row
	pathList          = "/list"    // instead, read a page of rows
	pathPage          = "/page/"   // instead, read a page of fragments and sign two links for each
	pathCreate        = "/create"  // instead, sign, make calldata and store a row durably, sharing commits
	pathCreateChecked = "/checked" // the same, and recover the signer of what was signed, without which no quote may be sent
	pathCreateAlone   = "/alone"   // as pathCreate, with a commit for each

	pageBytes = 512 << 10 // more than a page has
)

type bareServer struct {
	rows     *bareRows
	key      *ecdsa.PrivateKey
	public   []byte
	domain   sortie.Hash
	terms    sortie.MissionAuthorization
	quote    []byte // of a draft, as the product sends it
	unsigned []byte // the same without signature and calldata
	constant []byte // an answer of pathCheck
	links    *bareLinks
	pages    sync.Pool // of buffers with room for a page
}

func runBare(ctx context.Context, address, database string) error {
	rows, err := openBareRows(ctx, database)
	if err != nil {
		return err
	}
	server, err := newBareServer(rows)
	if err != nil {
		return err
	}
	settings := &http.Server{ // the product's
		Addr: address, Handler: server, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, WriteTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	context.AfterFunc(ctx, func() { _ = settings.Close() })
	if err := settings.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func newBareServer(rows *bareRows) (*bareServer, error) {
	key, err := crypto.GenerateKey()
	if err != nil {
		return nil, err
	}
	someone := sortie.Address(crypto.PubkeyToAddress(key.PublicKey))
	domain := sortie.Domain{ChainID: 31337, Factory: someone}
	s := &bareServer{
		rows: rows, links: newBareLinks(), pages: sync.Pool{New: func() any { page := make([]byte, 0, pageBytes); return &page }}, key: key, public: crypto.FromECDSAPub(&key.PublicKey), domain: domain.Separator(),
		terms: sortie.MissionAuthorization{
			MissionID: "photo-of-the-main-entrance-00000000", Token: someone, RewardPerSubmission: big.NewInt(2_500_000),
			TargetCount: 40, Creator: someone, Deadline: uint64(time.Now().Unix()),
		},
	}
	quote := sortie.NewQuote(domain, s.terms, someone, make([]byte, sortie.SignatureLength))
	if s.quote, err = json.Marshal(quote); err != nil {
		return nil, err
	}
	quote.Calldata, quote.Authorization.Signature = nil, nil
	if s.unsigned, err = json.Marshal(quote); err != nil {
		return nil, err
	}
	s.constant = s.appendStatus(nil, []sql.RawBytes{[]byte(s.terms.MissionID), []byte(s.terms.MissionID), missionBody})
	return s, nil
}

func (s *bareServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/readyz" {
		return
	}
	var body []byte
	if r.ContentLength > 0 {
		body, _ = io.ReadAll(r.Body)
	}
	wallet, signed := recoverWallet(r, body)
	if !signed {
		http.Error(w, "signature", http.StatusUnauthorized)
		return
	}
	status, answer, err := http.StatusOK, make([]byte, 0, 4<<10), error(nil)
	switch {
	case strings.HasPrefix(r.URL.Path, pathCheck):
		answer = s.constant
	case strings.HasPrefix(r.URL.Path, pathRow):
		err = s.rows.each(s.rows.selectDraft, func(row []sql.RawBytes) { answer = s.appendStatus(answer, row) }, wallet, r.URL.Path[len(pathRow):])
	case r.URL.Path == pathList:
		page := s.pages.Get().(*[]byte)
		defer s.pages.Put(page)
		answer = append((*page)[:0], `{"ok":true,"drafts":[`...)
		err = s.rows.each(s.rows.selectPage, func(row []sql.RawBytes) { answer = append(s.appendStatus(answer, row), ',') }, wallet)
	case strings.HasPrefix(r.URL.Path, pathPage):
		page := s.pages.Get().(*[]byte)
		defer s.pages.Put(page)
		answer, err = s.appendPage((*page)[:0], r.URL.Path[len(pathPage):])
	default:
		status = http.StatusCreated
		answer, err = s.create(answer, wallet, r.Header.Get(sortie.HeaderIdempotencyKey), body, r.URL.Path)
	}
	if err != nil {
		http.Error(w, "bare server: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(answer)))
	w.WriteHeader(status)
	_, _ = w.Write(answer) // the client looks
}

// recoverWallet gives the wallet as columns hold it, and whether it signed the request.
func recoverWallet(r *http.Request, body []byte) (string, bool) {
	claimed := r.Header.Get(sortie.HeaderWallet)
	digest := sortie.Request{
		Method: r.Method, URL: publicURL + r.RequestURI, IdempotencyKey: r.Header.Get(sortie.HeaderIdempotencyKey),
		BodySHA256: sortie.BodySHA256(body), Wallet: claimed, Timestamp: r.Header.Get(sortie.HeaderTimestamp),
	}.Digest()
	signature, err := hex.DecodeString(strings.TrimPrefix(r.Header.Get(sortie.HeaderSignature), "0x"))
	if err != nil || len(signature) != sortie.SignatureLength {
		return "", false
	}
	signature[64] -= 27
	public, err := crypto.Ecrecover(digest[:], signature)
	if err != nil {
		return "", false
	}
	wallet := "0x" + hex.EncodeToString(crypto.Keccak256(public[1:])[12:])
	return wallet, strings.EqualFold(wallet, claimed)
}

// appendStatus writes what a row holds and the quote, which costs the limit nothing: it could have
// been stored.
func (s *bareServer) appendStatus(dst []byte, row []sql.RawBytes) []byte {
	dst = append(append(dst, `{"ok":true,"draftId":"`...), row[0]...)
	dst = append(append(dst, `","missionId":"`...), row[1]...)
	dst = append(dst, `","reviewStatus":"draft","fundingStatus":"pending_funding","nextAction":"send_create_funded_mission_transaction",`+
		`"published":false,"normalizedMission":`...)
	dst = append(append(dst, row[2]...), `,"fundingQuote":`...)
	return append(append(dst, s.quote...), '}')
}

func (s *bareServer) create(dst []byte, wallet, key string, body []byte, path string) ([]byte, error) {
	terms, id := s.terms, "draft_"+key
	copy(terms.Nonce[:], key)
	digest := terms.Digest(s.domain)
	signature, err := crypto.Sign(digest[:], s.key)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	if path == pathCreateChecked {
		if public, err := crypto.Ecrecover(digest[:], signature); err != nil || !bytes.Equal(public, s.public) {
			return nil, errors.New("the signature is of another key")
		}
	}
	calldata := terms.Calldata(signature)
	store := s.rows.insert
	if path == pathCreateAlone {
		store = s.rows.insertAlone
	}
	nonce := terms.Nonce.String()
	if err := store(id, id, wallet, key, nonce, string(body), "Photo of the main entrance", "USDC", wallet, 31337, wallet,
		terms.RewardPerSubmission.String(), 40, nonce, time.Now().UnixMicro()); err != nil {
		return nil, err
	}
	dst = append(append(dst, `{"status":"pending_funding","draftId":"`...), id...)
	dst = append(append(dst, `","fundingQuote":`...), s.unsigned...)
	dst = append(hex.AppendEncode(append(dst, `,"signature":"0x`...), signature), `","calldata":"0x`...)
	return append(hex.AppendEncode(dst, calldata), `"}`...), nil
}
