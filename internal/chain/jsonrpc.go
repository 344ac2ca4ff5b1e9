package chain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/sortie-labs/sortie/internal/foreign"
)

// ErrBadAnswer says that a node's answer cannot be correct. No part of it is used.
var ErrBadAnswer = errors.New("the node's answer is refused")

func BadAnswer(format string, arguments ...any) error {
	return fmt.Errorf("%w: %w", ErrBadAnswer, fmt.Errorf(format, arguments...))
}

// nodeError is a JSON-RPC error that a node returned. It implements rpc.Error.
type nodeError struct {
	code    int
	message string
}

func (e *nodeError) Error() string {
	return fmt.Sprintf("the node refuses: %s (code %d)", e.message, e.code)
}
func (e *nodeError) ErrorCode() int { return e.code }

// statusError is an HTTP status without an answer.
type statusError int

func (e statusError) Error() string {
	return fmt.Sprintf("HTTP status %d %s", int(e), http.StatusText(int(e)))
}

// Call is one JSON-RPC request. Its parameters are a JSON array without foreign text.
type Call struct {
	Method string
	Params string
}

// Reply is the answer to one call: its result as JSON, which may be null, or the node's error.
type Reply struct {
	result []byte
	Err    error
}

// Value returns the result. It fails with the node's error, and with [ErrAbsent] for null.
func (r Reply) Value() ([]byte, error) {
	if r.Err != nil {
		return nil, r.Err
	}
	if string(r.result) == "null" {
		return nil, ErrAbsent
	}
	return r.result, nil
}

func (r Reply) given() bool { return r.result != nil || r.Err != nil }

// ErrAbsent says that a node answered null: it does not have the block, the transaction or the
// state.
var ErrAbsent = errors.New("the node does not have it")

// Batch sends calls as one request, or as several if the node accepts only smaller ones, and
// returns the replies in the order of the calls. An answer without exactly one result or error for
// each call fails as a whole. The error wraps [ErrUnreachable] for an answer that is not JSON,
// [ErrBadAnswer] for one of the wrong shape, and is a *nodeError if the node refused the request.
// It never contains the node's URL.
//
// If the answers are too large together, they are requested again in smaller batches. A call whose
// answer alone is too large has a reply with errTooLarge and does not fail the others.
func (n *Node) Batch(ctx context.Context, calls []Call) ([]Reply, error) {
	return n.batchWithin(ctx, calls, maxAnswerBytes)
}

