package s3

import (
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// MinPart is the minimum size of a part, except for the last.
const MinPart = 5 << 20

// Upload is an object that is sent in parts. It is visible after Complete.
type Upload struct {
	client *Client
	key    string
	id     string
	parts  []part
}

type part struct {
	PartNumber int
	ETag       string
}

// NewUpload starts the upload of an object.
func (c *Client) NewUpload(ctx context.Context, key string) (*Upload, error) {
	var answer struct {
		UploadID string `xml:"UploadId"`
	}
	if err := c.decode(ctx, call{method: http.MethodPost, key: key, query: url.Values{"uploads": {""}}, header: c.newObject()}, &answer); err != nil {
		return nil, err
	}
	return &Upload{client: c, key: key, id: answer.UploadID}, nil
}

// Add sends the next part.
func (u *Upload) Add(ctx context.Context, content []byte) error {
	number := len(u.parts) + 1
	query := url.Values{"partNumber": {strconv.Itoa(number)}, "uploadId": {u.id}}
	header, err := u.client.discard(ctx, call{method: http.MethodPut, key: u.key, query: query, body: content})
	if err != nil {
		return err
	}
	u.parts = append(u.parts, part{number, header.Get("ETag")})
	return nil
}

// Complete makes the object visible.
func (u *Upload) Complete(ctx context.Context) error {
	body, err := xml.Marshal(struct {
		XMLName struct{} `xml:"CompleteMultipartUpload"`
		Part    []part
	}{Part: u.parts})
	if err != nil {
		return err
	}
	response, err := u.client.do(ctx, call{method: http.MethodPost, key: u.key, query: url.Values{"uploadId": {u.id}}, body: body})
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return err
	}
	var kind struct{ XMLName xml.Name }
	if err := xml.Unmarshal(answer, &kind); err != nil {
		return fmt.Errorf("complete the upload: %w", err)
	}
	if kind.XMLName.Local == "Error" { // with status 200: the failure came after the status was sent
		return readError(http.StatusInternalServerError, bytes.NewReader(answer))
	}
	return nil
}

// Abort removes the parts that were sent.
func (u *Upload) Abort(ctx context.Context) error {
	_, err := u.client.discard(ctx, call{method: http.MethodDelete, key: u.key, query: url.Values{"uploadId": {u.id}}})
	return err
}
