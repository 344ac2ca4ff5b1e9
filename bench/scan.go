package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie"
)

// scanWork is the limit of the follower: it fetches the logs of a range, decodes them and stores
// one row. It checks nothing and stores no events.
type scanWork struct {
	task   assignment
	decode decoder
	db     *sql.DB
}

const (
	scanRange = 2000 // blocks; the follower's

	decoderLibrary = "with the library"
	decoderPlain   = "plainly"
	decoderByHand  = "by hand"
)

var decoders = map[string]decoder{decoderLibrary: decodeWithLibrary, decoderPlain: decodePlainly, decoderByHand: decodeByHand}

// decoder decodes an answer to eth_getLogs and counts its events.
type decoder func(answer []byte) (events int, err error)

func openScanning(ctx context.Context, task assignment) (work, error) {
	decode := decoders[task.Decoder]
	db, err := sql.Open("sqlite", durableDSN(task.Database))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(ctx, "CREATE TABLE ranges (upto BIGINT PRIMARY KEY, events BIGINT NOT NULL)"); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &scanWork{task, decode, db}, nil
}

func (s *scanWork) run(ctx context.Context) (events int, err error) {
	insert, err := s.db.PrepareContext(ctx, "INSERT INTO ranges VALUES ($1, $2)")
	if err != nil {
		return 0, err
	}
	for from := uint64(1); from < s.task.Blocks; from += scanRange {
		to := min(from+scanRange, s.task.Blocks) - 1
		answer, err := s.fetch(ctx, from, to)
		if err != nil {
			return 0, err
		}
		decoded, err := s.decode(answer)
		if err != nil {
			return 0, err
		}
		if _, err := insert.ExecContext(ctx, int64(to), decoded); err != nil {
			return 0, err
		}
		events += decoded
	}
	return events, nil
}

func (s *scanWork) fetch(ctx context.Context, from, to uint64) ([]byte, error) {
	question := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"eth_getLogs","params":[{"fromBlock":"%#x","toBlock":"%#x","address":"%s"}]}`,
		from, to, s.task.Dev.Factory)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.task.RPC, bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer := bytes.NewBuffer(make([]byte, 0, max(response.ContentLength, 0)+bytes.MinRead))
	_, err = answer.ReadFrom(response.Body)
	return answer.Bytes(), err
}

func (s *scanWork) close() error { return s.db.Close() }

// decodeWithLibrary decodes logs and their arguments with go-ethereum and the contract's binding,
// as most programs do.
func decodeWithLibrary(answer []byte) (int, error) {
	var reply struct{ Result []types.Log }
	if err := json.Unmarshal(answer, &reply); err != nil {
		return 0, err
	}
	for i := range reply.Result {
		var err error
		switch log := &reply.Result[i]; log.Topics[0] {
		case factoryABI.Events["MissionFunded"].ID:
			_, err = factoryContract.UnpackMissionFundedEvent(log)
		case factoryABI.Events["SubmissionPaid"].ID:
			_, err = factoryContract.UnpackSubmissionPaidEvent(log)
		default:
			_, err = factoryContract.UnpackMissionClosedEvent(log)
		}
		if err != nil {
			return 0, err
		}
	}
	return len(reply.Result), nil
}

// plainLog is a log for encoding/json.
type plainLog struct {
	Address, Data, BlockNumber, LogIndex string
	BlockHash, TransactionHash           sortie.Hash
	Topics                               []sortie.Hash
}

func decodePlainly(answer []byte) (int, error) {
	var reply struct{ Result []plainLog }
	if err := json.Unmarshal(answer, &reply); err != nil {
		return 0, err
	}
	for i := range reply.Result {
		if _, err := hex.DecodeString(reply.Result[i].Data[2:]); err != nil {
			return 0, err
		}
	}
	return len(reply.Result), nil
}

// decodeByHand decodes logs token by token, with the bytes of every value.
func decodeByHand(answer []byte) (int, error) {
	tokens := jsontext.NewDecoder(bytes.NewBuffer(answer), jsontext.AllowDuplicateNames(true))
	const logDepth = 3 // in the list in the reply
	var room [1024]byte
	events := 0
	for {
		token, err := tokens.ReadToken()
		if errors.Is(err, io.EOF) {
			return events, nil
		}
		if err != nil {
			return 0, err
		}
		switch token.Kind() {
		case '{':
			if tokens.StackDepth() == logDepth {
				events++
			}
		case '"':
			if digits, isHex := strings.CutPrefix(token.String(), "0x"); isHex && len(digits) <= 2*len(room) {
				_, _ = hex.Decode(room[:], []byte(digits)) // numbers may have an odd number of digits
			}
		}
	}
}