// BatchOn sends calls together with eth_chainId, and fails if the node is on another chain.
func (n *Node) BatchOn(ctx context.Context, chainID uint64, calls []Call) ([]Reply, error) {
	replies, err := n.Batch(ctx, append(slices.Clip(calls), Call{"eth_chainId", "[]"}))
	if err != nil {
		return nil, err
	}
	answer, err := replies[len(calls)].Value()
	if err == nil {
		var id uint64
		if id, err = quantity(answer); err == nil && id != chainID {
			err = fmt.Errorf("%w: it is on chain %d now, want %d", ErrWrongChain, id, chainID)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	return replies[:len(calls)], nil
}

// batchWithin is [Node.Batch] with a limit on the bytes of each answer.
func (n *Node) batchWithin(ctx context.Context, calls []Call, limit int64) ([]Reply, error) {
	replies := make([]Reply, len(calls))
	size := n.limit.size()
	for begin := 0; begin < len(calls); begin += size {
		end := min(begin+size, len(calls))
		if err := n.fill(ctx, calls[begin:end], replies[begin:end], limit); err != nil {
			return nil, err
		}
	}
	return replies, nil
}

// fill sends calls as one request and stores their replies. It splits a request with a too large
// answer in halves, down to one call.
func (n *Node) fill(ctx context.Context, calls []Call, replies []Reply, limit int64) error {
	some, err := n.request(ctx, calls, limit)
	if tooLarge(err) && len(calls) == 1 {
		replies[0] = Reply{Err: err}
		return nil
	}
	if tooLarge(err) && mayExceed(calls, limit) {
		return n.fillHalves(ctx, calls, replies, limit)
	}
	if err != nil {
		return err
	}
	copy(replies, some)
	var refused []int // nodes that answer a batch up to their limit refuse the remaining calls one by one
	for i := range some {
		if len(some) > 1 && tooLarge(some[i].Err) {
			refused = append(refused, i)
		}
	}
	return n.fillAgain(ctx, calls, replies, refused, limit)
}

// mayExceed reports whether correct answers to calls can be larger than a limit. A node that sends
// more is broken or hostile, and is not asked again.
func mayExceed(calls []Call, limit int64) bool {
	const header, state = 4 << 20, 64 << 10
	var most int64
	for _, c := range calls {
		switch c.Method {
		case "eth_getLogs", "eth_getTransactionReceipt", "eth_getTransactionByHash":
			return true
		case "eth_getBlockByNumber":
			most += header
		default:
			most += state
		}
	}
	return most > min(limit, maxAnswerBytes/2)
}

func (n *Node) fillHalves(ctx context.Context, calls []Call, replies []Reply, limit int64) error {
	half := len(calls) / 2
	if err := n.fill(ctx, calls[:half], replies[:half], limit); err != nil {
		return err
	}
	return n.fill(ctx, calls[half:], replies[half:], limit)
}

// fillAgain repeats some of the calls in a smaller request.
func (n *Node) fillAgain(ctx context.Context, calls []Call, replies []Reply, which []int, limit int64) error {
	if len(which) == 0 {
		return nil
	}
	again := make([]Call, len(which))
	for at, i := range which {
		again[at] = calls[i]
	}
	answered := make([]Reply, len(which))
	ask := n.fill
	if len(which) == len(calls) {
		ask = n.fillHalves
	}
	if err := ask(ctx, again, answered, limit); err != nil {
		return err
	}
	for at, i := range which {
		replies[i] = answered[at]
	}
	return nil
}

func (n *Node) request(ctx context.Context, calls []Call, limit int64) ([]Reply, error) {
	body, err := n.post(ctx, appendRequest(nil, calls), limit)
	if err != nil {
		n.limit.learn(err, len(calls))
		return nil, err
	}
	replies, err := parseReplies(body, len(calls))
	if err != nil {
		n.limit.learn(err, len(calls))
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	return replies, nil
}

// errTooLarge says that an answer has more bytes than are read.
var errTooLarge = fmt.Errorf("%w: the answer is too large", ErrUnreachable)

// tooLarge reports whether an answer was refused for its size, here or by the node. Other errors
// may be about size or about rate limits; they do not cause more requests.
func tooLarge(err error) bool {
	const geth, rust, rustBatch = -32003, -32008, -32011 // go-ethereum; nodes written in Rust
	var refused *nodeError
	if errors.As(err, &refused) {
		return refused.code == geth || refused.code == rust || refused.code == rustBatch
	}
	return errors.Is(err, errTooLarge)
}

// batchLimit is the number of calls that a node accepts in one request: half of what it refused,
// for an hour. Errors for too large batches cannot be distinguished from other errors.
type batchLimit struct {
	mutex sync.Mutex
	most  int // 0: not known
	until time.Time
}

const batchLimitLife = time.Hour

func (l *batchLimit) size() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.most == 0 || time.Now().After(l.until) {
		return maxRequest
	}
	return l.most
}

// maxRequest is larger than any batch.
const maxRequest = 1000

// learn lowers the limit after an error that too many calls may have caused.
func (l *batchLimit) learn(err error, calls int) {
	var refused *nodeError
	var status statusError
	asWhole := errors.As(err, &refused) && !tooLarge(err) ||
		errors.As(err, &status) && (status == http.StatusRequestEntityTooLarge || status == http.StatusBadRequest)
	if !asWhole || calls < 2 {
		return
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.most, l.until = calls/2, time.Now().Add(batchLimitLife)
}

// appendRequest writes calls with the ids 1, 2, 3 and so on. A single call is no array, for nodes
// that do not accept batches.
func appendRequest(dst []byte, calls []Call) []byte {
	for i, c := range calls {
		separator := byte(',')
		if i == 0 {
			separator = '['
		}
		if len(calls) > 1 {
			dst = append(dst, separator)
		}
		dst = strconv.AppendInt(append(dst, `{"jsonrpc":"2.0","id":`...), int64(i+1), 10)
		dst = append(append(dst, `,"method":"`...), c.Method...)
		dst = append(append(append(dst, `","params":`...), c.Params...), '}')
	}
	if len(calls) > 1 {
		dst = append(dst, ']')
	}
	return dst
}

// post returns the body of the node's answer. Other statuses than 2xx are a statusError, unless the
// body has a JSON-RPC error.
func (n *Node) post(ctx context.Context, request []byte, limit int64) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.endpoint, bytes.NewReader(request))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, n.Redact(err))
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := n.http.Do(r)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, n.Redact(err))
	}
	defer func() { _ = response.Body.Close() }()
	body, err := readAll(response, limit)
	if errors.Is(err, errTooLarge) {
		return nil, fmt.Errorf("%s: %w", n.name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, n.Redact(err))
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		var refused *nodeError
		if _, err := parseReplies(body, 0); errors.As(err, &refused) {
			return nil, fmt.Errorf("%s: %w", n.name, refused)
		}
		return nil, fmt.Errorf("%w: %s: %w", ErrUnreachable, n.name, statusError(response.StatusCode))
	}
	return body, nil
}

// readAll reads a body of limited size, with one allocation if the length is known.
func readAll(response *http.Response, limit int64) ([]byte, error) {
	if response.ContentLength > limit {
		return nil, errTooLarge
	}
	var body bytes.Buffer
	if response.ContentLength > 0 {
		body.Grow(int(response.ContentLength) + bytes.MinRead)
	}
	read, err := body.ReadFrom(io.LimitReader(response.Body, limit+1))
	if read > limit || errors.As(err, new(*http.MaxBytesError)) {
		return nil, errTooLarge
	}
	return body.Bytes(), err
}

// parseReplies checks the syntax of an answer and splits it. The results are parts of the body.
func parseReplies(body []byte, expected int) ([]Reply, error) {
	d := replyReader{body, jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true))} // duplicates are checked where members are read
	var replies []Reply
	var err error
	if d.PeekKind() == '[' {
		replies, err = d.list(expected)
	} else {
		replies, err = d.single(expected)
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	return replies, nil
}

var errNotJSON = fmt.Errorf("%w: it answered something else than one JSON value", ErrUnreachable)

// replyReader reads replies.
type replyReader struct {
	body []byte
	*jsontext.Decoder
}

// single reads the reply to a single call, or an error for the whole request.
func (d replyReader) single(expected int) ([]Reply, error) {
	id, one, err := d.reply()
	switch {
	case err != nil:
		return nil, err
	case one.Err != nil && (expected != 1 || id == 0):
		return nil, one.Err
	case expected != 1 || id != 1:
		return nil, BadAnswer("a reply to something else")
	}
	return []Reply{one}, nil
}

// list reads one reply for each call, in any order.
func (d replyReader) list(expected int) ([]Reply, error) {
	if _, err := d.ReadToken(); err != nil {
		return nil, errNotJSON
	}
	replies := make([]Reply, expected)
	given := 0
	for ; d.PeekKind() != ']'; given++ {
		id, one, err := d.reply()
		if err != nil {
			return nil, err
		}
		if id < 1 || id > expected || replies[id-1].given() {
			return nil, BadAnswer("a reply to something else, or a second one")
		}
		replies[id-1] = one
	}
	if _, err := d.ReadToken(); err != nil {
		return nil, errNotJSON
	}
	if given != expected {
		return nil, BadAnswer("%d replies to %d calls", given, expected)
	}
	return replies, nil
}

// reply reads one reply. The id is 0 if the node gave none, as it may for a request that it could
// not read.
func (d replyReader) reply() (id int, one Reply, err error) {
	if kind := d.PeekKind(); kind != '{' {
		if _, err := d.ReadValue(); err != nil {
			return 0, Reply{}, errNotJSON
		}
		return 0, Reply{}, BadAnswer("something else than a reply")
	}
	if _, err := d.ReadToken(); err != nil {
		return 0, Reply{}, errNotJSON
	}
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return 0, Reply{}, errNotJSON
		}
		member := name.String()
		value, err := d.ReadValue()
		if err != nil {
			return 0, Reply{}, errNotJSON
		}
		end := int(d.InputOffset())
		if id, err = one.read(member, d.body[end-len(value):end], id); err != nil {
			return 0, Reply{}, err
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return 0, Reply{}, errNotJSON
	}
	switch {
	case one.result == nil && one.Err == nil:
		return 0, Reply{}, BadAnswer("a reply with neither result nor error")
	case one.result != nil && one.Err != nil && string(one.result) != "null":
		return 0, Reply{}, BadAnswer("a reply with both result and error")
	}
	return id, one, nil
}

// read stores one member of a reply, and returns the id known so far.
func (r *Reply) read(member string, value []byte, id int) (int, error) {
	switch member {
	case "id":
		number, err := strconv.Atoi(string(value))
		if err != nil && string(value) != "null" {
			return 0, BadAnswer("the id %.20q", value)
		}
		return number, nil
	case "result":
		if r.result != nil {
			return 0, BadAnswer("two results in one reply")
		}
		r.result = value
	case "error":
		if string(value) == "null" { // some nodes write it next to a result
			return id, nil
		}
		refused, err := parseNodeError(value)
		r.Err = refused
		return id, err
	}
	return id, nil
}

func parseNodeError(text []byte) (error, error) {
	refused := &nodeError{message: "it does not say why"}
	err := eachMember(text, func(name, value []byte) error {
		switch string(name) {
		case "code":
			refused.code, _ = strconv.Atoi(string(value))
		case "message":
			if message, err := jsontext.AppendUnquote(nil, value); err == nil {
				refused.message = foreign.Line(string(message), foreign.MaxMessage)
			}
		}
		return nil
	})
	return refused, err
}

// OneLine makes the error text of several nodes safe to show.
func OneLine(detail string) string {
	return foreign.Line(strings.ReplaceAll(detail, "\n", "; "), foreign.MaxDetail)
}

// RefusedAlone reports whether a node refused one call, perhaps for the size of its answer.
func RefusedAlone(err error) bool { return tooLarge(err) || IsRefusal(err) }

// IsRefusal reports whether a node returned a JSON-RPC error.
func IsRefusal(err error) bool { return errors.As(err, new(*nodeError)) }
